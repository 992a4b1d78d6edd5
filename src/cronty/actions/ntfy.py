"""Publishing to an ntfy server."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from re import compile as pattern
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

import orjson

from cronty.actions.outbound import Answer, CallFailed, CallRejected, Outbound, require_success, untrusted_text
from cronty.actions.tasks import current_run

MAX_SAID: Final = 200

PROBE: Final = "cronty_probe"
"""No message has this id: having it taken back shows whether a server can do that."""

_MESSAGE_ID: Final = pattern(r"[A-Za-z0-9_-]{1,64}")


class NotNtfy(CallRejected):
    """It said yes, but not as ntfy does: it may have taken it."""


class Ahead(NamedTuple):
    """When ntfy is to send it, and the id under which it can be replaced or taken back until then."""

    at: datetime
    sequence: str


async def publish(
    outbound: Outbound,
    server: str,
    token: str | None,
    fields: Mapping[str, object],
    *,
    owner: str | None = None,
    confidential: bool = False,
    ahead: Ahead | None = None,
    sequence: str | None = None,
) -> dict[str, object]:
    """Post the fields, and answer with what ntfy says of it. `confidential`: nothing in the server's words is kept.
    `owner` is whose server it is, None for the operator's. `ahead`: ntfy keeps it, and sends it when it is time.
    `sequence` is the id of the message that it replaces, if that isn't the run's."""
    given = {name: value for name, value in fields.items() if value is not None and value is not False}
    headers = _headers(token)
    if ahead is not None:
        given["delay"] = str(int(ahead.at.timestamp()))
        sequence = ahead.sequence
    if sequence is not None:
        headers["x-sequence-id"] = sequence
    answer = await outbound.send("POST", server, headers=headers, body=orjson.dumps(given), owner=owner)
    host = urlsplit(server).hostname or server
    require_success(answer, host, "" if confidential else _said(answer, token))
    return _facts(answer, fields["topic"], host)


async def take_back(
    outbound: Outbound, server: str, token: str | None, topic: str, sequence: str, *, owner: str | None
) -> None:
    """Have ntfy forget what it was given ahead; it is no fault if it has nothing of that id."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    answer = await outbound.send("DELETE", f"{server}{topic}/{sequence}", headers=headers, owner=owner)
    require_success(answer, urlsplit(server).hostname or server)


def _headers(token: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    with suppress(LookupError):  # when somebody tries it out, outside of a run
        # The same for every attempt: whoever got the first one after all replaces it by the second.
        headers["x-sequence-id"] = current_run().idempotency_key
    return headers


def _said(answer: Answer, token: str | None) -> str:
    said = _read(answer).get("error")
    text = said if isinstance(said, str) else ""
    return untrusted_text(text.replace(token, "[token]") if token else text, MAX_SAID)


def _read(answer: Answer) -> Mapping[str, object]:
    try:
        read: object = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}
    return cast("Mapping[str, object]", read) if isinstance(read, dict) else {}


def _facts(answer: Answer, topic: object, host: str) -> dict[str, object]:
    """What we keep of ntfy's answer, each part only if it looks like what it should be."""
    read = _read(answer)
    message_id, time = read.get("id"), read.get("time")
    if answer.body.startswith(b"{") and not answer.body.rstrip().endswith(b"}"):
        raise CallFailed(f"{host!r} answered {answer.status}, but the answer was cut off.", "protocol")
    if not isinstance(message_id, str) or not _MESSAGE_ID.fullmatch(message_id):
        raise NotNtfy(f"{host!r} answered {answer.status}, but not as ntfy does. Check the address of the server.")
    return {"id": message_id, "topic": topic, "time": time if type(time) is int else None}
