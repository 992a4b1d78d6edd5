"""Limits of tasks across all workers: what is said of them, and claiming under them."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, cast

import orjson

from cronty.store.database import Connection, Database, Row, columns, query


class StoredSettings(NamedTuple):
    """What a worker has said of a task, when that worker started, and whether it lives."""

    settings: Mapping[str, Any] | None
    said_at: datetime
    by_living: bool


class Head(NamedTuple):
    """The earliest waiting run of a task, and in how many seconds it is due."""

    task: str
    crashes: int
    seconds: float


class Ask(NamedTuple):
    """What to claim: runs of a task that have crashed their worker so often, so many at `most`.

    `left` is how many may be claimed of single owners, `usual` of each other one.
    """

    worker: int
    task: str
    crashes: int
    most: int
    left: dict[int, int]
    usual: int


class Room(NamedTuple):
    """How many runs may start under a limit, and in how many seconds more may (None: when one ends)."""

    runs: int
    rest: float | None
    now: datetime
    owners: list[int]
    """Whose runs are under way, or began within the minute."""


@dataclass(slots=True)
class Lows:
    """For each limit a time before which nothing is under way, as it was known in an epoch."""

    epoch: int = -1
    known: dict[str, datetime] = field(default_factory=dict[str, datetime])


class LimitedClaim:
    """Limits whose rows are locked until the block ends."""

    def __init__(self, connection: Connection, names: Sequence[str], moment: datetime | None) -> None:
        self._connection = connection
        self._names = names
        self._moment = moment

    async def rooms(self, lows: Lows) -> dict[str, Room]:
        """How much room each limit leaves; `lows` are brought up to date."""
        given = [lows.known.get(name) for name in self._names]
        rows = await self._connection.fetch(query("room_of_limits"), self._moment, self._names, given, lows.epoch)
        for row in rows:
            if row["epoch"] != lows.epoch:
                lows.known.clear()
                lows.epoch = row["epoch"]
            lows.known[row["name"]] = row["oldest"] or row["now"]
        return {row["name"]: _room(row) for row in rows}

    async def claim(
        self, ask: Ask, limits: Sequence[str], left_out: Collection[int], low: datetime | None
    ) -> list[Row]:
        """As `EngineStore.claim_runs`; what is claimed counts under these limits."""
        rows = await self._connection.fetch(
            query("claim_runs"), self._moment, ask.worker, [ask.task], ask.crashes, ask.most, left_out,
            *columns(list(ask.left.items()), 2), ask.usual, low,
        )  # fmt: skip
        if rows:
            started = [(row["job_id"], row["scheduled_for"], row["attempt"], row["owner_id"]) for row in rows]
            await self._connection.execute(query("note_starts"), self._moment, limits, *columns(started, 4))
        return rows


def _room(row: Row) -> Room:
    now: datetime = row["now"]
    if row["held_until"] is not None and row["held_until"] > now:
        return Room(0, (row["held_until"] - now).total_seconds(), now, [])
    runs, rest = 2**31 - 1, None
    if row["at_once"] is not None:
        runs = max(0, row["at_once"] - row["running"])
    if row["per_minute"] is not None and row["per_minute"] - row["starts"] < runs:
        runs = max(0, row["per_minute"] - row["starts"])
        rest = (row["again_at"] - now).total_seconds() if row["again_at"] else None
    return Room(runs, rest, now, row["owners"])


class TaskLimitStore:
    """One per engine."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def said(self, tasks: Sequence[str]) -> dict[str, StoredSettings]:
        """What workers have said of these tasks."""
        rows = await self._database.fetch("settings_of_tasks", tasks)
        return {
            row["name"]: StoredSettings(
                None if row["settings"] is None else orjson.loads(row["settings"]), row["said_at"], row["by_living"]
            )
            for row in rows
        }

    async def say(self, worker: int, since: datetime, settings: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Say what holds for tasks, unless a younger worker that lives has said it; the others are told."""
        rows = [(name, None if said is None else orjson.dumps(said).decode()) for name, said in settings.items()]

        async def work(connection: Connection) -> None:
            said = [
                row["name"] for row in await connection.fetch(query("say_settings"), worker, since, *columns(rows, 2))
            ]
            if said:
                await connection.execute(query("note_running"), self._database.moment(), said)
                await connection.fetchval(query("notify"), "settings")

        await self._database.together(work)

    async def mark_urgent(self, after: int, most: int, tasks: Sequence[str], urgent: Sequence[str]) -> int | None:
        """Note in a page of jobs whether their task is urgent; the last of them, None after the end."""
        return cast("int | None", await self._database.value("mark_urgent", after, most, tasks, urgent))

    async def heads(self, tasks: Sequence[str]) -> list[Head]:
        """The earliest waiting runs of these tasks, in the order in which they are due; none while all is frozen."""
        rows = await self._database.fetch("heads_of_tasks", self._database.moment(), tasks)
        return [Head(row["task"], row["crashes"], row["seconds"]) for row in rows]

    @asynccontextmanager
    async def locked(self, names: Sequence[str]) -> AsyncGenerator[LimitedClaim | None]:
        """Lock limits for a claim; None if another engine has one of them locked."""
        async with self._database.transaction() as connection:
            rows = await connection.fetch(query("lock_limits"), names)
            found = len(rows) == len(names)
            yield LimitedClaim(connection, names, self._database.moment()) if found else None

    async def hold(self, limits: Mapping[str, float]) -> None:
        """Start nothing under these limits for so many seconds."""
        await self._database.change("hold_limits", self._database.moment(), *columns(list(limits.items()), 2))
