"""Who asks over REST, and what they send: the token, the name of their program, a body of bounded length."""

import logging
from dataclasses import replace
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.web.problems import problem
from cronty.web.who import WhoCalls

LONGEST_BODY: Final = 1024 * 1024
SAFE: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}

log = logging.getLogger("cronty.web")


async def who_asks(request: Request) -> Result[Caller]:
    who: WhoCalls = request.app.state.who
    known = await who(bearer(request))
    if isinstance(known, Err):
        return known
    program = _printable(request.headers.get("user-agent"))
    return Ok(replace(known.value, surface="rest", client=None if program is None else {"name": program}))


def bearer(request: Request) -> str | None:
    """The token of a request; other schemes than Bearer are none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def refused_token(err: Err) -> Response:
    """A caller who tries tokens out isn't told why one is refused; our log is."""
    if err.code != "unauthenticated":
        return problem(err, headers={"www-authenticate": 'Bearer realm="cronty"'})
    log.info("a token was refused: %s", err.hint)
    told = Err(err.code, err.message, "Use another; it may be revoked or have run out.")
    return problem(told, headers={"www-authenticate": 'Bearer realm="cronty", error="invalid_token"'})


async def read_body(request: Request) -> bytes:
    """The body, as long as it isn't too long to be a request of ours."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > LONGEST_BODY:
            raise HTTPException(413)
        parts.append(part)
    return b"".join(parts)


def _printable(text: str | None) -> str | None:
    """What a program calls itself, on one line."""
    return None if not text else "".join(one if one.isprintable() else " " for one in text[:100])
