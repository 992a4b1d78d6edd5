"""What the door decides about a request or a job that is held still; no clock but the one it is told."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, cast

import orjson

from cronty.jobs.ids import read_job_id
from cronty.jobs.job import Job
from cronty.jobs.overview import MOST_COUNTED
from cronty.jobs.policy import BadPolicy, changed_policy
from cronty.jobs.result import Err
from cronty.scheduler.requests import JobChanges
from cronty.store.job_store import LockedJob, Place
from cronty.timing import BadTrigger, Cron, Trigger, zone
from cronty.timing.past import slots_between
from cronty.timing.rule import Rule, read_instant, read_rule

MAX_NAME: Final = 200
MAX_TAGS: Final = 20


def not_found(job_id: str | int) -> Err:
    return Err(
        "not_found",
        f"Job not found: {job_id}",
        "It may have been deleted, or the id is wrong; list_jobs shows yours.",
    )


def check_words(
    name: str | None, tags: Sequence[str] | None, max_runs: int | None, key: str | None = None
) -> Err | None:
    if name is not None and not (0 < len(name.strip()) <= MAX_NAME and holdable(name)):
        return Err("bad_name", f"Invalid name: {name[:80]!r}", f"Give the job a name of 1 to {MAX_NAME} characters.")
    if tags is not None and (len(tags) > MAX_TAGS or any(not 0 < len(tag) <= 50 or not holdable(tag) for tag in tags)):
        return Err("bad_tags", f"Invalid tags: {list(tags)[:3]!r}", f"At most {MAX_TAGS} tags of 1 to 50 characters.")
    if key is not None and not (0 < len(key) <= MAX_NAME and holdable(key)):
        return Err("bad_key", f"Invalid idempotency_key: {key[:80]!r}", f"Use 1 to {MAX_NAME} characters.")
    if max_runs is not None and not 1 <= max_runs < 2**31:
        return Err("bad_max_runs", f"Invalid max_runs: {max_runs}", "It must be a positive number, or left out.")
    return None


def holdable(text: str) -> bool:
    """Whether PostgreSQL can keep a text: it takes neither NUL nor half a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def kept(text: str) -> str:
    """A text as it can be kept: cut, and without what PostgreSQL doesn't take."""
    return text[:10_000].replace("\0", "\ufffd").encode(errors="replace").decode()


def refusal(bad: BadTrigger | BadPolicy) -> Err:
    if isinstance(bad, BadTrigger):
        return Err("bad_trigger", bad.message, bad.hint)
    return Err("bad_policy", str(bad))


def next_slot_of(trigger: Trigger, now: datetime, ends_at: datetime | None) -> datetime | None:
    slot = trigger.after(now)
    return None if slot is None or (ends_at is not None and slot > ends_at) else slot


def upcoming_slot(job: Job, now: datetime) -> datetime | None:
    """The job's next slot from here; never one it has had already, even if the clock was set back."""
    if job.remaining == 0:
        return None
    return next_slot_of(job.trigger, max(now, job.slots_after, job.last_slot or now), job.ends_at)


def never(trigger: Trigger, now: datetime, ends_at: datetime | None) -> Err:
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


def keeping_route(job: Job, changes: JobChanges) -> JobChanges:
    """A prompt that stays with its agent keeps the route it was made with."""
    action = changes.action
    if action is None or action.kind != "prompt" or job.action.kind != "prompt" or action.agent != job.action.agent:
        return changes
    return replace(changes, action=replace(action, task=job.action.task))


def changed_job(job: Job, changes: JobChanges, now: datetime) -> Job:
    """The job as it will be, its next slot included."""
    trigger, zone_name = _changed_rule(job, changes, now)
    changed = replace(
        job,
        trigger=trigger,
        zone=zone_name,
        policy=job.policy if changes.policy is None else changed_policy(job.policy, changes.policy),
        name=changes.name or job.name,
        action=changes.action or job.action,
        tags=job.tags if changes.tags is None else tuple(changes.tags),
        max_runs=changes.max_runs or job.max_runs,
        ends_at=job.ends_at if changes.ends_at is None else read_instant(changes.ends_at, zone_name, now),
    )
    planned = job.next_slot or job.held_slot
    if trigger != job.trigger or planned is None:
        changed = replace(changed, slots_after=max(now, job.slots_after))
        planned = upcoming_slot(changed, now)
    elif changed.remaining == 0 or (changed.ends_at is not None and planned > changed.ends_at):
        planned = None
    if job.state == "paused" and planned is not None:
        return replace(changed, next_slot=None, held_slot=planned)
    return replace(changed, next_slot=planned, held_slot=None, state="active", reason=None)


def _changed_rule(job: Job, changes: JobChanges, now: datetime) -> tuple[Trigger, str]:
    zone_name = zone(changes.timezone or job.zone).key
    if changes.trigger_type is not None or changes.trigger_config is not None:
        kind = changes.trigger_type or job.trigger_type
        rule: Rule = read_rule(kind, changes.trigger_config or {}, zone_name, now)
        return rule.trigger, rule.zone
    if zone_name != job.zone and isinstance(job.trigger, Cron):
        return Cron(job.trigger.expression, zone_name, job.trigger.gap, job.trigger.overlap), zone_name
    return job.trigger, zone_name


async def close_passed(locked: LockedJob, changed: Job, state: str, reason: str) -> Job:
    """Give the slots that came and went unfired their verdict, so that none is left unexplained."""
    job = locked.job
    first = job.next_slot or job.held_slot
    if first is None or first > locked.now:
        return changed
    until = locked.now if job.ends_at is None else min(locked.now, job.ends_at)
    passed = slots_between(job.trigger, first, until, followed_by=changed.next_slot or changed.held_slot)
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
    """Let a deleted job be what it was before: one that was to go on does so with its next slot from now."""
    job = locked.job
    back = replace(job, state=job.deleted_from or "active", deleted_at=None, deleted_from=None)
    if back.state == "active" and job.held_slot is not None:
        why = "the job was deleted"
        back = replace(back, next_slot=upcoming_slot(job, locked.now), held_slot=None)
        back = await close_passed(locked, back, "skipped", why)
        if back.next_slot is None and not job.run_count:
            back = replace(back, failures_in_row=1, last_error=f"skipped: {why} when its time came")
    await locked.save(back, "undeleted")


def cursor_of(job: Job, total: int) -> str:
    place = [job.next_slot is None, job.fire_at.isoformat() if job.fire_at else None, job.number, total]
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def read_cursor(cursor: str) -> Place | None:
    try:
        place = cast("list[object]", orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))))
        idle, fire_at, number, total = place
        moment = datetime.fromisoformat(str(fire_at)).astimezone(UTC) if fire_at else None
        if isinstance(idle, bool) and isinstance(number, int) and read_job_id(number) is not None:
            return Place(idle, moment, number, min(max(0, int(str(total))), MOST_COUNTED))
    except (ValueError, TypeError, OverflowError):
        pass
    return None
