"""What becomes of a job of which one slot is skipped or moved, this once."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cronty.contract.caller import Caller
from cronty.contract.requests import ChangeSlot
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.moments import local_text
from cronty.scheduler.decisions import upcoming_slot
from cronty.timing import Calendar, Changed, SlotChange, zone
from cronty.timing.errors import given_in
from cronty.timing.offsets import TICK
from cronty.timing.rule import read_bound, read_instant
from cronty.timing.slot_changes import MAX_CHANGES, local_of

_LATEST_MOVE: Final = timedelta(days=3653)
"""How far ahead a run may be moved."""

_CLOCK: Final = re.compile(r"[0-2]?[0-9]:[0-5][0-9]")


class SlotChanged(NamedTuple):
    """The job as it will be, what the trail says of it (None if that changes nothing), and what its owner is told."""

    job: Job
    what: str | None
    note: str


def with_changed_slot(job: Job, request: ChangeSlot, caller: Caller, now: datetime) -> Result[SlotChanged]:
    planned = job.next_slot or job.held_slot
    if planned is None or job.state not in ("active", "paused"):
        return Err("not_editable", f"Job {request.job_id} is {job.status}; no run of it is planned.")
    slot = _next_run(job, planned) if request.slot is None else _slot_said(request.slot, job, now)
    if slot is None:
        return Err("bad_slot", "No run of this job is planned.", "job_status shows what is.", "slot")
    if isinstance(slot, Err):
        return slot
    to = slot if request.to is not None and request.to == request.slot else _time_said(request.to, slot, job, now)
    if request.slot is None and to is not None and (wrong := _unsure_which(job, slot, to)):
        return wrong
    old = next((each for each in job.changes if slot in (each.slot, each.to)), None)
    slot = slot if old is None else old.slot
    if wrong := _not_a_slot(job, slot, planned, now) or (to and to != slot and _no_place(job, to, old, now)):
        return wrong
    if old is not None and old.to == planned and planned <= now:
        return Err("bad_slot", f"That time has come: {local_text(planned, job.zone)}.", "It is about to run.", "slot")
    run = f"The run of {local_text(slot, job.zone)}"
    others = tuple(each for each in job.changes if each is not old)
    new = () if to == slot else (SlotChange(slot, _why(job, caller, to), to, local_of(job.trigger, slot)),)
    if len(others) >= MAX_CHANGES:
        return Err("bad_slot", f"{MAX_CHANGES} runs of this job are skipped or moved already.", field="slot")
    if old is None and not new:
        return Ok(SlotChanged(job, None, f"{run} runs at its time."))
    changed = replace(job, changes=(*others, *new))
    if planned > now:
        following = upcoming_slot(changed, now)
        changed = replace(changed, **{"held_slot" if job.next_slot is None else "next_slot": following})
    if not new:
        return Ok(SlotChanged(changed, "slot change taken back", f"{run} runs at its time again."))
    if to is None:
        return Ok(SlotChanged(changed, "slot skipped", f"{run} is skipped."))
    return Ok(SlotChanged(changed, "slot moved", f"{run} is moved to {local_text(to, job.zone)}."))


def _next_run(job: Job, planned: datetime) -> datetime | None:
    slots = job.slots
    taken = isinstance(slots, Calendar | Changed) and slots.taken(planned) is not None
    return _run_after(job, planned) if taken else planned


def _slot_said(said: str | datetime, job: Job, now: datetime) -> datetime | Err:
    """A planned time; a day alone (`tomorrow`) is that of its only run."""
    text = said.isoformat() if isinstance(said, datetime) else said
    with given_in("slot"):
        first = read_bound(text, job.zone, now, last=False)
        last = read_bound(text, job.zone, now, last=True)
    if first == last:
        return first
    moved = {each.to: each.slot for each in job.changes}
    planned = {each.slot for each in job.changes if first <= each.slot <= last}
    run = _run_after(job, max(first, now) - TICK)
    while run is not None and run <= last and len(planned) < 2:
        planned.add(moved.get(run, run))
        run = _run_after(job, run)
    if not planned:
        hint = "None follows." if run is None else f"The next one is {local_text(run, job.zone)}."
        return Err("bad_slot", f'No run of this job is planned for "{text}".', hint, "slot")
    if len(planned) > 1:
        listed = " and ".join(local_text(each, job.zone) for each in sorted(planned)[:2])
        return Err("bad_slot", f'Which run? "{text}" has several, such as {listed}.', "Say its time too.", "slot")
    return planned.pop()


def _time_said(said: str | datetime | None, slot: datetime, job: Job, now: datetime) -> datetime | None:
    """The new time; a clock alone (`10:30`) is of the same day."""
    if said is None:
        return None
    text = said.isoformat() if isinstance(said, datetime) else said.strip()
    if _CLOCK.fullmatch(text):
        text = f"{slot.astimezone(zone(job.zone)).date()} {text.rjust(5, '0')}"
    with given_in("to"):
        return read_instant(text, job.zone, now).replace(microsecond=0)


def _run_after(job: Job, moment: datetime) -> datetime | None:
    """The next slot that isn't skipped or moved away."""
    slots = job.slots
    return (slots.open if isinstance(slots, Calendar | Changed) else slots).after(moment)


def _unsure_which(job: Job, coming: datetime, to: datetime) -> Err | None:
    """Whether "move it to tomorrow at 10:30" may mean tomorrow's run, and not the one that comes first."""
    at = zone(job.zone)
    midnight = to.astimezone(at).replace(hour=0, minute=0, second=0)
    that_day = _run_after(job, midnight - TICK)
    if that_day is None or that_day.astimezone(at).date() != midnight.date() or that_day <= coming:
        return None
    if coming.astimezone(at).date() == midnight.date():
        return None
    said = f"Which run? The next one is {local_text(coming, job.zone)}, and one is {local_text(that_day, job.zone)}."
    return Err("bad_slot", said, "Say in slot which one is moved.", "slot")


def _not_a_slot(job: Job, slot: datetime, planned: datetime, now: datetime) -> Err | None:
    text = local_text(slot, job.zone)
    if slot <= now:
        return Err("bad_slot", f"That time is past: {text}.", "list_runs shows what became of it.", "slot")
    is_slot = slot == planned or (job.trigger.count(slot, slot) and slot > planned)
    if is_slot and (job.ends_at is None or slot <= job.ends_at):
        return None
    following = _run_after(job, slot)
    hint = "None follows." if following is None else f"The next one is {local_text(following, job.zone)}."
    return Err("bad_slot", f"No run of this job is planned for {text}.", hint, "slot")


def _no_place(job: Job, to: datetime, old: SlotChange | None, now: datetime) -> Err | None:
    text = local_text(to, job.zone)
    if to <= now:
        return Err("bad_slot", f"It can't be moved to a time that is past: {text}.", "Give a later one.", "to")
    if to > now + _LATEST_MOVE or (job.ends_at is not None and to > job.ends_at):
        end = "in ten years" if job.ends_at is None else local_text(job.ends_at, job.zone)
        return Err("bad_slot", f"It can't be moved to {text}: the job ends {end}.", "Give an earlier one.", "to")
    if job.slots.count(to, to) and (old is None or to != old.to):
        return Err("bad_slot", f"Another run is planned for {text}.", "Skip this one, or give another time.", "to")
    return None


def _why(job: Job, caller: Caller, to: datetime | None) -> str:
    """The reason of the slot's verdict."""
    return f"asked for by {caller.named}" if to is None else f"moved to {local_text(to, job.zone)} by {caller.named}"
