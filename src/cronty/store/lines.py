"""Runs of a job that goes one at a time stand in line; the first one goes when nothing of the job is under way."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, Protocol

from cronty.store.database import Connection, query

MOST: Final = 1000
"""Lines that one look moves on."""


class Transactions(Protocol):
    """Where a transaction can be had."""

    def transaction(self) -> AbstractAsyncContextManager[Connection]: ...


async def release(connection: Connection, moment: datetime | None, job_ids: Sequence[int]) -> int:
    """How many runs may go; the due rows of the jobs must be locked already."""
    return len(await connection.fetch(query("release"), moment, job_ids))


async def release_lines(database: Transactions, moment: datetime | None, job_ids: Sequence[int] | None) -> int:
    """The same for jobs that nobody holds; all whose line can move on if `job_ids` is None."""
    async with database.transaction() as connection:
        looking = ("lock_free_lines", MOST) if job_ids is None else ("lock_lines", job_ids)
        rows = await connection.fetch(query(looking[0]), looking[1])
        # A second statement, because only its snapshot shows what was committed while the first one waited.
        released = await release(connection, moment, [row["job_id"] for row in rows]) if rows else 0
        if released:
            await connection.fetchval(query("notify"), "queue")
        return released
