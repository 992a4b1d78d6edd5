"""What a person may look at: the slots around now, a job's year, how late things start, what needs attention."""

from datetime import datetime, timedelta

from cronty.jobs.overview import Concerns, Day, Fleet, Lag, RunEvent, Timeline
from cronty.jobs.result import Result
from cronty.store.overview_store import OverviewStore


class Overview:
    """Beside the door, because nothing here changes anything."""

    def __init__(self, store: OverviewStore) -> None:
        self._store = store

    async def timeline(
        self, owner: str, back: timedelta = timedelta(hours=24), ahead: timedelta = timedelta(hours=24), bins: int = 96
    ) -> Timeline:
        """The slots of all jobs around now, each with its verdict."""
        raise NotImplementedError

    async def lag(self, owner: str, back: timedelta = timedelta(hours=24), bins: int = 48) -> list[Lag]:
        """How late an owner's slots started."""
        raise NotImplementedError

    async def concerns(self, owner: str, limit: int = 10) -> Concerns:
        """Jobs that are held, set aside, failing or overdue, the latest first."""
        raise NotImplementedError

    async def year(self, owner: str, job_id: str | int, days: int = 371) -> Result[list[Day]]:
        """A job's days until today in its own zone, those without a slot too."""
        raise NotImplementedError

    async def tags(self, owner: str) -> dict[str, int]:
        """Every tag of the owner's jobs, and how many jobs carry it; the most used first, up to 100."""
        raise NotImplementedError

    async def events(self, owner: str, after: datetime | None = None, limit: int = 500) -> list[RunEvent]:
        """What happened to runs after a moment, oldest first; after None, the latest alone."""
        raise NotImplementedError

    async def fleet(self) -> Fleet:
        """The whole installation, in numbers that name no owner: for those who may see it."""
        raise NotImplementedError
