"""Turns jobs, runs and other rows into the contract's answers: the only place that builds them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

import orjson

from cronty.contract.answers import (
    Attempt,
    ChangedSlot,
    CurrentTime,
    DeletedJob,
    DeletedJobs,
    FailedRuns,
    JobDetail,
    JobList,
    JobSummary,
    Moment,
    RunDetail,
    RunList,
    RunOfJob,
    ScheduledJob,
    SchedulePreview,
    Telling,
)
from cronty.contract.answers import Run as RunAnswer
from cronty.contract.answers_of_owner import CalendarOfDaysOff, Channel, InboxItem, Key, Provenance, TrailEntry
from cronty.jobs.action import PROMPT
from cronty.jobs.backfill import backfilled_in_words
from cronty.jobs.envelope import Envelope
from cronty.jobs.ids import job_id_text
from cronty.jobs.job import UNDELETED_FOR, Job
from cronty.jobs.moments import lateness, upcoming
from cronty.jobs.run import AttemptRecord, FailedRun, Run
from cronty.jobs.telling import Told
from cronty.scheduler.previewing import Preview
from cronty.scheduler.runs import failed_cursor
from cronty.scheduler.scheduler import JobPage
from cronty.store.calendar_store import DayList
from cronty.store.channel_store import Channel as ChannelRow
from cronty.store.key_store import KeyInfo
from cronty.timing import SlotChange, Trigger, Zoned, describe, nominal, zone


def in_zone(moment: datetime | None, zone_name: str) -> datetime | None:
    return None if moment is None else moment.astimezone(zone(zone_name))


def _at(moment: datetime, zone_name: str = "UTC") -> datetime:
    return moment.astimezone(zone(zone_name))


def scheduled_job(job: Job, note: str | None = None) -> ScheduledJob:
    return ScheduledJob(
        job_id=job_id_text(job.number, job.created_at),
        name=job.name,
        next_run=in_zone(job.next_run, job.zone),
        status=job.status,
        schedule=describe(job.trigger, job.zone),
        timezone=job.zone,
        next_runs=[_moment(slot, job.zone) for slot in upcoming(job, 3)],
        version=job.version,
        max_runs=job.max_runs,
        ends_at=in_zone(job.ends_at, job.zone),
        note=note,
    )


def _moment(utc: datetime, zone_name: str, note: str | None = None) -> Moment:
    return Moment(local=_at(utc, zone_name), utc=utc.astimezone(UTC), note=note or None)


def job_list(page: JobPage, zone_name: str) -> JobList:
    """In one zone, so that times can be compared."""
    jobs = [_summary(job, zone_name) for job in page.jobs]
    return JobList(jobs=jobs, total=page.total, cursor=page.cursor, timezone=zone_name)


def _summary(job: Job, zone_name: str) -> JobSummary:
    return JobSummary(
        job_id=job_id_text(job.number, job.created_at),
        name=job.name,
        status=job.status,
        trigger_type=job.trigger_type,
        next_run=in_zone(job.next_run, zone_name),
        run_count=job.run_count,
        last_run=in_zone(job.last_run, zone_name),
        paused=job.state == "paused",
        tags=list(job.tags),
        said=job.said,
        timezone=None if job.zone == zone_name else job.zone,
        task=_task(job),
        schedule=describe(job.trigger, job.zone),
        max_runs=job.max_runs,
        ends_at=in_zone(job.ends_at, zone_name),
        trouble=job.trouble,
    )


def _task(job: Job) -> str:
    """What people call it: a prompt is a prompt, whoever it wakes."""
    return PROMPT if job.action.kind == "prompt" else job.action.task


def deleted_jobs(jobs: Sequence[Job], limit: int, zone_name: str) -> DeletedJobs:
    return DeletedJobs(
        jobs=[_deleted(job, job.deleted_at, zone_name) for job in jobs if job.deleted_at is not None],
        cursor=jobs[-1].deleted_at if len(jobs) == limit else None,
        timezone=zone_name,
    )


def _deleted(job: Job, deleted_at: datetime, zone_name: str) -> DeletedJob:
    return DeletedJob(
        job_id=job_id_text(job.number, job.created_at),
        name=job.name,
        schedule=describe(job.trigger, job.zone),
        run_count=job.run_count,
        tags=list(job.tags),
        deleted_at=_at(deleted_at, zone_name),
        until=_at(deleted_at + UNDELETED_FOR, zone_name),
    )


def job_detail(job: Job, runs: Sequence[Run]) -> JobDetail:
    return JobDetail(
        job_id=job_id_text(job.number, job.created_at),
        name=job.name,
        status=job.status,
        trigger_type=job.trigger_type,
        created_at=_at(job.created_at, job.zone),
        last_run=in_zone(job.last_run, job.zone),
        next_run=in_zone(job.next_run, job.zone),
        run_count=job.run_count,
        max_runs=job.max_runs,
        error=job.reason if job.state == "set_aside" else job.last_error,
        paused=job.state == "paused",
        paused_because=job.reason if job.state == "paused" else None,
        schedule=describe(job.trigger, job.zone),
        said=job.said,
        timezone=job.zone,
        task=_task(job),
        args=list(job.action.args) or None,
        kwargs=dict(job.action.kwargs) or None,
        policy=orjson.loads(job.policy.dump()) or None,
        ends_at=in_zone(job.ends_at, job.zone),
        tags=list(job.tags),
        success_count=job.success_count,
        failure_count=job.failure_count,
        version=job.version,
        changed_slots=[_changed_slot(one, job.zone) for one in job.changes_to_come] or None,
        trouble=job.trouble,
        runs=[run_of(run, job.zone, job.trigger) for run in runs],
    )


def confirmed_job(job: Job) -> JobDetail:
    """The answer to who may change the job but not look at it: its name, its state and its times."""
    return replace(
        job_detail(job, []),
        task=job.action.kind,
        args=None,
        kwargs=None,
        policy=None,
        said=None,
        tags=[],
        error=None,
        paused_because=None,
        changed_slots=None,
        trouble=None,
    )


def _changed_slot(change: SlotChange, zone_name: str) -> ChangedSlot:
    return ChangedSlot(slot=_at(change.slot, zone_name), to=in_zone(change.to, zone_name), why=change.why)


def run_of(run: Run, zone_name: str = "UTC", trigger: Trigger | None = None) -> RunAnswer:
    return RunAnswer(**_run(run, zone_name, trigger))


def _run(run: Run, zone_name: str, trigger: Trigger | None) -> dict[str, Any]:
    """The fields of a run; a slot that a clock change has moved says from where."""
    unmoved = nominal(trigger, run.scheduled_for) if isinstance(trigger, Zoned) else None
    again = run.next_attempt_at
    later = backfilled_in_words(run.backfilled, zone_name) if run.backfilled else None if run.reason else lateness(run)
    return {
        "run_id": run.run_id,
        "scheduled_for": _at(run.scheduled_for, zone_name),
        "verdict": run.state,
        "reason": "; ".join(part for part in (run.reason, later) if part) or None,
        "attempt": run.attempt,
        "started_at": in_zone(run.started_at, zone_name),
        "finished_at": in_zone(run.finished_at, zone_name),
        "error": run.error,
        "result": None if run.result is None else orjson.loads(run.result),
        "next_attempt_at": None if again is None else _at(again.replace(microsecond=0), zone_name),
        "slots": run.slots,
        "through": in_zone(run.through, zone_name) if run.slots > 1 else None,
        "manual": run.manual,
        "moved_from": None if unmoved is None else f"{unmoved:%H:%M}",
    }


def run_list(job: Job, runs: Sequence[Run], limit: int) -> RunList:
    return RunList(
        job_id=job_id_text(job.number, job.created_at),
        runs=[run_of(run, job.zone, job.trigger) for run in runs],
        cursor=runs[-1].scheduled_for if len(runs) == limit else None,
        timezone=job.zone,
    )


def failed_runs(found: Sequence[FailedRun], limit: int, zone_name: str) -> FailedRuns:
    runs = [
        RunOfJob(
            job_id=job_id_text(one.run.job_number, one.created_at), name=one.name, **_run(one.run, zone_name, None)
        )
        for one in found
    ]
    cursor = failed_cursor(found[-1].run) if len(found) == limit else None
    return FailedRuns(runs=runs, cursor=cursor, timezone=zone_name)


def run_detail(run: Run, job: Job, attempts: Sequence[AttemptRecord], told: Told | None = None) -> RunDetail:
    return RunDetail(
        job_id=job_id_text(job.number, job.created_at),
        name=job.name,
        attempts=[_attempt(one, job.zone) for one in attempts],
        told=None if told is None else _telling(told, job.zone),
        **_run(run, job.zone, job.trigger),
    )


def confirmed_run(run: Run, job: Job) -> RunDetail:
    """The same for a run: its verdict and its times."""
    return replace(run_detail(run, job, []), result=None, error=None)


def _telling(told: Told, zone_name: str) -> Telling:
    told_at = in_zone(told.told_at, zone_name)
    return Telling(channel=told.channel, state=told.state, tries=told.tries, error=told.error, told_at=told_at)


def _attempt(one: AttemptRecord, zone_name: str) -> Attempt:
    return Attempt(
        attempt=one.attempt,
        started_at=in_zone(one.started_at, zone_name),
        ended_at=_at(one.ended_at, zone_name),
        outcome=one.outcome,
        error=one.error,
    )


def preview_of(shown: Preview) -> SchedulePreview:
    slots = [_moment(slot.utc, shown.zone, slot.note) for slot in shown.slots]
    return SchedulePreview(schedule=shown.words, timezone=shown.zone, slots=slots, note=shown.note or None)


def current_time(now: datetime, there: ZoneInfo) -> CurrentTime:
    local = now.astimezone(there).replace(microsecond=0)
    return CurrentTime(
        datetime=local,
        date=local.date().isoformat(),
        time=f"{local:%H:%M:%S}",
        timezone=there.key,
        utc=local.astimezone(UTC),
        timestamp_ms=int(now.timestamp() * 1000),
    )


def inbox_item(item: Envelope) -> InboxItem:
    facts = item.facts
    made_at = _at(facts.made_at.replace(microsecond=0), facts.zone)
    deadline = _at(item.deadline.replace(microsecond=0), facts.zone)
    origin = facts.origin or {}
    return InboxItem(
        receipt=item.receipt,
        prompt=item.prompt,
        data=item.data,
        agent=item.agent,
        job_id=item.job_id,
        run_id=item.run_id,
        name=facts.name,
        why=item.why,
        scheduled_for=_at(item.scheduled_for, facts.zone),
        previous_slot=in_zone(facts.previous_slot, facts.zone),
        attempt=item.attempt,
        deadline=deadline,
        provenance=Provenance(
            owner=facts.owner,
            agent=cast("str | None", origin.get("agent")),
            key=cast("str | None", origin.get("key")),
            made_at=made_at,
            surface=cast("str | None", origin.get("surface")),
            client=cast("Mapping[str, object] | None", origin.get("client")),
            run_id=cast("str | None", origin.get("run_id")),
        ),
        made_at=made_at,
        lease_until=deadline,
    )


def calendar_of(row: DayList, moved: int | None = None) -> CalendarOfDaysOff:
    return CalendarOfDaysOff(
        name=row.name,
        days=len(row.days.off),
        make_up_days=len(row.days.on),
        updated_at=_at(row.updated_at),
        source=row.source,
        jobs_moved=moved,
    )


def channel_of(row: ChannelRow) -> Channel:
    return Channel(name=row.name, scheme=row.scheme, leads_to=row.hint, ahead=row.ahead, created_at=_at(row.created_at))


def key_of(key: KeyInfo) -> Key:
    return Key(
        id=key.number,
        name=key.name,
        scopes=list(key.scopes),
        agent=key.agent,
        created_at=_at(key.created_at),
        expires_at=in_zone(key.expires_at, "UTC"),
        last_used_at=in_zone(key.last_used_at, "UTC"),
        revoked_at=in_zone(key.revoked_at, "UTC"),
    )


def trail_entry(entry: Mapping[str, object]) -> TrailEntry:
    return TrailEntry(**{**entry, "at": _at(cast("datetime", entry["at"]))})  # pyright: ignore[reportArgumentType]
