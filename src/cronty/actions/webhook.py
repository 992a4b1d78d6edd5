"""Signed webhooks, by the rules of Standard Webhooks."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from re import compile as pattern
from typing import Annotated, Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
from pydantic import Field

from cronty.actions.outbound import CallRefused, Outbound, require_success, untrusted_text, without
from cronty.actions.signatures import Keys, Kind, secrets_of, signers_of
from cronty.actions.tasks import PermanentError, current_run
from cronty.tracing import headers as headers_of_span

MAX_HEADERS: Final = 20
MAX_HEADER: Final = 4096
MAX_RESPONSE: Final = 2048
MAX_SAID: Final = 200
FIRED: Final = "schedule.fired"
WOKEN: Final = "agent.woken"
SHORTEST_KEY: Final = 8
SHORTEST_PATH: Final = 16
"""From how many characters on a part of a path may be a key, as chat services have it, and not just a word."""

_NAME: Final = pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE: Final = pattern(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_OURS: Final = frozenset({
    "host", "content-length", "content-type", "content-encoding", "user-agent", "accept-encoding", "expect",
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "traceparent", "tracestate",
})  # fmt: skip
_SECRET: Final = frozenset({"authorization", "proxy-authorization", "cookie"})


type Whose = Callable[[int], Awaitable[str | None]]
"""The name of an owner by its id; None if it isn't there any more."""


class Webhook:
    """Each of the installation's `keys` signs, so that receivers can change over; without any nothing is signed."""

    def __init__(
        self, outbound: Outbound, whose: Whose, keys: Keys = tuple, *, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._outbound = outbound
        self._whose = whose
        self._keys = keys
        self._clock = clock or partial(datetime.now, UTC)

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
        owner = await self._whose(current_run().owner_id)
        if owner is None:
            raise PermanentError("Its owner isn't there any more.")
        if flaw := self.check(url, headers, method, owner):
            raise PermanentError(flaw)
        content = _content(FIRED, self._clock(), {"owner": owner, **_run(), "payload": body})
        return await self._call(method, url, headers or {}, content, ("webhook", owner), owner)

    async def wake(self, agent: str, url: str, owner: str, envelope: object) -> dict[str, object]:
        """Wake an agent of the operator's, at a URL of the operator's and with the key of that agent."""
        content = _content(WOKEN, self._clock(), {"owner": owner, "agent": agent, **_run(), "payload": envelope})
        return await self._call("POST", url, {}, content, ("wake", agent), None)

    async def _call(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes,
        signed_for: tuple[Kind, str],
        owner: str | None,
    ) -> dict[str, object]:
        now, keys = self._clock(), self._keys()
        ours = {**self._signed(now, content, keys, signed_for), **headers_of_span(), "content-type": "application/json"}
        answer = await self._outbound.send(method, url, headers={**headers, **ours}, body=content, owner=owner)
        secrets = {*secrets_of(keys, *signed_for), *confidential(url, headers)}
        said = without(secrets, answer.body.decode(errors="replace"))
        require_success(answer, urlsplit(url).hostname or url, untrusted_text(said, MAX_SAID))
        response = untrusted_text(said, MAX_RESPONSE + 1, lines=True)
        return {
            "status": answer.status,
            "response": response[:MAX_RESPONSE],
            "truncated": answer.truncated or len(response) > MAX_RESPONSE,
        }

    def check(
        self,
        url: str,
        headers: Mapping[str, object] | None = None,
        method: str = "POST",
        owner: str | None = None,
    ) -> str | None:
        """None if it could be sent; else a sentence saying why not. Resolves nothing and sends nothing."""
        if method not in ("POST", "PUT"):
            return f"method must be POST or PUT, not {method!r}."
        try:
            self._outbound.check(url, owner)
        except CallRefused as refused:
            return str(refused)
        return check_headers(headers or {})

    def _signed(
        self, now: datetime, content: bytes, keys: Sequence[bytes], signed_for: tuple[Kind, str]
    ) -> dict[str, str]:
        """A new moment, and so a new signature, for every attempt; the id stays."""
        message_id = current_run().idempotency_key
        headers = {"webhook-id": message_id, "webhook-timestamp": str(int(now.timestamp()))}
        if keys:
            signers = signers_of(keys, *signed_for)
            signatures = [signer.sign(message_id, now, content.decode()) for signer in signers]
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


def _content(kind: str, now: datetime, data: Mapping[str, object]) -> bytes:
    return orjson.dumps({"type": kind, "timestamp": now, "data": data}, option=orjson.OPT_UTC_Z)


def _run() -> dict[str, object]:
    run = current_run()
    return {
        "run_id": run.run_id,
        "job_id": run.job_number,
        "scheduled_for": run.scheduled_for,
        "attempt": run.attempt,
        "epoch": run.epoch,
    }
