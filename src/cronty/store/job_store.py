"""The scheduler's statements: jobs, their runs, and the published tasks."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Final, cast

import orjson

from cronty.contract.caller import Caller
from cronty.jobs.action import Action
from cronty.jobs.alerts import Change, JobHealth
from cronty.jobs.backfill import Backfilled, BackfillPlan, KnownRun
from cronty.jobs.job import Filter, Job
from cronty.jobs.overview import MAX_COUNTED
from cronty.jobs.performers import Home, Performer
from cronty.jobs.policy import load_policy, spread_delay
from cronty.jobs.run import Run
from cronty.store.alerts import tell_of_changes
from cronty.store.audit_store import changes, note, who
from cronty.store.calendar_store import CalendarStore
from cronty.store.database import Connection, Database, Row, columns, query, values
from cronty.store.day_lists import Fetch, read_changes, read_triggers, within
from cronty.store.limit_store import LimitStore
from cronty.store.lines import release
from cronty.store.new_job import NewJobs, columns_of
from cronty.timing import Trigger, to_stored
from cronty.timing.offsets import TICK
from cronty.timing.past import Past
from cronty.timing.slot_changes import changes_to_json

PACE: Final = 0.1
"""Seconds from one backfilled run to the next, so that what is planned finds places between them."""


@dataclass(frozen=True, slots=True)
class JobCursor:
    """The last row of a page, after which the next page begins, and the total counted for the first page."""

    idle: bool
    fire_at: datetime | None
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task that a worker has published."""

    name: str
    parameters: dict[str, object]
    doc: str


class JobStore:
    """Every method takes an owner and sees only that owner's rows. `number` is the job's number within its owner."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.limits = LimitStore(database)
        self.calendars = CalendarStore(database)
        self.new_jobs = NewJobs(database)

    async def clock(self, owner: str) -> tuple[datetime, str | None]:
        """The current time, and the owner's zone if it is set."""
        row = await self._database.of(owner).one("clock", self._database.moment(), owner)
        assert row is not None
        return row["now"], row["zone"]

    async def set_zone(self, caller: Caller, zone_name: str, *, first: bool = False) -> str | None:
        """Set the owner's zone, with `first` only if it has none; the zone before."""
        theirs = self._database.of(caller.owner)
        given = (self._database.moment(), caller.owner, zone_name, *who(caller), first)
        row = await theirs.one("set_zone", *given)
        if row is None:
            await theirs.change("ensure_owner", caller.owner)
            row = await theirs.one("set_zone", *given)
        return None if row is None else row["zone"]

    async def close(self) -> None:
        """Send notices that are still waiting."""
        await self.new_jobs.notices.flush()

    async def show_job(self, owner: str, number: int, *, deleted: bool = False) -> Job | None:
        theirs = self._database.of(owner)
        row = await theirs.one("show_job", owner, number, self._database.moment(), deleted)
        return None if row is None else (await jobs_from(theirs.fetch, [row]))[0]

    async def jobs_by_name(self, owner: str, name: str, limit: int, *, deleted: bool = False) -> list[Job]:
        """The jobs with this name, whatever its case, those that have not ended first."""
        theirs = self._database.of(owner)
        now = self._database.moment()
        rows = await theirs.fetch("jobs_by_name", owner=owner, name=name, rows=limit, deleted=deleted, now=now)
        return await jobs_from(theirs.fetch, rows)

    async def list_deleted(self, owner: str, limit: int, before: datetime | None) -> list[Job]:
        """Deleted jobs that can still be restored, the latest first."""
        theirs = self._database.of(owner)
        return await jobs_from(theirs.fetch, await theirs.fetch("list_deleted", owner, limit, before))

    async def list_jobs(
        self,
        owner: str,
        wanted: Filter,
        limit: int,
        after: JobCursor | None = None,
        *,
        agent: str | None = None,
        for_display: bool = False,
    ) -> tuple[list[Job], int]:
        """A page of jobs, and how many match in all, counted with the first page up to `MAX_COUNTED`.

        Words are not looked for in what a job says to another agent than `agent`. With `for_display` the replica may be
        used.
        """
        theirs = self._database.of(owner)
        theirs = theirs.for_display() if for_display else theirs
        rows = await theirs.fetch(
            "list_jobs",
            **asdict(wanted),
            owner=owner,
            agent=agent,
            rows=limit,
            idle=after.idle if after else None,
            fire_at=after.fire_at or _INFINITY if after else None,
            number=after.number if after else None,
            most_counted=MAX_COUNTED,
            now=self._database.moment(),
        )
        total = after.total if after else cast("int", rows[0]["total"])
        return await jobs_from(theirs.fetch, [row for row in rows if row["id"] is not None]), total

    async def list_runs(
        self, owner: str, number: int, limit: int, before: datetime | None = None, state: str | None = None
    ) -> list[Run]:
        rows = await self._database.of(owner).fetch("list_runs", owner, number, limit, before, state)
        return [Run(**dict(row)) for row in rows]

    async def publish(self, tasks: Sequence[tuple[str, str, str, str | None]]) -> None:
        """Store the name, the parameters as JSON, the doc and the owners of tasks that every worker has."""
        await self._database.for_the_engine().change("publish_tasks", self._database.moment(), *columns(tasks, 4))

    async def performers(self, tasks: Sequence[str], but: int) -> list[Performer]:
        """Who performs these tasks, of all living workers `but` one."""
        database = self._database.for_the_engine()
        return [
            Performer(row["worker"], row["task"], row["program"], Home(row["package"], row["place"]))
            for row in await database.fetch("performers", self._database.moment(), tasks, but)
        ]

    async def list_tasks(self, owner: str) -> list[TaskInfo]:
        """The tasks that an owner may use."""
        return _tasks(await self._database.fetch("list_tasks", owner))

    @asynccontextmanager
    async def locked_job(
        self, caller: Caller, number: int, *, deleted: bool = False
    ) -> AsyncGenerator["LockedJob | None"]:
        """Lock a job; what is saved is committed when the block ends."""
        owner = caller.owner
        async with self._database.of(owner).transaction() as connection:
            held = await connection.fetchrow(query("lock_job"), owner, number, deleted)
            # A second statement, because only its snapshot shows what was committed while the first one waited.
            row = held and await connection.fetchrow(query("show_job"), owner, number, self._database.moment(), deleted)
            limits, calendars = LimitStore(self._database, connection), CalendarStore(self._database, connection)
            if held is None or row is None:
                yield None
            else:
                job = (await jobs_from(within(connection), [row]))[0]
                yield LockedJob(connection, caller, limits, calendars, job, row, held)
        self.new_jobs.notices.forget()


class LockedJob:
    """A job that can't fire and can't be changed by others until the transaction ends."""

    def __init__(
        self,
        connection: Connection,
        caller: Caller,
        limits: LimitStore,
        calendars: CalendarStore,
        job: Job,
        row: Row,
        held: Row,
    ) -> None:
        self._connection = connection
        self._caller = caller
        self.limits = limits
        self.calendars = calendars
        self.origin: dict[str, object] = {} if held["origin"] is None else orjson.loads(held["origin"])
        self._owner_id: int = row["owner_id"]
        self._stored_trigger: str = row["trigger_json"]
        self.job = job
        self.now: datetime = row["now"]
        self._closed_through: datetime | None = None

    async def save(self, job: Job, what: str = "edited", *, deleted: bool = False) -> Job:
        """Write the job; `what` is the name of the change in the trail. Returns the job as it is stored."""
        job = replace(job, changes=job.changes_to_come)
        if job.action.task != self.job.action.task:
            await self._connection.execute(query("requeue"), job.id, job.action.task)
        # Runs before jobs, in the order in which a settlement locks them.
        expected = job.next_slot or job.held_slot
        if job.last_slot is not None and expected != (self.job.next_slot or self.job.held_slot):
            await self._connection.execute(query("relink"), job.id, job.last_slot, expected)
        delay = spread_delay(job.owner, job.name, job.policy.spread)
        given = {
            "id": job.id,
            "name": job.name,
            "task": job.action.task,
            "arguments": job.action.arguments_json(),
            "trigger": self._trigger(job),
            "said": job.said,
            "zone": job.zone,
            "policy": job.policy.dump(),
            "tags": list(job.tags),
            "max_runs": job.max_runs,
            "slots_after": job.slots_after,
            "ends_at": job.ends_at,
            "state": job.state,
            "reason": job.reason,
            "more_failures": job.failures_in_row - self.job.failures_in_row,
            "last_error": job.last_error if job.last_error != self.job.last_error else None,
            "now": self.now,
            "deleted_from": self.job.state if deleted else None,
            "delay": delay,
            "next_slot": job.next_slot,
            "held_slot": job.held_slot,
            "last_slot": job.last_slot,
            "last_through": self._closed_through,
            "serial": job.policy.serial,
            **columns_of(job.trigger, changed=bool(job.changes)),
        }
        await self._connection.execute(query("save_job"), *values("save_job", given))
        if deleted:
            await self._connection.execute(query("count_deleted"), job.id)
        if self.job.policy.serial and not job.policy.serial:
            await self._connection.execute(query("end_line"), job.id, self.now)
        await self._note("deleted" if deleted else what, *changes(self.job, job))
        change = Change(job.id, self._owner_id, job.name, job.policy.dump(), _health(self.job), _health(job))
        await tell_of_changes(self._connection, self.now, [change])
        return replace(job, version=job.version + 1, updated_at=self.now)

    def _trigger(self, job: Job) -> str:
        """The trigger to store; an unchanged one keeps the fields that only a newer version can read."""
        if job.trigger == self.job.trigger and job.changes == self.job.changes:
            return self._stored_trigger
        same = orjson.loads(self._stored_trigger) if job.trigger == self.job.trigger else to_stored(job.trigger)
        same.pop("changes", None)
        return orjson.dumps(same | ({"changes": changes_to_json(job.changes)} if job.changes else {})).decode()

    async def _note(self, what: str, before: dict[str, object], after: dict[str, object]) -> None:
        await note(self._connection, self.now, self._caller, what, (self._owner_id, self.job.id), before, after)

    async def list_tasks(self, owner: str) -> list[TaskInfo]:
        return _tasks(await self._connection.fetch(query("list_tasks"), owner))

    async def adopt(self, origin: Mapping[str, object] | None = None) -> None:
        """From now on the job depends on the caller's key, or on none; an editor is also where it comes from."""
        text = None if origin is None else orjson.dumps(origin).decode()
        await self._connection.execute(query("adopt_job"), self.job.id, self._caller.key_id, text)

    async def close_slots(self, passed: Past, state: str, reason: str) -> None:
        """Record slots that passed without firing, as one run row."""
        through = passed.through if passed.slots > 1 else None
        row = (
            self.job.id,
            passed.first,
            passed.followed_by,
            through,
            passed.slots,
            self._owner_id,
            state,
            reason,
        )
        await self._connection.fetchval(query("make_partitions"), self.now, [passed.first])
        await self._connection.execute(query("insert_runs"), *columns([row], 8), self.now)
        self._closed_through = through

    async def stop_runs(self, reason: str) -> None:
        """Cancel the waiting runs, and request a stop of the running ones."""
        if runs := await self._connection.fetch(query("in_flight_runs"), [self.job.id]):
            await self._connection.fetchval(query("stop_runs"), self.now, *columns(runs, 2), reason)

    async def runs_between(self, first: datetime, last: datetime) -> list[KnownRun]:
        """The rows from the first slot through the last, and the one before."""
        rows = await self._connection.fetch(query("runs_between"), self.job.id, first, last)
        return [KnownRun(**dict(row)) for row in rows]

    async def backfill(self, plan: BackfillPlan, asked: Backfilled, entry: dict[str, object]) -> None:
        """Queue the runs of a plan; `entry` is what the trail says of it. Runs of a serial job join its line."""
        begun = [part.first for one in plan.splits for part in one.parts]
        await self._connection.fetchval(query("make_partitions"), self.now, [*plan.slots, *begun])
        for row, parts in ((one.row, one.parts) for one in plan.splits):
            head, last = parts[0], parts[-1].first
            cut = (head.through, head.slots, head.followed_by)
            await self._connection.execute(query("cut_range"), self.job.id, row.scheduled_for, *cut, last)
            others = [
                (self.job.id, one.first, one.followed_by, one.through, one.slots, self._owner_id, row.state, row.reason)
                for one in parts[1:]
            ]
            await self._connection.execute(query("insert_runs"), *columns(others, 8), row.finished_at)
        given = (list(plan.slots), asked.dump(), self.now, PACE)
        await self._connection.fetchval(query("backfill"), self.job.id, *given)
        if self.job.policy.serial:
            await release(self._connection, self.now, [self.job.id])
        await self._note("backfilled", {}, entry)

    async def run_now(self) -> datetime:
        """Queue a run whose slot is now, or the next microsecond that isn't taken."""
        slot = self.now
        await self._connection.fetchval(query("make_partitions"), self.now, [])
        while not await self._connection.fetchval(query("run_now"), self.job.id, slot):
            slot += TICK
        place = (self.job.id, slot, self._owner_id, self.job.action.task, self.job.policy.serial)
        await self._connection.execute(query("insert_queue"), *columns([place], 5), self.now)
        if self.job.policy.serial:
            await release(self._connection, self.now, [self.job.id])
        await self._note("run asked for", {}, {"run": slot})
        return slot


def _health(job: Job) -> JobHealth:
    return JobHealth(job.state, job.failures_in_row, job.last_error, job.reason)


_INFINITY = datetime.max.replace(tzinfo=UTC)  # PostgreSQL's infinity, as asyncpg writes it


def _tasks(rows: Sequence[Row]) -> list[TaskInfo]:
    return [TaskInfo(row["name"], orjson.loads(row["parameters"]), row["doc"]) for row in rows]


async def jobs_from(fetch: Fetch, rows: Sequence[Row]) -> list[Job]:
    """The jobs in these rows of `every_job`."""
    triggers = await read_triggers(fetch, [(row["owner_id"], row["trigger_json"]) for row in rows])
    return [_job(row, trigger) for row, trigger in zip(rows, triggers, strict=True)]


def _job(row: Row, trigger: Trigger) -> Job:
    arguments = orjson.loads(row["arguments_json"])
    return Job(
        id=row["id"],
        number=row["number"],
        owner=row["owner"],
        name=row["name"],
        action=Action(row["task"], tuple(arguments["args"]), arguments["kwargs"]),
        trigger=trigger,
        changes=read_changes(row["trigger_json"]),
        zone=row["zone"],
        policy=load_policy(row["policy_json"]),
        tags=tuple(row["tags"]),
        max_runs=row["max_runs"],
        slots_after=row["slots_after"],
        ends_at=row["ends_at"],
        state=row["state"],
        reason=row["reason"],
        next_slot=row["next_slot"],
        held_slot=row["held_slot"],
        last_slot=row["last_slot"],
        last_run=row["last_run"],
        run_count=row["run_count"],
        manual_count=row["manual_count"],
        failure_count=row["failure_count"],
        cancelled_count=row["cancelled_count"],
        failures_in_row=row["failures_in_row"],
        last_error=row["last_error"],
        in_flight=row["in_flight"],
        retry_error=row["retry_error"],
        untaken_since=row["untaken_since"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        deleted_at=row["deleted_at"],
        deleted_from=row["deleted_from"],
        said=row["said"],
        made_by=row["made_by"],
    )
