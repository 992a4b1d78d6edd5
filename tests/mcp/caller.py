"""A client of ours: it calls tools as any agent would, and checks what must hold of every answer."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import orjson
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.types import CallToolResult, TextContent, Tool

from tests.patience import PATIENCE

ERAS: Final = {"2026-07-28": "auto", "2025-11-25": "legacy"}
"""Each era of the protocol, and the mode in which a client speaks it."""

DIALECTS: Final = frozenset({
    "schedule_job", "list_jobs", "job_status", "cancel_job", "schedule", "schedule_list", "schedule_edit",
    "schedule_cancel", "delete_schedule", "pause_schedule", "resume_schedule",
})  # fmt: skip
"""The tools whose refusals are ordinary answers."""

type Answer = dict[str, Any]


class Caller:
    """Tools by name, answers as data or as text; each is held against the schema that its tool has published."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._tools: dict[str, Tool] = {}
        self._validators: dict[str, Draft202012Validator] = {}

    async def tools(self) -> dict[str, Tool]:
        if not self._tools:
            self._tools = {tool.name: tool for tool in (await self.client.list_tools()).tools}
        return self._tools

    async def raw(self, tool: str, /, **arguments: object) -> CallToolResult:
        result = await self.client.call_tool(tool, arguments)
        if not result.is_error:
            if tool not in self._validators:
                published = (await self.tools())[tool].output_schema
                assert published is not None
                self._validators[tool] = Draft202012Validator(published)
            self._validators[tool].validate(result.structured_content)  # pyright: ignore[reportUnknownMemberType]
        return result

    async def ask(self, tool: str, /, **arguments: object) -> Answer:
        """The answer as data; where the text is JSON it says exactly the same. An error is one for the client too,
        unless it is an ordinary answer in a dialect."""
        result = await self.raw(tool, **arguments)
        assert result.structured_content is not None, text_of(result)
        refused = "error" in result.structured_content and result.structured_content.keys() <= {
            "error",
            "hint",
            "choices",
        }
        assert result.is_error == (refused and tool not in DIALECTS), text_of(result)
        if text_of(result).startswith("{"):
            assert orjson.loads(text_of(result)) == result.structured_content
        return result.structured_content

    async def say(self, tool: str, /, **arguments: object) -> str:
        """The answer as text."""
        result = await self.raw(tool, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    async def refused(self, tool: str, /, **arguments: object) -> str:
        """The text of a tool error."""
        result = await self.raw(tool, **arguments)
        assert result.is_error, text_of(result)
        assert result.structured_content is None
        return text_of(result)

    async def said(self, tool: str, /, **arguments: object) -> str:
        """What the model reads, whether it is an answer or an error."""
        return text_of(await self.raw(tool, **arguments))


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def held[T](manager: AbstractAsyncContextManager[T]) -> AsyncGenerator[T]:
    """A context that one task enters and leaves, as cancel scopes want it, whichever task uses it meanwhile."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        try:
            async with manager as made:
                entered.set_result(made)
                await leave.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    task = asyncio.create_task(hold())
    try:
        yield await entered
    finally:
        leave.set()
        await task


async def until[T](look: Callable[[], Awaitable[T]], good: Callable[[T], bool], seconds: float = PATIENCE) -> T:
    """Look again and again until it is good."""
    async with asyncio.timeout(seconds):
        while not good(seen := await look()):
            await asyncio.sleep(0.05)
    return seen
