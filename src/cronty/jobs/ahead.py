"""Which notifications ntfy is given ahead of their time, so that they ring with this machine switched off.

ntfy keeps a message for up to three days and sends it at its time. When this machine is on again, the slots that ntfy
has sent are planned as runs, whatever catch-up says of late ones: each gets the verdict that it was delivered.
"""

from collections.abc import Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal

from cronty.jobs.job import Job
from cronty.timing import Calendar, CatchUp, Changed, Due, Passed, Plan, Trigger, plan
from cronty.timing.offsets import TICK

WINDOW: Final = timedelta(days=3) - timedelta(minutes=5)
"""How far ahead: as long as ntfy keeps a message, less what two clocks may differ by."""

NEAREST: Final = timedelta(seconds=30)
"""A slot that is nearer is left to be sent at its time; ntfy takes nothing that is due within 10 seconds."""

MOST: Final = 20
"""The most slots of one job that ntfy is given. One that fires often would use up what a server allows in a day."""

State = Literal["giving", "held", "taking"]

type Place = tuple[int, datetime]
"""A job's id and a slot: the run that it will be."""


def slots_ahead(job: Job, now: datetime) -> list[datetime]:
    """The slots of a job that ntfy is given: the next ones within the window, but none that is too near."""
    slots_of = job.slots
    running = slots_of.open if isinstance(slots_of, Calendar | Changed) else slots_of
    slot = job.next_run
    found: list[datetime] = []
    last = now + WINDOW if job.ends_at is None else min(job.ends_at, now + WINDOW)
    most = MOST if job.remaining is None else min(MOST, job.remaining)
    while slot is not None and slot <= last and len(found) < most:
        if slot - now > NEAREST:
            found.append(slot)
        slot = running.after(slot)
    return found


def plan_around(
    delivered: Set[datetime],
    trigger: Trigger | Changed,
    next_at: datetime,
    now: datetime,
    catch_up: CatchUp,
    *,
    ends_at: datetime | None = None,
    remaining: int | None = None,
) -> Plan:
    """The plan of due slots of which ntfy has sent some: those run, and the others are planned in between."""
    parts: list[Plan] = []
    slot: datetime | None = next_at
    for sent in sorted(one for one in delivered if next_at <= one <= now):
        if slot is not None and slot < sent:
            parts.append(plan(trigger, slot, now, catch_up, ends_at=sent - TICK))
        slot = trigger.after(sent)
        if slot is not None and ends_at is not None and slot > ends_at:
            slot = None
        parts.append(Plan((Due(sent, slot),), (), slot))
    left = None if remaining is None else remaining - sum(len(part.runs) for part in parts)
    if left is not None and left <= 0:
        parts.append(Plan((), (), None))
    elif slot is not None:
        parts.append(plan(trigger, slot, now, catch_up, ends_at=ends_at, remaining=left))
    return _linked(parts)


def _linked(parts: list[Plan]) -> Plan:
    """One plan of several: what ends one of them is followed by the first of the next."""
    runs: list[Due] = []
    passed: list[Passed] = []
    following = parts[-1].next_at
    for part in reversed(parts):
        starts = [*(one.slot for one in part.runs), *(one.first for one in part.passed)]
        final = max(starts, default=None)
        runs += [one._replace(followed_by=following) if one.slot == final else one for one in part.runs]
        passed += [replace(one, followed_by=following) if one.first == final else one for one in part.passed]
        following = min(starts, default=following)
    return Plan(tuple(sorted(runs)), tuple(sorted(passed, key=lambda one: one.first)), parts[-1].next_at)
