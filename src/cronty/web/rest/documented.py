"""What the OpenAPI page says of answers: their shape, an example, and every status a call may end with."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from cronty.web.problems import PROBLEM_JSON, title_of

ALWAYS: Final = (401, 403, 421, 422, 500, 503)
"""What any call may end with: no token, not allowed, another host name, something wrong in it, a fault, no database."""

_CODES: Final[Mapping[int, tuple[str, str, str]]] = {
    401: ("unauthorized", "This server asks for a token.", "Send `Authorization: Bearer <key>`."),
    403: ("missing_scope", "This needs the scope run, which the token lacks.", "Use a token with the scope run."),
    404: ("not_found", "Job not found: job_7_1794729600", "It may have been deleted, or the id is wrong."),
    409: ("not_editable", "Job job_12_1794729600 is completed.", "Schedule a new one."),
    412: ("version_conflict", "Job job_12_1794729600 is at version 4, not 3.", "Look at it again."),
    413: ("too_large", "The body is larger than 1048576 bytes.", "Send less."),
    421: ("misdirected", "This server isn't called evil.example.", "Call it by a name it knows."),
    422: ("bad_trigger", "Invalid cron expression: 61 * * * *", "Minutes are 0 to 59."),
    429: ("over_limit", "There are 10000 jobs with something to come already.", "Cancel some first."),
    500: ("fault", "A fault in Cronty.", "Look before you repeat it."),
    501: ("no_key", "Channels need a key to encrypt their URLs with.", "Set CRONTY_SECRET_KEY."),
    503: ("unavailable", "The schedule database can't be used right now.", "Try again in a minute."),
}


class FlawShape(BaseModel):
    """What is wrong with one field of a request."""

    model_config = ConfigDict(extra="forbid", title="Flaw")

    where: str = Field(description="path, query, header or body.")
    field: str = Field(description="Its name; empty if it is the whole body.")
    message: str


class Problem(BaseModel):
    """Problem details (RFC 9457): what went wrong, for programs (`code`) and for people (`detail`, `hint`)."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="`urn:cronty:problem:` and the code.")
    title: str = Field(description="The status in words.")
    status: int
    code: str = Field(description="What went wrong, for programs: the same codes on every surface.")
    detail: str = Field(description="What was wrong, with the value.")
    hint: str | None = Field(None, description="What to do next.")
    errors: list[FlawShape] | None = Field(None, description="If the request itself was wrong: each field, by name.")


def responses_of(
    status: int, shape: type[BaseModel] | str | None, errors: Iterable[int], headers: Mapping[str, str]
) -> dict[int | str, dict[str, Any]]:
    """For one operation; `headers` are names with their meanings. A text is what a stream of events looks like."""
    told: dict[int | str, dict[str, Any]] = {one: _failure(one) for one in sorted({*ALWAYS, *errors})}
    success = told[status] = {"description": title_of(status)}
    if isinstance(shape, str):
        success["content"] = {"text/event-stream": {"schema": {"type": "string"}, "example": shape}}
    elif shape is not None:
        reference = {"$ref": f"#/components/schemas/{shape.__name__}"}
        success["content"] = {"application/json": {"schema": reference}}
    if headers:
        success["headers"] = {
            name: {"description": meaning, "schema": {"type": "string"}} for name, meaning in headers.items()
        }
    return dict(sorted(told.items(), key=str))


def add_examples(paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> None:
    """To every answer that of its shape; late, because FastAPI leaves out what is null."""
    contents = [
        content
        for methods in paths.values()
        for operation in methods.values()
        for told in operation["responses"].values()
        for content in told.get("content", {}).values()
    ]
    for content in contents:
        if "example" not in content:
            content["example"] = schemas[content["schema"]["$ref"].rsplit("/", 1)[1]]["examples"][0]


def _failure(status: int) -> dict[str, Any]:
    phrase = title_of(status)
    if status == 304:
        return {"description": phrase}
    code, detail, hint = _CODES[status]
    example = {"type": f"urn:cronty:problem:{code}", "title": phrase, "status": status, "code": code}
    content = {
        "schema": {"$ref": "#/components/schemas/Problem"},
        "example": {**example, "detail": detail, "hint": hint},
    }
    return {"description": phrase, "content": {PROBLEM_JSON: content}}
