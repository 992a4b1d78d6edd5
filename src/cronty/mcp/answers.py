"""Builds tool results: the same data as text and as structured content; errors as sentences."""

from collections.abc import Mapping
from typing import NoReturn

import orjson
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent

from cronty.contract.result import Err
from cronty.jobs.moments import local_text as local_text

type Answer = Mapping[str, object]


def answer(data: Answer, text: str | None = None, *, is_error: bool = False) -> CallToolResult:
    """The same data twice: clients differ in which one they show to the model."""
    shown = text if text is not None else orjson.dumps(data).decode()
    return CallToolResult(
        content=[TextContent(type="text", text=shown)], structured_content=dict(data), is_error=is_error
    )


def sentence(err: Err, names: Mapping[str, str] | None = None) -> str:
    """The error and what to do next; `names` maps contract fields to the names used here."""
    field = err.field or ""
    message = err.message.replace(field, names[field], 1) if names and field in names else err.message
    if not err.hint:
        return message
    return f"{message} {err.hint}" if message.endswith((".", "?", "!")) else f"{message}. {err.hint}"


def as_error(err: Err, *, ordinary: bool = False) -> CallToolResult:
    """An `Err` as a tool error with the key `error`; `ordinary`: as the jobs dialect has it, in an ordinary result."""
    return answer(why(err), is_error=not ordinary)


def why(err: Err) -> Answer:
    """An `Err` as fields of an answer."""
    return {"error": err.message, **({"hint": err.hint} if err.hint else {}), **choices_of(err)}


def choices_of(err: Err) -> Answer:
    """What an ambiguous schedule may mean, as data beside the sentence."""
    return {"choices": [choice.to_json() for choice in err.choices]} if err.choices else {}


class ToolRefused(ToolError):
    """A tool error that has data for programs beside its text."""

    def __init__(self, err: Err, names: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence(err, names))
        self.data = choices_of(err)


def refuse(message: str) -> NoReturn:
    """Raise a tool error for the model to read and fix."""
    raise ToolError(message)
