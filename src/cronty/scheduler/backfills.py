"""Runs slots of a past range that passed without a run, each for its own planned moment."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from cronty.contract.answers import Backfill
from cronty.contract.caller import Caller
from cronty.contract.requests import BackfillJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.backfill import Backfilled, BackfillPlan, latest_slot, plan_backfill, slots_in
from cronty.jobs.ids import job_id_text, read_job_id
from cronty.jobs.job import Job
from cronty.jobs.limits import Limits
from cronty.jobs.moments import local_text
from cronty.scheduler.allowance import Allowance
from cronty.scheduler.decisions import not_found, refusal
from cronty.scheduler.permission import not_to_change
from cronty.store.database import retry_on_conflict
from cronty.store.job_store import PACE, JobStore, LockedJob
from cronty.timing import BadTrigger, zone
from cronty.timing.errors import given_in
from cronty.timing.past_said import read_past_bound
from cronty.timing.reading import read_moment

NEEDS_AS_OF: Final = Err(
    "bad_time",
    "again needs as_of: the moment of the dry run that showed what would be repeated.",
    "Make a dry run first, and give the as_of of its answer.",
    "as_of",
)
_TIME_TO_RUN: Final = timedelta(days=1)
"""So much younger than the kept history a slot must be: one that still waits when that ends is missed again."""

_OVERLAPS: Final = {
    "queue": "One after the other, before what is planned meanwhile: overlap is queue.",
    "skip": "One after the other, and what is planned meanwhile is skipped: overlap is skip.",
    "cancel_previous": "One after the other, until a planned run cancels those that still wait: overlap is "
    "cancel_previous.",
}


@dataclass(frozen=True, slots=True)
class Range:
    """What was asked for, from `since` through `until`, and what to know of where it was cut."""

    since: datetime
    until: datetime
    again_before: datetime | None
    note: str | None


class Backfills:
    """`keep` is how long history is kept: of older slots nobody knows whether they were run."""

    def __init__(self, store: JobStore, allowance: Allowance, keep: timedelta) -> None:
        self._store = store
        self._allowance = allowance
        self._keep = keep

    @retry_on_conflict
    async def backfill(self, caller: Caller, request: BackfillJob) -> Result[Backfill]:
        """Say which slots of the range would run or, unless that is a dry run, run them."""
        async with self._store.locked_job(caller, read_job_id(request.job_id) or 0) as locked:
            if locked is None:
                return not_found(request.job_id)
            job, now = locked.job, locked.now
            if wrong := not_to_change(caller, job, "run") or _not_now(caller, job, request):
                return wrong
            try:
                asked = await self._range(locked, request)
            except BadTrigger as bad:
                return refusal(bad)
            if isinstance(asked, Err):
                return asked
            found = slots_in(job.slots, asked.since, asked.until)
            rows = await locked.runs_between(found[0], found[-1]) if found else []
            plan = plan_backfill(job.slots, found, rows, asked.again_before)
            allowance = self._allowance.within(locked.limits)
            limits = allowance.of(await allowance.standing(caller))
            answer = _answer(job, request, plan, limits, asked.note, now)
            if request.dry_run or not plan.slots:
                return Ok(answer)
            if wrong := await allowance.for_backfill(caller, job.action, len(plan.slots)):
                return wrong
            entry: dict[str, object] = {
                "from": asked.since,
                "to": asked.until,
                "again": request.again,
                "runs": len(plan.slots),
            }
            entry |= {"first": plan.slots[0], "last": plan.slots[-1]}
            await locked.backfill(plan, Backfilled(caller.named, now), entry)
            return Ok(answer)

    async def _range(self, locked: LockedJob, request: BackfillJob) -> Range | Err:
        job, now = locked.job, locked.now
        with given_in("from"):
            since = read_past_bound(request.since, job.zone, now, last=False)
        with given_in("to"):
            until = read_past_bound(request.until, job.zone, now, last=True)
        if since > until:
            said = f"{local_text(since, job.zone)} to {local_text(until, job.zone)}"
            return Err("bad_time", f"The range ends before it begins: {said}.", "Give a later end.", "to")
        if since > now:
            said = f"That is still to come: {local_text(since, job.zone)}."
            return Err("bad_time", said, "Give a time that is past.", "from")
        as_of = None if request.as_of is None else read_moment(request.as_of, job.zone)
        if request.again and as_of is None and not request.dry_run:
            return NEEDS_AS_OF
        oldest = now - max(self._keep - _TIME_TO_RUN, self._keep / 2)
        note = " ".join(_notes(job, since, until, now, oldest)) or None
        last = None
        if job.last_slot is not None:
            rows = await locked.runs_between(job.last_slot, job.last_slot)
            last = next((row for row in rows if row.scheduled_for == job.last_slot), None)
        again_before = (as_of or now) if request.again else None
        return Range(max(since, oldest), min(until, latest_slot(job, now, last)), again_before, note)


def _not_now(caller: Caller, job: Job, request: BackfillJob) -> Err | None:
    """Why the job can't be backfilled, or not by this caller; or None."""
    if job.state == "cancelled":
        return Err("not_editable", f"Job {request.job_id} is cancelled.", "Schedule a new one.")
    if job.state == "set_aside":
        because = f"Job {request.job_id} was set aside: {job.reason}."
        return Err("not_editable", because, "Give it a schedule that can be computed first.")
    if caller.is_agent and job.action.kind != "task" and not request.dry_run:
        message = f"An agent doesn't backfill a {job.action.kind}: it would reach outside many times at once."
        return Err("not_allowed", message, "Let a person do it, or run the job once with run_job_now.")
    return None


def _notes(job: Job, since: datetime, until: datetime, now: datetime, oldest: datetime) -> Iterator[str]:
    """What to know of where the range was cut."""
    if since < oldest:
        yield f"Slots before {_shown(job, oldest)} are left out: history isn't kept much longer."
    if job.held_slot is not None and job.held_slot <= min(now, until):
        yield f"It is paused: slots since {_shown(job, job.held_slot)} get their verdict when it is resumed."
    if job.next_slot is not None and job.next_slot <= min(now, until):
        yield f"Slots since {_shown(job, job.next_slot)} are due, and a worker has yet to decide on them."
    if max(since, oldest) <= job.slots_after:
        yield f"Slots before {_shown(job, job.slots_after)} are those that its present schedule would have had."


def _shown(job: Job, moment: datetime) -> str:
    return local_text(moment.replace(microsecond=0), job.zone)


def _answer(
    job: Job, request: BackfillJob, plan: BackfillPlan, limits: Limits, note: str | None, now: datetime
) -> Backfill:
    there = zone(job.zone)
    slots = [slot.astimezone(there) for slot in plan.slots]
    return Backfill(
        job_id=job_id_text(job.number, job.created_at),
        timezone=job.zone,
        dry_run=request.dry_run,
        as_of=now.astimezone(there),
        runs=len(slots),
        first=slots[0] if slots else None,
        last=slots[-1] if slots else None,
        slots=slots,
        before=dict(plan.before),
        left_out=dict(plan.left_out),
        costs=list(_costs(job, len(slots), limits)) if slots else [],
        next_from=None if plan.next_from is None else plan.next_from.astimezone(there),
        note=note,
    )


def _costs(job: Job, runs: int, limits: Limits) -> Iterator[str]:
    """How long so many runs take at least, and what they use up."""
    if job.policy.serial:
        yield _OVERLAPS[job.policy.overlap]
    elif runs > 1:
        yield f"Started over {ceil(runs * PACE)} s or more, between what is planned."
    if limits.runs_per_hour:
        yield f"{runs} of the {limits.runs_per_hour} runs that an hour may have."
    if limits.concurrent_runs:
        yield f"At most {limits.concurrent_runs} at once, with all other runs."
    if job.action.kind == "prompt" and limits.wakes_per_hour:
        yield f"{runs} of the {limits.wakes_per_hour} wakes that an hour may have."
    if job.action.kind in ("notify", "webhook") and limits.calls_per_minute:
        minutes = ceil(runs / limits.calls_per_minute)
        yield f"{runs} calls out, {limits.calls_per_minute} a minute: {minutes} min or more."
