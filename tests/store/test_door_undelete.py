"""A deleted job can be brought back for 30 days; then it is gone, with everything of it."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.run import Run
from cronty.scheduler import Scheduler
from cronty.store.audit_store import AuditStore
from cronty.store.database import Database
from cronty.store.history_store import START as FIRST
from tests.conftest import START, HandClock, Hands, add, look
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("hands")  # whose tasks can be scheduled


def got[T](result: Result[T]) -> T:
    assert isinstance(result, Ok), result
    return result.value


async def deleted(door: Scheduler, job: Job) -> None:
    assert isinstance(await door.delete(local_caller("ann"), job.number), Ok)


async def runs(door: Scheduler, job: Job) -> list[Run]:
    return got(await door.list_runs(local_caller("ann"), job.number))


async def unaccounted(sql: asyncpg.Connection) -> list[asyncpg.Record]:
    return await sql.fetch("select * from cronty.slots_unaccounted where why like 'its%'")


async def test_an_undeleted_job_goes_on_with_its_next_slot_and_the_slots_between_are_explained(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, database: Database
) -> None:
    job = await add(door, "interval", {"hours": 1})
    clock.advance(hours=1)
    await hands.all()
    await deleted(door, job)
    assert isinstance(await door.show(local_caller("ann"), job.number), Err)
    clock.advance(hours=3, minutes=30)
    back = got(await door.undelete(local_caller("ann"), job.number))
    assert (back.state, back.next_slot) == ("active", START + timedelta(hours=5))
    found = await runs(door, job)
    assert [(run.state, run.slots, run.reason) for run in found][:1] == [("skipped", 3, "the job was deleted")]
    clock.advance(minutes=30)
    await hands.all()
    assert [run.state for run in await runs(door, job)] == ["done", "skipped", "done"]
    assert await unaccounted(sql) == []
    assert [entry["what"] for entry in (await AuditStore(database).read("ann", 9)).entries] == [
        "undeleted",
        "deleted",
        "created",
    ]


@pytest.mark.parametrize("state", ["paused", "cancelled"])
async def test_it_comes_back_as_what_it_was(door: Scheduler, clock: HandClock, state: str) -> None:
    job = await add(door, "interval", {"hours": 1})
    await (door.pause if state == "paused" else door.cancel)(local_caller("ann"), job.number)
    await deleted(door, job)
    clock.advance(hours=5)
    assert got(await door.undelete(local_caller("ann"), job.number)).state == state
    if state == "paused":
        assert got(await door.resume(local_caller("ann"), job.number)).next_slot is not None


async def test_a_completed_job_comes_back_completed(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, "once", {"run_at": "in 1 minute"})
    clock.advance(minutes=1)
    await hands.all()
    await deleted(door, job)
    assert got(await door.undelete(local_caller("ann"), job.number)).status == "completed"


async def test_a_one_off_whose_time_came_meanwhile_says_so(door: Scheduler, clock: HandClock) -> None:
    job = await add(door, "once", {"run_at": "in 1 minute"})
    await deleted(door, job)
    clock.advance(minutes=2)
    back = got(await door.undelete(local_caller("ann"), job.number))
    assert (back.status, back.last_error) == ("failed", "skipped: the job was deleted when its time came")
    [run] = await runs(door, job)
    assert (run.state, run.reason) == ("skipped", "the job was deleted")


async def test_undeleting_what_is_not_deleted_changes_nothing(door: Scheduler) -> None:
    job = await add(door)
    assert got(await door.undelete(local_caller("ann"), job.number)) == await look(door, job)
    assert isinstance(await door.undelete(local_caller("ann"), 99), Err)
    assert isinstance(await door.undelete(local_caller("bob"), job.number), Err)


async def test_many_at_once_leave_room_for_each_other(door: Scheduler) -> None:
    """None of them holds a connection while it asks for another."""
    async with asyncio.timeout(PATIENCE):
        answers = await asyncio.gather(*(door.undelete(local_caller("ann"), 999) for _ in range(20)))
    assert all(isinstance(answer, Err) and answer.code == "not_found" for answer in answers)


async def test_a_key_that_was_used_again_keeps_the_first_job_away(door: Scheduler) -> None:
    first = await add(door, idempotency_key="k")
    await deleted(door, first)
    second = await add(door, idempotency_key="k")
    refused = await door.undelete(local_caller("ann"), first.number)
    assert isinstance(refused, Err)
    assert refused.code == "key_taken"
    await deleted(door, second)
    assert got(await door.undelete(local_caller("ann"), first.number)).number == first.number


async def test_coming_back_counts_against_the_limit(door: Scheduler) -> None:
    job = await add(door)
    await deleted(door, job)
    await door.allowance.set(local_caller("ann"), {"jobs": 1})
    await add(door)
    refused = await door.undelete(local_caller("ann"), job.number)
    assert isinstance(refused, Err)
    assert refused.code == "over_limit"


async def test_deleted_jobs_are_listed_the_latest_first(door: Scheduler, clock: HandClock) -> None:
    jobs = [await add(door, name=name) for name in ("a", "b", "c")]
    for job in jobs:
        clock.advance(minutes=1)
        await deleted(door, job)
    await add(door, owner="bob")
    listed = await door.list_deleted(local_caller("ann"), 2)
    assert [job.name for job in listed] == ["c", "b"]
    assert [job.name for job in await door.list_deleted(local_caller("ann"), 2, listed[-1].deleted_at)] == ["a"]
    assert got(await door.list_jobs(local_caller("ann"))).total == 0


async def test_after_thirty_days_everything_of_it_is_gone(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(
        door, "interval", {"minutes": 1}, task="fail", policy={"attempts": 2, "backoff": 1, "overlap": "allow"}
    )
    other = await add(door, "interval", {"days": 1}, name="other")
    for _ in range(3):
        clock.advance(minutes=1)
        await hands.all()
    await deleted(door, job)
    clock.advance(days=29, hours=23)
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert await sql.fetchval("select count(*) from cronty.runs where job_id = $1", job.id) == 3
    clock.advance(hours=1)
    refused = await door.undelete(local_caller("ann"), job.number)
    assert isinstance(refused, Err), "the thirty days are over, whether or not an engine has looked"
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    for table in ("runs", "attempts", "queue", "due"):
        assert await sql.fetchval(f"select count(*) from cronty.{table} where job_id = $1", job.id) == 0, table
    assert await sql.fetchval("select array_agg(id) from cronty.jobs") == [other.id]


async def test_a_long_history_goes_in_small_steps(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(door)
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, finished_at) select $1,"
        " timestamptz '2027-03-01' + i * interval '1 minute', 1024, 'done', now() from generate_series(1, 25) i",
        job.id,
    )
    await deleted(door, job)
    now = clock.advance(days=30)
    steps = [await hands.engine.pruning.store.remove_deleted(now, FIRST, 5, 10) for _ in range(5)]
    assert steps == [(FIRST, 10), (FIRST, 10), (FIRST, 5), (FIRST, 1), (None, 0)]


async def test_what_was_undeleted_in_time_stays(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, "interval", {"days": 1})
    await deleted(door, job)
    clock.advance(days=29)
    got(await door.undelete(local_caller("ann"), job.number))
    clock.advance(days=5)
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert (await look(door, job)).state == "active"
    assert isinstance(await door.edit(local_caller("ann"), EditJob(str(job.number), name="new")), Ok)
