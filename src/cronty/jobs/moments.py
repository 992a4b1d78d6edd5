"""Moments of jobs and runs as people and programs read them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from cronty.jobs.job import Job
from cronty.jobs.run import Run
from cronty.timing import zone

LATE: Final = timedelta(minutes=1)


def moment_text(moment: datetime | None, zone_name: str = "UTC") -> str | None:
    """ISO 8601 with an offset, in the zone that the job thinks in."""
    return None if moment is None else moment.astimezone(zone(zone_name)).isoformat()


def local_text(moment: datetime, zone_name: str) -> str:
    """A moment as people say it, with the zone it is said in: `Mon 16 Nov 2026 09:00, Europe/Berlin`."""
    local = moment.astimezone(zone(zone_name))
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%a} {local.day} {local:%b %Y} {clock}, {zone_name}"


def upcoming(job: Job, count: int) -> list[datetime]:
    """The next slots of a job, as far as they can be known."""

    def slots() -> Iterable[datetime]:
        slot = job.next_slot
        while slot is not None and (job.ends_at is None or slot <= job.ends_at):
            yield slot
            slot = job.trigger.after(slot)

    return list(islice(slots(), count if job.remaining is None else min(count, job.remaining)))


def lateness(run: Run) -> str | None:
    """A first attempt that began well after its slot says so: nothing was running, or everything was busy."""
    if run.started_at is None or run.attempt > 1 or run.started_at - run.scheduled_for < LATE:
        return None
    return f"started {str(run.started_at - run.scheduled_for).split('.')[0]} late"
