"""The notifications dialect: reminders to a phone."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from mcp.types import CallToolResult
from pydantic import Field

from cronty.contract.answers import ScheduledJob
from cronty.contract.operations import Operations
from cronty.contract.requests import (
    DeleteJob,
    PauseJob,
    ResumeJob,
    ScheduleJob,
    SendPushNotification,
    TriggerType,
)
from cronty.contract.result import Err
from cronty.jobs.ids import read_job_id, schedule_id_text
from cronty.jobs.job import Filter, Job
from cronty.jobs.moments import moment_text
from cronty.mcp.answers import ToolRefused, answer, local_text, refuse, sentence, why
from cronty.mcp.context import ToolContext
from cronty.mcp.shapes import Acted, Notifications, Notified, Pushed
from cronty.mcp.tool import Spec
from cronty.scheduler.agenda import title as title_of
from cronty.timing import BadTrigger, Cron, describe, read_words, zone
from cronty.timing.reading import read_moment

MAX_SHOWN: Final = 100
NAMES: Final = {"topic": "notification_topic", "name": "label"}
"""Names of contract fields in this dialect."""

_DELAY: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)
_MAX_DELAY: Final = timedelta(days=36_525)
_CRON: Final = re.compile(r"@\w+|(?:[\d*/,#%?-]|L(?![A-Z]{2}\b)|(?:[A-Z]{3}|[a-z]{3})\b)*")
"""A field of a cron expression. An L is a mark or part of a name, never both: else `LLL/LLL/…` takes 2**n steps."""

_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?", re.ASCII)
_MODES: Final = (
    'Give exactly one of: datetime ("2027-01-31T09:00:00+01:00"), time with timezone ("09:00", "Europe/Berlin"), '
    'or delay ("2h30m").'
)

ScheduleId = Annotated[str, Field(description="The schedule's id, or its name (label).")]
Message = Annotated[str, Field(description="What the notification says.")]
Topic = Annotated[
    str,
    Field(
        description="Where it goes: the name of a channel the user has set up (e.g. phone), or else an ntfy topic: "
        "lowercase letters and digits with single dashes, e.g. ann-phone."
    ),
]


class NotificationTools:
    """Jobs whose action is `notify`, in the shapes of the notifications dialect."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def specs(self) -> list[Spec]:
        group, made = "notifications", Operations.schedule_job
        return [
            Spec(self.schedule_notification, "Schedule a one-time reminder", group, made, "notify"),
            Spec(self.schedule_cron_notification, "Schedule a recurring reminder", group, made, "notify"),
            Spec(self.list_scheduled_notifications, "List reminders", group, Operations.list_jobs),
            Spec(self.pause_schedule, "Pause a schedule", group, Operations.pause_job),
            Spec(self.resume_schedule, "Resume a schedule", group, Operations.resume_job),
            Spec(self.delete_schedule, "Delete a schedule", group, Operations.delete_job),
            Spec(self.send_push_notification, "Notify now", group, Operations.send_push_notification),
        ]

    async def schedule_notification(
        self,
        message: Message,
        notification_topic: Topic,
        datetime: Annotated[
            str | None,
            Field(description='The moment, ISO 8601 with an offset, 2027-01-31T09:00:00+01:00, or "friday 9am".'),
        ] = None,
        time: Annotated[str | None, Field(description="Time of day, HH:MM or 9am.")] = None,
        date: Annotated[
            str | None, Field(description="Date for time, YYYY-MM-DD or words. Default: today in that timezone.")
        ] = None,
        timezone: Annotated[
            str | None,
            Field(description="IANA time zone of time. Default: the user's."),
        ] = None,
        delay: Annotated[str | None, Field(description="How long from now, e.g. 1d2h30m5s, 2h, 45 minutes.")] = None,
    ) -> Annotated[CallToolResult, Notified]:
        """Schedule a one-off reminder: a push notification to a phone at one moment. Use it for "remind me tomorrow
        at 9". For a recurring reminder use schedule_cron_notification, to send now send_push_notification.
        Say when in exactly one way: datetime, time, or delay.
        Example: {"message": "Call Mom", "notification_topic": "ann-phone", "time": "18:00",
        "timezone": "Europe/Berlin"}"""
        run_at = await self._moment(datetime, time, date, timezone, delay)
        job = await self._schedule(message, notification_topic, "once", {"run_at": run_at}, timezone, None)
        assert job.next_run is not None
        schedule_id = _schedule_id(job)
        facts = {"success": True, "message_id": schedule_id, "schedule_id": schedule_id}
        facts |= {"delay": delay.strip()} if delay is not None else {}
        facts |= {"scheduled_time": job.next_run.isoformat()}
        when = local_text(job.next_run, job.timezone)
        return answer({**facts, "confirmation": f"Notification scheduled for {when}.{_noted(job.note)}"})

    async def schedule_cron_notification(
        self,
        message: Message,
        notification_topic: Topic,
        cron: Annotated[
            str, Field(description='Five fields, minute to day-of-week: 0 9 * * 1-5. Or words: "weekdays at 9".')
        ],
        timezone: Annotated[str, Field(description="IANA time zone the cron is meant in, e.g. Europe/Berlin.")],
        label: Annotated[str | None, Field(description="A name to find it by. Default: the message.")] = None,
    ) -> Annotated[CallToolResult, Notified]:
        """Schedule a recurring reminder: a push notification to a phone on a cron schedule in a time zone, right
        across clock changes.
        Example: {"message": "Stand-up", "notification_topic": "ann-phone", "cron": "30 8 * * 1-5",
        "timezone": "Europe/Berlin"}"""
        expression = _without_zone(cron, timezone)
        said = not is_cron(expression) and await self._is_words(expression, timezone)
        kind, config = ("words", {"text": expression}) if said else ("cron", {"expression": expression})
        job = await self._schedule(message, notification_topic, kind, config, timezone, label or None)
        first = f" First: {local_text(job.next_run, job.timezone)}." if job.next_run else ""
        return answer(
            {
                "success": True,
                "schedule_id": _schedule_id(job),
                **({} if said else {"cron": f"CRON_TZ={job.timezone} {expression}"}),
                "schedule": job.schedule,
                "confirmation": f"Notification scheduled: {job.schedule}.{first}{_noted(job.note)}",
            }
        )

    async def list_scheduled_notifications(
        self, notification_topic: Annotated[str | None, Field(description="Only this topic. Default: all.")] = None
    ) -> Annotated[CallToolResult, Notifications]:
        """List the reminders (push notifications) that are still to come, one-off and recurring, with their ids.
        Example: {"notification_topic": "ann-phone"}"""
        found: list[Job] = []
        for status in ("pending", "running"):
            wanted = Filter(status, task="notify", topic=notification_topic)
            found_jobs = self._context.service.scheduler.list_jobs(self._context.caller(), wanted, 1000)
            result = await self._context.ask(found_jobs)
            if isinstance(result, Err):
                refuse(sentence(result))
            found += [job for job in result.value.jobs if job.next_slot is not None or job.state == "paused"]
        found.sort(key=lambda job: (job.next_slot is None, job.next_slot or job.created_at))
        facts: dict[str, object] = {
            "schedules": [shown_notification(job) for job in found[:MAX_SHOWN]],
            "count": len(found),
        }
        if len(found) > MAX_SHOWN:
            facts["note"] = f"The next {MAX_SHOWN} are shown; name a notification_topic to see fewer."
        return answer(facts)

    async def pause_schedule(self, schedule_id: ScheduleId) -> Annotated[CallToolResult, Acted]:
        """Pause a schedule (reminder, prompt or job): nothing fires until resume_schedule. Repeatable.
        Example: {"schedule_id": "scd_abc123"}"""
        result = await self._context.answer(Operations.pause_job, PauseJob(schedule_id))
        if isinstance(result, Err):
            return _failed(schedule_id, result)
        confirmation = f"Schedule {schedule_id} paused; resume_schedule continues it."
        return answer({"success": True, "schedule_id": schedule_id, "paused": True, "confirmation": confirmation})

    async def resume_schedule(self, schedule_id: ScheduleId) -> Annotated[CallToolResult, Acted]:
        """Resume a paused schedule with its next future time; what came up meanwhile is skipped. Repeatable.
        Example: {"schedule_id": "scd_abc123"}"""
        result = await self._context.answer(Operations.resume_job, ResumeJob(schedule_id))
        if isinstance(result, Err):
            return _failed(schedule_id, result)
        job = result.value
        coming = f"next: {local_text(job.next_run, job.timezone)}" if job.next_run else "it has no more runs"
        confirmation = f"Schedule {schedule_id} resumed; {coming}."
        return answer({"success": True, "schedule_id": schedule_id, "paused": False, "confirmation": confirmation})

    async def delete_schedule(
        self,
        schedule_id: Annotated[
            str,
            Field(description="The schedule ID to delete. Its name will do, too."),
        ],
    ) -> Annotated[CallToolResult, Acted]:
        """Delete a schedule (reminder, prompt or job) by its ID: it stops firing. The user can bring it back for
        30 days (cronty undelete), then it goes with the history of its runs. To stop it for a while use
        pause_schedule. Only ask the user for the ID if neither the conversation nor list_scheduled_notifications
        has it. Example: {"schedule_id": "scd_abc123"}"""
        result = await self._context.answer(Operations.delete_job, DeleteJob(schedule_id))
        if isinstance(result, Err):
            return _failed(schedule_id, result)
        confirmation = f"Schedule {schedule_id} deleted successfully"
        return answer({"success": True, "schedule_id": schedule_id, "confirmation": confirmation})

    async def send_push_notification(
        self,
        message: Message,
        notification_topic: Topic,
        title: Annotated[str | None, Field(description="A headline.")] = None,
        priority: Annotated[int | None, Field(description="1 (silent) to 5 (urgent). Default 3.")] = None,
        tags: Annotated[list[str] | None, Field(description="Labels or emoji short codes, e.g. warning.")] = None,
        markdown: Annotated[bool, Field(description="Whether the message is Markdown.")] = False,
        click: Annotated[str | None, Field(description="A link to open when it is tapped.")] = None,
        icon: Annotated[str | None, Field(description="Link to a picture shown beside it.")] = None,
        attach: Annotated[str | None, Field(description="Link to a file to attach.")] = None,
        filename: Annotated[str | None, Field(description="The attachment's name.")] = None,
        actions: Annotated[
            list[dict[str, Any]] | None, Field(description="Up to three buttons, as ntfy describes them.")
        ] = None,
    ) -> Annotated[CallToolResult, Pushed]:
        """Send a push notification to a phone right now. For later use schedule_notification.
        Example: {"message": "Build is green", "notification_topic": "ann-phone", "priority": 4}"""
        request = SendPushNotification(
            message, notification_topic, title=title, priority=priority, tags=tags, markdown=markdown, click=click,
            icon=icon, attach=attach, filename=filename, actions=actions,
        )  # fmt: skip
        sent = await self._context.answer(Operations.send_push_notification, request)
        if isinstance(sent, Err):
            refuse(sentence(sent, NAMES))
        confirmation = f"Notification sent to {notification_topic}.{_noted(sent.value.note)}"
        return answer({"success": True, "id": sent.value.id, "confirmation": confirmation})

    async def _moment(
        self, moment: str | None, clock: str | None, date: str | None, timezone: str | None, delay: str | None
    ) -> str:
        """The one time that was given, as a text for the scheduler."""
        given = [name for name, value in (("datetime", moment), ("time", clock), ("delay", delay)) if value is not None]
        if len(given) != 1:
            several = f"Several times were given: {' and '.join(given)}"
            refuse(f"{several if given else 'No time was given'}. {_MODES}")
        if date is not None and clock is None:
            refuse(f'date "{date}" goes only with time, as in "date": "2027-01-31", "time": "09:00"; leave it out.')
        if delay is not None:
            text = f"in {delay.strip().lower().removeprefix('in ')}"
            if _DELAY.fullmatch(delay.strip().lower()) or not await self._is_words(text, timezone):
                _check_delay(delay)
            return text
        if clock is not None:
            words = f"{date or 'today'} at {clock.strip().removeprefix('at ')}"
            said = not _CLOCK.fullmatch(clock.strip()) or (date is not None and any(map(str.isalpha, date)))
            return words if said and await self._is_words(words, timezone) else await self._local(clock, date, timezone)
        assert moment is not None
        if not await self._is_words(moment, timezone):
            _check_moment(moment, timezone, await self._now())
        return moment

    async def _is_words(self, text: str, timezone: str | None) -> bool:
        """Whether a time is said in words that can be read, in one way or several, in the zone or the caller's."""
        now, usual = await self._context.service.scheduler.clock(self._context.caller())
        try:
            read_words(text, now, timezone or usual)
        except BadTrigger:
            return False
        return any(map(str.isalpha, text.replace("T", "").replace("Z", "")))

    async def _now(self) -> datetime:
        now, _ = await self._context.service.scheduler.clock(self._context.caller())
        return now

    async def _local(self, clock: str, date: str | None, timezone: str | None) -> str:
        """A local time without its offset; the zone is passed separately."""
        timezone = timezone or await self._context.service.scheduler.own_zone(self._context.caller())
        if timezone is None:
            refuse(f'time "{clock}" needs a timezone, as in "timezone": "Europe/Berlin".')
        if not _CLOCK.fullmatch(clock.strip()):
            refuse(f'Invalid time: "{clock}". Use HH:MM on a 24-hour clock, as in 09:00.')
        now = await self._now()
        try:
            today = now.astimezone(zone(timezone)).date().isoformat()
        except BadTrigger as bad:
            refuse(str(bad))
        hour, _, rest = clock.strip().partition(":")
        text = f"{date.strip() if date else today}T{hour:0>2}:{rest}"
        try:
            moment = read_moment(text, timezone)
        except BadTrigger:
            refuse(
                f'Invalid date or time: "{date or today} {clock}". Use YYYY-MM-DD and HH:MM, as in 2027-01-31 09:00.'
            )
        if moment <= now:
            here = now.astimezone(zone(timezone))
            tomorrow = here.date() + timedelta(days=1)
            refuse(
                f'"{text.replace("T", " ")}" in {timezone} is past: it is now {here:%Y-%m-%d %H:%M:%S}. '
                f'For tomorrow give "date": "{tomorrow}".'
            )
        return text

    async def _schedule(
        self,
        message: str,
        topic: str,
        kind: TriggerType,
        config: Mapping[str, object],
        timezone: str | None,
        label: str | None,
    ) -> ScheduledJob:
        kwargs = {"message": message, "topic": topic}
        request = ScheduleJob(label or title_of(message), "notify", kind, config, kwargs=kwargs, timezone=timezone)
        result = await self._context.answer(Operations.schedule_job, request)
        if isinstance(result, Err):
            raise ToolRefused(result, NAMES)
        return result.value


def is_cron(text: str) -> bool:
    """Whether every word looks like a field of a cron expression."""
    return all(map(_CRON.fullmatch, text.split()))


def _schedule_id(job: ScheduledJob) -> str:
    return schedule_id_text(read_job_id(job.job_id) or 0)


def _noted(note: str | None) -> str:
    return f" {note}" if note else ""


def _check_delay(delay: str) -> None:
    found = _DELAY.fullmatch(delay.strip().lower())
    if found is None or not any(found.groups()):
        refuse(f'Invalid delay: "{delay}". Use days, hours, minutes, seconds in that order, as in 1d2h30m5s.')
    days, hours, minutes, seconds = (
        int(amount or 0) if len(amount or "") < 12 else 10**12 for amount in found.groups()
    )
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total == 0:
        refuse(f'Invalid delay: "{delay}" is zero. To send it now use send_push_notification.')
    if total > _MAX_DELAY.total_seconds():
        refuse(f'Invalid delay: "{delay}" is longer than 100 years. Use a shorter one, as in 1d2h30m5s.')


def _check_moment(moment: str, timezone: str | None, now: datetime) -> None:
    """Refuse a datetime without an offset, or one in the past: we don't guess the zone of 09:00."""
    try:
        given = datetime.fromisoformat(moment.strip())
    except ValueError:
        if timezone is None:
            refuse(f'Invalid datetime: "{moment}". {_MODES}')
        return  # words in a zone; the scheduler reads or refuses them
    if given.utcoffset() is None:
        clock = f"{given:%H:%M}" if ":" in moment else "09:00"
        refuse(
            f'datetime "{moment}" has no offset, so it is a different time in every time zone. Give '
            f'"date": "{given:%Y-%m-%d}", "time": "{clock}" and the user\'s "timezone" instead, or add the offset, '
            f'as in "{given:%Y-%m-%d}T{clock}:00+01:00" for a winter\'s day in Berlin.'
        )
    if given <= now:
        here = now.astimezone(given.tzinfo).replace(microsecond=0).isoformat()
        refuse(f'datetime "{moment}" is past: it is now {here}. Give a later one, or a delay such as "1h".')


def _without_zone(cron: str, timezone: str) -> str:
    """The five fields; a `CRON_TZ=` before them must be the same zone."""
    head, _, rest = cron.strip().partition(" ")
    name, _, value = head.partition("=")
    if name not in ("CRON_TZ", "TZ"):
        return cron.strip()
    if value != timezone:
        refuse(f'The cron says {value} and timezone says {timezone}. Give "{rest.strip()}" and one timezone.')
    return rest.strip()


def _failed(schedule_id: str, err: Err) -> CallToolResult:
    """An `Err` in the notifications dialect: an ordinary result with `success` false."""
    schedule_id = schedule_id[:200]
    if err.code == "not_found":
        message = f"Schedule not found: {schedule_id}. It may have already been deleted or the ID is incorrect."
        err = replace(err, message=message, hint=err.hint if err.choices else "")
    return answer({"success": False, "schedule_id": schedule_id, **why(err)})


def shown_notification(job: Job) -> dict[str, object]:
    kwargs = job.action.kwargs
    return {
        "schedule_id": schedule_id_text(job.number),
        "type": job.trigger_type,
        "cron_expression": job.trigger.expression if isinstance(job.trigger, Cron) else None,
        "schedule": describe(job.trigger, job.zone),
        "timezone": job.zone,
        "notification_topic": kwargs.get("topic"),
        "label": job.name,
        "paused": job.state == "paused",
        "next_occurrence": moment_text(job.next_slot, job.zone),
        "last_occurrence": moment_text(job.last_run, job.zone),
        "notification_body": kwargs.get("message"),
    }
