"""The one place where an `Err` becomes an answer over HTTP: problem details (RFC 9457) with the codes of the door."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import orjson
from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.result import Err

PROBLEM_JSON: Final = "application/problem+json"
FAULT: Final = Err(
    "fault", "A fault in Cronty; nothing is known about the effect of this call.", "Look before you repeat it."
)
TOO_DEEP: Final = Err("bad_request", "The body is nested too deeply to be read.", "Flatten it.")

_TITLES: Final = {413: "Content Too Large", 422: "Unprocessable Content"}
"""What versions of Python call differently."""


def title_of(status: int) -> str:
    return _TITLES.get(status) or HTTPStatus(status).phrase


def problem(err: Err, headers: Mapping[str, str] | None = None) -> Response:
    status = status_of(err.code)
    told: dict[str, object] = {
        "type": f"urn:cronty:problem:{err.code}",
        "title": title_of(status),
        "status": status,
        "code": err.code,
        "detail": _kept(err.message),
    }
    if err.hint:
        told["hint"] = _kept(err.hint)
    if err.field:
        told["field"] = _kept(err.field)
    extra = {"retry-after": "60"} if status == 503 else {}
    return Response(orjson.dumps(told), status, {**extra, **(headers or {})}, PROBLEM_JSON)


def _kept(text: str) -> str:
    """A caller may send half a surrogate pair; what we answer is UTF-8."""
    return text.encode(errors="replace").decode()
