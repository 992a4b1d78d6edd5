"""The agenda dialect: prompts that an agent leaves for itself or for another."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

from mcp.types import CallToolResult
from pydantic import Field

from cronty.contract.operations import Operations
from cronty.contract.result import Err
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
        return Agenda(self._context.service.scheduler)

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
        add = self._agenda.add(
            self._context.caller("schedule"), prompt, when, agent=agent, timezone=timezone, starts_at=starts_at
        )
        result = await self._context.ask(add)
        if isinstance(result, Err):
            if every is not None and result.code == "unreadable":
                return _error(f'could not parse every: "{every}". Write how often, as in "2h" or "1 day".')
            if result.field == "starts_at" and result.code == "bad_trigger":
                return _error(f'"{at}" isn\'t one moment to start from. {_STARTS}')
            return _unread(at, result)
        job = result.value
        text = f'Scheduled task #{job.number} for {_time(job)}: "{_cut(_prompt(job), 80)}"'
        return answer({"task": _row(job)}, text + _rule(job))

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
        rows = {"tasks": [_row(job) for job in jobs[:_MOST]], "count": len(jobs)}
        if not jobs:
            return answer(rows, "No scheduled tasks found matching filters.")
        lines = [
            f"#{job.number}  {_time(job)}  [{'paused' if job.state == 'paused' else job.status}]  "
            f"{_cut(_prompt(job), 60)}{_rule(job)}"
            for job in jobs[:_MOST]
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
        context, caller = self._context, self._context.caller("schedule_edit")
        shown = await context.ask(context.service.scheduler.show(caller, id))
        repeats = not isinstance(shown, Err) and _is_pending(shown.value) and not isinstance(shown.value.trigger, Once)
        if at is not None and repeats and not at.strip().lower().startswith("every"):
            return _error(f"task #{id} repeats: give a rule (every weekday at 9:00), or schedule a new task.")
        when = None if at is None else _when(at)[0]
        result = await context.ask(self._agenda.edit(caller, id, prompt, when))
        if result is NOT_PENDING:
            return _error(f"Task #{id} not found or not editable (only pending tasks can be edited).", plain=True)
        if isinstance(result, Err):
            return _unread(at or "", result)
        job = result.value
        text = f'Updated task #{id}: {_time(job)}: "{_cut(_prompt(job), 80)}"'
        return answer({"task": _row(job)}, text + _rule(job))

    async def schedule_cancel(self, id: TaskNumber) -> Annotated[CallToolResult, AgendaChange]:
        """Cancel a pending agenda item (scheduled prompt) by its number. Example: {"id": 12}"""
        result = await self._context.ask(self._agenda.cancel(self._context.caller("schedule_cancel"), id))
        if result is NOT_PENDING:
            return _error(f"Task #{id} not found or not editable (only pending tasks can be cancelled).", plain=True)
        if isinstance(result, Err):
            return _error(sentence(result))
        return answer({"task": _row(result.value)}, f"Cancelled task #{id}.")


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


def _prompt(job: Job) -> str:
    return str(job.action.kwargs.get("prompt", ""))


def _is_pending(job: Job) -> bool:
    return job.status == "pending" and job.action.kind == "prompt"


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _time(job: Job) -> str:
    return local_text(job.fire_at, job.zone) if job.fire_at else "no time"


def _rule(job: Job) -> str:
    """What the time alone doesn't say: that it repeats and how, and which agent it is for."""
    agent = job.action.kwargs.get("agent")
    rule = "" if isinstance(job.trigger, Once) else with_count(describe(job.trigger, job.zone), job.zone, job.max_runs)
    parts = [part for part in (rule, f"for {agent}" if agent else "") if part]
    return f" ({', '.join(parts)})" if parts else ""


def _row(job: Job) -> dict[str, object]:
    return {
        "id": job.number,
        "at": moment_text(job.fire_at, job.zone),
        "status": job.status,
        "prompt": _prompt(job),
        "agent": job.action.kwargs.get("agent"),
        "schedule": describe(job.trigger, job.zone),
        "timezone": job.zone,
        **({"paused": True} if job.state == "paused" else {}),
    }


def _error(text: str, *, plain: bool = False, choices: Answer = MappingProxyType({})) -> CallToolResult:
    message = text if plain else f"Error: {text}"
    return answer({"error": message, **choices}, message)


def _unread(at: str, err: Err) -> CallToolResult:
    """The error; for a time that can't be read, in this dialect's own words."""
    if err.code == "unreadable":
        return _error(f'could not parse "{at}" as a date/time. {ACCEPTED}')
    return _error(sentence(err), choices=choices_of(err))
