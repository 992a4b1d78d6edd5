"""Turns an `Err` into an HTTP response: problem details (RFC 9457) with the contract's codes."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import orjson
from starlette.responses import Response

from cronty.contract.codes import status_of
from cronty.contract.result import Err

PROBLEM_JSON: Final = "application/problem+json"
FAULT: Final = Err(
    "fault", "Cronty failed unexpectedly; the call may or may not have taken effect.", "Check before you repeat it."
)
TOO_DEEP: Final = Err("bad_request", "The body is nested too deeply to be read.", "Flatten it.")

_TITLES: Final = {413: "Content Too Large", 422: "Unprocessable Content"}
"""Titles that differ between Python versions."""


def title_of(status: int) -> str:
    return _TITLES.get(status) or HTTPStatus(status).phrase


def problem(err: Err, headers: Mapping[str, str] | None = None) -> Response:
    status = status_of(err.code)
    details: dict[str, object] = {
        "type": f"urn:cronty:problem:{err.code}",
        "title": title_of(status),
        "status": status,
        "code": err.code,
        "detail": _kept(err.message),
    }
    if err.hint:
        details["hint"] = _kept(err.hint)
    if err.field:
        details["field"] = _kept(err.field)
    if err.choices:
        details["choices"] = [choice.to_json() for choice in err.choices]
    extra = {"retry-after": "60"} if status == 503 else {}
    return Response(orjson.dumps(details), status, {**extra, **(headers or {})}, PROBLEM_JSON)


def _kept(text: str) -> str:
    """Replace half surrogate pairs, which a caller may send and UTF-8 can't hold."""
    return text.encode(errors="replace").decode()
