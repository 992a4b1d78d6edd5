"""The one door: everything a caller may ask. Every answer is a `Result`; every call takes an owner."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, cast

import orjson

from cronty.jobs.action import Action, check_arguments_size
from cronty.jobs.arguments import check_arguments
from cronty.jobs.ids import read_job_id
from cronty.jobs.job import STATUSES, Job
from cronty.jobs.policy import BadPolicy, Policy, default_policy, make_policy
from cronty.jobs.result import Err, Ok, Result
from cronty.jobs.run import MOVES, Run, run_id
from cronty.store.job_store import Filter, JobStore, LockedJob, NewJob, Place, TaskInfo
from cronty.timing import BadTrigger, Cron, Trigger, zone
from cronty.timing.past import slots_between
from cronty.timing.reading import read_moment, read_trigger

MOST_LISTED: Final = 1000
MAX_NAME: Final = 200
MAX_TAGS: Final = 20


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What someone asks for. `policy` holds only what differs from the default; no slot comes before `starts_at`."""

    name: str
    action: Action
    trigger_type: str
    trigger_config: Mapping[str, object]
    timezone: str | None = None
    policy: Mapping[str, object] = field(default_factory=dict[str, object])
    max_runs: int | None = None
    tags: Sequence[str] = ()
    starts_at: datetime | str | None = None
    ends_at: datetime | str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class JobChanges:
    """What to change; None leaves it as it is. `trigger_type` and `trigger_config` come together."""

    name: str | None = None
    action: Action | None = None
    trigger_type: str | None = None
    trigger_config: Mapping[str, object] | None = None
    timezone: str | None = None
    policy: Mapping[str, object] | None = None
    max_runs: int | None = None
    tags: Sequence[str] | None = None
    ends_at: datetime | str | None = None


@dataclass(frozen=True, slots=True)
class JobPage:
    """`cursor` continues after the last job of this page; None if there are no more."""

    jobs: list[Job]
    total: int
    cursor: str | None


def not_found(job_id: str | int) -> Err:
    return Err(
        "not_found",
        f"Job not found: {job_id}",
        "It may have been deleted, or the id is wrong; list_jobs shows yours.",
    )


class Scheduler:
    """Stateless; any number of them, in any number of processes, may serve the same database."""

    def __init__(self, store: JobStore, default_zone: str = "UTC") -> None:
        self._store = store
        self._default_zone = default_zone

    # -- making -------------------------------------------------------------------------------------------------

    async def schedule(self, owner: str, request: JobRequest) -> Result[Job]:
        """Make a job; a repeated idempotency key answers with the job it made the first time."""
        if wrong := _check_words(request.name, request.tags, request.max_runs, request.idempotency_key):
            return wrong
        if request.idempotency_key is not None:
            made = await self._store.find_by_key(owner, request.idempotency_key)
            if made is not None:
                return await self.show(owner, made)
        if wrong := await self._check_action(request.action):
            return wrong
        now = await self._store.now()
        try:
            zone_name = zone(request.timezone or await self._store.owner_zone(owner) or self._default_zone).key
            policy = make_policy({**default_policy(request.action), **request.policy})
            starts_at = now if request.starts_at is None else max(now, read_moment(request.starts_at, zone_name))
            trigger = read_trigger(request.trigger_type, request.trigger_config, zone_name, starts_at)
            ends_at = None if request.ends_at is None else read_moment(request.ends_at, zone_name)
        except (BadTrigger, BadPolicy) as bad:
            return _refusal(bad)
        before = now if starts_at == now else starts_at - timedelta(microseconds=1)  # the start may be a slot itself
        first = _next_slot(trigger, before, ends_at)
        if first is None:
            return _never(trigger, before, ends_at)
        new = NewJob(
            owner=owner,
            name=request.name,
            action=request.action,
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
            created_at=now,
        )
        job_id = await self._store.add_job(new)
        if job_id is None:
            assert request.idempotency_key is not None
            job_id = await self._store.find_by_key(owner, request.idempotency_key)
        return await self.show(owner, job_id or 0)

    async def edit(
        self, owner: str, job_id: str | int, changes: JobChanges, expected_version: int | None = None
    ) -> Result[Job]:
        """Change a job that has something to come, from its next slot on."""
        if wrong := _check_words(changes.name, changes.tags, changes.max_runs):
            return wrong
        if changes.action is not None and (wrong := await self._check_action(changes.action)):
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
                changed = _changed(locked.job, changes, locked.now)
            except (BadTrigger, BadPolicy) as bad:
                return _refusal(bad)
            had_more = (locked.job.next_slot or locked.job.held_slot) is not None
            has_more = (changed.next_slot or changed.held_slot) is not None
            new_rule = changed.trigger != locked.job.trigger
            if (had_more or new_rule) and not has_more and changed.remaining != 0:
                return _never(changed.trigger, locked.now, changed.ends_at)
            if changed.trigger != locked.job.trigger or changed.state != locked.job.state:
                changed = await _closed(locked, changed, "skipped", "the rule was changed")
            await locked.save(changed)
        return await self.show(owner, job_id)

    # -- looking ------------------------------------------------------------------------------------------------

    async def show(self, owner: str, job_id: str | int) -> Result[Job]:
        job = await self._store.show_job(owner, read_job_id(job_id) or 0)
        return not_found(job_id) if job is None else Ok(job)

    async def list_jobs(
        self, owner: str, wanted: Filter | None = None, limit: int = 100, cursor: str | None = None
    ) -> Result[JobPage]:
        """A page of jobs, those that fire next first."""
        wanted = wanted or Filter()
        if wanted.status is not None and wanted.status not in STATUSES:
            return Err("unknown_status", f"Unknown status: {wanted.status}", f"Use one of: {', '.join(STATUSES)}.")
        if not 1 <= limit <= MOST_LISTED:
            return Err("bad_limit", f"Invalid limit: {limit}", f"Use a number from 1 to {MOST_LISTED}.")
        if not all(_holdable(text) for text in (wanted.name, wanted.tag, wanted.task) if text is not None):
            return Ok(JobPage([], 0, None))
        place = None
        if cursor is not None and (place := _read_cursor(cursor)) is None:
            return Err("bad_cursor", f"Invalid cursor: {cursor[:80]}", "Use the cursor of the page before, or none.")
        jobs, total = await self._store.list_jobs(owner, wanted, limit + 1, place)
        more = len(jobs) > limit
        jobs = jobs[:limit]
        return Ok(JobPage(jobs, total, _cursor(jobs[-1]) if more else None))

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
        if await self._store.show_job(owner, number) is None:
            return not_found(job_id)
        return Ok(await self._store.list_runs(owner, number, limit, before, state))

    async def list_tasks(self) -> list[TaskInfo]:
        """What may be scheduled: every task that some worker has published."""
        return await self._store.list_tasks()

    # -- changing its state -------------------------------------------------------------------------------------

    async def pause(self, owner: str, job_id: str | int) -> Result[Job]:
        """Hold a job; pausing a paused one changes nothing."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if job.state == "active" and job.next_slot is not None:
                await locked.save(replace(job, state="paused", held_slot=job.next_slot, next_slot=None))
            elif job.state != "paused":
                return Err("not_editable", f"Job {job_id} is {job.status}; there is nothing to pause.")
        return await self.show(owner, job_id)

    async def resume(self, owner: str, job_id: str | int) -> Result[Job]:
        """Let a paused job go on with its next future slot; the slots it slept through are skipped."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            job = locked.job
            if job.state == "paused":
                held = job.held_slot
                upcoming = held if held and held > locked.now else _upcoming(job, locked.now)
                resumed = await _closed(
                    locked,
                    replace(job, state="active", next_slot=upcoming, held_slot=None),
                    "skipped",
                    "the job was paused",
                )
                if upcoming is None and not job.run_count:
                    resumed = replace(
                        resumed,
                        failures_in_row=1,
                        last_error="skipped: the job was paused when its time came",
                    )
                await locked.save(resumed)
            elif job.state != "active":
                return Err("not_editable", f"Job {job_id} is {job.status}; it can't be resumed.")
        return await self.show(owner, job_id)

    async def cancel(self, owner: str, job_id: str | int) -> Result[Job]:
        """End a job: nothing more fires, what waits is cancelled, what runs is asked to stop. Repeatable."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            ended = locked.job.status in ("completed", "failed", "cancelled")
            if not ended or locked.job.state == "set_aside":
                await _end(locked, deleted=False)
        return await self.show(owner, job_id)

    async def delete(self, owner: str, job_id: str | int) -> Result[None]:
        """End a job and hide it for good; the history of its runs is kept."""
        async with self._store.locked_job(owner, read_job_id(job_id) or 0) as locked:
            if locked is None:
                return not_found(job_id)
            await _end(locked, deleted=True)
        return Ok(None)

    async def run_now(self, owner: str, job_id: str | int) -> Result[str]:
        """Run a job once, now, beside its schedule; answers with the id of the run."""
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
            return Ok(run_id(job.id, await locked.run_now()))

    async def _check_action(self, action: Action) -> Err | None:
        if wrong := check_arguments_size(action):
            return wrong
        if not _holdable(action.task):
            return Err("unknown_task", f"Unknown task: {action.task!r}")
        parameters = await self._store.task_parameters(action.task)
        if parameters is not None:
            return check_arguments(action, parameters)
        if action.kind == "prompt":  # its run waits for an agent, not for a worker with code
            return None
        names = ", ".join(task.name for task in await self._store.list_tasks()) or "none yet"
        return Err("unknown_task", f"Unknown task: {action.task}", f"Registered tasks: {names}.")


# -- decisions, all pure ------------------------------------------------------------------------------------------


def _check_words(
    name: str | None, tags: Sequence[str] | None, max_runs: int | None, key: str | None = None
) -> Err | None:
    if name is not None and not (0 < len(name.strip()) <= MAX_NAME and _holdable(name)):
        return Err("bad_name", f"Invalid name: {name[:80]!r}", f"Give the job a name of 1 to {MAX_NAME} characters.")
    if tags is not None and (len(tags) > MAX_TAGS or any(not 0 < len(tag) <= 50 or not _holdable(tag) for tag in tags)):
        return Err("bad_tags", f"Invalid tags: {list(tags)[:3]!r}", f"At most {MAX_TAGS} tags of 1 to 50 characters.")
    if key is not None and not (0 < len(key) <= MAX_NAME and _holdable(key)):
        return Err("bad_key", f"Invalid idempotency_key: {key[:80]!r}", f"Use 1 to {MAX_NAME} characters.")
    if max_runs is not None and not 1 <= max_runs < 2**31:
        return Err("bad_max_runs", f"Invalid max_runs: {max_runs}", "It must be a positive number, or left out.")
    return None


def _holdable(text: str) -> bool:
    """Whether PostgreSQL can keep a text: it takes neither NUL nor half a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _refusal(bad: BadTrigger | BadPolicy) -> Err:
    if isinstance(bad, BadTrigger):
        return Err("bad_trigger", bad.message, bad.hint)
    return Err("bad_policy", str(bad))


def _next_slot(trigger: Trigger, now: datetime, ends_at: datetime | None) -> datetime | None:
    slot = trigger.after(now)
    return None if slot is None or (ends_at is not None and slot > ends_at) else slot


def _upcoming(job: Job, now: datetime) -> datetime | None:
    """The job's next slot from here; never one it has had already, even if the clock was set back."""
    if job.remaining == 0:
        return None
    return _next_slot(job.trigger, max(now, job.last_slot or now), job.ends_at)


def _never(trigger: Trigger, now: datetime, ends_at: datetime | None) -> Err:
    slot = trigger.after(now)
    if slot is not None:
        end = ends_at.isoformat() if ends_at else None
        return Err(
            "bad_trigger",
            f"It would end before it begins: ends_at is {end}, the first slot {slot.isoformat()}.",
            "Give a later ends_at, or none.",
        )
    given = getattr(trigger, "at", None)
    if given is not None:
        return Err(
            "bad_trigger",
            f"That time is past: {given.isoformat()}; it is now {now.isoformat()}.",
            "Give a later one.",
        )
    return Err("bad_trigger", "It never comes: there is no slot within 10 years.")


def _changed(job: Job, changes: JobChanges, now: datetime) -> Job:
    """The job as it will be, its next slot included."""
    zone_name = zone(changes.timezone or job.zone).key
    trigger = job.trigger
    if changes.trigger_type is not None or changes.trigger_config is not None:
        trigger = read_trigger(changes.trigger_type or job.trigger_type, changes.trigger_config or {}, zone_name, now)
    elif zone_name != job.zone and isinstance(trigger, Cron):
        trigger = Cron(trigger.expression, zone_name, trigger.gap, trigger.overlap)
    changed = replace(
        job,
        trigger=trigger,
        zone=zone_name,
        policy=job.policy if changes.policy is None else _policy_with(job.policy, changes.policy),
        name=changes.name or job.name,
        action=changes.action or job.action,
        tags=job.tags if changes.tags is None else tuple(changes.tags),
        max_runs=changes.max_runs or job.max_runs,
        ends_at=job.ends_at if changes.ends_at is None else read_moment(changes.ends_at, zone_name),
    )
    planned = job.next_slot or job.held_slot
    if trigger != job.trigger or planned is None:
        planned = _upcoming(changed, now)
    elif changed.remaining == 0 or (changed.ends_at is not None and planned > changed.ends_at):
        planned = None
    if job.state == "paused" and planned is not None:
        return replace(changed, next_slot=None, held_slot=planned)
    return replace(changed, next_slot=planned, held_slot=None, state="active", reason=None)


def _policy_with(policy: Policy, given: Mapping[str, object]) -> Policy:
    return make_policy({**orjson.loads(policy.dump()), **given})


async def _closed(locked: LockedJob, changed: Job, state: str, reason: str) -> Job:
    """Give the slots that came and went unfired their verdict, so that none is left unexplained."""
    job = locked.job
    first = job.next_slot or job.held_slot
    if first is None or first > locked.now:
        return changed
    until = locked.now if job.ends_at is None else min(locked.now, job.ends_at)
    passed = slots_between(job.trigger, first, until, followed_by=changed.next_slot or changed.held_slot)
    await locked.close_slots(passed, state, reason)
    return replace(changed, last_slot=passed.first)


async def _end(locked: LockedJob, *, deleted: bool) -> None:
    job = locked.job
    planned = job.next_slot or job.held_slot
    if planned is not None and planned <= locked.now:
        planned = _upcoming(job, locked.now)
    ended = replace(job, state="cancelled", next_slot=None, held_slot=planned)
    if job.state == "paused":
        ended = await _closed(locked, ended, "skipped", "the job was paused")
    elif job.state != "cancelled":
        ended = await _closed(locked, ended, "cancelled", "cancelled before it was fired")
    await locked.stop_runs("the job was deleted" if deleted else "the job was cancelled")
    await locked.save(ended, deleted=deleted)


def _cursor(job: Job) -> str:
    place = [job.next_slot is None, job.fire_at.isoformat() if job.fire_at else None, job.id]
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def _read_cursor(cursor: str) -> Place | None:
    try:
        place = cast("list[object]", orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
        idle, fire_at, job_id = place
        moment = datetime.fromisoformat(str(fire_at)).astimezone(UTC) if fire_at else None
        if isinstance(idle, bool) and isinstance(job_id, int) and read_job_id(job_id) is not None:
            return Place(idle, moment, job_id)
    except (ValueError, TypeError, OverflowError):
        pass
    return None
