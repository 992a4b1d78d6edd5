"""The one place where an `Err` becomes an answer over HTTP: problem details (RFC 9457) with the codes of the door."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any, Final, TypedDict, cast

import orjson
from starlette.responses import Response

from cronty.jobs.result import Err
from cronty.timing.errors import shown

PROBLEM_JSON: Final = "application/problem+json"
FAULT: Final = Err(
    "fault", "A fault in Cronty; nothing is known about the effect of this call.", "Look before you repeat it."
)
TOO_DEEP: Final = Err("bad_request", "The body is nested too deeply to be read.", "Flatten it.")

STATUS_OF: Final[Mapping[str, int]] = {
    "unauthorized": 401,
    "unauthenticated": 401,
    "missing_scope": 403,
    "not_allowed": 403,
    "foreign_origin": 403,
    "not_found": 404,
    "no_such_path": 404,
    "bad_method": 405,
    "not_editable": 409,
    "key_taken": 409,
    "owner_erased": 403,
    "already_running": 409,
    "not_pending": 409,
    "too_many_channels": 409,
    "version_conflict": 412,
    "too_large": 413,
    "misdirected": 421,
    "over_limit": 429,
    "too_many_listeners": 429,
    "fault": 500,
    "no_key": 501,
    "unavailable": 503,
}
"""Every other code says that something given was wrong."""

WRONG: Final = 422

_TITLES: Final = {413: "Content Too Large", 422: "Unprocessable Content"}
"""What versions of Python call differently."""


class Flaw(TypedDict):
    """What is wrong with one field: where it stands, its name, and why it can't be taken."""

    where: str
    field: str
    message: str


def status_of(code: str) -> int:
    return STATUS_OF.get(code, WRONG)


def title_of(status: int) -> str:
    return _TITLES.get(status) or HTTPStatus(status).phrase


def problem(err: Err, flaws: Sequence[Flaw] = (), headers: Mapping[str, str] | None = None) -> Response:
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
    if flaws:
        told["errors"] = list(flaws)
    extra = {"retry-after": "60"} if status == 503 else {}
    return Response(orjson.dumps(told), status, {**extra, **(headers or {})}, PROBLEM_JSON)


def bad_request(errors: Sequence[Any], known: Sequence[str]) -> Response:
    """What a request model found wrong, each field by its name; `known` are the names it has."""
    flaws = [_flaw(cast("Mapping[str, Any]", error), known) for error in errors][:20]
    first = flaws[0]
    named = f"{first['field']}: " if first["field"] else ""
    err = Err("bad_request", f"{named}{first['message']}", "Mend the fields named in `errors` and repeat the call.")
    return problem(err, flaws)


def _flaw(error: Mapping[str, Any], known: Sequence[str]) -> Flaw:
    place, *names = [str(part) for part in error["loc"]] or ["body"]
    if error["type"] == "json_invalid":
        reason = cast("Mapping[str, Any]", error.get("ctx", {})).get("error", "it ends too early")
        return Flaw(where="body", field="", message=_kept(f"The body isn't JSON: {reason}."))
    said = str(error["msg"]).rstrip(".")
    if error["type"] == "extra_forbidden":
        return Flaw(where=place, field=_kept(".".join(names)), message=_unknown(names[-1], known))
    elif isinstance(error.get("input"), str | int | float) and names[-1:] not in (["url"], []):
        said = f"{said}, not {shown(error['input'])}"  # a channel's URL is a secret, and a whole body too long
    return Flaw(where=place, field=_kept(".".join(names)), message=_kept(f"{said}."))


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:80], known, 1, cutoff=0.7)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"There is no such field.{meant} Known are: {', '.join(known) or 'none'}."


def _kept(text: str) -> str:
    """A caller may send half a surrogate pair; what we answer is UTF-8."""
    return text.encode(errors="replace").decode()
