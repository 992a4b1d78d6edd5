"""Signed webhooks, by the rules of Standard Webhooks."""

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from re import compile as pattern
from typing import Annotated, Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
import standardwebhooks
from pydantic import Field

from cronty.actions.outbound import CallRefused, Outbound, require_success, untrusted_text, without
from cronty.actions.tasks import PermanentError, current_run

MAX_HEADERS: Final = 20
MAX_HEADER: Final = 4096
MAX_RESPONSE: Final = 2048
MAX_SAID: Final = 200
SHORTEST_KEY: Final = 8
SHORTEST_PATH: Final = 16
"""From how many characters on a part of a path may be a key, as chat services have it, and not just a word."""

_NAME: Final = pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE: Final = pattern(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_OURS: Final = frozenset({
    "host", "content-length", "content-type", "content-encoding", "user-agent", "accept-encoding", "expect",
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
_SECRET: Final = frozenset({"authorization", "proxy-authorization", "cookie"})


class Webhook:
    """Each secret ("whsec_…") signs: give the old and the new one while receivers change over, none to not sign."""

    def __init__(
        self, outbound: Outbound, secrets: Sequence[str] = (), *, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._outbound = outbound
        self._clock = clock or partial(datetime.now, UTC)
        self._secrets = tuple(secrets)
        self._signers = [_signer(secret, number) for number, secret in enumerate(secrets, 1)]

    async def webhook(
        self,
        url: Annotated[str, Field(description="Where to: an https URL of a public host, or of an allowed one.")],
        body: Annotated[
            dict[str, object] | list[object] | str | None, Field(description="Any JSON; arrives as data.payload.")
        ] = None,
        headers: Annotated[
            dict[str, str] | None, Field(description="Extra headers; no secrets, and none that are ours to set.")
        ] = None,
        method: Annotated[Literal["POST", "PUT"], Field(description="POST or PUT.")] = "POST",
    ) -> dict[str, object]:
        """Call a URL with a signed JSON body that says which run it is.

        Use it to wake a program or an agent: the receiver verifies the signature, answers 202 at once and works after
        that. webhook-id is the same for every attempt, so a receiver can drop what it has seen. Returns the status
        and the beginning of the response, which is the receiver's text and not to be trusted. Answers of 429 and 5xx
        and network faults are tried again; other answers are final.

        Example: webhook(url="https://example.com/hooks/cronty", body={"prompt": "Write the weekly report"})
        """
        if flaw := self.check(url, headers, method):
            raise PermanentError(flaw)
        now = self._clock()
        content = _envelope(now, body)
        sent = {**(headers or {}), **self._signed(now, content), "content-type": "application/json"}
        answer = await self._outbound.send(method, url, headers=sent, body=content)
        said = without({*self._secrets, *confidential(url, headers or {})}, answer.body.decode(errors="replace"))
        require_success(answer, urlsplit(url).hostname or url, untrusted_text(said, MAX_SAID))
        response = untrusted_text(said, MAX_RESPONSE + 1, lines=True)
        return {
            "status": answer.status,
            "response": response[:MAX_RESPONSE],
            "truncated": answer.truncated or len(response) > MAX_RESPONSE,
        }

    def check(self, url: str, headers: Mapping[str, object] | None = None, method: str = "POST") -> str | None:
        """None if it could be sent; else a sentence saying why not. Resolves nothing and sends nothing."""
        if method not in ("POST", "PUT"):
            return f"method must be POST or PUT, not {method!r}."
        try:
            self._outbound.check(url)
        except CallRefused as refused:
            return str(refused)
        return check_headers(headers or {})

    def _signed(self, now: datetime, content: bytes) -> dict[str, str]:
        """A new moment, and so a new signature, for every attempt; the id stays."""
        message_id = current_run().idempotency_key
        headers = {"webhook-id": message_id, "webhook-timestamp": str(int(now.timestamp()))}
        if self._signers:
            signatures = [signer.sign(message_id, now, content.decode()) for signer in self._signers]
            headers["webhook-signature"] = " ".join(signatures)
        return headers


def confidential(url: str, headers: Mapping[str, str]) -> set[str]:
    """What may be a key in a call: many receivers repeat the path, the query or the headers they were called with."""
    parts = urlsplit(url)
    query = [one.partition("=")[2] or one for one in parts.query.split("&")]
    values = [*query, *(value for _, value in parse_qsl(parts.query)), *headers.values()]
    segments = [spelling for one in parts.path.split("/") for spelling in (one, unquote(one))]
    return {one for one in values if len(one) >= SHORTEST_KEY} | {one for one in segments if len(one) >= SHORTEST_PATH}


def check_headers(headers: Mapping[str, object]) -> str | None:
    """None if these may go along; else a sentence naming the one that may not."""
    if len(headers) > MAX_HEADERS:
        return f"{len(headers)} headers are given, and at most {MAX_HEADERS} are sent."
    for name, value in headers.items():
        lower = name.lower()
        if not _NAME.fullmatch(name):
            return f"{name[:100]!r} isn't a header name: use letters, digits and dashes."
        if lower in _SECRET:
            return f"Header {name!r} can't be given: arguments are kept in the clear. Verify the signature instead."
        if lower in _OURS or lower.startswith(("webhook-", "proxy-")):
            return f"Header {name!r} is ours to set; leave it out."
        if not isinstance(value, str) or len(value) > MAX_HEADER or not _VALUE.fullmatch(value):
            return f"Header {name!r} must be a line of 1 to {MAX_HEADER} visible ASCII characters."
    return None


def _envelope(now: datetime, payload: object) -> bytes:
    run = current_run()
    data = {
        "run_id": run.run_id,
        "job_id": run.job_number,
        "scheduled_for": run.scheduled_for,
        "attempt": run.attempt,
        "epoch": run.epoch,
        "payload": payload,
    }
    return orjson.dumps({"type": "schedule.fired", "timestamp": now, "data": data}, option=orjson.OPT_UTC_Z)


def _signer(secret: str, number: int) -> standardwebhooks.Webhook:
    """The library would make something of nearly any text, so the form is checked first; the secret is never shown."""
    text = secret.removeprefix("whsec_")
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not 24 <= len(key) <= 64:
        raise ValueError(f"Webhook secret number {number} must be 'whsec_' and the base64 of 24 to 64 random bytes.")
    return standardwebhooks.Webhook(key)
