"""What of the past is let go, and when: in short transactions that nobody else waits for."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, cast

from cronty.jobs.job import UNDELETED_FOR
from cronty.jobs.policy import SHORTEST_EXPIRY
from cronty.store.alerts import change_jobs
from cronty.store.database import Connection, Database, Row, query, rows_changed
from cronty.store.lines import release_lines

YOUNG: Final = timedelta(days=7)
"""A verdict is kept for so long whatever its slot: after a long sleep, slots of long ago are explained today."""

LOCK_TIMEOUT: Final = "50ms"
"""Behind one that waits to drop a week everybody waits who needs `runs`."""


WAYS_TO_END: Final = ("pick_ended", "pick_cancelled")
"""Jobs run out, or are cancelled."""


class Place(NamedTuple):
    """Where a look goes on: after this moment, and this job."""

    moment: datetime
    job_id: int


START: Final = Place(datetime.min.replace(tzinfo=UTC), 0)


class HistoryStore:
    """Each call is one step of at most so many rows; `keep` is how much history is kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        return cast("datetime", await self._database.value("now", self._database.moment()))

    async def drop_partition(self, keep: float) -> bool:
        """Drop one week of history older than `keep` seconds; gives way at once to anything that reads or writes."""
        young = min(keep, YOUNG.total_seconds())
        moment = self._database.moment()
        return cast("bool", await self._database.value("drop_partition", moment, keep, young, LOCK_TIMEOUT))

    async def prune_attempts(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_attempts", before, most)

    async def prune_usage(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_usage", before, most)

    async def prune_tasks(self, before: datetime) -> None:
        await self._database.change("prune_tasks", before)

    async def expire_runs(self, keep: float, after: Place, most: int) -> tuple[Place | None, int]:
        """Give runs that wait too long their verdict: where to go on (None: that was all), and how many it were."""
        moment = self._database.moment()
        rows = await self._database.together(
            lambda connection: change_jobs(
                connection, moment, "expire_runs", moment, keep, SHORTEST_EXPIRY, *after, most
            )
        )
        expired = sorted({row["job_id"] for row in rows if row["expired"]})
        if expired:  # after the commit: a job's place in time is locked before its runs, never after
            await release_lines(self._database, moment, expired)
        last = Place(rows[-1]["scheduled_for"], rows[-1]["job_id"]) if len(rows) == most else None
        return last, sum(row["expired"] for row in rows)

    async def remove_ended(self, picking: str, before: datetime, after: Place, most: int) -> tuple[Place | None, int]:
        """Remove jobs that ended before a moment and have no history left: where to go on, and how many it were.

        `picking` is how they are found, one of `WAYS_TO_END`.
        """

        async def work(connection: Connection) -> tuple[Place | None, int]:
            rows = await connection.fetch(query(picking), before, *after, most)
            # A second statement, because only its snapshot shows what was committed while the first one looked.
            gone = await _ids(connection, "still_ended", rows, before)
            if gone:
                await connection.execute(query("delete_jobs"), gone)
            return _last(rows, most), len(gone)

        return await self._database.together(work)

    async def remove_deleted(self, now: datetime, after: Place, jobs: int, most: int) -> tuple[Place | None, int]:
        """Remove some of what is left of jobs that can't be brought back: where to go on, and how many rows."""

        async def work(connection: Connection) -> tuple[Place | None, int]:
            before = now - UNDELETED_FOR
            rows = await connection.fetch(query("pick_deleted"), before, *after, jobs)
            gone = await _ids(connection, "still_deleted", rows, before)
            removed = await delete_some(connection, gone, most)
            return after if gone else _last(rows, jobs), removed  # they may have more

        return await self._database.together(work)


async def delete_some(connection: Connection, job_ids: Sequence[int], most: int) -> int:
    """Delete so many rows of what these jobs have; the jobs themselves, whose due rows are locked or gone, at last.

    What was under way may be put back between two statements: so jobs go only after a look that found nothing of them.
    """
    removed = 0
    for name in ("delete_queued", "delete_runs", "delete_attempts"):
        removed += rows_changed(await connection.execute(query(name), job_ids, most - removed))
        if removed >= most:
            return removed
    return removed or rows_changed(await connection.execute(query("delete_jobs"), job_ids))


async def _ids(connection: Connection, name: str, picked: Sequence[Row], before: datetime) -> list[int]:
    locked = [row["job_id"] for row in picked if row["locked"]]
    return [row["id"] for row in await connection.fetch(query(name), locked, before)] if locked else []


def _last(picked: Sequence[Row], most: int) -> Place | None:
    """Where to go on after these; None if there were no more."""
    return Place(picked[-1]["ended_at"], picked[-1]["job_id"]) if len(picked) == most else None
