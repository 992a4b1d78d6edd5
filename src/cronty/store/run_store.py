"""Statements about runs: attempts, failed runs, absences, counts, stopping and redriving."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, cast

from cronty.contract.caller import Caller
from cronty.jobs.run import LIVE, Absence, AttemptRecord, FailedPlace, FailedRun, Run, RunState
from cronty.jobs.telling import Told
from cronty.store.audit_store import note
from cronty.store.database import Database, Row, StoreBusy, columns, query, retry_on_conflict
from cronty.store.lines import release

STOP_TRIES: Final = 20


class RunStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def attempts(self, owner: str, run: Run) -> list[AttemptRecord]:
        rows = await self._database.of(owner).fetch("list_attempts", owner, run.job_number, run.scheduled_for)
        return [AttemptRecord(**dict(row)) for row in rows]

    async def traceback(self, owner: str, number: int, slot: datetime) -> str | None:
        """Of a run that failed, given by its job's number and its slot."""
        return cast("str | None", await self._database.of(owner).value("traceback_of", owner, number, slot))

    async def told(self, owner: str, run: Run) -> Told | None:
        """How the telling of its result stands; None if there is none."""
        row = await self._database.of(owner).one("telling_of", owner, run.job_number, run.scheduled_for)
        return None if row is None else Told(**dict(row))

    async def failed(
        self, owner: str, limit: int, after: FailedPlace | None, agent: str | None = None
    ) -> list[FailedRun]:
        """The latest first; `after` is where the previous page ended. Of prompts for others `agent` gets no words."""
        place = after or (None, None, None)
        rows = await self._database.of(owner).fetch("list_failed", owner, limit, *place, agent)
        return [_failed(row) for row in rows]

    async def absences(self, owner: str, since: datetime, limit: int) -> list[Absence]:
        rows = await self._database.of(owner).fetch("absences", owner, since, limit)
        return [Absence(**dict(row)) for row in rows]

    async def tally(self, owner: str, since: datetime) -> dict[str, int]:
        rows = await self._database.of(owner).fetch("tally", owner, since)
        return {row["state"]: row["slots"] for row in rows}

    async def agents(self, owner: str, runs: Sequence[tuple[int, datetime]]) -> list[str]:
        """The agents that the jobs of these runs wake, "" for any agent."""
        numbers = sorted({number for number, _ in runs})
        return [row["agent"] for row in await self._database.of(owner).fetch("agents_of_jobs", owner, numbers)]

    @retry_on_conflict
    async def stop(self, caller: Caller, number: int, slot: datetime) -> RunState | None:
        """Stop a run, given by its job's number and its slot; the state it was in, None if there is none."""
        owner = caller.owner
        async with self._database.of(owner).transaction() as connection:
            await connection.fetch(query("lock_due"), owner, [number])
            run = await connection.fetchrow(query("find_run"), owner, number, slot)
            if run is None or run["state"] not in LIVE:
                return None if run is None else run["state"]
            now = self._database.moment() or await connection.fetchval("select statement_timestamp()")
            given = (now, [run["job_id"]], [slot], "stopped by request")
            tries = 0
            # Again with a new snapshot: while it waited for a lock, the run may have begun, ended, or been put back.
            while not await connection.fetchval(query("stop_runs"), *given):
                run = await connection.fetchrow(query("find_run"), owner, number, slot)
                if run is None or run["state"] not in LIVE:
                    return None if run is None else run["state"]
                tries += 1
                if tries == STOP_TRIES:
                    raise StoreBusy("The run kept changing while it was to be stopped; try again.")
            if await release(connection, now, [run["job_id"]]):
                await connection.fetchval(query("notify"), "queue")
            await note(connection, now, caller, "stopped", (run["owner_id"], run["job_id"]), None, {"runs": [slot]})
            return run["state"]

    @retry_on_conflict
    async def redrive(
        self, caller: Caller, runs: Sequence[tuple[int, datetime]], rest: float
    ) -> set[tuple[int, datetime]]:
        """Queue failed runs again, given by job number and slot; which ones. Runs of a serial job join its line.

        `rest` is how many seconds ago runs must have failed that reach outside.
        """
        owner = caller.owner
        async with self._database.of(owner).transaction() as connection:
            await connection.fetch(query("lock_due"), owner, sorted({number for number, _ in runs}))
            moment = self._database.moment()
            given = (*columns(runs, 2), caller.may("prompts"), moment, rest, caller.agent)
            rows = await connection.fetch(query("redrive"), owner, *given)
            if rows:
                now = moment or await connection.fetchval("select statement_timestamp()")
                places = [
                    (row["job_id"], row["scheduled_for"], row["owner_id"], row["task"], row["serial"]) for row in rows
                ]
                await connection.execute(query("insert_queue"), *columns(places, 5), now)
                await release(connection, now, sorted({row["job_id"] for row in rows if row["serial"]}))
                await connection.fetchval(query("notify"), "queue")
                for job_id, of_job in groupby(rows, lambda row: row["job_id"]):
                    again = [*of_job]
                    slots = [row["scheduled_for"] for row in again]
                    job = again[0]["owner_id"], job_id
                    await note(connection, now, caller, "redriven", job, None, {"runs": slots})
            return {(row["job_number"], row["scheduled_for"]) for row in rows}


def _failed(row: Row) -> FailedRun:
    fields = dict(row)
    facts = {name: fields.pop(name) for name in ("name", "zone", "task", "created_at")}
    return FailedRun(Run(**fields), **facts)
