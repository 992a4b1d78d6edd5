"""Removes old history, in short transactions that block no others."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, cast

from cronty.jobs.job import UNDELETED_FOR
from cronty.jobs.policy import SHORTEST_EXPIRY
from cronty.store.alerts import change_jobs
from cronty.store.database import Connection, Database, Row, query, rows_changed
from cronty.store.lines import release_lines

YOUNG: Final = timedelta(days=7)
"""A verdict is kept at least this long, however old its slot: after a downtime, old slots get their verdict late."""

LOCK_TIMEOUT: Final = "50ms"
"""While a drop waits for its lock, every other statement on `runs` waits behind it."""


WAYS_TO_END: Final = ("pick_ended", "pick_cancelled")
"""The statements that find jobs that ran out of slots, and jobs that were cancelled."""


class PrunePosition(NamedTuple):
    """Where to continue: after this time and this job."""

    moment: datetime
    job_id: int


START: Final = PrunePosition(datetime.min.replace(tzinfo=UTC), 0)


class HistoryStore:
    """Each call is one step, limited in rows. `keep` is how many seconds of history are kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        return cast("datetime", await self._database.value("now", self._database.moment()))

    async def drop_partition(self, keep: float) -> bool:
        """Drop one week of history older than `keep` seconds; gives up at once if the table is locked."""
        young = min(keep, YOUNG.total_seconds())
        moment = self._database.moment()
        return cast("bool", await self._database.value("drop_partition", moment, keep, young, LOCK_TIMEOUT))

    async def prune_attempts(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_attempts", before, most)

    async def prune_tellings(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_tellings", before, most)

    async def prune_presses(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_presses", before, most)

    async def prune_handed_over(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_handed_over", before, most)

    async def prune_usage(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_usage", before, most)

    async def prune_keys(self, before: datetime, most: int) -> int:
        return await self._database.change("prune_keys", before, most)

    async def prune_tasks(self, before: datetime) -> None:
        await self._database.change("prune_tasks", before)

    async def prune_starts(self, before: datetime) -> None:
        """Forget what was started under limits that nothing is claimed under any more."""
        await self._database.change("prune_starts", before)

    async def expire_runs(self, keep: float, after: PrunePosition, most: int) -> tuple[PrunePosition | None, int]:
        """Expire runs that have waited too long: where to continue (None: that was all), and how many expired."""
        moment = self._database.moment()

        async def work(connection: Connection) -> list[Row]:
            looked = await connection.fetch(query("lock_expired"), moment, keep, SHORTEST_EXPIRY, *after, most)
            if expired := [row for row in looked if row["reason"] is not None]:
                columns = ([row[name] for row in expired] for name in ("job_id", "scheduled_for", "reason"))
                await change_jobs(connection, moment, "expire_runs", moment, *columns)
            return looked

        rows = await self._database.together(work)
        expired = [row["job_id"] for row in rows if row["reason"] is not None]
        if expired:  # after the commit, because a job's due row must be locked before its runs
            await release_lines(self._database, moment, sorted(set(expired)))
        last = PrunePosition(rows[-1]["scheduled_for"], rows[-1]["job_id"]) if len(rows) == most else None
        return last, len(expired)

    async def remove_ended(
        self, picking: str, before: datetime, after: PrunePosition, most: int
    ) -> tuple[PrunePosition | None, int]:
        """Remove jobs that ended before `before` and have no history left: where to continue, and how many.

        `picking` is the statement that finds them, one of `WAYS_TO_END`.
        """

        async def work(connection: Connection) -> tuple[PrunePosition | None, int]:
            rows = await connection.fetch(query(picking), before, *after, most)
            # A second statement, because only its snapshot shows what was committed while the first one ran.
            gone = await _ids(connection, "still_ended", rows, before)
            if gone:
                await connection.execute(query("delete_jobs"), gone)
            return _last(rows, most), len(gone)

        return await self._database.together(work)

    async def remove_deleted(
        self, now: datetime, after: PrunePosition, jobs: int, most: int
    ) -> tuple[PrunePosition | None, int]:
        """Remove rows of deleted jobs that can't be restored any more: where to continue, and how many rows."""

        async def work(connection: Connection) -> tuple[PrunePosition | None, int]:
            before = now - UNDELETED_FOR
            rows = await connection.fetch(query("pick_deleted"), before, *after, jobs)
            gone = await _ids(connection, "still_deleted", rows, before)
            removed = await delete_some(connection, gone, most)
            return after if gone else _last(rows, jobs), removed  # these jobs may have more rows

        return await self._database.together(work)


DELETING: Final = (
    "delete_queued", "delete_runs", "delete_attempts", "delete_tellings", "delete_presses",
)  # fmt: skip


async def delete_some(connection: Connection, job_ids: Sequence[int], most: int) -> int:
    """Delete up to `most` rows of these jobs, and the jobs when no rows are left. Their due rows are locked or gone.

    A run may return to the queue between two statements, so jobs are deleted only if all of these found nothing.
    """
    removed = 0
    for name in DELETING:
        removed += rows_changed(await connection.execute(query(name), job_ids, most - removed))
        if removed >= most:
            return removed
    return removed or rows_changed(await connection.execute(query("delete_jobs"), job_ids))


async def _ids(connection: Connection, name: str, picked: Sequence[Row], before: datetime) -> list[int]:
    locked = [row["job_id"] for row in picked if row["locked"]]
    return [row["id"] for row in await connection.fetch(query(name), locked, before)] if locked else []


def _last(picked: Sequence[Row], most: int) -> PrunePosition | None:
    """Where to continue after these; None if there are no more."""
    return PrunePosition(picked[-1]["ended_at"], picked[-1]["job_id"]) if len(picked) == most else None
