"""Reads a REST request: its token, the name of the calling program, a body of limited length."""

from dataclasses import replace
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.web.callers import FindCaller
from cronty.web.problems import problem

MAX_BODY: Final = 256 * 1024
"""How many bytes a body has: arguments of 64 KiB, also where each letter is written in six."""

MAX_FILE: Final = 1024 * 1024
"""How many a body has that may hold a file."""

SAFE: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


async def caller_of(request: Request) -> Result[Caller]:
    find_caller: FindCaller = request.app.state.find_caller
    known = await find_caller(bearer(request))
    if isinstance(known, Err):
        return known
    program = _printable(request.headers.get("user-agent"))
    client = None if program is None else {"name": program}
    return Ok(replace(known.value, surface="rest", client=client, gone=request.is_disconnected))


def bearer(request: Request) -> str | None:
    """The bearer token of a request, or None."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def refused_token(err: Err) -> Response:
    flaw = ', error="invalid_token"' if err.code == "bad_token" else ""
    return problem(err, headers={"www-authenticate": f'Bearer realm="cronty"{flaw}'})


async def read_body(request: Request, most: int) -> bytes:
    """The body; raises a 413 if it is too long."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise HTTPException(413, f"The body is larger than {most} bytes.")
        parts.append(part)
    return b"".join(parts)


def _printable(text: str | None) -> str | None:
    """The program's name on one line."""
    return None if not text else "".join(one if one.isprintable() else " " for one in text[:100])
