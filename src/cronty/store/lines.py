"""If a job's runs may not overlap, its waiting runs are in line; the first is released when none is running."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, Protocol

from cronty.store.database import Connection, query

MOST: Final = 5000
"""How many lines one call looks at."""


class Transactions(Protocol):
    """Anything that can open a transaction."""

    def transaction(self) -> AbstractAsyncContextManager[Connection]: ...


async def release(connection: Connection, moment: datetime | None, job_ids: Sequence[int]) -> int:
    """Release the first run in line of each job; how many. The jobs' due rows must be locked already."""
    return len(await connection.fetch(query("release"), moment, job_ids))


async def release_lines(database: Transactions, moment: datetime | None, job_ids: Sequence[int]) -> int:
    """The same for jobs that aren't locked yet."""
    async with database.transaction() as connection:
        rows = await connection.fetch(query("lock_lines"), job_ids)
        return await _release_locked(connection, moment, [row["job_id"] for row in rows])


async def release_free_lines(database: Transactions, moment: datetime | None, after: int) -> tuple[int, int]:
    """The same for the next jobs after `after` that have a line; how many moved on, and `after` for the next call."""
    async with database.transaction() as connection:
        rows = await connection.fetch(query("lock_free_lines"), after, MOST)
        released = await _release_locked(connection, moment, [row["job_id"] for row in rows if row["locked"]])
        return released, rows[-1]["job_id"] if len(rows) == MOST else 0


async def _release_locked(connection: Connection, moment: datetime | None, job_ids: Sequence[int]) -> int:
    # A second statement, because only its snapshot shows what was committed while the first one waited.
    released = await release(connection, moment, job_ids) if job_ids else 0
    if released:
        await connection.fetchval(query("notify"), "queue")
    return released
