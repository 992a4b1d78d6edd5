"""The engine's statements: everything a fire needs, many rows at once."""

import secrets
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final, NamedTuple, cast

import orjson

from cronty.jobs.alerts import ALERT_POLICY
from cronty.jobs.firing import RunRow
from cronty.jobs.performers import NOTHING, Performs
from cronty.store.alerts import Held, change_jobs, change_of, tell_absences, tell_held, tell_of_changes
from cronty.store.database import Connection, Database, Row, columns, query, rows_changed
from cronty.store.day_lists import is_long, names_lists, read_triggers, within
from cronty.store.lines import release, release_free_lines, release_lines
from cronty.store.orphans import pause_orphaned
from cronty.store.telling_store import tell_runs
from cronty.timing import Trigger
from cronty.timing.offsets import EPOCH

GRACE: Final = timedelta(seconds=1)
"""How late a notification must be for a look at whether ntfy has sent it. Until then it runs anyway."""


class Moved(NamedTuple):
    """A job that doesn't have an ordinary fire: its next slot, and the run rows for its past slots."""

    job_id: int
    owner_id: int
    task: str
    rows: Sequence[RunRow]
    next_slot: datetime | None
    serial: bool
    agent: str | None = None


class Success(NamedTuple):
    job_id: int
    slot: datetime
    attempt: int
    result: str | None
    ended_ago: float
    took: float


class Other(NamedTuple):
    """A settlement that isn't a success; `outcome` is set if another attempt will follow."""

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
    traceback: str | None = None


class PutOff(NamedTuple):
    """A claimed attempt that may not start before `wait` seconds have passed, and why."""

    job_id: int
    slot: datetime
    attempt: int
    wait: float
    reason: str


class Rescued(NamedTuple):
    """What a rescue did; `failed` are the jobs of the quarantined runs."""

    workers: int
    runs: int
    quarantined: int
    failed: list[int]


class PassedSlots(NamedTuple):
    """Slots of a job that passed while nothing ran: the first, and how many run late, are coalesced or missed."""

    owner_id: int
    job_id: int
    slot: datetime
    late: int
    coalesced: int
    missed: int


class DueJobs:
    """A locked batch of due jobs; all writes are committed together."""

    def __init__(self, connection: Connection, rows: list[Row]) -> None:
        self._connection = connection
        self.rows = rows

    @property
    def moment(self) -> datetime:
        """When they were found to be due; there must be at least one."""
        return EPOCH + timedelta(microseconds=self.rows[0]["microseconds"])

    async def triggers_by_lists(self) -> dict[int, Trigger]:
        """The triggers that name lists of days off or are long, by job; others have their turn before each."""
        # By their places, because every batch is looked through, and names take longer: 5 is the expression.
        whole = [row for row in self.rows if row[5] is not None and row[5][0] == "{"]
        rows = [row for row in whole if is_long(row[5]) or names_lists(row[5])]
        if not rows:
            return {}
        stored = [(row["owner_id"], row["expression"]) for row in rows]
        found = await read_triggers(within(self._connection), stored)
        return {row["job_id"]: trigger for row, trigger in zip(rows, found, strict=True)}

    async def delivered(self) -> dict[int, set[datetime]]:
        """The slots that ntfy, which was given them ahead of their time, has sent; by job. Only those of jobs
        that are late or might be skipped: the others are fired, and see for themselves."""
        now = self.moment
        late = now - GRACE
        # By their places, as above: 2 is when a job was due, 12 its task, 16 whether it has a run in flight.
        jobs = [row[0] for row in self.rows if row[12] == "notify" and (row[2] < late or row[16] is not None)]
        found: dict[int, set[datetime]] = defaultdict(set)
        for row in await self._connection.fetch(query("delivered"), jobs, now) if jobs else ():
            found[row["job_id"]].add(row["scheduled_for"])
        return found

    async def fire(
        self, job_ids: Sequence[int], next_slots: Sequence[datetime | None], worker: int, now: datetime
    ) -> None:
        """Insert runs for the due slots of these jobs, claimed by `worker`, and set their next slots."""
        await self._connection.execute(query("fire"), job_ids, next_slots, worker, now)

    async def move(self, moves: Sequence[Moved], now: datetime) -> None:
        """Set the jobs' next slots and insert their run rows; those in state `waiting` join the queue."""
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
            (one.job_id, row.slot, one.owner_id, one.task, one.serial)
            for one in moves
            for row in one.rows
            if row.state == "waiting"
        ]
        await self._connection.execute(query("move_due"), *columns(places, 6))
        if rows:
            await self._connection.execute(query("insert_runs"), *columns(rows, 8), now)
        if waiting:
            await self._connection.execute(query("insert_queue"), *columns(waiting, 5), now)
            if in_line := sorted({one.job_id for one in moves if one.serial}):
                await release(self._connection, now, in_line)
            await self._connection.fetchval(query("notify"), "queue")

    async def running_by_owner(self, owner_ids: Collection[int]) -> dict[int, int]:
        """How many runs these owners have running."""
        return _running(await self._connection.fetch(query("running_of_owners"), owner_ids))

    async def taken_slots(self, slots: Sequence[tuple[int, datetime]]) -> set[tuple[int, datetime]]:
        """Those of these slots that have a run row already."""
        rows = await self._connection.fetch(query("taken_slots"), *columns(slots, 2))
        return {(row[0], row[1]) for row in rows}

    async def stop_runs(self, job_ids: Sequence[int], now: datetime, reason: str) -> None:
        """Cancel the waiting runs of these jobs, and request a stop of the running ones."""
        runs = await self._connection.fetch(query("in_flight_runs"), job_ids)
        await self._connection.fetchval(query("stop_runs"), now, *columns(runs, 2), reason)

    async def count_uses(self, uses: Sequence[tuple[int, str, datetime, int]]) -> dict[tuple[int, str], int]:
        """Add to the counts by owner and kind; the new counts."""
        return _counts(await self._connection.fetch(query("count_uses"), *columns(uses, 4)))

    async def tell_held(self, now: datetime, held: Sequence[Held]) -> None:
        """Tell owners that they reached a limit."""
        await tell_held(self._connection, now, held)

    async def set_aside(self, jobs: Sequence[tuple[int, str]], now: datetime, topic_of: Callable[[int], str]) -> None:
        """Set jobs aside, each with its reason; `topic_of` gives the alert topic for a job without its own."""
        rows = await self._connection.fetch(query("set_aside"), now, *columns(jobs, 2))
        await tell_of_changes(self._connection, now, map(change_of, rows), topic_of)

    async def note_missed(self, missed: Sequence[tuple[int, str]], now: datetime) -> None:
        rows = await self._connection.fetch(query("note_missed"), *columns(missed, 2))
        await tell_of_changes(self._connection, now, map(change_of, rows))

    async def note_absence(self, passed: Sequence[PassedSlots], now: datetime) -> None:
        """Their owners will be told of these slots, in one message each."""
        await self._connection.execute(query("note_absence"), now, *columns(passed, 6))


type _Place = tuple[int, datetime | None, datetime | None, datetime | None, datetime | None, int]


def _place(one: Moved) -> _Place:
    executed = [row.slot for row in one.rows if row.state == "waiting"]
    last_slot, through = (one.rows[-1].slot, one.rows[-1].through) if one.rows else (None, None)
    last_run = executed[-1] if executed and not one.serial else None
    return one.job_id, one.next_slot, last_slot, through, last_run, len(executed)


class EngineStore:
    """One per engine, with a pool of its own whose planner settings are for the hot path."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        return cast("datetime", await self._database.value("now", self._database.moment()))

    async def _changing(self, name: str, *arguments: object) -> list[Row]:
        """Run a statement that changes jobs' health, and raise the alerts about it in the same transaction."""
        return await self._database.together(
            lambda connection: change_jobs(connection, self._database.moment(), name, *arguments)
        )

    @asynccontextmanager
    async def due_jobs(
        self,
        low: datetime | None,
        limit: int,
        left_out: Collection[int] = (),
        zones: Sequence[str] = (),
        now: datetime | None = None,
        *,
        urgent: bool = False,
    ) -> AsyncGenerator[DueJobs]:
        """Lock a batch of due jobs, except those of the owners `left_out` and of these zones; or only urgent ones."""
        async with self._database.transaction() as connection:
            moment = now or self._database.moment()
            pick = query("pick_urgent" if urgent else "pick_due")
            rows = await connection.fetch(pick, moment, low, limit, left_out, zones)
            yield DueJobs(connection, rows)

    async def limited_owners(self) -> dict[int, dict[str, object]]:
        """Owners with limits of their own."""
        return {row["id"]: orjson.loads(row["limits"]) for row in await self._database.fetch("limited_owners")}

    async def running_by_owner(self, owner_ids: Collection[int] | None) -> dict[int, int]:
        """How many runs each of these owners has running; None means all owners."""
        if owner_ids is None:
            return _running(await self._database.fetch("running_by_owner"))
        return _running(await self._database.fetch("running_of_owners", owner_ids))

    async def count_uses(self, uses: Sequence[tuple[int, str, datetime, int]]) -> dict[tuple[int, str], int]:
        """Add to the counts by owner and kind; the new counts."""
        return _counts(await self._database.fetch("count_uses", *columns(uses, 4)))

    async def next_due(
        self, low: datetime | None, zones: Sequence[str] = (), *, urgent: bool = False
    ) -> tuple[datetime, datetime | None, bool]:
        """The current time, the time of the earliest slot (or urgent slot), and whether the installation is frozen."""
        name = "next_urgent" if urgent else "next_due"
        row = await self._database.one(name, self._database.moment(), low, zones)
        assert row is not None
        return row["now"], row["next_at"], row["frozen"]

    async def seconds_until_queued(self, tasks: Sequence[str]) -> float | None:
        return cast("float | None", await self._database.value("next_queued", self._database.moment(), tasks))

    async def claim_runs(
        self,
        worker: int,
        tasks: Sequence[str],
        crashes: int,
        limit: int,
        left_out: Collection[int] = (),
        most_of: Mapping[int, int] | None = None,
        usual_most: int = 2**31 - 1,
        low: datetime | None = None,
    ) -> list[Row]:
        """Claim a batch of waiting runs, but none of the owners `left_out` and none that was due before `low`.

        `most_of` is how many may be claimed of single owners, `usual_most` of each other one.
        """
        moment = self._database.moment()
        most = columns(list((most_of or {}).items()), 2)
        return await self._database.fetch(
            "claim_runs", moment, worker, tasks, crashes, limit, left_out, *most, usual_most, low
        )

    async def put_off(
        self,
        worker: int,
        now: datetime,
        uses: Sequence[tuple[int, str, datetime, int]],
        over: Callable[[Mapping[tuple[int, str], int]], tuple[Sequence[PutOff], Sequence[Held]]],
    ) -> Sequence[PutOff]:
        """Count uses, queue the claimed attempts again that are `over` a limit then, and tell their owners.

        In one transaction: attempts that could not be queued again haven't started, and must not count.
        """

        async def put(connection: Connection) -> Sequence[PutOff]:
            late, told = over(_counts(await connection.fetch(query("count_uses"), *columns(uses, 4))))
            if late:
                await connection.execute(query("put_off"), now, worker, *columns(late, 5))
            if told:
                await tell_held(connection, now, told)
            return late

        return await self._database.together(put)

    async def queue_again(self, worker: int, now: datetime, late: Sequence[PutOff]) -> None:
        """Queue claimed attempts again that haven't started; they don't count."""
        await self._database.change("put_off", now, worker, *columns(late, 5))

    async def settle_done(
        self, worker: int, successes: Sequence[Success], told: Sequence[tuple[int, datetime]] = ()
    ) -> int:
        """How many were accepted; fewer than given if some came too late. `told` are the runs whose result is told."""
        settled = columns(successes, 6)
        if all(one.attempt == 1 and one.result is None for one in successes):
            settled[2:4] = [], []
        weeks = _ends(one.slot for one in successes)
        given = (self._database.moment(), worker, *settled, *weeks)
        if not told:
            return await self._database.change("settle_done", *given)

        async def settle(connection: Connection) -> int:
            accepted = rows_changed(await connection.execute(query("settle_done"), *given))
            await tell_runs(connection, given[0], told)
            return accepted

        return await self._database.together(settle)

    async def settle_rest(
        self, worker: int, others: Sequence[Other], told: Sequence[tuple[int, datetime]] = ()
    ) -> tuple[int, list[int]]:
        """How many were accepted, and the jobs that had a run fail for good. `told` are the runs that are told of."""
        now, weeks = self._database.moment(), _ends(one.slot for one in others)

        async def settle(connection: Connection) -> list[Row]:
            rows = await change_jobs(connection, now, "settle_rest", now, worker, *columns(others, 11), *weeks)
            await tell_runs(connection, now, told)
            return rows

        rows = await self._database.together(settle)
        return rows[0]["accepted"], _ids(rows)

    async def pause_failing(self, jobs: Sequence[tuple[int, str | None]]) -> list[tuple[int, str]]:
        """Pause jobs that fail too often, and those given with a reason; which ones, and why."""
        rows = await self._changing("pause_failing", self._database.moment(), *columns(jobs, 2))
        return [(row["id"], row["reason"]) for row in rows]

    async def pause_orphaned(self, since: datetime | None) -> list[tuple[int, str]]:
        """Pause jobs whose key ended after `since` (None: ever), and stop their runs; which ones, and why."""
        return await self._database.together(lambda c: pause_orphaned(c, self._database.moment(), since))

    async def mark_superseded(self, worker: int, late: Sequence[tuple[int, datetime, int, str]]) -> int:
        return len(await self._database.fetch("mark_superseded", self._database.moment(), worker, *columns(late, 4)))

    async def clear_failing(self, job_ids: Sequence[int]) -> None:
        await self._changing("clear_failing", job_ids)

    async def release_lines(self, job_ids: Sequence[int]) -> int:
        """Release the first run in line of each of these jobs that has none running; how many."""
        return await release_lines(self._database, self._database.moment(), job_ids)

    async def release_free_lines(self, after: int) -> tuple[int, int]:
        """The same for the next jobs after `after` that have a line; how many, and `after` for the next call."""
        return await release_free_lines(self._database, self._database.moment(), after)

    async def register_worker(
        self, name: str, version: str, tzdata: str, concurrency: int, lease: float, performs: Performs = NOTHING
    ) -> tuple[int, datetime]:
        """The new worker's id, and when its lease began."""
        row = await self._database.one(
            "register_worker",
            self._database.moment(),
            name,
            version,
            tzdata,
            concurrency,
            lease,
            secrets.randbits(62),
            performs.program,
            orjson.dumps({task: [*home] for task, home in performs.tasks.items()}).decode(),
        )
        assert row is not None
        return row["id"], row["beat_at"]

    async def beat(self, worker: int, lease: float) -> tuple[datetime, datetime, int] | None:
        """Renew the lease: now, the time of the heartbeat before, and the epoch. None if this worker was struck off and
        has lost its runs."""
        row = await self._database.one("beat", self._database.moment(), worker, lease)
        return None if row is None else (row["now"], row["before"], row["epoch"])

    async def made_in(self, job_ids: Sequence[int]) -> dict[int, str]:
        """The spans in which these jobs were made, of those that were in one."""
        return {row["id"]: row["traceparent"] for row in await self._database.fetch("made_in", job_ids)}

    async def list_stops(self, worker: int) -> list[tuple[int, datetime, str, bool]]:
        """Runs this worker is asked to stop, why, and whether it still holds them."""
        return [(row[0], row[1], row[2], row[3]) for row in await self._database.fetch("list_stops", worker)]

    async def forget_stops(self, worker: int, runs: Sequence[tuple[int, datetime]]) -> None:
        await self._database.change("forget_stops", worker, *columns(runs, 2))

    async def running_of(self, worker: int) -> list[tuple[int, datetime, int]]:
        return [(row[0], row[1], row[2]) for row in await self._database.fetch("running_of", worker)]

    async def hand_back(self, worker: int, runs: Sequence[tuple[int, datetime, int]]) -> int:
        """Queue runs again that are listed as this worker's but unknown to it; how many."""
        return cast("int", await self._database.value("hand_back", self._database.moment(), worker, *columns(runs, 3)))

    async def leave(self, worker: int) -> None:
        await self._database.change("leave", worker)

    async def expired_workers(self, as_of: datetime) -> list[int]:
        return [row["id"] for row in await self._database.fetch("expired_workers", as_of)]

    async def strike_off(self, worker: int, as_of: datetime, max_crashes: int) -> Rescued:
        """Strike off a worker whose lease had expired at `as_of`, and rescue its runs."""

        async def work(connection: Connection) -> Rescued:
            struck = await connection.fetchval(query("strike_off"), worker, as_of) is not None
            return await self._rescue(connection, [worker], max_crashes) if struck else Rescued(0, 0, 0, [])

        return await self._database.together(work)

    async def lost_workers(self) -> set[int]:
        """Worker ids of running runs that aren't in the table of workers."""
        return {row["worker"] for row in await self._database.fetch("lost_workers")}

    async def rescue(self, workers: Sequence[int], max_crashes: int) -> Rescued:
        """Rescue the runs of workers that aren't in the table of workers any more."""
        return await self._database.together(lambda connection: self._rescue(connection, workers, max_crashes))

    async def _rescue(self, connection: Connection, workers: Sequence[int], max_crashes: int) -> Rescued:
        now = self._database.moment()
        rows = await change_jobs(connection, now, "rescue", now, max_crashes, workers)
        return Rescued(len(workers), rows[0]["rescued"], rows[0]["quarantined"], _ids(rows))

    async def note_absence(self, passed: Sequence[PassedSlots]) -> None:
        """Their owners will be told of these slots, too."""
        await self._database.change("note_absence", self._database.moment() or await self.now(), *columns(passed, 6))

    async def tell_absences(self, quiet: float, most: int, topic_of: Callable[[int], str], zone: str) -> None:
        """Tell owners what passed while nothing was running, each once; nothing was added for `quiet` seconds."""
        now = self._database.moment()
        await self._database.together(lambda c: tell_absences(c, now, quiet, most, topic_of, zone))

    async def send_alerts(self, most: int) -> int:
        """Turn up to `most` alerts into jobs; how many."""
        return cast("int", await self._database.value("send_alerts", most, ALERT_POLICY, '{"surface": "cronty"}'))

    async def notify(self, message: str) -> None:
        await self._database.value("notify", message)

    async def publish_tasks(self, tasks: Sequence[tuple[str, str, str, str | None]]) -> None:
        """Store the name, the parameters as JSON, the doc and the owners of every task this process has."""
        await self._database.change("publish_tasks", self._database.moment(), *columns(tasks, 4))

    async def make_partitions(self, slots: Sequence[datetime] = ()) -> int:
        """Create the partitions of the weeks around now and of these slots."""
        return cast("int", await self._database.value("make_partitions", self._database.moment(), slots))


def _ends(slots: Iterable[datetime]) -> tuple[datetime, datetime]:
    """The first and the last slot, so that a statement touches no other weekly partitions."""
    ordered = sorted(slots)
    return ordered[0], ordered[-1]


def _running(rows: Sequence[Row]) -> dict[int, int]:
    return {row["owner_id"]: row["runs"] for row in rows}


def _ids(rows: Sequence[Row]) -> list[int]:
    return [row["id"] for row in rows if row["id"] is not None]


def _counts(rows: Sequence[Row]) -> dict[tuple[int, str], int]:
    return {(row["owner_id"], row["what"]): row["used"] for row in rows}
