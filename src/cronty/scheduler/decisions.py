"""What the scheduler decides about a request or a locked job. The current time is always passed in."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, cast

import orjson

from cronty.contract.caller import Caller
from cronty.contract.operation import UNSET, Unset
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Choice, Err
from cronty.jobs.action import COMMAND, Action
from cronty.jobs.ids import job_id_text, read_job_id
from cronty.jobs.job import Job
from cronty.jobs.overview import MAX_COUNTED
from cronty.jobs.policy import BadPolicy, Policy, changed_policy
from cronty.jobs.storable import storable
from cronty.store.job_store import JobCursor, LockedJob
from cronty.timing import BadTrigger, Calendar, Changed, Cron, Trigger, zone
from cronty.timing.errors import Unclear, Unread, given_in
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.past import slots_between
from cronty.timing.rule import Rule, read_bound, read_rule

MAX_NAME: Final = 200
_SHOWN: Final = MAX_NAME
"""Characters of a wrong id that are repeated."""
MAX_TAGS: Final = 20


def not_found(job_id: str | int) -> Err:
    return Err(
        "not_found",
        f"Job not found: {str(job_id)[:_SHOWN]}",
        "It may have been deleted, or the id is wrong; list_jobs shows yours.",
    )


def check_fields(
    name: str | None, tags: Sequence[str] | None, max_runs: int | None, key: str | None = None
) -> Err | None:
    longest = f"Use 1 to {MAX_NAME} characters."
    if name is not None and not (0 < len(name.strip()) <= MAX_NAME and storable(name)):
        return Err("bad_name", f"Invalid name: {name[:80]!r}", longest, "name")
    if tags is not None and (len(tags) > MAX_TAGS or any(not 0 < len(tag) <= 50 or not storable(tag) for tag in tags)):
        hint = f"At most {MAX_TAGS} tags of 1 to 50 characters."
        return Err("bad_tags", f"Invalid tags: {list(tags)[:3]!r}", hint, "tags")
    if key is not None and not (0 < len(key) <= MAX_NAME and storable(key)):
        return Err("bad_key", f"Invalid idempotency_key: {key[:80]!r}", longest, "idempotency_key")
    if max_runs is not None and not 1 <= max_runs < 2**31:
        hint = "It must be a positive number, or left out."
        return Err("bad_max_runs", f"Invalid max_runs: {max_runs}", hint, "max_runs")
    return None


def refusal(bad: BadTrigger | BadPolicy) -> Err:
    if isinstance(bad, BadTrigger):
        if isinstance(bad, Unclear):
            choices = tuple(Choice(each.words, each.description, each.next_at) for each in bad.candidates)
            return Err("ambiguous", bad.message, bad.hint, bad.field or "trigger_config", choices)
        return Err("unreadable" if isinstance(bad, Unread) else "bad_trigger", bad.message, bad.hint, bad.field)
    return Err("bad_policy", str(bad))


def runs_of(rule: Rule, max_runs: int | None) -> int | None:
    """How many times a job may run: as its schedule says, or its `max_runs`; both only if they agree."""
    if None not in (rule.max_runs, max_runs) and max_runs != rule.max_runs:
        raise BadTrigger(
            f"The schedule says {rule.max_runs} times, and max_runs says {max_runs}", "Leave one of them out."
        )
    return rule.max_runs if max_runs is None else max_runs


def next_slot_of(trigger: Trigger | Changed, now: datetime, ends_at: datetime | None) -> datetime | None:
    slot = trigger.after(now)
    return None if slot is None or (ends_at is not None and slot > ends_at) else slot


def upcoming_slot(job: Job, now: datetime) -> datetime | None:
    """The job's next slot after now; never one it has had already, even if the clock was set back."""
    if job.remaining == 0:
        return None
    return next_slot_of(job.slots, max(now, job.slots_after, job.last_slot or now), job.ends_at)


def never(trigger: Trigger, now: datetime, ends_at: datetime | None) -> Err:
    slot = trigger.after(now)
    if slot is not None:
        end = ends_at.isoformat() if ends_at else None
        return Err(
            "bad_trigger",
            f"It would end before it begins: ends_at is {end}, and the first slot is {slot.isoformat()}.",
            "Give a later ends_at, or none.",
        )
    given = getattr(trigger, "at", None)
    if given is not None:
        return Err(
            "bad_trigger",
            f"That time is past: {given.isoformat()}; it is now {now.isoformat()}.",
            "Give a later one.",
        )
    return Err("bad_trigger", "It never fires: there is no slot within 10 years.")


def not_from_here(caller: Caller, action: Action) -> Err | None:
    """Why a caller may not give a job this action, or None."""
    if action.task != COMMAND or caller.trusted:
        return None
    return Err(
        "not_allowed",
        "Commands can only be scheduled and changed at the machine that runs them.",
        "On that machine, use: cronty add --command, cronty edit, or cronty import crontab.",
        "task",
    )


def request_digest(request: ScheduleJob) -> bytes:
    """A digest of a request, by which a repetition is told from another request with the same idempotency key."""
    asked = {one.name: getattr(request, one.name) for one in fields(request) if one.name != "idempotency_key"}
    return _digest(asked)


def _digest(value: object) -> bytes:
    return sha256(orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).digest()


def key_taken(request: ScheduleJob, job: Job | None) -> Err:
    """The refusal of another request with the key of this job; it says what is different, if that can be seen."""
    what = "in another request"
    if job is not None and job.action.kind == "task":
        if job.action.task != request.task:
            what = f"for the task {job.action.task}"
        elif _digest([request.args or (), request.kwargs or {}]) != _digest([job.action.args, job.action.kwargs]):
            what = "with other arguments"
    made = "" if job is None else f", and made {job_id_text(job.number, job.created_at)}"
    return Err(
        "key_taken",
        f"The idempotency_key {request.idempotency_key!r} was used before, {what}{made}.",
        "Use a new key for a new job; repeat a call with exactly the same fields.",
        "idempotency_key",
    )


def unique_key_of(request: ScheduleJob, unique: bool | str) -> str | None:
    """The key that only one waiting job may have: the one given, or for True one made of the arguments; by task."""
    if not unique:
        return None
    key = unique if isinstance(unique, str) else _digest([request.args or (), request.kwargs or {}]).hex()
    return f"{request.task} {key}"


def _plain(value: object) -> object:
    return dict(cast("Mapping[object, object]", value)) if isinstance(value, Mapping) else str(value)


NOTHING_TO_CHANGE: Final = Err("bad_change", "Nothing to change was given.", "Name at least one field to change.")
_NOT_CHANGED: Final = ("job_id", "expected_version")


def is_change(request: EditJob) -> bool:
    return any(getattr(request, one.name) is not UNSET for one in fields(request) if one.name not in _NOT_CHANGED)


def given[T](value: T | Unset) -> T | None:
    """A field of an edit; None if it was left out."""
    return None if isinstance(value, Unset) else value


def names_of(
    task: str,
    args: Sequence[object] | None,
    kwargs: Mapping[str, object] | None,
    policy: Mapping[str, object] | None,
) -> list[str]:
    """The channels and topics that a request names."""
    named: list[object] = [(policy or {}).get("alert"), (policy or {}).get("tell")]
    if task == "notify":
        named += [(kwargs or {}).get("topic"), *list(args or ())[1:2]]
    return [name for name in named if isinstance(name, str) and name]


def check_tell(policy: Policy, action: Action) -> None:
    """Raise `BadPolicy` if there is nothing to tell."""
    if policy.tell and action.kind == "notify":
        raise BadPolicy("Policy field 'tell' is for jobs with a result; a notification is itself what is told.")


def not_editable(job: Job, request: EditJob) -> Err | None:
    if request.expected_version is not None and job.version != request.expected_version:
        return Err(
            "version_conflict",
            f"Job {request.job_id} is at version {job.version}, not {request.expected_version}.",
            "Look at it again and repeat the change with its current version.",
        )
    if job.status not in ("pending", "running") and job.state != "set_aside":
        return Err(
            "not_editable",
            f"Job {request.job_id} is {job.status}; only a job that has not ended can be edited.",
            "Schedule a new one.",
        )
    return None


def changed_action(old: Action, request: EditJob) -> Action | None:
    """The action with the changed parts; None if no part of it changes."""
    if (request.task, request.args, request.kwargs) == (UNSET, UNSET, UNSET):
        return None
    args = old.args if isinstance(request.args, Unset) else tuple(request.args)
    kwargs = old.kwargs if isinstance(request.kwargs, Unset) else dict(request.kwargs)
    return Action(old.task if isinstance(request.task, Unset) else request.task, args, kwargs)


def keeping_route(job: Job, action: Action) -> Action:
    """The action, with the job's old route if it is still a prompt for the same agent."""
    if action.kind != "prompt" or job.action.kind != "prompt" or action.agent != job.action.agent:
        return action
    return replace(action, task=job.action.task)


def changed_job(
    job: Job, action: Action | None, changes: EditJob, now: datetime, known: Mapping[str, NamedCalendar]
) -> Job:
    """The job as it will be, its next slot included; `action` is its new one, if it gets one."""
    rule = _changed_rule(job, changes, now, known)
    trigger, zone_name = rule.trigger, rule.zone
    changed = replace(
        job,
        trigger=trigger,
        said=rule.said,
        zone=zone_name,
        policy=job.policy if isinstance(changes.policy, Unset) else changed_policy(job.policy, changes.policy),
        name=given(changes.name) or job.name,
        action=action or job.action,
        tags=job.tags if isinstance(changes.tags, Unset) else tuple(changes.tags),
        max_runs=_changed_runs(job, changes, rule),
        ends_at=_changed_end(job, changes, zone_name, now),
    )
    planned = job.next_slot or job.held_slot
    if trigger != job.trigger or planned is None:
        changed = replace(changed, slots_after=max(now, job.slots_after), changes=())
        planned = upcoming_slot(changed, now)
    elif changed.remaining == 0 or (changed.ends_at is not None and planned > changed.ends_at):
        planned = None
    if job.state == "paused" and planned is not None:
        return replace(changed, next_slot=None, held_slot=planned)
    return replace(changed, next_slot=planned, held_slot=None, state="active", reason=None)


def _changed_end(job: Job, changes: EditJob, zone_name: str, now: datetime) -> datetime | None:
    if isinstance(changes.ends_at, Unset):
        return job.ends_at
    with given_in("ends_at"):
        return None if changes.ends_at is None else read_bound(changes.ends_at, zone_name, now, last=True)


def _changed_runs(job: Job, changes: EditJob, rule: Rule) -> int | None:
    """A new schedule that says how many times means from now on."""
    if not isinstance(changes.max_runs, Unset):
        return runs_of(rule, changes.max_runs)
    return job.max_runs if rule.max_runs is None else job.run_count - job.manual_count + rule.max_runs


def _changed_rule(job: Job, changes: EditJob, now: datetime, known: Mapping[str, NamedCalendar]) -> Rule:
    zone_name = zone(given(changes.timezone) or job.zone).key
    kind, config = given(changes.trigger_type), given(changes.trigger_config)
    if kind is not None or config is not None:
        return read_rule(kind or job.trigger_type, config or {}, zone_name, now, known)
    if zone_name != job.zone and isinstance(job.trigger, Cron | Calendar):
        return Rule(replace(job.trigger, zone=zone_name), zone_name)
    # Words may say how often: they hold as long as that does.
    recounted = given(changes.max_runs) is not None or changes.max_runs is None
    return Rule(job.trigger, zone_name, said=None if recounted else job.said)


async def close_passed(locked: LockedJob, changed: Job, state: str, reason: str) -> Job:
    """Record a verdict for each slot that passed without firing, so that every slot is explained."""
    job = locked.job
    first = job.next_slot or job.held_slot
    if first is None or first > locked.now:
        return changed
    until = locked.now if job.ends_at is None else min(locked.now, job.ends_at)
    passed = slots_between(job.slots, first, until, followed_by=changed.next_slot or changed.held_slot)
    await locked.close_slots(passed, state, reason)
    return replace(changed, last_slot=passed.first)


async def end_job(locked: LockedJob, *, deleted: bool) -> None:
    job = locked.job
    planned = job.next_slot or job.held_slot
    if planned is not None and planned <= locked.now:
        planned = upcoming_slot(job, locked.now)
    ended = replace(job, state="cancelled", next_slot=None, held_slot=planned)
    if job.state == "paused":
        ended = await close_passed(locked, ended, "skipped", "the job was paused")
    elif job.state != "cancelled":
        ended = await close_passed(locked, ended, "cancelled", "cancelled before it was fired")
    await locked.stop_runs("the job was deleted" if deleted else "the job was cancelled")
    await locked.save(ended, "cancelled", deleted=deleted)


async def bring_back(locked: LockedJob) -> None:
    """Restore a deleted job to its old state; an active one continues with its next slot from now."""
    job = locked.job
    back = replace(job, state=job.deleted_from or "active", deleted_at=None, deleted_from=None)
    if back.state == "active" and job.held_slot is not None:
        reason = "the job was deleted"
        back = replace(back, next_slot=upcoming_slot(job, locked.now), held_slot=None)
        back = await close_passed(locked, back, "skipped", reason)
        if back.next_slot is None and not job.run_count:
            back = replace(back, failures_in_row=1, last_error=f"skipped: {reason} when its time came")
    await locked.save(back, "undeleted")


USE_CURSOR: Final = "Use the cursor from the previous page, or none."


def cursor_of(job: Job, total: int) -> str:
    place = [job.next_slot is None, job.fire_at.isoformat() if job.fire_at else None, job.number, total]
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def read_cursor(cursor: str) -> JobCursor | None:
    try:
        place = cast("list[object]", orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
        idle, fire_at, number, total = place
        moment = datetime.fromisoformat(str(fire_at)).astimezone(UTC) if fire_at else None
        if isinstance(idle, bool) and isinstance(number, int) and read_job_id(number) is not None:
            return JobCursor(idle, moment, number, min(max(0, int(str(total))), MAX_COUNTED))
    except (ValueError, TypeError, OverflowError):
        pass
    return None
