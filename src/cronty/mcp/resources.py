"""MCP resources: cron examples, time zones, limits, a topic's reminders, a job."""

from typing import Final

import orjson
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from cronty.contract.answers import to_json
from cronty.contract.operation import Operation
from cronty.contract.operations import Operations
from cronty.contract.requests import ShowJob, ShowLimits
from cronty.contract.result import Err
from cronty.jobs.job import Filter
from cronty.mcp.answers import sentence
from cronty.mcp.context import ToolContext
from cronty.mcp.notifications import shown_notification
from cronty.scheduler.permission import lacks
from cronty.timing.zones import zone_names

_CRON_EXAMPLES: Final = """\
# Cron: minute hour day-of-month month day-of-week, in the schedule's own time zone

| cron | meaning |
| --- | --- |
| `0 9 * * *` | every day at 09:00 |
| `30 8 * * MON-FRI` | every weekday at 08:30 |
| `0 10 * * MON%2` | every second Monday at 10:00 |
| `*/15 9-17 * * 1-5` | every 15 minutes from 09:00 through 17:45 on weekdays |
| `0 17 L * *` | the last day of the month at 17:00 |
| `0 9 * * MON#1` | the first Monday of the month at 09:00 |
| `0 0 1 1 *` | New Year's Day at midnight |
| `@hourly` `@daily` `@weekly` `@monthly` | on the hour; at midnight; Sunday; the 1st |

If day-of-month and day-of-week are both given, either one is enough. On days when clocks change, a fixed time that
is skipped fires right after the gap, and one that comes twice fires the first time only.
Words work as well: "every weekday at 8:30", "last day of the month at 17:00". preview_schedule shows what they mean.
"""


def add_resources(server: MCPServer, context: ToolContext) -> None:
    @server.resource("cron://examples", title="Cron examples", mime_type="text/markdown")
    def cron_examples() -> str:  # pyright: ignore[reportUnusedFunction]
        """Cron expressions people need, with what they mean."""
        return _CRON_EXAMPLES

    @server.resource("timezones://valid", title="Time zones", mime_type="application/json")
    def valid_timezones() -> str:  # pyright: ignore[reportUnusedFunction]
        """Every time zone name that is accepted."""
        return orjson.dumps(zone_names()).decode()

    @server.resource("schedules://{topic}", title="Reminders of a topic", mime_type="application/json")
    async def schedules(topic: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """The reminders still to come for one notification topic."""
        await context.ready()
        return await read_topic(context, topic)

    @server.resource("limits://mine", title="My limits", mime_type="application/json")
    async def limits() -> str:  # pyright: ignore[reportUnusedFunction]
        """This owner's limits, and how much of them is used."""
        await context.ready()
        return await _read(context, Operations.show_limits, ShowLimits())

    @server.resource("job://{job_id}", title="A job", mime_type="application/json")
    async def job(job_id: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """One job in full, with its last runs."""
        await context.ready()
        return await read_job(context, job_id)


async def read_topic(context: ToolContext, topic: str) -> str:
    if refused := lacks(context.who(), "read", "This"):
        raise ResourceError(sentence(refused))
    wanted = Filter("pending", task="notify", topic=topic)
    result = await context.ask(context.service.scheduler.list_jobs(context.caller(), wanted, 100))
    if isinstance(result, Err):
        raise ResourceError(sentence(result))
    jobs = [shown_notification(job) for job in result.value.jobs]
    return orjson.dumps({"notification_topic": topic, "schedules": jobs, "count": result.value.total}).decode()


async def read_job(context: ToolContext, job_id: str) -> str:
    return await _read(context, Operations.job_status, ShowJob(job_id))


async def _read[R, A](context: ToolContext, operation: Operation[..., R, A], request: R) -> str:
    result = await context.answer(operation, request)
    if isinstance(result, Err):
        raise (ResourceNotFoundError if result.code == "not_found" else ResourceError)(sentence(result))
    return orjson.dumps(to_json(result.value)).decode()
