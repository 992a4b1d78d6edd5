"""The agenda dialect: prompts that an agent leaves for itself or for another."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final

from mcp.types import CallToolResult
from pydantic import Field

from cronty.contract.answers import ScheduledJob
from cronty.contract.operations import Operations
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.ids import read_job_id
from cronty.jobs.job import STATUSES, Job
from cronty.jobs.moments import moment_text
from cronty.mcp.answers import Answer, answer, choices_of, local_text, sentence
from cronty.mcp.context import ToolContext
from cronty.mcp.shapes import AgendaChange, AgendaList
from cronty.mcp.tool import Spec
from cronty.scheduler.agenda import NOT_PENDING, Agenda, When
from cronty.scheduler.moments import read_span
from cronty.timing import Once, describe
from cronty.timing.describe import with_count

ACCEPTED: Final = (
    'Use ISO 8601 ("2027-01-31T09:00:00+01:00", or without an offset in timezone), times in words '
    '("tomorrow at 9:00", "in 2h30m", "next Friday 17:00"), and rules ("every weekday at 8:30").'
)
TaskNumber = Annotated[int, Field(description="The task's number, as schedule or schedule_list gave it.")]
At = Annotated[str, Field(description='When: ISO 8601 or words, e.g. "tomorrow at 9:00", "every weekday at 8:30".')]


class AgendaTools:
    """Each tool answers with a text for the model and the same data as structured content."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    @property
    def _agenda(self) -> Agenda:
        return Agenda(self._context.service)

    def specs(self) -> list[Spec]:
        return [
            Spec(self.schedule, "Put a prompt on the agenda", "agenda", Operations.schedule_job, "prompt"),
            Spec(self.schedule_list, "List the agenda", "agenda", Operations.list_jobs),
            Spec(self.schedule_edit, "Change an agenda item", "agenda", Operations.edit_job, "prompt", _any_id),
            Spec(self.schedule_cancel, "Cancel an agenda item", "agenda", Operations.cancel_job, "prompt", _any_id),
        ]

    async def schedule(
        self,
        at: At,
        prompt: Annotated[str, Field(description="What the agent should do then, complete in itself.")],
        agent: Annotated[
            str | None, Field(description="Which agent it is for. Default: the first one that reads the inbox.")
        ] = None,
        timezone: Annotated[
            str | None, Field(description="IANA time zone of at. Default: the owner's, else UTC.")
        ] = None,
        every: Annotated[str | None, Field(description='Repeat from at on, e.g. "2h", "1 day".')] = None,
        cron: Annotated[str | None, Field(description="Repeat by cron from at on, e.g. 0 9 * * 1-5.")] = None,
    ) -> Annotated[CallToolResult, AgendaChange]:
        """Schedule a prompt for an agent (yourself or another): it lands in the inbox at that time and waits there
        until it is read with read_inbox, or wakes a registered agent. Use it to act later. For a reminder to a
        person's phone use schedule_notification.
        Example: {"at": "every weekday at 8:00", "prompt": "Look at my pull requests."}"""
        if every is not None and cron is not None:
            return _error("Give every or cron, not both.")
        when, starts_at = _when(at, every, cron)
        result = await self._agenda.add(
            self._context.caller(), prompt, when, agent=agent, timezone=timezone, starts_at=starts_at
        )
        if isinstance(result, Err):
            if every is not None and result.code == "unreadable":
                return _error(f'could not parse every: "{every}". Write how often, as in "2h" or "1 day".')
            if result.field == "starts_at" and result.code == "bad_trigger":
                return _error(f'"{at}" isn\'t one moment to start from. {_STARTS}')
            return _unread(at, result)
        item = _made(result.value, prompt, agent)
        text = f'Scheduled task #{item.number} for {item.time}: "{_cut(prompt, 80)}"'
        return answer({"task": item.row}, text + item.rule)

    async def schedule_list(
        self,
        status: Annotated[str, Field(description="pending, running, completed, failed or cancelled.")] = "pending",
        from_: Annotated[str | None, Field(description="Only from this time or date on, e.g. tomorrow.")] = None,
        to: Annotated[str | None, Field(description="Only up to and including this time or date.")] = None,
    ) -> Annotated[CallToolResult, AgendaList]:
        """List the agenda (scheduled prompts) by status and date range, soonest first.
        Example: {"from": "2027-01-31", "to": "2027-02-06"}"""
        context, caller = self._context, self._context.caller()
        if status not in STATUSES:
            return _error(f'unknown status "{status}". Use one of: {", ".join(STATUSES)}.')
        span = await context.ask(read_span(context.service.scheduler, caller, from_, to))
        if isinstance(span, Err):
            return _error(sentence(span))
        result = await context.ask(self._agenda.list(caller, status, span.value.since, span.value.until))
        if isinstance(result, Err):
            return _error(sentence(result))
        jobs = result.value
        items = [_item(job) for job in jobs[:_MOST]]
        rows = {"tasks": [item.row for item in items], "count": len(jobs)}
        if not jobs:
            return answer(rows, "No scheduled tasks found matching filters.")
        lines = [
            f"#{one.number}  {one.time}  [{'paused' if one.paused else one.status}]  {_cut(one.prompt, 60)}{one.rule}"
            for one in items
        ]
        if len(jobs) > _MOST:
            lines.append(f"… and {len(jobs) - _MOST} more: narrow it down with from and to.")
        return answer(rows, "\n".join(lines))

    async def schedule_edit(
        self,
        id: TaskNumber,
        at: Annotated[str | None, Field(description="A new time, as in schedule.")] = None,
        prompt: Annotated[str | None, Field(description="A new prompt.")] = None,
    ) -> Annotated[CallToolResult, AgendaChange]:
        """Change the time or the prompt of a pending agenda item; give at least one.
        Example: {"id": 12, "at": "tomorrow at 10:00"}"""
        if at is None and prompt is None:
            return _error("nothing to change: give at, prompt, or both.")
        caller = self._context.caller()
        if at is not None and not at.strip().lower().startswith("every"):
            found = await self._context.ask(self._agenda.pending(caller, id))
            if isinstance(found, Ok) and not isinstance(found.value.trigger, Once):
                return _error(f"task #{id} repeats: give a rule (every weekday at 9:00), or schedule a new task.")
        when = None if at is None else _when(at)[0]
        result = await self._changed(id, self._agenda.edit(caller, id, prompt, when))
        if result is NOT_PENDING:
            return _error(f"Task #{id} not found or not editable (only pending tasks can be edited).", plain=True)
        if isinstance(result, Err):
            return _unread(at or "", result)
        item = _item(result.value)
        text = f'Updated task #{id}: {item.time}: "{_cut(item.prompt, 80)}"'
        return answer({"task": item.row}, text + item.rule)

    async def schedule_cancel(self, id: TaskNumber) -> Annotated[CallToolResult, AgendaChange]:
        """Cancel a pending agenda item (scheduled prompt) by its number. Example: {"id": 12}"""
        result = await self._changed(id, self._agenda.cancel(self._context.caller(), id))
        if result is NOT_PENDING:
            return _error(f"Task #{id} not found or not editable (only pending tasks can be cancelled).", plain=True)
        if isinstance(result, Err):
            return _error(sentence(result))
        return answer({"task": _item(result.value).row}, f"Cancelled task #{id}.")

    async def _changed(self, number: int, change: Awaitable[Result[object]]) -> Result[Job]:
        """The item after a change, with what the answer to the change doesn't say of one that doesn't fire."""
        changed = await self._context.ask(change)
        if isinstance(changed, Err):
            return changed
        return await self._context.ask(self._context.service.scheduler.show(self._context.caller(), number))


_MOST: Final = 100
_STARTS: Final = (
    'With every or cron, at is the first moment ("tomorrow at 9:00"); or give the whole rule as at, and leave them out.'
)


def _when(at: str, every: str | None = None, cron: str | None = None) -> tuple[When, str | None]:
    """The trigger, and its start if `at` is only the start of a repeating one."""
    if cron is not None:
        return ("cron", {"expression": cron}), at
    if every is not None:
        text = every.strip()
        return ("words", {"text": text if text.lower().startswith("every") else f"every {text}"}), at
    return ("words", {"text": at}), None


def _any_id(arguments: Mapping[str, object]) -> dict[str, object]:
    """Accept `#12`, `job_12_1738764000` and `scd_c` as the number 12: lists show all of these forms."""
    given = arguments.get("id")
    number = read_job_id(given) if isinstance(given, str) else None
    return {**arguments} if number is None else {**arguments, "id": number}


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


@dataclass(frozen=True, slots=True)
class Item:
    """An agenda item, as the tools show it."""

    number: int
    at: datetime | None
    zone: str
    status: str
    prompt: str
    agent: object
    schedule: str
    repeats: bool
    max_runs: int | None
    paused: bool = False

    @property
    def time(self) -> str:
        return local_text(self.at, self.zone) if self.at else "no time"

    @property
    def rule(self) -> str:
        """What the time alone doesn't say: that it repeats and how, and which agent it is for."""
        rule = with_count(self.schedule, self.zone, self.max_runs) if self.repeats else ""
        parts = [part for part in (rule, f"for {self.agent}" if self.agent else "") if part]
        return f" ({', '.join(parts)})" if parts else ""

    @property
    def row(self) -> dict[str, object]:
        return {
            "id": self.number,
            "at": moment_text(self.at, self.zone),
            "status": self.status,
            "prompt": self.prompt,
            "agent": self.agent,
            "schedule": self.schedule,
            "timezone": self.zone,
            **({"paused": True} if self.paused else {}),
        }


def _item(job: Job) -> Item:
    kwargs, repeats = job.action.kwargs, not isinstance(job.trigger, Once)
    said, schedule = str(kwargs.get("prompt", "")), describe(job.trigger, job.zone)
    return Item(
        job.number, job.fire_at, job.zone, job.status, said, kwargs.get("agent"), schedule, repeats, job.max_runs,
        paused=job.state == "paused",
    )  # fmt: skip


def _made(job: ScheduledJob, prompt: str, agent: str | None) -> Item:
    # What repeats has further runs, or says when it ends.
    repeats = len(job.next_runs) > 1 or job.max_runs is not None or job.ends_at is not None
    number = read_job_id(job.job_id) or 0
    return Item(number, job.next_run, job.timezone, job.status, prompt, agent, job.schedule, repeats, job.max_runs)


def _error(text: str, *, plain: bool = False, choices: Answer = MappingProxyType({})) -> CallToolResult:
    message = text if plain else f"Error: {text}"
    return answer({"error": message, **choices}, message)


def _unread(at: str, err: Err) -> CallToolResult:
    """The error; for a time that can't be read, in this dialect's own words."""
    if err.code == "unreadable":
        return _error(f'could not parse "{at}" as a date/time. {ACCEPTED}')
    return _error(sentence(err), choices=choices_of(err))
