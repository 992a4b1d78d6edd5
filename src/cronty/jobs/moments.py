"""Formats the times of jobs and runs for people and for programs."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from cronty.jobs.job import Job
from cronty.jobs.run import Run
from cronty.timing import Calendar, Changed, zone

LATE: Final = timedelta(minutes=1)


def moment_text(moment: datetime | None, zone_name: str = "UTC") -> str | None:
    """ISO 8601 with an offset, in the job's zone."""
    return None if moment is None else moment.astimezone(zone(zone_name)).isoformat()


def local_text(moment: datetime, zone_name: str) -> str:
    """A local time with its zone: `Mon 16 Nov 2026 09:00, Europe/Berlin`."""
    local = moment.astimezone(zone(zone_name))
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%a} {local.day} {local:%b %Y} {clock}, {zone_name}"


def upcoming(job: Job, count: int) -> list[datetime]:
    """The next slots of a job that run, as far as they can be known."""
    slots_of = job.slots
    running = slots_of.open if isinstance(slots_of, Calendar | Changed) else slots_of

    def slots() -> Iterable[datetime]:
        slot = job.next_run
        while slot is not None and (job.ends_at is None or slot <= job.ends_at):
            yield slot
            slot = running.after(slot)

    return list(islice(slots(), count if job.remaining is None else min(count, job.remaining)))


def lateness(run: Run) -> str | None:
    """How late a run started, if its first attempt began a minute or more after its slot; None otherwise."""
    if run.started_at is None or run.attempt > 1 or run.backfilled is not None:
        return None
    if run.started_at - run.scheduled_for < LATE:
        return None
    return f"started {str(run.started_at - run.scheduled_for).split('.')[0]} late"
