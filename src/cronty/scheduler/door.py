"""The one door: everything a caller may ask. Every answer is a `Result`; every call takes an owner."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import orjson

from cronty.jobs.action import COMMAND, PROMPT, ROUTED, Action, as_prompt, check_arguments_size
from cronty.jobs.arguments import check_arguments
from cronty.jobs.caller import who_acts
from cronty.jobs.ids import read_job_id
from cronty.jobs.job import STATUSES, UNDELETED_FOR, Job
from cronty.jobs.limits import DEFAULTS, Limits, too_often
from cronty.jobs.policy import BadPolicy, default_policy, make_policy
from cronty.jobs.result import Err, Ok, Result
from cronty.jobs.run import MOVES, Run, run_id
from cronty.scheduler.allowance import Allowance, by_agent, lineage
from cronty.scheduler.decisions import (
    bring_back,
    changed_job,
    check_words,
    close_passed,
    cursor_of,
    end_job,
    holdable,
    keeping_route,
    never,
    next_slot_of,
    not_found,
    read_cursor,
    refusal,
    upcoming_slot,
)
from cronty.scheduler.requests import JobChanges, JobPage, JobRequest, Preview
from cronty.store.database import SlotTaken, repeatable
from cronty.store.job_store import Filter, JobStore, NewJob, TaskInfo
from cronty.timing import BadTrigger, describe, preview, zone
from cronty.timing.rule import read_instant, read_rule

MOST_LISTED: Final = 1000
MOST_PREVIEWED: Final = 100


class Scheduler:
    """Stateless; any number of them, in any number of processes, may serve the same database."""

    def __init__(
        self, store: JobStore, default_zone: str = "UTC", limits: Limits = DEFAULTS, made_by: str | None = None
    ) -> None:
        """`limits` are the installation's; `made_by` is the run that has started this process, if one did."""
        self._store = store
        self._default_zone = default_zone
        self.allowance = Allowance(store.limits, limits, made_by)

    # -- making -------------------------------------------------------------------------------------------------

    async def schedule(self, owner: str, request: JobRequest) -> Result[Job]:
        """Make a job; a repeated idempotency key answers with the job it made the first time."""
        if wrong := check_words(request.name, request.tags, request.max_runs, request.idempotency_key):
            return wrong
        standing = await self.allowance.standing(
            owner, request.origin, key=request.idempotency_key, tasks=_tasks_of(request.action)
        )
        if standing.made is not None:
            return await self.show(owner, standing.made)
        if wrong := await self._check_action(request.action, standing.tasks):
            return wrong
        action = _routed(request.action, standing.tasks)
        now = standing.now
        try:
            zone_name = zone(request.timezone or standing.zone or self._default_zone).key
            policy = make_policy({**default_policy(request.action), **request.policy})
            starts_at = now if request.starts_at is None else max(now, read_instant(request.starts_at, zone_name, now))
            rule = read_rule(request.trigger_type, request.trigger_config, zone_name, starts_at)
            trigger, zone_name = rule.trigger, rule.zone
            ends_at = None if request.ends_at is None else read_instant(request.ends_at, zone_name, now)
        except (BadTrigger, BadPolicy) as bad:
            return refusal(bad)
        before = now if starts_at == now else starts_at - timedelta(microseconds=1)  # the start may be a slot itself
        first = next_slot_of(trigger, before, ends_at)
        if first is None:
            return never(trigger, before, ends_at)
        if wrong := await self.allowance.for_new(owner, standing, action, trigger, request.origin):
            return wrong
        origin = lineage(standing, request.origin)
        new = NewJob(
            owner=owner,
            name=request.name,
            action=action,
            trigger=trigger,
            zone=zone_name,
            policy=policy.dump(),
            serial=policy.serial,
            spread=policy.spread,
            tags=request.tags,
            max_runs=request.max_runs,
            ends_at=ends_at,
            idempotency_key=request.idempotency_key,
            first_slot=first,
            slots_after=before,
            created_at=now,
            origin=None if origin is None else orjson.dumps(origin).decode(),
            key_id=request.key_id,
        )
        made = await self._store.add_job(new)
        if made is not None:
            return Ok(made)
        return await self.show(owner, await self._store.find_by_key(owner, request.idempotency_key or "") or 0)

    @repeatable
    async def edit(
        self,
        owner: str,
        job_id: str | int,
        changes: JobChanges,
        expected_version: int | None = None,
        *,
        key_id: int | None = None,
    ) -> Result[Job]:
        """Change a job that has something to come, from its next slot on; it stands on the changer's key then."""
        if wrong := check_words(changes.name, changes.tags, changes.max_runs):
            return wrong
        standing = await self.allowance.standing(owner, tasks=_tasks_of(changes.action))
        if changes.action is not None:
            if wrong := await self._check_action(changes.action, standing.tasks):
                return wrong
            changes = replace(changes, action=(action := _routed(changes.action, standing.tasks)))
            if wrong := await self.allowance.for_arguments(owner, standing, action):
                return wrong
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            if expected_version is not None and locked.job.version != expected_version:
                return Err(
                    "version_conflict",
                    f"Job {job_id} is at version {locked.job.version}, not {expected_version}.",
                    "Look at it again and repeat the change with its current version.",
                )
            if locked.job.status not in ("pending", "running") and locked.job.state != "set_aside":
                return Err(
                    "not_editable",
                    f"Job {job_id} is {locked.job.status}; only a job with something to come can be edited.",
                    "Schedule a new one.",
                )
            try:
                changed = changed_job(locked.job, keeping_route(locked.job, changes), locked.now)
            except (BadTrigger, BadPolicy) as bad:
                return refusal(bad)
            had_more = (locked.job.next_slot or locked.job.held_slot) is not None
            has_more = (changed.next_slot or changed.held_slot) is not None
            new_rule = changed.trigger != locked.job.trigger
            limits, of_agent = self.allowance.of(standing), by_agent(locked.origin)
            if new_rule and (wrong := too_often(limits, changed.action, changed.trigger, by_agent=of_agent)):
                return wrong
            if (had_more or new_rule) and not has_more and changed.remaining != 0:
                return never(changed.trigger, locked.now, changed.ends_at)
            if changed.trigger != locked.job.trigger or changed.state != locked.job.state:
                changed = await close_passed(locked, changed, "skipped", "the rule was changed")
            await locked.save(changed)
            await locked.adopt(key_id)
        return await self.show(owner, job_id)

    # -- looking ------------------------------------------------------------------------------------------------

    async def show(self, owner: str, job_id: str | int) -> Result[Job]:
        job = await self._store.show_job(owner, read_job_id(job_id) or 0)
        return not_found(job_id) if job is None else Ok(job)

    async def list_jobs(
        self,
        owner: str,
        wanted: Filter | None = None,
        limit: int = 100,
        cursor: str | None = None,
        *,
        looking: bool = False,
    ) -> Result[JobPage]:
        """A page of jobs, those that fire next first. `looking`: a person does, and a few seconds late will do."""
        wanted = wanted or Filter()
        if wanted.status is not None and wanted.status not in STATUSES:
            return Err("unknown_status", f"Unknown status: {wanted.status}", f"Use one of: {', '.join(STATUSES)}.")
        if not 1 <= limit <= MOST_LISTED:
            return Err("bad_limit", f"Invalid limit: {limit}", f"Use a number from 1 to {MOST_LISTED}.")
        if not all(holdable(text) for text in (wanted.name, wanted.tag, wanted.task, wanted.topic) if text is not None):
            return Ok(JobPage([], 0, None))
        place = None
        if cursor is not None and (place := read_cursor(cursor)) is None:
            return Err("bad_cursor", f"Invalid cursor: {cursor[:80]}", "Use the cursor of the page before, or none.")
        jobs, total = await self._store.list_jobs(owner, wanted, limit + 1, place, looking=looking)
        more = len(jobs) > limit
        jobs = jobs[:limit]
        return Ok(JobPage(jobs, total, cursor_of(jobs[-1], total) if more else None))

    async def list_runs(
        self,
        owner: str,
        job_id: str | int,
        limit: int = 20,
        before: datetime | None = None,
        state: str | None = None,
    ) -> Result[list[Run]]:
        """The runs of a job, newest first, each with its verdict and the reason for it."""
        if state is not None and state not in MOVES:
            return Err("unknown_state", f"Unknown run state: {state}", f"Use one of: {', '.join(MOVES)}.")
        if not 1 <= limit <= MOST_LISTED:
            return Err("bad_limit", f"Invalid limit: {limit}", f"Use a number from 1 to {MOST_LISTED}.")
        number = read_job_id(job_id) or 0
        found = await self._store.list_runs(owner, number, limit, before, state)
        if not found and await self._store.show_job(owner, number) is None:
            return not_found(job_id)
        return Ok(found)

    async def list_tasks(self) -> list[TaskInfo]:
        """What may be scheduled: every task that some worker has published."""
        return await self._store.list_tasks()

    async def clock(self, owner: str) -> tuple[datetime, str]:
        """The moment it is, and the zone the owner thinks in."""
        now, zone_name = await self._store.clock(owner)
        return now, zone_name or self._default_zone

    async def preview(
        self,
        owner: str,
        trigger_type: str,
        trigger_config: Mapping[str, object],
        timezone: str | None = None,
        count: int = 5,
    ) -> Result[Preview]:
        """What a rule means, before a job is made of it."""
        if not 1 <= count <= MOST_PREVIEWED:
            return Err("bad_count", f"Invalid count: {count}", f"Use a number from 1 to {MOST_PREVIEWED}.")
        now, usual = await self.clock(owner)
        try:
            rule = read_rule(trigger_type, trigger_config, zone(timezone or usual).key, now)
        except BadTrigger as bad:
            return refusal(bad)
        slots = preview(rule.trigger, now, count, rule.zone)
        if not slots:
            return never(rule.trigger, now, None)
        return Ok(Preview(describe(rule.trigger, rule.zone), rule.zone, slots, rule.note))

    # -- changing its state -------------------------------------------------------------------------------------

    @repeatable
    async def pause(self, owner: str, job_id: str | int) -> Result[Job]:
        """Hold a job; pausing a paused one changes nothing."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if job.state == "active" and job.next_slot is not None:
                await locked.save(replace(job, state="paused", held_slot=job.next_slot, next_slot=None), "paused")
            elif job.state != "paused":
                return Err("not_editable", f"Job {job_id} is {job.status}; there is nothing to pause.")
        return await self.show(owner, job_id)

    @repeatable
    async def resume(self, owner: str, job_id: str | int, *, key_id: int | None = None) -> Result[Job]:
        """Let a paused job go on, on this key, with its next future slot; the slots it slept through are skipped."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if job.state == "paused":
                held = job.held_slot
                upcoming = held if held and held > locked.now else upcoming_slot(job, locked.now)
                resumed = await close_passed(
                    locked,
                    replace(
                        job,
                        state="active",
                        reason=None,
                        # Paused for its failures, it starts with a clean slate, or the first one would end it again.
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
                await locked.save(resumed, "resumed")
                await locked.adopt(key_id)
            elif job.state != "active":
                return Err("not_editable", f"Job {job_id} is {job.status}; it can't be resumed.")
        return await self.show(owner, job_id)

    @repeatable
    async def cancel(self, owner: str, job_id: str | int) -> Result[Job]:
        """End a job: nothing more fires, what waits is cancelled, what runs is asked to stop. Repeatable."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            ended = locked.job.status in ("completed", "failed", "cancelled")
            if not ended or locked.job.state == "set_aside":
                await end_job(locked, deleted=False)
        return await self.show(owner, job_id)

    @repeatable
    async def delete(self, owner: str, job_id: str | int) -> Result[None]:
        """End a job and hide it; for 30 days it can be brought back, then it goes with its runs."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            await end_job(locked, deleted=True)
        return Ok(None)

    async def list_deleted(self, owner: str, limit: int = 20, before: datetime | None = None) -> Result[list[Job]]:
        """Jobs that were deleted and can be brought back, the latest first."""
        if not 1 <= limit <= MOST_LISTED:
            return Err("bad_limit", f"Invalid limit: {limit}", f"Use a number from 1 to {MOST_LISTED}.")
        return Ok(await self._store.list_deleted(owner, limit, before))

    @repeatable
    async def undelete(self, owner: str, job_id: str | int, *, key_id: int | None = None) -> Result[Job]:
        """Bring a deleted job back, on this key; bringing back one that isn't deleted changes nothing."""
        number = read_job_id(job_id) or 0
        shown = await self._store.show_job(owner, number, deleted=True)
        if shown is not None:
            standing = await self.allowance.standing(owner)
            if wrong := await self.allowance.for_return(owner, standing, shown.action):
                return wrong
        try:
            async with self._store.locked_job(owner, number, deleted=True) as locked:
                if locked is not None:
                    if locked.job.deleted_at is None or locked.job.deleted_at <= locked.now - UNDELETED_FOR:
                        return not_found(job_id)
                    await bring_back(locked)
                    await locked.adopt(key_id)
        except SlotTaken:
            return Err(
                "key_taken",
                f"Job {job_id} can't come back: another job has been made with its idempotency key since.",
                "Delete that one first, or leave this one deleted.",
            )
        if shown is not None:
            await self.allowance.recount(owner)
        return await self.show(owner, job_id)

    async def run_now(self, owner: str, job_id: str | int) -> Result[str]:
        """Run a job once, now, beside its schedule; answers with the id of the run."""
        shown = await self._store.show_job(owner, read_job_id(job_id) or 0)
        waking = None if shown is None or shown.action.kind != "prompt" else shown.action
        if waking is not None and (wrong := await self.allowance.for_wake(owner, waking)):
            return wrong
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if job.state == "cancelled":
                return Err("not_editable", f"Job {job_id} is cancelled.", "Schedule a new one.")
            if job.in_flight and job.policy.overlap == "skip":
                return Err(
                    "already_running",
                    f"Job {job_id} is running already.",
                    'Wait for it to end, or give the job the policy {"overlap": "queue"}.',
                )
            return Ok(run_id(job.number, await locked.run_now()))

    async def _check_action(self, action: Action, known: Mapping[str, dict[str, object]]) -> Err | None:
        """Why an action can't be scheduled; `known` are those of its tasks that some worker has."""
        if wrong := check_arguments_size(action):
            return wrong
        if action.task == COMMAND and who_acts().caller is not None:
            return Err(
                "not_allowed",
                "Commands are scheduled by whoever sits at the machine that runs them, not from here.",
                "There: cronty import crontab.",
            )
        if not holdable(action.task):
            return Err("unknown_task", f"Unknown task: {action.task!r}")
        parameters = known.get(PROMPT if action.kind == "prompt" else action.task)
        if parameters is not None:
            return check_arguments(action, parameters)
        if action.kind == "prompt":  # its run waits for an agent, not for a worker with code
            return None
        names = ", ".join(task.name for task in await self._store.list_tasks()) or "none yet"
        return Err("unknown_task", f"Unknown task: {action.task}", f"Registered tasks: {names}.")


def _tasks_of(action: Action | None) -> list[str]:
    """The tasks to look for before an action is taken: its own, and for a prompt the one that wakes its agent."""
    if action is None:
        return []
    names = [PROMPT, f"{ROUTED}{as_prompt(action).agent}"] if action.kind == "prompt" else [action.task]
    return [name for name in names if holdable(name)]


def _routed(action: Action, known: Mapping[str, object]) -> Action:
    """A prompt by the way its agent is woken: by a worker that says it can, or else by its inbox."""
    if action.kind != "prompt":
        return action
    prompt = as_prompt(action)
    route = f"{ROUTED}{prompt.agent}"
    return prompt if prompt.agent is None or route not in known else replace(prompt, task=route)
