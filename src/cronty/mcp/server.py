"""The MCP server: which tools it offers, and how their arguments and errors are handled."""

import logging
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple, get_args, override

import orjson
from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult, TextContent, Tool

from cronty.contract.caller import Caller
from cronty.contract.result import Err
from cronty.mcp.agenda import AgendaTools
from cronty.mcp.agent_skills import Skills
from cronty.mcp.answers import Answer, ToolRefused, sentence
from cronty.mcp.arguments import BadArguments, fit
from cronty.mcp.auth import Verifier
from cronty.mcp.client_info import note_client
from cronty.mcp.context import ToolContext
from cronty.mcp.jobs import JobTools
from cronty.mcp.notifications import NotificationTools
from cronty.mcp.prompts import add_prompts
from cronty.mcp.resources import add_resources
from cronty.mcp.table import call, group_of, table_tools, tool_of
from cronty.mcp.tool import RENAMED, Group, Spec, listed, make_tool
from cronty.mcp.watch import Watch
from cronty.scheduler.permission import not_permitted
from cronty.scheduler.service import AWAY, StoreUnavailable

GROUPS: Final[tuple[Group, ...]] = get_args(Group.__value__)
INSTRUCTIONS: Final = (
    "Cronty schedules things for later and fires them even when every client is closed. Reminders to a phone: "
    "schedule_notification (once), schedule_cron_notification (recurring). Prompts for an agent: schedule; they "
    "arrive in read_inbox. Registered tasks and webhooks: schedule_job. Times may be given in words "
    '("every weekday at 8:30"); preview_schedule shows what they mean. Call read_inbox when a conversation begins.'
)
PLANS: Final = frozenset({
    "schedule_job", "edit_job", "change_slot", "schedule", "schedule_edit", "schedule_notification",
    "schedule_cron_notification",
})  # fmt: skip
"""Tools whose answers promise that something will happen later."""

_IN_PYTHON: Final = {outside: inside for inside, outside in RENAMED.items()}

_LONGEST_ERROR: Final = 4000
"""Characters: some errors repeat what was given."""

log = logging.getLogger("cronty.mcp")


class Auth(NamedTuple):
    """For a server that requires tokens: what reads them, and what clients without one are told."""

    verifier: Verifier
    settings: AuthSettings


class CrontyServer(MCPServer[Any]):
    """One server object for stdio and HTTP, for old and new versions of the protocol."""

    def __init__(
        self,
        context: ToolContext,
        groups: Sequence[Group] = GROUPS,
        auth: Auth | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        """`read_only` is said to whoever calls a tool that changes something; the caller has no scope for it."""
        self._context = context
        self._read_only = read_only
        self._offered = {*groups, "time"}
        self._operations = {name: one for name, one in table_tools().items() if group_of(one) in self._offered}
        self._specs = {spec.name: spec for spec in dialect_specs(context) if spec.group in self._offered}
        tools = [make_tool(spec) for spec in self._specs.values()]
        self._tools = grouped_tools(context)
        self._schemas = {tool.name: tool.input_schema for _, tool in self._tools}
        watch = Watch(context)
        super().__init__(
            "cronty",
            title="Cronty",
            version=version("cronty"),
            instructions=INSTRUCTIONS,
            tools=tools,
            extensions=[Skills()],
            subscriptions=watch,
            middleware=[watch.middleware],
            cache_hints={"tools/list": CacheHint(ttl_ms=300_000, scope="public" if auth is None else "private")},
            log_level="WARNING",
            token_verifier=None if auth is None else auth.verifier,
            auth=None if auth is None else auth.settings,
        )
        add_resources(self, context)
        add_prompts(self)

    async def list_tools(self) -> list[Tool]:
        """The tools that this caller may use."""
        caller = self._context.who()
        offered = [tool for group, tool in self._tools if group in self._offered]
        return [tool for tool in offered if self._not_permitted(tool.name, caller) is None]

    def _not_permitted(self, name: str, caller: Caller) -> Err | None:
        """Why this caller may not call a tool, or None."""
        spec = self._specs.get(name)
        if spec is None:
            return not_permitted(self._operations[name], caller)
        return not_permitted(spec.operation, caller, spec.kind, name)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        known = self._operations.get(name) or self._specs.get(name)
        if known is None:
            names = ", ".join(tool.name for tool in await self.list_tools())
            return tool_error(f"Unknown tool: {name[:80]}. Known tools: {names}.")
        if refused := self._not_permitted(
            name, self._context.who()
        ):  # before arguments: it names the tool and its kind
            if self._read_only:
                return tool_error(f"{name} changes something, and this server only reads: it was started --read-only.")
            return tool_error(sentence(refused))
        try:
            if isinstance(known, Spec):
                return await self._warned(name, await self._call_dialect(known, arguments, context))
            await self._context.ready()
            note_client(context)
            done = await call(known, self._context.service, self._context.caller(), arguments)
            return await self._warned(name, done)
        except BadArguments as bad:
            return tool_error(str(bad))
        except ToolError as refused:
            reason = refused.__cause__ or refused
            return tool_error(str(reason), reason.data if isinstance(reason, ToolRefused) else None)
        except Exception as fault:
            if isinstance(fault.__cause__, StoreUnavailable):
                return tool_error(sentence(AWAY))
            log.exception("tool %s failed", name)
            return tool_error(f"{name} failed unexpectedly in Cronty; it may or may not have taken effect.")

    @override
    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        try:
            return await super().get_prompt(name[:80], arguments, context)
        except ValueError as wrong:  # an unknown name, or arguments that don't fit: the caller's mistake, not a fault
            raise MCPError(INVALID_PARAMS, str(wrong)[:_LONGEST_ERROR]) from None

    async def _warned[R](self, name: str, done: R) -> R:
        """The answer of a tool that plans something, with a warning if nothing would come of it."""
        if name not in PLANS or not isinstance(done, CallToolResult) or done.is_error:
            return done
        data = done.structured_content
        if data is None or "error" in data or (warning := await self._context.warning()) is None:
            return done
        data["warning"] = warning
        for one in done.content:
            if isinstance(one, TextContent):  # which says the same as the data, or the same in words
                one.text = orjson.dumps(data).decode() if one.text.startswith("{") else f"{one.text} Warning: {warning}"
        return done

    async def _call_dialect(
        self, spec: Spec, arguments: dict[str, Any], context: Context[Any, Any] | None
    ) -> CallToolResult | InputRequiredResult:
        given = arguments if spec.tidy is None else spec.tidy(arguments)
        fitted = fit(self._schemas[spec.name], given)
        await self._context.ready()
        note_client(context)
        named = {_IN_PYTHON.get(key, key): fitted[key] for key in fitted}
        return await super().call_tool(spec.name, named, context)


def tool_error(text: str, data: Answer | None = None) -> CallToolResult:
    text = text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"
    structured = {"error": text, **data} if data else None
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True, structured_content=structured)


def dialect_specs(context: ToolContext) -> Iterable[Spec]:
    """The tools that aren't in the table, always in this order."""
    for dialect in (JobTools, NotificationTools, AgendaTools):
        yield from dialect(context).specs()


def grouped_tools(context: ToolContext) -> list[tuple[Group, Tool]]:
    """Every tool there is, group by group, the table's before the dialects' own."""
    of_group: dict[Group, list[Tool]] = {group: [] for group in GROUPS}
    for operation in table_tools().values():
        of_group[group_of(operation)].append(tool_of(operation))
    for spec in dialect_specs(context):
        of_group[spec.group].append(listed(make_tool(spec)))
    return [(group, tool) for group, tools in of_group.items() for tool in tools]
