"""Decides which notifications ntfy is given ahead of their time, so that they ring with this machine switched off.

ntfy keeps a message for up to three days and sends it at its time. What it has been given is known by job and slot. The
decision compares that with what is planned now, and says what has to change there; carrying it out is another's work.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from cronty.jobs.job import Job
from cronty.timing import Calendar, Changed

WINDOW: Final = timedelta(days=3) - timedelta(minutes=5)
"""How far ahead: as long as ntfy keeps a message, less what two clocks may differ by."""

NEAREST: Final = timedelta(seconds=30)
"""A slot that is nearer is left to be sent at its time; ntfy takes nothing that is due within 10 seconds."""

MOST: Final = 20
"""The most slots of one job that ntfy is given. One that fires often would use up what a server allows in a day."""

State = Literal["giving", "held", "failed", "taking"]
What = Literal["publish", "update", "delete", "tell"]

type Place = tuple[int, datetime]
"""A job's id and a slot: the run that it will be."""


class Planned(NamedTuple):
    """A notification as it would be sent: by which version of its job, and to which URL, as it is encrypted."""

    version: int
    sealed: bytes


class Handed(NamedTuple):
    """A notification that ntfy may have. `due_at` is when it may be tried again, if that has to wait."""

    version: int
    sealed: bytes
    state: State
    due_at: datetime | None = None


class Step(NamedTuple):
    """`publish` gives it to ntfy, `update` gives it again under the same id, `delete` takes it back, `tell` says that
    it couldn't be taken back in time."""

    what: What
    place: Place


def decide(planned: Mapping[Place, Planned], handed: Mapping[Place, Handed], now: datetime) -> list[Step]:
    """What has to change at ntfy: first what must not ring, then what would ring with old words, then what is new.

    `planned` are slots to come; `handed` those to come and those that are still to be taken back.
    """
    order: Final[Mapping[What, int]] = {"tell": 0, "delete": 1, "update": 2, "publish": 3}
    return sorted(_steps(planned, handed, now), key=lambda step: (order[step.what], step.place[1], step.place[0]))


def _steps(planned: Mapping[Place, Planned], handed: Mapping[Place, Handed], now: datetime) -> Iterator[Step]:
    for place in planned.keys() | handed.keys():
        wanted, had = planned.get(place), handed.get(place)
        if (had is None or had.due_at is None or had.due_at <= now) and (what := _step(place[1], wanted, had, now)):
            yield Step(what, place)


def _step(slot: datetime, wanted: Planned | None, had: Handed | None, now: datetime) -> What | None:
    if slot <= now:
        return "tell" if had is not None and had.state == "taking" else None
    near = slot - now < NEAREST
    if had is None:
        return None if near or slot - now > WINDOW else "publish"
    if wanted is None or wanted.sealed != had.sealed:  # or it goes elsewhere now: it is given anew after that
        return "delete"
    if (had.state, had.version) == ("held", wanted.version):
        return None
    if near:  # too late for ntfy; whatever it has is replaced when it is sent
        return "delete" if had.state != "failed" else None
    return "update"


def slots_ahead(job: Job, now: datetime) -> list[datetime]:
    """The slots of a job that ntfy is given: the next ones within the window, also if earlier ones are yet to fire."""
    slots_of = job.slots
    running = slots_of.open if isinstance(slots_of, Calendar | Changed) else slots_of
    slot = job.next_run
    if slot is not None and slot <= now:
        slot = running.after(now)
    found: list[datetime] = []
    last = now + WINDOW if job.ends_at is None else min(job.ends_at, now + WINDOW)
    most = MOST if job.remaining is None else min(MOST, job.remaining)
    while slot is not None and slot <= last and len(found) < most:
        found.append(slot)
        slot = running.after(slot)
    return found
