"""The operations on jobs, for a caller: the checks of what is asked, and what is then stored."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from cronty.contract.answers import StartedRun
from cronty.contract.caller import Caller
from cronty.contract.requests import ChangeSlot, EditJob, ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.ids import job_id_text, read_job_id
from cronty.jobs.job import STATUSES, UNDELETED_FOR, Filter, Job
from cronty.jobs.limits import DEFAULTS, Limits, too_often
from cronty.jobs.policy import BadPolicy, default_policy, make_policy
from cronty.jobs.run import RUN_STATES, Run, run_id
from cronty.jobs.storable import storable
from cronty.scheduler.allowance import ERASING, Allowance, by_agent, lineage
from cronty.scheduler.changed_slots import SlotChanged, with_changed_slot
from cronty.scheduler.decisions import (
    NOTHING_TO_CHANGE,
    USE_CURSOR,
    bring_back,
    changed_action,
    changed_job,
    check_fields,
    check_tell,
    close_passed,
    cursor_of,
    end_job,
    given,
    is_change,
    keeping_route,
    key_taken,
    never,
    next_slot_of,
    not_editable,
    not_found,
    not_from_here,
    read_cursor,
    refusal,
    request_digest,
    runs_of,
    unique_key_of,
    upcoming_slot,
)
from cronty.scheduler.known_days import KnownDays, keep_days, known_days, named_in
from cronty.scheduler.names import job_named, say_rules
from cronty.scheduler.permission import as_seen, not_for, not_to_change, not_to_tell, runs_as_seen
from cronty.scheduler.previewing import Preview, preview_of
from cronty.scheduler.requested_action import action_of, beginning, check_action, routed, tasks_of, usual_policy
from cronty.store.database import UniqueConflict, retry_on_conflict
from cronty.store.job_store import JobStore, TaskInfo
from cronty.store.limit_store import Standing
from cronty.store.new_job import Added, NewJob, made_job
from cronty.store.their_transaction import CannotJoin
from cronty.timing import BadTrigger, Once, zone
from cronty.timing.errors import given_in
from cronty.timing.offsets import TICK
from cronty.timing.rule import read_bound, read_rule


@dataclass(frozen=True, slots=True)
class JobPage:
    """`total` is how many match, or the number at which counting stops (`MAX_COUNTED`). `cursor` continues after the
    last job of this page; None if there are no more."""

    jobs: list[Job]
    total: int
    cursor: str | None


class Scheduler:
    """Stateless: many schedulers, in many processes, can serve the same database."""

    def __init__(
        self, store: JobStore, default_zone: str = "UTC", limits: Limits = DEFAULTS, made_by: str | None = None
    ) -> None:
        """`limits` are the installation's defaults; `made_by` is the run that started this process, if any."""
        self._store = store
        self._default_zone = default_zone
        self.allowance = Allowance(store.limits, limits, made_by)

    # -- making -------------------------------------------------------------------------------------------------

    async def standing(self, caller: Caller, request: ScheduleJob, *, channels: bool = False) -> Result[Standing]:
        """What to know before this job is made, in one statement; with the names of the channels if so asked."""
        if wrong := check_fields(request.name, request.tags, request.max_runs, request.idempotency_key):
            return wrong
        action = action_of(request)
        if wrong := not_for(caller, action) or not_to_tell(caller, request.policy):
            return wrong
        tasks = tasks_of(action)
        return Ok(await self.allowance.standing(caller, key=request.idempotency_key, tasks=tasks, channels=channels))

    async def schedule(self, caller: Caller, request: ScheduleJob, standing: Standing | None = None) -> Result[Job]:
        """Make a job; a repeated idempotency key returns the job that the same request made the first time."""
        new = await self.decide(caller, request, standing)
        if not isinstance(new, NewJob):
            return new
        added = await self._store.new_jobs.add(caller, new)
        if added is None:
            return ERASING
        if added.id is not None:
            return Ok(made_job(caller.owner, new, added))
        return await self.made_before(caller, request, added.number, added.request)

    async def enqueue(
        self,
        caller: Caller,
        request: ScheduleJob,
        unique: bool | str = False,
        connection: object | None = None,
        standing: Standing | None = None,
    ) -> Result[Added]:
        """Make a job in the open transaction of the caller's own `connection`, if any: it exists if that commits.

        `unique`: if a job of this task with this key (True: with these arguments) waits, the answer is that one.
        """
        if isinstance(unique, str) and (wrong := check_fields(None, None, None, unique)):
            return wrong
        new = await self.decide(caller, request, standing)
        if isinstance(new, Err):
            return new
        if isinstance(new, Ok):
            made = new.value
            return Ok(Added(None, made.number, made.created_at, made.fire_at or made.created_at))
        if not isinstance(new.trigger, Once):
            return Err("bad_trigger", "What is enqueued runs once.", "Schedule the job instead.", "trigger_type")
        # A moment, whatever the zone says later: a zone that is used for the first time would be locked for everybody.
        new = replace(new, trigger=Once(new.trigger.at), unique_key=unique_key_of(request, unique))
        try:
            added = await self._store.new_jobs.add(caller, new, connection)
        except CannotJoin as bad:
            return Err("bad_connection", bad.message, bad.hint)
        if added is None:
            return ERASING
        if added.request not in (None, new.request):
            return key_taken(request, None)
        return Ok(added)

    async def made_before(
        self, caller: Caller, request: ScheduleJob, number: int, made_by: bytes | None
    ) -> Result[Job]:
        """The job that has the request's idempotency key, if the same request (by its digest) made it."""
        job = await self.show(caller, number)
        if isinstance(job, Err) or made_by == request_digest(request):
            return job if isinstance(job, Ok) else key_taken(request, None)
        return key_taken(request, None if not_to_change(caller, job.value) else job.value)

    async def decide(
        self, caller: Caller, request: ScheduleJob, standing: Standing | None = None
    ) -> NewJob | Result[Job]:
        """Every check of a new job: what to store, or the job that the request has made before, or why not.

        `standing` is read unless it was.
        """
        if standing is None:
            found = await self.standing(caller, request)
            if isinstance(found, Err):
                return found
            standing = found.value
        action = action_of(request)
        if standing.made is not None:
            return await self.made_before(caller, request, standing.made, standing.made_by)
        if wrong := await check_action(caller, action, standing, self._store):
            return wrong
        action = routed(action, standing.tasks)
        now = standing.now
        try:
            zone_name = zone(request.timezone or standing.zone or self._default_zone).key
            usual = {**default_policy(action), **usual_policy(action, standing)}
            policy = make_policy({**usual, **(request.policy or {})})
            check_tell(policy, action)
            begins = beginning(request, zone_name, now)
            starts_at = begins or now
            known = await self._known(caller, request.trigger_config)
            rule = read_rule(request.trigger_type, known.config, zone_name, starts_at, known.lists, starts=begins)
            with given_in("ends_at"):
                ends_at = None if request.ends_at is None else read_bound(request.ends_at, rule.zone, now, last=True)
            max_runs = runs_of(rule, request.max_runs)
        except (BadTrigger, BadPolicy) as bad:
            return refusal(bad)
        before = now if starts_at == now else starts_at - TICK  # the start itself may be a slot
        first = next_slot_of(rule.trigger, before, ends_at)
        if first is None:
            return never(rule.trigger, before, ends_at)
        if wrong := await self.allowance.for_new(caller, standing, action, rule.trigger):
            return wrong
        if wrong := await keep_days(self._store.calendars, caller, known):
            return wrong
        return NewJob(
            name=request.name,
            action=action,
            trigger=rule.trigger,
            said=known.said or rule.said,
            zone=rule.zone,
            policy=policy,
            tags=request.tags or (),
            max_runs=max_runs,
            ends_at=ends_at,
            idempotency_key=request.idempotency_key,
            request=None if request.idempotency_key is None else request_digest(request),
            first_slot=first,
            slots_after=before,
            created_at=now,
            origin=lineage(standing, caller),
        )

    @retry_on_conflict
    async def edit(self, caller: Caller, request: EditJob) -> Result[Job]:
        """Change a job that has not ended, from its next slot on; from then on it depends on the caller's key."""
        if wrong := check_fields(given(request.name), given(request.tags), given(request.max_runs)):
            return wrong
        config = given(request.trigger_config) or {}
        if named_in(config) and isinstance(missing := await self.show(caller, request.job_id), Err):
            return missing
        try:
            known = await self._known(caller, config)
        except BadTrigger as bad:
            return refusal(bad)
        if known.lists:
            request = replace(request, trigger_config=known.config)
        async with self._store.locked_job(caller, read_job_id(request.job_id) or 0) as locked:
            if locked is None:
                return not_found(request.job_id)
            if not is_change(request):
                return NOTHING_TO_CHANGE
            old = locked.job.action
            if wrong := not_to_change(caller, locked.job) or not_to_tell(caller, given(request.policy)):
                return wrong
            if wrong := not_from_here(caller, old) or not_editable(locked.job, request):
                return wrong
            allowance = self.allowance.within(locked.limits)
            action = changed_action(locked.job.action, request)
            standing = await allowance.standing(caller, tasks=tasks_of(action))
            if action is not None:
                if wrong := not_for(caller, action) or await check_action(caller, action, standing, locked):
                    return wrong
                action = keeping_route(locked.job, routed(action, standing.tasks))
                if wrong := await allowance.for_arguments(caller.owner, standing, action):
                    return wrong
            try:
                changed = changed_job(locked.job, action, request, locked.now, known.lists)
                check_tell(changed.policy, changed.action)
            except (BadTrigger, BadPolicy) as bad:
                return refusal(bad)
            changed = replace(changed, said=known.said or changed.said)
            new_rule = changed.trigger != locked.job.trigger
            limits, is_by_agent = allowance.of(standing), caller.is_agent or by_agent(locked.origin)
            wrong = too_often(limits, changed.action, changed.trigger, by_agent=is_by_agent)
            if wrong is not None and (new_rule or action is not None):
                return wrong
            had_more = (locked.job.next_slot or locked.job.held_slot) is not None
            has_more = (changed.next_slot or changed.held_slot) is not None
            if (had_more or new_rule) and not has_more and changed.remaining != 0:
                return never(changed.trigger, locked.now, changed.ends_at)
            if wrong := await keep_days(locked.calendars, caller, known):
                return wrong
            if new_rule or changed.state != locked.job.state:
                changed = await close_passed(locked, changed, "skipped", "the rule was changed")
            await locked.adopt(lineage(standing, caller))
            return Ok(await locked.save(changed))

    async def _known(self, caller: Caller, config: Mapping[str, Any]) -> KnownDays:
        async def clock() -> datetime:
            return (await self.clock(caller))[0]

        return await known_days(self._store.calendars, clock, caller, config)

    # -- looking ------------------------------------------------------------------------------------------------

    async def show(self, caller: Caller, job_id: str | int) -> Result[Job]:
        job = await self._store.show_job(caller.owner, read_job_id(job_id) or 0)
        return not_found(job_id) if job is None else Ok(as_seen(caller, job))

    async def named(self, caller: Caller, text: str, *, deleted: bool = False) -> Result[str]:
        """The id of the job that a text names: an id or a number as it is, else the job of that name."""
        return await job_named(self._store, caller, text, deleted=deleted)

    async def list_jobs(
        self,
        caller: Caller,
        wanted: Filter | None = None,
        limit: int = 100,
        cursor: str | None = None,
        *,
        for_display: bool = False,
    ) -> Result[JobPage]:
        """A page of jobs, those that fire next first. `for_display`: data a few seconds old is fine."""
        wanted = wanted or Filter()
        if wanted.status is not None and wanted.status not in STATUSES:
            return Err("unknown_status", f"Unknown status: {wanted.status}", f"Use one of: {', '.join(STATUSES)}.")
        if not all(
            storable(text) for text in (wanted.name, wanted.tag, wanted.task, wanted.topic, wanted.words) if text
        ):
            return Ok(JobPage([], 0, None))
        place = None
        if cursor is not None and (place := read_cursor(cursor)) is None:
            return Err("bad_cursor", f"Invalid cursor: {cursor[:80]}", USE_CURSOR)
        jobs, total = await self._store.list_jobs(
            caller.owner, wanted, limit + 1, place, agent=caller.agent, for_display=for_display
        )
        more = len(jobs) > limit
        jobs = [as_seen(caller, job) for job in jobs[:limit]]
        await say_rules(jobs)
        return Ok(JobPage(jobs, total, cursor_of(jobs[-1], total) if more else None))

    async def list_runs(
        self,
        caller: Caller,
        job: Job | str | int,
        limit: int = 20,
        before: datetime | None = None,
        state: str | None = None,
    ) -> Result[list[Run]]:
        """The runs of a job, which is given if it is known, newest first."""
        if state is not None and state not in RUN_STATES:
            return Err("unknown_state", f"Unknown run state: {state}", f"Use one of: {', '.join(RUN_STATES)}.")
        number = job.number if isinstance(job, Job) else read_job_id(job) or 0
        found = await self._store.list_runs(caller.owner, number, limit, before, state)
        if found and caller.agent is None:
            return Ok(found)
        known = job if isinstance(job, Job) else await self._store.show_job(caller.owner, number)
        return not_found(str(job)) if known is None else Ok(runs_as_seen(caller, known, found))

    async def list_tasks(self, caller: Caller) -> list[TaskInfo]:
        """Every task that a worker has published for this owner."""
        return await self._store.list_tasks(caller.owner)

    async def clock(self, caller: Caller) -> tuple[datetime, str]:
        """The current time, and the owner's time zone."""
        now, zone_name = await self._store.clock(caller.owner)
        return now, zone_name or self._default_zone

    async def own_zone(self, caller: Caller) -> str | None:
        """The time zone that the owner has set."""
        return (await self._store.clock(caller.owner))[1]

    async def set_zone(self, caller: Caller, name: str) -> Result[str | None]:
        """Set the owner's time zone: the one before, if there was one. Jobs keep theirs."""
        try:
            return Ok(await self._store.set_zone(caller, zone(name.strip()).key))
        except BadTrigger as bad:
            return Err("bad_timezone", bad.message, bad.hint, "timezone")

    async def suggest_zone(self, caller: Caller, name: str) -> bool:
        """Set the owner's time zone if nobody has yet, to what a machine or a browser says; whether that was done."""
        try:
            known = zone(name).key
        except BadTrigger:
            return False
        if known == "UTC" or (await self._store.clock(caller.owner))[1] is not None:
            return False
        return await self._store.set_zone(caller, known, first=True) is None

    async def preview(
        self,
        caller: Caller,
        trigger_type: str,
        trigger_config: Mapping[str, object],
        timezone: str | None = None,
        count: int = 5,
    ) -> Result[Preview]:
        """What a schedule means, without making a job."""
        now, usual = await self.clock(caller)
        try:
            known = await self._known(caller, trigger_config)
            with given_in("schedule"):
                rule = read_rule(trigger_type, known.config, zone(timezone or usual).key, now, known.lists)
        except BadTrigger as bad:
            return refusal(bad)
        shown = await preview_of(rule, now, count)
        return Ok(shown) if shown.slots else never(rule.trigger, now, None)

    # -- changing its state -------------------------------------------------------------------------------------

    @retry_on_conflict
    async def pause(self, caller: Caller, job_id: str | int) -> Result[Job]:
        """Hold a job; pausing a paused one changes nothing."""
        async with self._store.locked_job(caller, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if wrong := not_to_change(caller, job):
                return wrong
            if job.state == "active" and job.next_slot is not None:
                job = replace(job, state="paused", held_slot=job.next_slot, next_slot=None)
                job = await locked.save(job, "paused")
            elif job.state != "paused":
                return Err("not_editable", f"Job {job_id} is {job.status}; there is nothing to pause.")
            return Ok(job)

    @retry_on_conflict
    async def resume(self, caller: Caller, job_id: str | int) -> Result[Job]:
        """Let a paused job continue, on this key, with its next future slot; slots passed while paused are skipped."""
        async with self._store.locked_job(caller, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if wrong := not_to_change(caller, job):
                return wrong
            if job.state == "paused":
                held = job.held_slot
                upcoming = held if held and held > locked.now else upcoming_slot(job, locked.now)
                resumed = await close_passed(
                    locked,
                    replace(
                        job,
                        state="active",
                        reason=None,
                        # A job paused for its failures starts from zero, or the next failure would pause it again.
                        failures_in_row=0 if job.reason else job.failures_in_row,
                        next_slot=upcoming,
                        held_slot=None,
                    ),
                    "skipped",
                    "the job was paused",
                )
                if upcoming is None and not job.run_count:
                    resumed = replace(
                        resumed,
                        failures_in_row=1,
                        last_error="skipped: the job was paused when its time came",
                    )
                job = await locked.save(resumed, "resumed")
                await locked.adopt()
            elif job.state != "active":
                return Err("not_editable", f"Job {job_id} is {job.status}; it can't be resumed.")
            return Ok(job)

    @retry_on_conflict
    async def cancel(self, caller: Caller, job_id: str | int) -> Result[Job]:
        """End a job: nothing more fires, waiting runs are cancelled, running ones are asked to stop. Repeatable."""
        async with self._store.locked_job(caller, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            if wrong := not_to_change(caller, locked.job):
                return wrong
            ended = locked.job.status in ("completed", "failed", "cancelled")
            if not ended or locked.job.state == "set_aside":
                await end_job(locked, deleted=False)
        return await self.show(caller, job_id)

    @retry_on_conflict
    async def delete(self, caller: Caller, job_id: str | int) -> Result[None]:
        """End a job and hide it; for 30 days it can be brought back, then it is removed with its runs."""
        async with self._store.locked_job(caller, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            if wrong := not_to_change(caller, locked.job):
                return wrong
            await end_job(locked, deleted=True)
        return Ok(None)

    async def list_deleted(self, caller: Caller, limit: int = 20, before: datetime | None = None) -> list[Job]:
        """Jobs that were deleted and can be brought back, the latest first."""
        jobs = [as_seen(caller, job) for job in await self._store.list_deleted(caller.owner, limit, before)]
        await say_rules(jobs)
        return jobs

    @retry_on_conflict
    async def undelete(self, caller: Caller, job_id: str | int) -> Result[Job]:
        """Bring a deleted job back, on this key; bringing back one that isn't deleted changes nothing."""
        number = read_job_id(job_id) or 0
        shown = await self._store.show_job(caller.owner, number, deleted=True)
        if shown is None:
            there = await self.show(caller, job_id)
            return there if isinstance(there, Err) else not_to_change(caller, there.value) or there
        if wrong := not_to_change(caller, shown):
            return wrong
        standing = await self.allowance.standing(caller)
        if wrong := await self.allowance.for_return(caller.owner, standing, shown.action):
            return wrong
        try:
            async with self._store.locked_job(caller, number, deleted=True) as locked:
                if locked is not None:
                    if locked.job.deleted_at is None or locked.job.deleted_at <= locked.now - UNDELETED_FOR:
                        return not_found(job_id)
                    await bring_back(locked)
                    await locked.adopt()
        except UniqueConflict:
            return Err(
                "key_taken",
                f"Job {job_id} can't come back: another job has been made with its key since.",
                "Delete that one first, or leave this one deleted.",
            )
        await self.allowance.recount(caller.owner)
        return await self.show(caller, job_id)

    @retry_on_conflict
    async def change_slot(self, caller: Caller, request: ChangeSlot) -> Result[SlotChanged]:
        """Skip one slot, move it, or take either back; the rule stays as it is."""
        async with self._store.locked_job(caller, read_job_id(request.job_id) or 0) as locked:
            if locked is None:
                return not_found(request.job_id)
            action = locked.job.action
            if wrong := not_to_change(caller, locked.job) or (not_from_here(caller, action) if request.to else None):
                return wrong
            try:
                changed = with_changed_slot(locked.job, request, caller, locked.now)
            except BadTrigger as bad:
                return refusal(bad)
            if isinstance(changed, Err):
                return changed
            job, what, _ = changed.value
            return changed if what is None else Ok(changed.value._replace(job=await locked.save(job, what)))

    @retry_on_conflict
    async def run_now(self, caller: Caller, job_id: str | int) -> Result[StartedRun]:
        """Run a job once, now, in addition to its schedule."""
        async with self._store.locked_job(caller, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if wrong := not_to_change(caller, job, "run"):
                return wrong
            if job.state == "cancelled":
                return Err("not_editable", f"Job {job_id} is cancelled.", "Schedule a new one.")
            if job.in_flight and job.policy.overlap == "skip":
                return Err(
                    "already_running",
                    f"Job {job_id} is running already.",
                    'Wait for it to end, or give the job the policy {"overlap": "queue"}.',
                )
            allowance = self.allowance.within(locked.limits)
            if job.action.kind == "prompt" and (wrong := await allowance.for_wake(caller, job.action)):
                return wrong
            started = run_id(job.number, await locked.run_now())
            return Ok(StartedRun(run_id=started, job_id=job_id_text(job.number, job.created_at)))
