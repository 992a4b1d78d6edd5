"""Jobs whose key was revoked or has expired: nothing may run with it any more."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from cronty.store.alerts import change_jobs
from cronty.store.database import Connection, Row, columns, query

MAX_PAUSED: Final = 1000
"""How many jobs one call pauses."""

_WHY: Final = 'the key "%s" it was made with is no longer good'


async def pause_orphaned(connection: Connection, now: datetime | None, since: datetime | None) -> list[tuple[int, str]]:
    """Pause jobs whose key ended after `since` (None: ever), and stop their runs; which ones, and why.

    A job that has no slot left is cancelled.
    """
    found = await connection.fetch(query("pick_orphaned"), now, MAX_PAUSED, since, _WHY)
    if not found:
        return []
    await _stop_runs(connection, now, found)
    given = [(row["job_id"], row["reason"]) for row in found]
    rows = await change_jobs(connection, now, "pause_orphaned", now, *columns(given, 2))
    return [(row["id"], row["reason"]) for row in rows]


async def _stop_runs(connection: Connection, now: datetime | None, found: Sequence[Row]) -> None:
    """Runs before jobs, in the order in which a settlement locks them."""
    by_reason = defaultdict[str, list[int]](list)
    for row in found:
        by_reason[row["reason"]].append(row["job_id"])
    for reason, job_ids in by_reason.items():
        for _ in range(2):  # while the first waited for a lock, a run may have begun, or been put back
            runs = await connection.fetch(query("in_flight_runs"), job_ids)
            if runs:
                await connection.fetchval(query("stop_runs"), now, *columns(runs, 2), reason)
