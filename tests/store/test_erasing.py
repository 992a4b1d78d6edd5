"""An owner is erased with everything of it, and leaves one line in a trail that isn't its own."""

import asyncio

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.engine import pruning
from cronty.scheduler import Scheduler
from cronty.store import owner_store
from cronty.store.audit_store import AuditStore
from cronty.store.database import Database, StoreUnavailable
from cronty.store.key_store import KeyStore
from cronty.store.owner_store import OwnerStore
from tests.conftest import HandClock, Hands, add, hands_of

NAME = "ann"


async def live(owner: str, door: Scheduler, hands: Hands, clock: HandClock, database: Database) -> None:
    """Jobs, runs of two weeks, retries, a waiting prompt, limits, a key."""
    await door.allowance.set(local_caller(owner), {"runs_per_hour": 1000, "alert": "phone"})
    await add(door, "interval", {"days": 1}, owner=owner, name="daily")
    await add(door, "interval", {"days": 1}, owner=owner, name="fails", task="fail", policy={"attempts": 3})
    gone = await add(door, "interval", {"days": 1}, owner=owner, name="gone")
    await door.schedule(
        local_caller(owner), ScheduleJob("look", "prompt", "interval", {"days": 1}, kwargs={"prompt": "x"})
    )
    await KeyStore(database).add(local_caller(owner), "laptop", b"x" * 32, ["read"], None, None)
    for _ in range(9):
        clock.advance(days=1)
        await hands.store.make_partitions()
        await hands.all()
    await door.delete(local_caller(owner), gone.number)


FEW = (
    "insert into cronty.calendars select id, 'team', '{}', now(), '' from cronty.owners",
    "insert into cronty.channels (owner_id, name, scheme, hint, key_id, sealed, created_at)"
    " select id, 'phone', 'ntfy', 'x', 'k', 'x', now() from cronty.owners",
    "insert into cronty.stop_requests select 1, min(id), now(), owner_id from cronty.jobs group by owner_id",
    "insert into cronty.alerts (owner_id, job_id, at, name, arguments)"
    " select id, 0, now(), 'x', '{}' from cronty.owners",
    "insert into cronty.absences select id, now(), now(), 1, 0, 0, '{}', '{}' from cronty.owners"
    " on conflict do nothing",
    "insert into cronty.tellings (job_id, scheduled_for, owner_id, attempt, due_at)"
    " select min(id), now(), owner_id, 1, now() from cronty.jobs group by owner_id",
    "insert into cronty.presses (job_id, scheduled_for, owner_id, act, pressed_at)"
    " select min(id), now(), owner_id, 'done', now() from cronty.jobs group by owner_id",
    "insert into cronty.starts (limit_name, job_id, scheduled_for, attempt, owner_id, started_at, ended)"
    " select 'model', min(id), now(), 1, owner_id, now(), true from cronty.jobs group by owner_id",
    "insert into cronty.handed_over (job_id, scheduled_for, owner_id, owner, channel, version, key_id, sealed, due_at)"
    " select min(id), now(), owner_id, 'x', 'phone', 1, 'k', 'x', now() from cronty.jobs group by owner_id",
)


TRAIL = (
    "insert into cronty.audit_unsealed (at, owner_id, what) select now(), id, 'x' from cronty.owners where name = $1",
    "insert into cronty.audit_checkpoints (owner_id, month, number, hash, count, signature, key_id)"
    " select id, '2020-01-01', 1, 'x', 1, 'x', 'k' from cronty.owners where name = $1",
)


async def owned(sql: asyncpg.Connection, owner_id: int) -> dict[str, int]:
    """How many rows each table has of an owner, by the catalog: whatever has an owner_id, and the owners."""
    tables = [
        row[0]
        for row in await sql.fetch(
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'owner_id'"
            " where c.relnamespace = 'cronty'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
        )
    ]
    found = {
        table: await sql.fetchval(f"select count(*) from cronty.{table} where owner_id = $1", owner_id)
        for table in tables
    }
    found["owners"] = await sql.fetchval("select count(*) from cronty.owners where id = $1", owner_id)
    return found


@pytest.fixture
async def ann(door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database) -> int:
    for owner in (NAME, "bob"):
        await live(owner, door, hands, clock, database)
    for statement in FEW:
        await sql.execute(statement)
    await AuditStore(database).seal()
    for statement in TRAIL:
        await sql.execute(statement, NAME)
    return await sql.fetchval("select id from cronty.owners where name = $1", NAME)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_store, "JOBS", 2)
    monkeypatch.setattr(owner_store, "ROWS", 3)


async def test_an_erased_owner_leaves_no_row_in_any_table(
    ann: int, door: Scheduler, hands: Hands, sql: asyncpg.Connection, database: Database
) -> None:
    before = await owned(sql, ann)
    assert [table for table, rows in before.items() if not rows] == [], "every table has something of her"
    bob = await sql.fetchval("select id from cronty.owners where name = 'bob'")
    bobs = await owned(sql, bob)
    counts = await OwnerStore(database).erase(NAME)
    assert counts is not None
    assert counts["jobs"] == before["jobs"]
    assert {table: rows for table, rows in (await owned(sql, ann)).items() if rows} == {}
    assert await owned(sql, bob) == bobs
    trail = AuditStore(database)
    assert await trail.verify() == []
    [line] = await sql.fetch("select * from cronty.audit where owner_id = 0")
    assert line["what"] == "owner erased"
    assert NAME not in str(dict(line)).replace("channel", "")
    await hands.engine.limiting.write()
    assert {table: rows for table, rows in (await owned(sql, ann)).items() if rows} == {}
    assert await OwnerStore(database).erase(NAME) is None


async def test_the_name_can_begin_anew(ann: int, door: Scheduler, database: Database) -> None:
    await OwnerStore(database).erase(NAME)
    job = await add(door, owner=NAME)
    listed = await door.list_jobs(local_caller(NAME))
    assert isinstance(listed, Ok)
    assert [one.number for one in listed.value.jobs] == [job.number]


async def test_an_erasing_that_was_interrupted_goes_on(ann: int, sql: asyncpg.Connection, database: Database) -> None:
    steps = 0

    def told(_: int) -> None:
        nonlocal steps
        steps += 1
        if steps % 3 == 0:
            raise StoreUnavailable("the connection was lost")

    for _ in range(100):
        try:
            await OwnerStore(database).erase(NAME, told)
            break
        except StoreUnavailable:
            continue
    assert steps > 6
    assert {table: rows for table, rows in (await owned(sql, ann)).items() if rows} == {}
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed where owner_id = 0") == 1


async def test_a_closed_owner_gets_nothing_new_and_its_keys_are_no_good(
    ann: int, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database
) -> None:
    keys = KeyStore(database)
    added = await keys.add(local_caller(NAME), "phone", b"y" * 32, ["read"], None, None)
    assert isinstance(added, tuple)
    key_id, _ = added
    await sql.execute("update cronty.owners set erasing_since = now() where id = $1", ann)
    assert await keys.find(key_id) is None
    refused = await door.schedule(local_caller(NAME), ScheduleJob("x", "note", "interval", {"days": 1}))
    assert isinstance(refused, Err)
    assert refused.code == "owner_erased"
    deleted = await door.list_deleted(local_caller(NAME))
    refused = await door.undelete(local_caller(NAME), deleted[0].number)
    assert isinstance(refused, Err)
    assert refused.code == "owner_erased"
    store = OwnerStore(database)
    await store._park(ann)  # pyright: ignore[reportPrivateUsage]
    runs = await sql.fetchval("select count(*) from cronty.runs where owner_id = $1", ann)
    clock.advance(days=1)
    await hands.all()
    assert await sql.fetchval("select count(*) from cronty.runs where owner_id = $1", ann) == runs


@pytest.mark.parametrize("way", ["deleted", "cancelled"])
async def test_an_erasing_that_was_interrupted_keeps_no_job_of_others(
    way: str, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(pruning, "JOBS", 2)
    act = door.delete if way == "deleted" else door.cancel
    for owner in (NAME, NAME, NAME, "bob", "bob", "bob"):
        job = await add(door, "interval", {"days": 400}, owner=owner)
        assert isinstance(await act(local_caller(owner), job.number), Ok)
        clock.advance(seconds=1)
    ann = await sql.fetchval("select id from cronty.owners where name = $1", NAME)
    await sql.execute("update cronty.owners set erasing_since = now() where id = $1", ann)
    await OwnerStore(database)._park(ann)  # pyright: ignore[reportPrivateUsage]
    clock.advance(days=120)
    await hands.engine.pruning.step()
    assert await sql.fetch("select from cronty.jobs where owner_id <> $1", ann) == []
    assert len(await sql.fetch("select from cronty.jobs where owner_id = $1", ann)) == 3
    assert await OwnerStore(database).erase(NAME) is not None


async def test_a_job_that_is_held_does_not_keep_those_behind_it(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "JOBS", 2)
    jobs = [await add(door, "interval", {"days": 400}) for _ in range(6)]
    for number, job in enumerate(jobs):
        assert isinstance(await (door.delete if number % 2 else door.cancel)(local_caller("ann"), job.number), Ok)
        clock.advance(seconds=1)
    clock.advance(days=120)
    async with sql.transaction():
        await sql.execute("select from cronty.due where job_id = any($1) for update", [jobs[0].id, jobs[1].id])
        await hands.engine.pruning.step()
    assert [row["id"] for row in await sql.fetch("select id from cronty.jobs order by id")] == [jobs[0].id, jobs[1].id]


async def parked(sql: asyncpg.Connection, database: Database) -> int:
    """Her erasing was interrupted as soon as her jobs were out of time."""
    ann = await sql.fetchval("update cronty.owners set erasing_since = now() where name = $1 returning id", NAME)
    await OwnerStore(database)._park(ann)  # pyright: ignore[reportPrivateUsage]
    return ann


async def test_a_run_whose_worker_died_is_not_performed_again_for_a_closed_owner(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database, url: str,
    registry: Registry, calls: list[tuple[object, ...]],
) -> None:  # fmt: skip
    await add(door, "once", {"run_at": "in 1 minute"}, owner=NAME)
    clock.advance(minutes=1)
    async with hands_of(url, clock, registry) as dying:
        await dying.engine.firing.step(dying.engine.worker)
    assert await sql.fetchval("select state::text from cronty.runs") == "running"
    await parked(sql, database)
    calls.clear()
    await hands.outlive(clock)
    await hands.claim()
    assert calls == []
    [run] = await sql.fetch("select state::text, reason from cronty.runs")
    assert tuple(run) == ("cancelled", "the owner is being erased")


async def test_a_run_that_failed_is_not_tried_again_for_a_closed_owner(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database
) -> None:
    await add(door, "once", {"run_at": "in 1 minute"}, owner=NAME, task="fail", policy={"attempts": 3})
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await parked(sql, database)
    await sql.execute("delete from cronty.stop_requests")  # with it the run would be cancelled when it fails
    await hands.finish()
    assert await sql.fetchval("select count(*) from cronty.queue") == 1
    clock.advance(days=1)
    await hands.engine.lease.beat()
    await hands.claim()
    assert await sql.fetchval("select state::text from cronty.runs") == "cancelled"
    assert await sql.fetchval("select failures from cronty.runs") == 1
    assert await sql.fetchval("select count(*) from cronty.queue") == 0


async def test_no_alert_becomes_a_job_of_a_closed_owner(
    ann: int, hands: Hands, sql: asyncpg.Connection, database: Database
) -> None:
    await sql.execute("update cronty.owners set erasing_since = now() where id = $1", ann)
    jobs = await sql.fetchval("select count(*) from cronty.jobs where owner_id = $1", ann)
    bobs = await sql.fetchval("select count(*) from cronty.jobs where owner_id <> $1", ann)
    await hands.engine.alerting.step()
    assert await sql.fetchval("select count(*) from cronty.jobs where owner_id = $1", ann) == jobs
    assert await sql.fetchval("select count(*) from cronty.jobs where owner_id <> $1", ann) == bobs + 1
    await OwnerStore(database).erase(NAME)
    assert {table: rows for table, rows in (await owned(sql, ann)).items() if rows} == {}


async def test_runs_that_are_under_way_are_asked_to_stop_and_settle_nothing(
    ann: int, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database
) -> None:
    clock.advance(days=1)
    await hands.engine.firing.step(hands.engine.worker)
    erasing = asyncio.create_task(OwnerStore(database).erase(NAME))
    stops = "select count(*) from cronty.stop_requests where owner_id = $1 and worker <> 1"
    async with asyncio.timeout(30):
        while not await sql.fetchval(stops, ann) and not erasing.done():
            await asyncio.sleep(0.01)
    await hands.engine.lease.beat()
    await hands.finish()
    await erasing
    assert {table: rows for table, rows in (await owned(sql, ann)).items() if rows} == {}


async def test_only_an_owner_that_is_being_erased_loses_its_trail(ann: int, sql: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.ObjectNotInPrerequisiteStateError):
        await sql.fetchval("select cronty.erase_audit($1, 10)", ann)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await sql.execute("delete from cronty.audit")
    for role in ("cronty_app", "cronty_engine"):
        await sql.execute(f"set role {role}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await sql.fetchval("select cronty.erase_audit($1, 10)", ann)
        await sql.execute("reset role")
