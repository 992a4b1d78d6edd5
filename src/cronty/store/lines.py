"""If a job's runs may not overlap, its waiting runs are in line; the first is released when none is running."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, Protocol

from cronty.store.database import Connection, query

MOST: Final = 1000
"""How many lines one call moves on."""


class Transactions(Protocol):
    """Anything that can open a transaction."""

    def transaction(self) -> AbstractAsyncContextManager[Connection]: ...


async def release(connection: Connection, moment: datetime | None, job_ids: Sequence[int]) -> int:
    """Release the first run in line of each job; how many. The jobs' due rows must be locked already."""
    return len(await connection.fetch(query("release"), moment, job_ids))


async def release_lines(database: Transactions, moment: datetime | None, job_ids: Sequence[int] | None) -> int:
    """The same for jobs that aren't locked yet; None means all jobs whose line can move on."""
    async with database.transaction() as connection:
        looking = ("lock_free_lines", MOST) if job_ids is None else ("lock_lines", job_ids)
        rows = await connection.fetch(query(looking[0]), looking[1])
        # A second statement, because only its snapshot shows what was committed while the first one waited.
        released = await release(connection, moment, [row["job_id"] for row in rows]) if rows else 0
        if released:
            await connection.fetchval(query("notify"), "queue")
        return released
