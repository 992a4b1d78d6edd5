"""How much an owner may have, asked at the door; and which run made a job."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from hashlib import sha256

import asyncpg
import pytest

from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.jobs.limits import CALLS, Limits
from cronty.jobs.run import message_id, run_id
from cronty.scheduler import Scheduler
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from tests.conftest import START, HandClock, Hands, add

pytestmark = pytest.mark.usefixtures("hands")  # whose tasks are known

MCP = local_caller("ann", "mcp")


def asking(run: str) -> Caller:
    """Ann's program, in this run."""
    return replace(local_caller("ann"), run=run)


async def ask(
    door: Scheduler, task: str = "note", seconds: float = 60, caller: Caller | None = None, **rest: object
) -> Result[Job]:
    kwargs = {"prompt": "Look"} if task == "prompt" else {}
    request = ScheduleJob("a job", task, "interval", {"seconds": seconds}, kwargs=kwargs, **rest)  # pyright: ignore[reportArgumentType]
    return await door.schedule(caller or local_caller("ann"), request)


def code(result: Result[object]) -> str:
    return result.code if isinstance(result, Err) else "ok"


def limited(database: Database, **limits: float) -> Scheduler:
    return Scheduler(JobStore(database), limits=Limits(**limits))  # pyright: ignore[reportArgumentType]


async def test_so_many_jobs_and_no_more_until_one_is_over(database: Database, clock: HandClock) -> None:
    door = limited(database, jobs=3)
    jobs = [await add(door) for _ in range(3)]
    refused = await ask(door)
    assert isinstance(refused, Err)
    assert (refused.code, "3 jobs" in refused.message, "list_jobs" in refused.hint) == ("over_limit", True, True)
    await door.cancel(local_caller("ann"), jobs[0].number)
    assert code(await ask(door)) == "ok"
    assert code(await ask(door)) == "over_limit"
    assert isinstance(
        await door.schedule(local_caller("bob"), ScheduleJob("his", "note", "interval", {"hours": 1})), Ok
    )


async def test_what_has_fired_and_is_over_does_not_count(database: Database, hands: Hands, clock: HandClock) -> None:
    door = limited(database, jobs=2)
    for second in range(1, 7):
        await add(door, "once", {"run_at": START + timedelta(seconds=second)})
        clock.moment = START + timedelta(seconds=second)
        await hands.fire()


async def add_ended(sql: asyncpg.Connection, many: int, created_at: datetime = START) -> None:
    """Jobs of the only owner that have nothing to come."""
    await sql.execute(
        "with made as (insert into cronty.jobs"
        " (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)"
        " select o.id, o.next_number + i, 'old', 'note', '{}', '{}', '{}', '{}', $2, $2"
        " from cronty.owners o, generate_series(1, $1::int) i returning id, owner_id)"
        " insert into cronty.due (job_id, owner_id, serial) select id, owner_id, true from made",
        many,
        created_at,
    )


async def test_counting_looks_only_at_what_was_made_since(
    door: Scheduler, sql: asyncpg.Connection, clock: HandClock
) -> None:
    await add(door)
    await add_ended(sql, 3000)
    counted_at = clock.advance(seconds=1)
    await add(door)
    clock.advance(seconds=1)
    await add(door)
    row = await sql.fetchrow("select live_jobs, counted_at from cronty.owners")
    assert row is not None
    assert (row["live_jobs"], row["counted_at"]) == (1, counted_at), "counted anew once, when there was much to count"


async def test_what_has_ended_is_looked_at_once(door: Scheduler, sql: asyncpg.Connection) -> None:
    await add(door)
    await add_ended(sql, 500)
    for _ in range(2):
        shown = await door.allowance.show("ann")
        assert isinstance(shown["used"], dict)
        assert shown["used"]["jobs"] == 1
        assert await sql.fetchval("select count(*) from cronty.jobs where not ended") == 1
    assert await sql.fetchval("select count(distinct xmin::text) from cronty.jobs where ended") == 1, "marked once"


async def test_a_job_with_a_lower_id_than_one_that_was_counted_counts(
    database: Database, sql: asyncpg.Connection, clock: HandClock
) -> None:
    """As one that is made on another database server, after its owner has moved there."""
    door = limited(database, jobs=2)
    await sql.execute("alter table cronty.jobs alter column id restart with 1024000")
    await add(door)
    await door.allowance.show("ann")
    await sql.execute("alter table cronty.jobs alter column id restart with 2048")
    clock.advance(seconds=1)
    await add(door)
    assert code(await ask(door)) == "over_limit"


async def test_a_job_that_had_ended_counts_again_when_it_gets_another_slot(
    database: Database, hands: Hands, sql: asyncpg.Connection, clock: HandClock
) -> None:
    door = limited(database, jobs=1)
    job = await add(door, "once", {"run_at": START + timedelta(seconds=1)})
    clock.advance(seconds=1)
    await hands.engine.firing.step(hands.engine.worker)  # it runs, and can be edited as long as it does
    await door.allowance.show("ann")
    assert await sql.fetchval("select ended from cronty.jobs")
    later = EditJob("", trigger_type="once", trigger_config={"run_at": START + timedelta(hours=1)})
    assert code(await door.edit(local_caller("ann"), replace(later, job_id=str(job.number)))) == "ok"
    shown = await door.allowance.show("ann")
    assert isinstance(shown["used"], dict)
    assert shown["used"]["jobs"] == 1
    assert code(await ask(door)) == "over_limit"


async def test_arguments_take_up_room(database: Database) -> None:
    door = limited(database, stored_bytes=3000)
    big = Action("note", tuple(sha256(bytes([number])).hexdigest() for number in range(30)))  # nothing to compress
    assert isinstance(
        await door.schedule(
            local_caller("ann"),
            ScheduleJob("big", big.task, "interval", {"hours": 1}, args=big.args, kwargs=big.kwargs),
        ),
        Ok,
    )
    small = await add(door)
    assert (
        code(
            await door.edit(
                local_caller("ann"), EditJob(str(small.number), task=big.task, args=big.args, kwargs=big.kwargs)
            )
        )
        == "over_limit"
    )
    assert (
        code(
            await door.schedule(
                local_caller("ann"),
                ScheduleJob("big", big.task, "interval", {"hours": 1}, args=big.args, kwargs=big.kwargs),
            )
        )
        == "over_limit"
    )


def big_job(size: int = 1000) -> ScheduleJob:
    return ScheduleJob("big", "note", "interval", {"hours": 1}, args=["x" * size])  # nothing that compresses better


async def test_rules_take_up_room(database: Database) -> None:
    door = limited(database, stored_bytes=8_000)
    days = [(date(2027, 1, 1) + timedelta(days=2 * number)).isoformat() for number in range(390)]
    long = {"rules": [{"times": ["09:00"]}], "without": days}
    made = [await door.schedule(local_caller("ann"), ScheduleJob("long", "note", "calendar", long)) for _ in range(9)]
    assert (code(made[0]), code(made[-1])) == ("ok", "over_limit")
    deleted = made[0]
    assert isinstance(deleted, Ok)
    await door.delete(local_caller("ann"), deleted.value.number)
    assert code(await door.schedule(local_caller("ann"), ScheduleJob("x", "note", "calendar", long))) == "over_limit"


async def test_what_compresses_well_takes_up_its_full_size(database: Database) -> None:
    door = limited(database, stored_bytes=100_000)
    made = [code(await door.schedule(local_caller("ann"), big_job(40_000))) for _ in range(3)]
    assert made == ["ok", "ok", "over_limit"]


async def test_a_job_that_is_deleted_takes_up_room_until_it_is_gone(
    database: Database, sql: asyncpg.Connection
) -> None:
    door = limited(database, stored_bytes=10_000)
    made: list[str] = []
    for counted in (False, True) * 10:
        job = await door.schedule(local_caller("ann"), big_job())
        made.append(code(job))
        if counted:
            await door.allowance.show("ann")
        if isinstance(job, Ok):
            await door.delete(local_caller("ann"), job.value.number)
    assert made == ["ok"] * 8 + ["over_limit"] * 12
    await sql.execute("delete from cronty.due")
    await sql.execute("delete from cronty.jobs")
    assert code(await door.schedule(local_caller("ann"), big_job())) == "ok"


async def test_edits_are_counted_one_after_the_other(database: Database) -> None:
    door = limited(database, stored_bytes=10_000)
    jobs = [await add(door) for _ in range(20)]
    edits = [
        code(await door.edit(local_caller("ann"), EditJob(str(job.number), task="note", args=["x" * 1000])))
        for job in jobs
    ]
    assert edits == ["ok"] * edits.count("ok") + ["over_limit"] * edits.count("over_limit")
    assert 6 <= edits.count("ok") <= 8, "twenty rules take up room, too"


async def test_what_an_agent_makes_repeats_once_a_minute_at_most(door: Scheduler) -> None:
    assert code(await ask(door, "prompt", 59, caller=MCP)) == "over_limit"
    assert code(await ask(door, "prompt", 59, caller=local_caller("ann"))) == "ok"
    assert code(await ask(door, "note", 1, caller=MCP)) == "ok"
    made = await ask(door, "prompt", 60, caller=MCP)
    assert isinstance(made, Ok)
    faster = EditJob("", trigger_type="interval", trigger_config={"seconds": 1})
    assert code(await door.edit(local_caller("ann"), replace(faster, job_id=str(made.value.number)))) == "over_limit"
    slower = EditJob("", trigger_type="interval", trigger_config={"seconds": 61})
    assert code(await door.edit(local_caller("ann"), replace(slower, job_id=str(made.value.number)))) == "ok"


async def test_an_owner_may_have_limits_of_its_own(door: Scheduler) -> None:
    assert await door.allowance.set(local_caller("ann"), {"jobs": 1}) == Ok(Limits(jobs=1))
    assert isinstance(await door.allowance.set(local_caller("ann"), {"job": 1}), Err)
    await add(door)
    assert code(await ask(door)) == "over_limit"
    shown = await door.allowance.show("ann")
    assert isinstance(shown["limits"], dict)
    assert shown["limits"]["jobs"] == 1
    assert shown["used"] == {"jobs": 1, "stored_bytes": 130}, "its arguments, and its rule"
    await door.allowance.set(local_caller("ann"), {})
    assert code(await ask(door)) == "ok"


async def test_the_owner_is_told_once_an_hour_that_something_was_refused(
    door: Scheduler, sql: asyncpg.Connection, clock: HandClock
) -> None:
    await door.allowance.set(local_caller("ann"), {"jobs": 1, "alert": "ann-phone"})
    await add(door)
    for _ in range(5):
        await ask(door)
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed where what = 'held by a limit'") == 1
    [alert] = await sql.fetch("select arguments::text from cronty.alerts")
    assert "1 are allowed" in alert[0]
    assert "ann-phone" in alert[0]
    clock.advance(hours=1)
    await ask(door)
    assert await sql.fetchval("select count(*) from cronty.audit_unsealed where what = 'held by a limit'") == 2
    assert await sql.fetchval("select array_agg(distinct what) from cronty.usage") == ["refused jobs"]


async def test_a_refusal_is_counted_and_told_together_or_not_at_all(door: Scheduler, sql: asyncpg.Connection) -> None:
    await door.allowance.set(local_caller("ann"), {"jobs": 1, "alert": "ann-phone"})
    await add(door)
    await sql.execute("alter table cronty.alerts add constraint no_alerts check (id < 0)")
    try:
        with pytest.raises(asyncpg.CheckViolationError):
            await ask(door)
    finally:
        await sql.execute("alter table cronty.alerts drop constraint no_alerts")
    assert code(await ask(door)) == "over_limit"
    assert await sql.fetchval("select count(*) from cronty.alerts") == 1


async def test_notifications_sent_at_once_are_counted_by_the_day(database: Database, clock: HandClock) -> None:
    door = limited(database, pushes_per_day=2)
    answers = [await door.allowance.for_push(local_caller("ann")) for _ in range(3)]
    assert [answer is None for answer in answers] == [True, True, False]
    clock.advance(days=1)
    assert await door.allowance.for_push(local_caller("ann")) is None


# -- lineage -------------------------------------------------------------------------------------------------------


async def origin_of(sql: asyncpg.Connection, job: Job) -> tuple[object, object]:
    row = await sql.fetchrow("select origin ->> 'run_id', origin ->> 'depth' from cronty.jobs where id = $1", job.id)
    assert row is not None
    return row[0], row[1]


async def test_a_job_knows_the_run_that_made_it_and_chains_end(door: Scheduler, sql: asyncpg.Connection) -> None:
    job = await add(door)
    for depth in range(1, 11):
        parent = job
        job = await add(door, caller=asking(message_id(parent.id, START)))
        assert await origin_of(sql, job) == (run_id(parent.number, START), str(depth))
    refused = await ask(door, caller=asking(message_id(job.id, START)))
    assert isinstance(refused, Err)
    assert (refused.code, "11 deep" in refused.message) == ("over_limit", True)


async def test_a_run_of_somebody_else_is_nobodys_parent(door: Scheduler, sql: asyncpg.Connection) -> None:
    await add(door)
    his = await add(door, owner="bob")  # his job 1, as hers above
    job = await add(door, caller=asking(message_id(his.id, START)))
    assert await origin_of(sql, job) == (None, None)


async def test_a_process_that_a_run_has_started_makes_its_children(database: Database, sql: asyncpg.Connection) -> None:
    parent = await add(Scheduler(JobStore(database)))
    job = await add(Scheduler(JobStore(database), made_by=message_id(parent.id, START)), caller=MCP)
    assert await origin_of(sql, job) == (run_id(parent.number, START), "1")


async def test_what_is_made_while_a_prompt_is_held_is_made_by_it(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    made = await ask(door, "prompt", 60)
    assert isinstance(made, Ok)
    assert await origin_of(sql, await add(door, caller=MCP)) == (None, None), "nothing has been read yet"
    clock.advance(minutes=1)
    await hands.fire()
    read = await inbox.read(local_caller("ann"))
    assert isinstance(read, Ok)
    clock.advance(minutes=1)
    parent = run_id(made.value.number, START + timedelta(minutes=1))
    assert await origin_of(sql, await add(door, caller=MCP)) == (parent, "1")
    assert await origin_of(sql, await add(door, caller=local_caller("ann"))) == (None, None)
    clock.advance(minutes=9)
    assert await origin_of(sql, await add(door, caller=MCP)) == (None, None), "it isn't held any more"


async def test_what_is_refused_is_not_counted_as_used(database: Database) -> None:
    door, ann = limited(database, pushes_per_day=2, wakes_per_hour=2, calls_per_minute=3), local_caller("ann")
    made = await ask(door, "prompt", policy={"overlap": "queue"})
    assert isinstance(made, Ok)
    for _ in range(5):
        await door.allowance.for_push(ann)
        await door.run_now(ann, made.value.number)
    used = (await door.allowance.show("ann"))["used"]
    assert (used["pushes"], used[CALLS]) == (2, 2)
    assert [amount for what, amount in used.items() if what.startswith("wakes")] == [2]
    few = limited(database, calls_per_minute=1)
    assert code_of(await few.allowance.for_push(ann)) == "over_limit"
    assert (await few.allowance.show("ann"))["used"]["pushes"] == 2


def code_of(refused: Err | None) -> str | None:
    return None if refused is None else refused.code
