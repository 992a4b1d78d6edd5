"""The MCP server: which tools there are, and the one place where their arguments and faults are handled."""

import logging
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple, get_args

from mcp.server import MCPServer
from mcp.server.auth.settings import AuthSettings
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent

from cronty.jobs.caller import acting
from cronty.mcp.agenda import AgendaTools
from cronty.mcp.answers import sentence
from cronty.mcp.arguments import BadArguments, fit
from cronty.mcp.auth import Verifier
from cronty.mcp.clock import ClockTools
from cronty.mcp.desk import Desk
from cronty.mcp.inbox import InboxTools
from cronty.mcp.jobs import JobTools
from cronty.mcp.notifications import NotificationTools
from cronty.mcp.origin import note_origin, origin
from cronty.mcp.prompts import add_prompts
from cronty.mcp.resources import add_resources
from cronty.mcp.tool import RENAMED, Group, Spec, make_tool
from cronty.mcp.watch import Watch
from cronty.scheduler.doors import AWAY
from cronty.store.database import StoreUnavailable

GROUPS: Final[tuple[Group, ...]] = get_args(Group.__value__)
INSTRUCTIONS: Final = (
    "Cronty schedules things for later and keeps doing so when every client is closed. Reminders to a phone: "
    "schedule_notification (once), schedule_cron_notification (recurring). Prompts for an agent: schedule; they "
    "arrive in read_inbox. Registered tasks and webhooks: schedule_job. Times may be said in words "
    '("every weekday at 8:30"); preview_schedule shows what they mean. Call read_inbox when a conversation begins.'
)
_IN_PYTHON: Final = {outside: inside for inside, outside in RENAMED.items()}

log = logging.getLogger("cronty.mcp")


class Auth(NamedTuple):
    """For a server that asks for tokens: who reads them, and what clients without one are told."""

    verifier: Verifier
    settings: AuthSettings


class CrontyServer(MCPServer[Any]):
    """One server object for stdio and HTTP, for both eras of the protocol."""

    def __init__(self, desk: Desk, groups: Sequence[Group] = GROUPS, auth: Auth | None = None) -> None:
        self._desk = desk
        self._specs = {spec.name: spec for spec in all_specs(desk) if spec.group in {*groups, "time"}}
        tools = [make_tool(spec) for spec in self._specs.values()]
        self._schemas = {tool.name: tool.parameters for tool in tools}
        watch = Watch(desk)
        super().__init__(
            "cronty",
            title="Cronty",
            version=version("cronty"),
            instructions=INSTRUCTIONS,
            tools=tools,
            subscriptions=watch,
            middleware=[watch.middleware],
            cache_hints={"tools/list": CacheHint(ttl_ms=300_000, scope="public")},
            log_level="WARNING",
            token_verifier=None if auth is None else auth.verifier,
            auth=None if auth is None else auth.settings,
        )
        add_resources(self, desk)
        add_prompts(self)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        spec = self._specs.get(name)
        if spec is None:
            return tool_error(f"Unknown tool: {name}. There are: {', '.join(self._specs)}.")
        caller = self._desk.caller()
        if not caller.may(spec.scope):
            return tool_error(f"{name} needs the scope {spec.scope}, which this token lacks. Ask for a token with it.")
        try:
            given = arguments if spec.tidy is None else spec.tidy(arguments)
            fitted = fit(self._schemas[name], given)
            await self._desk.ready()
            note_origin(context, caller.agent)
            named = {_IN_PYTHON.get(key, key): fitted[key] for key in fitted}
            with acting(caller, {**origin(), "tool": name}):
                return await super().call_tool(name, named, context)
        except BadArguments as bad:
            return tool_error(str(bad))
        except UnexpectedToolError as fault:
            if isinstance(fault.__cause__, StoreUnavailable):
                return tool_error(sentence(AWAY))
            log.exception("tool %s failed", name)
            return tool_error(f"{name} failed because of a fault in Cronty; nothing is known about its effect.")
        except ToolError as refused:
            return tool_error(str(refused.__cause__ or refused))


def tool_error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def all_specs(desk: Desk) -> Iterable[Spec]:
    """Every tool, always in this order."""
    for dialect in (JobTools, NotificationTools, AgendaTools, InboxTools, ClockTools):
        yield from dialect(desk).specs()
