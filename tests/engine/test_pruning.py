"""History ends: what has ended goes with its last run, and what waits forever gets its verdict."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob, ScheduleJob, TriggerType
from cronty.contract.result import Err, Ok, Result
from cronty.engine.pruning import PRUNE_AGAIN, PRUNE_EVERY
from cronty.jobs.job import Job
from cronty.scheduler import Scheduler
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.scheduler.runs import Runs
from cronty.store.audit_store import AuditStore
from cronty.store.database import Database, query
from cronty.store.history_store import START, HistoryStore
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from cronty.store.run_store import RunStore
from tests.conftest import HandClock, Hands, add, look

KEEP = 90


def got[T](result: Result[T]) -> T:
    assert isinstance(result, Ok), result
    return result.value


async def prompt(
    door: Scheduler, trigger: TriggerType = "once", config: dict[str, object] | None = None, **policy: object
) -> Job:
    given = config or {"run_at": "in 1 minute"}
    made = await door.schedule(
        local_caller("ann"),
        ScheduleJob("look", "prompt", trigger, given, kwargs={"prompt": "Look at the logs."}, policy=policy),
    )
    assert isinstance(made, Ok), made
    return made.value


async def once(door: Scheduler, name: str = "once", **rest: object) -> Job:
    return await add(door, "once", {"run_at": "in 1 minute"}, name=name, **rest)  # pyright: ignore[reportArgumentType]


async def later(hands: Hands, clock: HandClock, days: float) -> None:
    """Fire what is due, wait, and prune as an engine does every hour."""
    clock.advance(minutes=1)
    await hands.all()
    clock.advance(days=days)
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]


async def names(sql: asyncpg.Connection) -> list[str]:
    return [row["name"] for row in await sql.fetch("select name from cronty.jobs order by name")]


# -- jobs that have ended -----------------------------------------------------------------------------------------


async def test_a_job_that_has_ended_goes_when_its_last_run_has_gone(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database
) -> None:
    gone = await once(door, args=("a secret",))
    await add(door, "interval", {"days": 1}, name="goes on")
    await later(hands, clock, KEEP)
    assert await names(sql) == ["goes on", "once"], "its week isn't over yet"
    clock.advance(days=7)
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert await names(sql) == ["goes on"]
    assert await sql.fetchval("select count(*) from cronty.due") == 1
    assert isinstance(await door.show(local_caller("ann"), gone.number), Err)
    entries = (await AuditStore(database).read("ann", 10)).entries
    assert [entry["job_id"] for entry in entries if entry["what"] == "created"] == [2, 1], (
        "the trail still has its number"
    )


async def test_what_may_go_on_stays(door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection) -> None:
    paused, aside, cancelled = [
        await add(door, "interval", {"days": 400}, name=n) for n in ("paused", "aside", "ended")
    ]
    assert isinstance(await door.pause(local_caller("ann"), paused.number), Ok)
    assert isinstance(await door.cancel(local_caller("ann"), cancelled.number), Ok)
    async with hands.store.due_jobs(None, 1, now=clock.moment + timedelta(days=500)) as due:
        await due.set_aside([(aside.id, "it can't be computed")], clock.moment, lambda _: "")
    await later(hands, clock, KEEP + 7)
    assert await names(sql) == ["aside", "paused"]


async def test_a_job_that_was_run_by_hand_since_stays_with_that_run(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await once(door)
    await later(hands, clock, KEEP - 10)
    assert isinstance(await door.run_now(local_caller("ann"), job.number), Ok)
    await hands.all()
    await later(hands, clock, 20)
    assert await names(sql) == ["once"]
    await later(hands, clock, KEEP)
    assert await names(sql) == []


@asynccontextmanager
async def ended(door: Scheduler, hands: Hands, clock: HandClock) -> AsyncGenerator[Job]:
    """A job that the next prune removes."""
    job = await once(door)
    clock.advance(minutes=1)
    await hands.all()
    clock.advance(days=KEEP + 7)
    await hands.store.make_partitions()
    while await hands.engine.pruning.store.drop_partition(KEEP * 86400.0):
        pass
    yield job


async def remove(hands: Hands) -> int:
    """One step of removing what has run out."""
    history = hands.engine.pruning.store
    now = await history.now()
    return (await history.remove_ended("pick_ended", now - timedelta(days=KEEP), START, 100))[1]


async def test_a_job_that_is_run_at_the_same_moment_survives(
    door: Scheduler, hands: Hands, clock: HandClock, database: Database, sql: asyncpg.Connection
) -> None:
    async with ended(door, hands, clock) as job:
        store = door._store  # pyright: ignore[reportPrivateUsage]
        async with store.locked_job(local_caller("ann"), job.number) as locked:
            assert locked is not None
            await locked.run_now()
            assert await remove(hands) == 0, "nobody waits for a job that is held"
        assert await remove(hands) == 0, "it has a run now"
    assert await names(sql) == ["once"]


@pytest.mark.parametrize("act", ["run", "edit", "resume", "redrive"])
async def test_a_call_that_comes_too_late_says_that_the_job_is_gone(
    act: str, door: Scheduler, hands: Hands, clock: HandClock, database: Database, url: str
) -> None:
    async with ended(door, hands, clock) as job:
        remover = await asyncpg.connect(url)
        await remover.execute("begin")
        await remover.fetch(query("pick_ended"), clock.moment - timedelta(days=KEEP), *START, 100)
        await remover.execute(query("delete_jobs"), [job.id])
        acts = {
            "run": door.run_now(local_caller("ann"), job.number),
            "edit": door.edit(local_caller("ann"), EditJob(str(job.number), name="other")),
            "resume": door.resume(local_caller("ann"), job.number),
            "redrive": Runs(RunStore(database), door).redrive(local_caller("ann"), [f"run_{job.number}_0"]),
        }
        chosen = asyncio.create_task(acts.pop(act))
        for other in acts.values():
            other.close()
        waits = "select exists (select from pg_locks where not granted)"
        async with asyncio.timeout(30):
            while not await remover.fetchval(waits):
                await asyncio.sleep(0.001)
        await remover.execute("commit")
        await remover.close()
        answer = await chosen
        if act == "redrive":
            assert answer == Ok({f"run_{job.number}_0": False})
        else:
            assert isinstance(answer, Err)
            assert answer.code == "not_found"


async def test_either_a_job_is_removed_or_it_is_run_never_both(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    jobs = [await once(door, f"once {i}") for i in range(40)]
    async with ended(door, hands, clock):
        pass
    answers = await asyncio.gather(
        *(door.run_now(local_caller("ann"), job.number) for job in jobs), *(remove(hands) for _ in range(4))
    )
    ran = [job.name for job, answer in zip(jobs, answers, strict=False) if isinstance(answer, Ok)]
    while await remove(hands):
        pass
    assert await names(sql) == sorted(ran)
    assert (
        await sql.fetchval(
            "select count(*) from cronty.runs r where not exists (select from cronty.jobs where id = job_id)"
        )
        == 0
    )
    assert await sql.fetchval("select count(*) from cronty.queue") == len(ran)


# -- what waits forever ------------------------------------------------------------------------------------------


async def test_a_prompt_that_nobody_reads_expires_as_its_policy_says(
    door: Scheduler, hands: Hands, clock: HandClock, database: Database, sql: asyncpg.Connection
) -> None:
    brief = await prompt(door, expires_after=7200)
    usual = await prompt(door)
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    await later(hands, clock, 0.08)
    assert len(await sql.fetch("select from cronty.queue")) == 2, "it has a few minutes left"
    await later(hands, clock, 0.01)
    [run] = got(await door.list_runs(local_caller("ann"), brief.number))
    assert (run.state, run.reason) == ("missed", "expired: nobody read it within 2 hours")
    gone = await look(door, brief)
    assert (gone.status, gone.success_count, gone.last_error) == (
        "failed", 0, "missed: expired: nobody read it within 2 hours",
    )  # fmt: skip
    await later(hands, clock, 30)
    assert (await inbox.read(local_caller("ann"))) == Ok([])
    [run] = got(await door.list_runs(local_caller("ann"), usual.number))
    assert (run.state, run.reason) == ("missed", "expired: nobody read it within 30 days")
    assert await sql.fetchval("select count(*) from cronty.queue") == 0


async def test_a_prompt_that_has_expired_is_not_handed_out_any_more(
    door: Scheduler, hands: Hands, clock: HandClock, database: Database
) -> None:
    await prompt(door, expires_after=3600)
    clock.advance(minutes=1)
    await hands.all()
    clock.advance(hours=1)
    assert await Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended)).read(
        local_caller("ann")
    ) == Ok([])


async def test_a_prompt_that_was_read_expires_counting_from_its_lease(
    door: Scheduler, hands: Hands, clock: HandClock, database: Database
) -> None:
    job = await prompt(door, expires_after=3600)
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    clock.advance(minutes=1)
    await hands.all()
    clock.advance(minutes=59)
    assert isinstance(await inbox.read(local_caller("ann")), Ok)
    await later(hands, clock, 0.04)
    [run] = got(await door.list_runs(local_caller("ann"), job.number))
    assert run.state == "waiting"
    await later(hands, clock, 0.01)
    [run] = got(await door.list_runs(local_caller("ann"), job.number))
    assert (run.state, run.reason) == ("missed", "expired: nobody settled it within 1 hour")


async def test_a_prompt_is_read_or_expires_never_both(
    door: Scheduler, hands: Hands, clock: HandClock, database: Database, sql: asyncpg.Connection
) -> None:
    for _ in range(40):
        await prompt(door, expires_after=3600)
    clock.advance(minutes=1)
    await hands.all()
    clock.advance(minutes=59, seconds=59)
    later_clock = HandClock(clock.moment + timedelta(seconds=2))
    pruner = await Database(database.url, direct=database.direct, clock=later_clock, hot=True).open()
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    try:
        expiring = asyncio.create_task(HistoryStore(pruner).expire_runs(KEEP * 86400.0, START, 100))
        read = await asyncio.gather(*(inbox.read(local_caller("ann"), limit=5) for _ in range(8)))
        await expiring
    finally:
        await pruner.close()
    shown = {item.facts.job_number for answer in read for item in got(answer)}
    expired = {
        row[0]
        for row in await sql.fetch(
            "select number from cronty.runs join cronty.jobs on id = job_id where runs.state = 'missed'"
        )
    }
    assert shown | expired == set(range(1, 41))
    assert not shown & expired


async def test_a_run_that_no_worker_takes_expires_with_the_history(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await once(door)
    await sql.execute("update cronty.jobs set task = 'nobody has it'")
    await later(hands, clock, KEEP - 1)
    [run] = got(await door.list_runs(local_caller("ann"), job.number))
    assert run.state == "waiting"
    await later(hands, clock, 1)
    [run] = got(await door.list_runs(local_caller("ann"), job.number))
    assert (run.state, run.reason) == ("missed", "expired: it waited longer than the 90 days that history is kept")
    await later(hands, clock, 14)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 0, "nothing holds its week and the job any more"


async def test_what_waits_in_line_goes_on_when_the_first_expires(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    job = await prompt(door, "interval", {"hours": 1}, overlap="queue", expires_after=3600)
    clock.advance(minutes=60)
    await hands.all()
    clock.advance(minutes=60)
    await hands.all()
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    runs = got(await door.list_runs(local_caller("ann"), job.number))
    assert [(run.state, run.next_attempt_at is not None) for run in runs] == [("waiting", True), ("missed", False)]


async def test_what_stands_in_line_expires_counting_from_its_slot(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await prompt(door, "interval", {"days": 1}, overlap="queue", expires_after=3 * 86400)
    for _ in range(20):
        clock.advance(days=1)
        await hands.store.make_partitions()
        await hands.all()
        await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    waiting = await sql.fetchval("select count(*) from cronty.queue")
    assert waiting <= 4, "one that can be read, and three days of others behind it"
    missed = [
        run for run in got(await door.list_runs(local_caller("ann"), job.number, limit=50)) if run.state == "missed"
    ]
    assert len(missed) == 20 - waiting
    assert {run.reason for run in missed} == {"expired: nobody read it within 3 days"}


async def test_a_run_that_stands_in_line_behind_one_that_no_worker_takes_expires_with_the_history(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(door, "interval", {"days": KEEP - 10}, policy={"overlap": "queue"})
    await sql.execute("update cronty.jobs set task = 'nobody has it'")
    clock.advance(days=KEEP - 10)
    await hands.store.make_partitions()
    await hands.all()
    assert isinstance(await door.run_now(local_caller("ann"), job.number), Ok)
    assert isinstance(await door.pause(local_caller("ann"), job.number), Ok)
    clock.advance(days=KEEP, minutes=1)
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert await sql.fetchval("select count(*) from cronty.queue") == 0
    runs = got(await door.list_runs(local_caller("ann"), job.number))
    assert {run.reason for run in runs if run.state == "missed"} == {
        "expired: it waited longer than the 90 days that history is kept"
    }


async def test_a_prompt_in_line_that_was_asked_for_again_has_its_turn(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database
) -> None:
    job = await prompt(door, "interval", {"days": 2}, overlap="queue", expires_after=86400)
    clock.advance(days=2)
    await hands.all()
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    [item] = got(await inbox.read(local_caller("ann")))
    await sql.execute(
        "with q as (delete from cronty.queue)"
        " update cronty.runs set state = 'failed', finished_at = $1, error = 'no luck'", clock.moment
    )  # fmt: skip
    clock.advance(days=2)
    await hands.all()
    answer = await Runs(RunStore(database), door).redrive(local_caller("ann"), [item.run_id])
    assert answer == Ok({item.run_id: True})
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert [run.state for run in got(await door.list_runs(local_caller("ann"), job.number))] == ["waiting", "waiting"]


async def test_history_of_long_ago_that_is_explained_today_stays_a_week(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await add(door, "cron", {"expression": "0 9 * * *"})
    clock.advance(days=200)
    await hands.fire()
    rows = await sql.fetchval("select count(*) from cronty.runs")
    clock.advance(days=6)
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert await sql.fetchval("select count(*) from cronty.runs") == rows
    clock.advance(days=2)
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert await sql.fetchval("select count(*) from cronty.runs") == rows - 1


async def test_an_engine_that_is_suspended_while_it_drops_a_week_locks_nobody_out(
    hands: Hands, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it has an answer and hasn't said its next word yet, nothing is locked."""
    await sql.execute("select cronty.make_run_partition('2001-01-01 00:00+00')")
    locked = (
        "select count(*) from pg_locks"
        " where relation = 'cronty.runs'::regclass and mode = 'AccessExclusiveLock' and granted"
    )
    seen: list[int] = []

    def watched(name: str) -> None:
        real = getattr(asyncpg.Connection, name)

        async def call(self: asyncpg.Connection, *args: object, **rest: object) -> object:
            answer = await real(self, *args, **rest)
            if self is not sql:
                seen.append(await sql.fetchval(locked))
            return answer

        monkeypatch.setattr(asyncpg.Connection, name, call)

    for name in ("execute", "fetch", "fetchrow", "fetchval"):
        watched(name)
    assert await hands.engine.pruning.store.drop_partition(KEEP * 86400.0)
    assert seen
    assert set(seen) == {0}


@asynccontextmanager
async def weeks_that_fail(sql: asyncpg.Connection, body: str) -> AsyncGenerator[None]:
    """Dropping weeks ends as `body` says."""
    name = "cronty.drop_run_partition(timestamptz, timestamptz)"
    as_it_was = await sql.fetchval("select pg_get_functiondef($1::text::regprocedure)", name)
    await sql.execute(
        "create or replace function cronty.drop_run_partition(horizon timestamptz, young timestamptz default null)"
        f" returns boolean language plpgsql as $$ begin {body} end $$"
    )
    yield
    await sql.execute(as_it_was)


@pytest.mark.parametrize("code", ["55P03", "57014"])
async def test_a_week_that_can_not_be_dropped_is_told_and_stops_nothing_else(
    code: str, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """A lock that isn't given, and a statement that takes too long."""
    cancelled, removed = [await add(door, "interval", {"days": 400}) for _ in range(2)]
    assert isinstance(await door.cancel(local_caller("ann"), cancelled.number), Ok)
    assert isinstance(await door.delete(local_caller("ann"), removed.number), Ok)
    clock.advance(days=KEEP + 30)
    step = hands.engine.pruning.step
    async with weeks_that_fail(sql, f"raise exception 'no luck' using errcode = '{code}';"):
        assert await step() == PRUNE_AGAIN
        assert await names(sql) == []
        for _ in range(3):
            await step()
        told = [line for line in caplog.messages if line.startswith("dropping weeks failed")]
        assert [line.split(" time")[0][-1] for line in told] == ["1", "2", "4"], "ever more rarely"
    assert await step() == PRUNE_EVERY


async def test_a_slot_that_went_with_its_week_is_no_hole(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    """A run that still waits keeps its own week, and the week after it may go before."""
    job = await add(door, "interval", {"days": 7})
    for _ in range(3):
        clock.advance(days=7)
        await hands.store.make_partitions()
        await hands.all()
    holes = "select count(*) from cronty.slots_unaccounted where why like 'its predecessor%'"
    first, second, third = [
        row[0] for row in await sql.fetch("select scheduled_for from cronty.runs where job_id = $1 order by 1", job.id)
    ]
    await sql.execute(
        "insert into cronty.queue (job_id, scheduled_for, owner_id, task) select job_id, $2, owner_id, 'note'"
        " from cronty.due where job_id = $1", job.id, first,
    )  # fmt: skip
    await sql.execute("delete from cronty.runs where job_id = $1 and scheduled_for = $2", job.id, second)
    assert await sql.fetchval(holes) == 1, "its week is there, and it isn't"
    while await sql.fetchval("select cronty.drop_run_partition($1, 'infinity')", third):
        pass
    assert await sql.fetchval("select count(*) from cronty.runs where scheduled_for = $1", first) == 1
    assert await sql.fetchval(holes) == 0
    assert await sql.fetchval("select cronty.make_run_partition($1)", second), (
        "a slot of another job makes its own week"
    )
    assert await sql.fetchval(holes) == 0


async def test_a_part_of_pruning_that_fails_keeps_no_other_from_being_done(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    async def odd(*_: object) -> None:
        raise ValueError("one of its rows can't be read")

    await once(door)
    clock.advance(minutes=1)
    await hands.all()
    clock.advance(days=KEEP + 14)
    with monkeypatch.context() as patch:
        patch.setattr(HistoryStore, "expire_runs", odd)
        for _ in range(3):
            assert await hands.engine.pruning.step() == PRUNE_AGAIN
    assert await names(sql) == []
    told = [line for line in caplog.messages if line.startswith("expiring runs failed")]
    assert len(told) == 2, "the first and the second time, then ever less often"
    assert await hands.engine.pruning.step() == PRUNE_EVERY


async def test_keys_go_when_they_have_been_no_good_for_as_long_as_history_is_kept(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await add(door)
    store = KeyStore(database)
    ends = {"good": None, "expired": clock.moment + timedelta(days=1), "revoked": None, "late": None, "last": None}
    numbers: dict[str, int] = {}
    for name, expires_at in ends.items():
        made = await store.add(local_caller("ann"), name, b"", ["read"], None, expires_at)
        assert isinstance(made, tuple)
        numbers[name] = made[1]
    for name in ("revoked", "last"):
        assert await store.revoke(local_caller("ann"), numbers[name])
    clock.advance(days=2)
    assert await store.revoke(local_caller("ann"), numbers["late"])
    clock.advance(days=KEEP - 1, hours=1)
    await hands.engine.pruning.step()
    kept = [row[0] for row in await sql.fetch("select name from cronty.api_keys order by number")]
    assert kept == ["good", "late", "last"], "with the last one, whose number isn't given again"
    made = await store.add(local_caller("ann"), "next", b"", ["read"], None, None)
    assert made is not None
    assert made[1] == len(ends) + 1
    await hands.engine.pruning.step()
    assert await sql.fetchval("select count(*) from cronty.api_keys where name = 'last'") == 0
