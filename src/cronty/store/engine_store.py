"""What the engine remembers: everything on the path of a fire, in sets."""

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, cast

import orjson

from cronty.jobs.alerts import PATIENT
from cronty.jobs.firing import RunRow
from cronty.store.alerts import Held, change_jobs, change_of, tell_held, tell_of_changes
from cronty.store.database import Connection, Database, Row, columns, query
from cronty.store.key_store import MOST_PAUSED


@dataclass(slots=True)
class Fired:
    """Ordinary fires of a batch, as the arrays their statement takes."""

    job_ids: list[int]
    slots: list[datetime]
    next_slots: list[datetime | None]
    owner_ids: list[int]


class Moved(NamedTuple):
    """A job whose plan is anything but ordinary: where it goes, and the rows that explain it."""

    job_id: int
    owner_id: int
    task: str
    rows: Sequence[RunRow]
    next_slot: datetime | None
    agent: str | None = None


class Success(NamedTuple):
    job_id: int
    slot: datetime
    attempt: int
    result: str | None
    ended_ago: float
    took: float


class Other(NamedTuple):
    """Any settlement but a success; `outcome` labels an attempt that wasn't the last."""

    job_id: int
    slot: datetime
    attempt: int
    state: str
    wait: float | None
    error: str | None
    reason: str | None
    outcome: str | None
    ended_ago: float
    took: float


class Rescued(NamedTuple):
    """`failed` are the jobs of the quarantined runs."""

    runs: int
    quarantined: int
    failed: list[int]


class DueJobs:
    """A locked batch of due jobs; what is written to it is committed together."""

    def __init__(self, connection: Connection, rows: list[Row]) -> None:
        self._connection = connection
        self.rows = rows

    async def fire(self, fired: Fired, worker: int, tzdata: int, now: datetime) -> None:
        await self._connection.execute(
            query("fire"), fired.job_ids, fired.slots, fired.next_slots, fired.owner_ids, worker, now, tzdata
        )

    async def move(self, moves: Sequence[Moved], tzdata: int, now: datetime) -> None:
        """Advance jobs with their rows; runs among them wait in the queue for whoever has room."""
        places = [_place(one) for one in moves]
        rows = [
            (
                one.job_id,
                row.slot,
                row.followed_by,
                row.through if row.slots > 1 else None,
                row.slots,
                one.owner_id,
                row.state,
                row.reason,
            )
            for one in moves
            for row in one.rows
        ]
        waiting = [
            (one.job_id, row.slot, row.behind, one.owner_id, one.task)
            for one in moves
            for row in one.rows
            if row.state == "waiting"
        ]
        await self._connection.execute(query("move_due"), *columns(places, 5), tzdata)
        if rows:
            await self._connection.execute(query("insert_runs"), *columns(rows, 8), now)
        if waiting:
            await self._connection.execute(query("insert_queue"), *columns(waiting, 5), now)
            await self._connection.fetchval(query("notify"), "queue")

    async def taken_slots(self, slots: Sequence[tuple[int, datetime]]) -> set[tuple[int, datetime]]:
        """Those that have a run row already."""
        rows = await self._connection.fetch(query("taken_slots"), *columns(slots, 2))
        return {(row[0], row[1]) for row in rows}

    async def stop_previous(self, runs: Sequence[tuple[int, datetime]], now: datetime, reason: str) -> None:
        await self._connection.fetchval(query("stop_runs"), now, *columns(runs, 2), reason)

    async def count_uses(self, uses: Sequence[tuple[int, str, datetime, int]]) -> dict[tuple[int, str], int]:
        """Count by owner and what; the counts with these."""
        return _counts(await self._connection.fetch(query("count_uses"), *columns(uses, 4)))

    async def tell_held(self, now: datetime, held: Sequence[Held]) -> None:
        """Say once to owners what holds them back."""
        await tell_held(self._connection, now, held)

    async def set_aside(self, jobs: Sequence[tuple[int, str]], now: datetime, topic_of: Callable[[int], str]) -> None:
        """Park jobs, each with its reason; `topic_of` is where an owner hears of it if the job doesn't say."""
        rows = await self._connection.fetch(query("set_aside"), now, *columns(jobs, 2))
        await tell_of_changes(self._connection, now, map(change_of, rows), topic_of)

    async def note_missed(self, missed: Sequence[tuple[int, str]], now: datetime) -> None:
        rows = await self._connection.fetch(query("note_missed"), *columns(missed, 2))
        await tell_of_changes(self._connection, now, map(change_of, rows))


def _place(one: Moved) -> tuple[int, datetime | None, datetime | None, datetime | None, int]:
    executed = [row.slot for row in one.rows if row.state == "waiting"]
    last_slot = one.rows[-1].slot if one.rows else None
    return one.job_id, one.next_slot, last_slot, executed[-1] if executed else None, len(executed)


class EngineStore:
    """One instance per engine; it uses its own pool, whose plans are made for the hot path."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        return cast("datetime", await self._database.value("now", self._database.moment()))

    async def _changing(self, name: str, *arguments: object) -> list[Row]:
        """Run a statement that changes how jobs stand, and tell their owners of it in the same transaction."""
        return await self._database.together(
            lambda connection: change_jobs(connection, self._database.moment(), name, *arguments)
        )

    @asynccontextmanager
    async def due_jobs(
        self, low: datetime | None, limit: int, left_out: Sequence[int] = (), now: datetime | None = None
    ) -> AsyncGenerator[DueJobs]:
        """Lock a batch of due jobs, but none of the owners `left_out`."""
        async with self._database.transaction() as connection:
            rows = await connection.fetch(query("pick_due"), now or self._database.moment(), low, limit, left_out)
            yield DueJobs(connection, rows)

    async def limited_owners(self) -> dict[int, dict[str, object]]:
        """Owners with limits of their own."""
        return {row["id"]: orjson.loads(row["limits"]) for row in await self._database.fetch("limited_owners")}

    async def running_by_owner(self) -> dict[int, int]:
        return {row["owner_id"]: row["runs"] for row in await self._database.fetch("running_by_owner")}

    async def count_uses(self, uses: Sequence[tuple[int, str, datetime, int]]) -> dict[tuple[int, str], int]:
        """Count by owner and what; the counts with these."""
        return _counts(await self._database.fetch("count_uses", *columns(uses, 4)))

    async def seconds_until_due(self, low: datetime | None) -> float | None:
        return cast("float | None", await self._database.value("next_due", self._database.moment(), low))

    async def seconds_until_queued(self, tasks: Sequence[str]) -> float | None:
        return cast("float | None", await self._database.value("next_queued", self._database.moment(), tasks))

    async def claim_runs(
        self,
        worker: int,
        tasks: Sequence[str],
        crashes: int,
        limit: int,
        left_out: Sequence[int] = (),
        room: Mapping[int, int] | None = None,
        usual_room: int = 2**31 - 1,
    ) -> list[Row]:
        """Claim a batch of waiting runs: none of the owners `left_out`, of others no more than there is room for."""
        moment = self._database.moment()
        rooms = columns(list((room or {}).items()), 2)
        return await self._database.fetch(
            "claim_runs", moment, worker, tasks, crashes, limit, left_out, *rooms, usual_room
        )

    async def settle_done(self, worker: int, successes: Sequence[Success]) -> int:
        """How many were accepted; fewer than given means that some came too late."""
        return await self._database.change("settle_done", self._database.moment(), worker, *columns(successes, 6))

    async def settle_rest(self, worker: int, others: Sequence[Other]) -> tuple[int, list[int]]:
        """How many were accepted, and the jobs of which a run has failed for good."""
        rows = await self._changing("settle_rest", self._database.moment(), worker, *columns(others, 10))
        return rows[0]["accepted"], _ids(rows)

    async def pause_failing(self, jobs: Sequence[tuple[int, str | None]]) -> list[tuple[int, str]]:
        """Hold those that fail too often, and those with a reason of their own; which ones, and why."""
        rows = await self._changing("pause_failing", self._database.moment(), *columns(jobs, 2))
        return [(row["id"], row["reason"]) for row in rows]

    async def pause_orphaned(self, within: float | None) -> list[tuple[int, str]]:
        """Hold jobs whose key ended in the last `within` seconds, or ever (None); which ones, and why."""
        rows = await self._changing("pause_orphaned", self._database.moment(), MOST_PAUSED, within)
        return [(row["id"], row["reason"]) for row in rows]

    async def mark_superseded(self, worker: int, late: Sequence[tuple[int, datetime, int, str]]) -> int:
        return len(await self._database.fetch("mark_superseded", self._database.moment(), worker, *columns(late, 4)))

    async def clear_failing(self, job_ids: Sequence[int]) -> None:
        await self._changing("clear_failing", job_ids)

    async def release_behind(self, runs: Sequence[tuple[int, datetime]]) -> int:
        return len(await self._database.fetch("release_behind", self._database.moment(), *columns(runs, 2)))

    async def release_stuck(self) -> int:
        return len(await self._database.fetch("release_stuck", self._database.moment()))

    async def register_worker(self, name: str, version: str, tzdata: str, concurrency: int, lease: float) -> int:
        return cast(
            "int",
            await self._database.value(
                "register_worker",
                self._database.moment(),
                name,
                version,
                tzdata,
                concurrency,
                lease,
                secrets.randbits(62),
            ),
        )

    async def beat(self, worker: int, lease: float) -> bool:
        """Renew the lease; False if others have struck this worker off, and with it the right to what it claimed."""
        return await self._database.value("beat", self._database.moment(), worker, lease) is not None

    async def take_stops(self, worker: int) -> list[tuple[int, datetime]]:
        return [(row[0], row[1]) for row in await self._database.fetch("take_stops", worker)]

    async def running_of(self, worker: int) -> list[tuple[int, datetime, int]]:
        return [(row[0], row[1], row[2]) for row in await self._database.fetch("running_of", worker)]

    async def hand_back(self, worker: int, runs: Sequence[tuple[int, datetime, int]]) -> int:
        """Let others have runs that this worker holds without knowing."""
        return cast("int", await self._database.value("hand_back", self._database.moment(), worker, *columns(runs, 3)))

    async def leave(self, worker: int) -> None:
        await self._database.change("leave", worker)

    async def rescue(self, max_crashes: int) -> Rescued:
        rows = await self._changing("rescue", self._database.moment(), max_crashes)
        return Rescued(rows[0]["rescued"], rows[0]["quarantined"], _ids(rows))

    async def expire_workers(self, lease: float) -> int:
        return cast("int", await self._database.value("expire_workers", self._database.moment(), lease))

    async def send_alerts(self, most: int) -> int:
        """Make jobs of alerts that were raised; how many."""
        return cast("int", await self._database.value("send_alerts", most, PATIENT, '{"surface": "cronty"}'))

    async def notify(self, message: str) -> None:
        await self._database.value("notify", message)

    async def publish_tasks(self, tasks: Sequence[tuple[str, str, str]]) -> None:
        """Name, parameters as JSON and doc of every task this process can perform."""
        await self._database.change("publish_tasks", self._database.moment(), *columns(tasks, 3))

    async def make_partitions(self) -> int:
        return cast("int", await self._database.value("make_partitions", self._database.moment()))

    async def prune(self, keep: float) -> int:
        """Drop history older than `keep` seconds; gives way to readers rather than make them wait."""
        async with self._database.transaction() as connection:
            await connection.execute("set local lock_timeout = '1s'")
            dropped = await connection.fetchval(query("drop_partitions"), self._database.moment(), keep)
            rest = await connection.fetchval(query("prune_rest"), self._database.moment(), keep)
            return cast("int", dropped) + cast("int", rest)


def _ids(rows: Sequence[Row]) -> list[int]:
    return [row["id"] for row in rows if row["id"] is not None]


def _counts(rows: Sequence[Row]) -> dict[tuple[int, str], int]:
    return {(row["owner_id"], row["what"]): row["used"] for row in rows}
