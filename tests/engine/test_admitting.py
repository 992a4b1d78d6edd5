"""Every attempt passes one gate before it starts: wakes and calls are counted there, and tasks serve their owners."""

import asyncio
from collections import Counter
from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.outcome import Snoozed
from cronty.jobs.run import run_id
from cronty.scheduler import Scheduler
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.scheduler.runs import Runs
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from cronty.store.run_store import RunStore
from tests.conftest import START, HandClock, Hands, add, look

ANN = local_caller("ann")
MCP = local_caller("ann", "mcp")
SOON: dict[str, object] = {"run_at": START + timedelta(seconds=1)}
WAKES = "over the limit of 5 wakes an hour for agent claude"


def code(result: Result[object]) -> str:
    return result.code if isinstance(result, Err) else "ok"


@pytest.fixture
async def wakes(registry: Registry, hands: Hands, door: Scheduler) -> list[str]:
    """When agent claude, who always fails, was woken; he may be woken five times an hour."""
    woken: list[str] = []

    def wake(prompt: str, agent: str | None = None) -> None:
        woken.append(prompt)
        raise RuntimeError("not now")

    registry.add(wake, "prompt:claude")
    await hands.engine.enlist()
    await door.allowance.set(ANN, {"wakes_per_hour": 5})
    return woken


async def prompt(door: Scheduler, **policy: object) -> Job:
    kwargs = {"prompt": "Look", "agent": "claude"}
    return await add(door, "once", SOON, task="prompt", kwargs=kwargs, policy={"pause_after": 0, **policy})


async def seconds(count: int, hands: Hands, clock: HandClock) -> None:
    for _ in range(count):
        clock.advance(seconds=1)
        await hands.all()
        hands.engine.firing.low.forget()


async def reasons(sql: asyncpg.Connection) -> Counter[tuple[str, str | None]]:
    rows = await sql.fetch("select state::text, reason from cronty.runs")
    return Counter((row[0], row[1]) for row in rows)


async def test_every_retry_is_a_wake_and_those_over_the_limit_wait_for_the_next_hour(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, wakes: list[str]
) -> None:
    too_soon = ScheduleJob("n", "note", "interval", {"hours": 1}, policy={"attempts": 1000, "backoff": 0.001})
    assert code(await door.schedule(ANN, too_soon)) == "bad_policy"
    await prompt(door, attempts=1000, backoff=1, backoff_factor=1, jitter=1)
    await seconds(30, hands, clock)
    assert len(wakes) == 5
    assert await reasons(sql) == {("waiting", WAKES): 1}, "it is put off, and says why"
    assert await sql.fetchval("select due_at from cronty.queue") == START + timedelta(hours=1)
    assert await sql.fetchval("select attempt from cronty.runs") == 5, "what has not started is no attempt"
    held = "select count(*) from cronty.audit_unsealed where what = 'held by a limit'"
    assert await sql.fetchval(held) == 1, "its owner is told once"
    clock.moment = START + timedelta(hours=1)
    await seconds(30, hands, clock)
    assert len(wakes) == 10


async def test_redriving_a_run_over_and_over_wakes_its_agent_no_more_often(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, wakes: list[str]
) -> None:
    job = await prompt(door, attempts=1)
    runs, run = Runs(RunStore(database), door), run_id(job.number, START + timedelta(seconds=1))
    answers: list[str] = []
    for _ in range(30):
        await seconds(1, hands, clock)
        answers.append(code(await runs.redrive(ANN, [run])))
    assert len(wakes) == 5
    assert answers[-1] == "over_limit", "at the door"


async def test_runs_asked_for_and_their_retries_share_the_limit(
    door: Scheduler, hands: Hands, clock: HandClock, wakes: list[str]
) -> None:
    job = await prompt(door, attempts=3, backoff=1, overlap="allow")
    asked = 0
    for _ in range(30):
        await seconds(1, hands, clock)
        asked += code(await door.run_now(ANN, job.number)) == "ok"
    assert len(wakes) == 5
    assert 0 < asked <= 5


async def test_an_agent_tries_what_reaches_outside_again_no_sooner_than_it_could_repeat_it(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, wakes: list[str]
) -> None:
    job = await prompt(door, attempts=1)
    runs, run = Runs(RunStore(database), door), run_id(job.number, START + timedelta(seconds=1))
    await seconds(2, hands, clock)
    assert await runs.redrive(MCP, [run]) == Ok({run: False})
    clock.advance(minutes=1)
    assert await runs.redrive(MCP, [run]) == Ok({run: True})


async def test_a_prompt_that_is_handed_out_again_is_another_wake(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await door.allowance.set(ANN, {"wakes_per_hour": 5})
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    await prompt(door)
    await seconds(1, hands, clock)
    handed = 0
    for _ in range(20):
        read = await inbox.read(ANN, "claude")
        assert isinstance(read, Ok)
        for item in read.value:
            handed += 1
            assert code(await inbox.settle(ANN, [item.receipt], Snoozed(timedelta(seconds=59)))) == "bad_snooze"
            assert code(await inbox.settle(ANN, [item.receipt], Snoozed(timedelta(seconds=60)))) == "ok"
        clock.advance(minutes=1)
    assert handed == 5
    assert await reasons(sql) == {("waiting", WAKES): 1}
    clock.moment = START + timedelta(hours=1)
    assert len((await inbox.read(ANN, "claude")).value) == 1  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


# -- calls out ----------------------------------------------------------------------------------------------------


@pytest.fixture
async def called(registry: Registry, hands: Hands, clock: HandClock, door: Scheduler) -> Counter[int]:
    """How often a server that answers 503 was called, by the minute; ann may call ten times in one."""
    minutes: Counter[int] = Counter()

    def webhook(url: str) -> None:
        minutes[int((clock() - START).total_seconds() // 60)] += 1
        raise RuntimeError("503")

    def notify(message: str, topic: str) -> None:
        minutes[int((clock() - START).total_seconds() // 60)] += 1

    registry.add(webhook)
    registry.add(notify)
    await hands.engine.enlist()
    await door.allowance.set(ANN, {"calls_per_minute": 10})
    return minutes


async def test_a_webhook_that_is_answered_503_makes_so_many_calls_a_minute(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, called: Counter[int]
) -> None:
    policy = {"attempts": 1000, "backoff": 1, "backoff_factor": 1, "jitter": 0}
    await add(door, "once", SOON, task="webhook", kwargs={"url": "https://example.com/"}, policy=policy)
    await seconds(50, hands, clock)
    assert called == {0: 10}
    assert await reasons(sql) == {("waiting", "over the limit of 10 calls a minute"): 1}
    await seconds(60, hands, clock)
    assert called == {0: 10, 1: 10}, "it is delayed, not lost"


async def test_what_is_over_the_limit_of_calls_is_put_off_and_none_is_lost(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, called: Counter[int]
) -> None:
    sent = {"message": "m", "topic": "ann-phone"}
    jobs = [await add(door, "once", SOON, task="notify", kwargs=sent, name=f"n {number}") for number in range(35)]
    bobs = await add(door, "once", SOON, task="notify", kwargs=sent, owner="bob")
    await seconds(1, hands, clock)
    assert (await look(door, bobs)).status == "completed", "another owner has another limit"
    for minute in range(1, 5):
        clock.moment = START + timedelta(minutes=minute)
        await hands.all()
    assert called == {0: 11, 1: 10, 2: 10, 3: 5}
    assert {(await look(door, job)).status for job in jobs} == {"completed"}
    assert await sql.fetchval("select max(attempt) from cronty.runs") == 1
    assert hands.engine.working.in_flight == 0


async def test_calls_that_could_not_be_put_off_are_not_counted(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, called: Counter[int]
) -> None:
    sent = {"message": "m", "topic": "ann-phone"}
    for number in range(12):
        await add(door, "once", SOON, task="notify", kwargs=sent, name=f"n {number}")
    clock.advance(seconds=1)
    await sql.execute(
        "create or replace function cronty.refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'made up'; end $$"
    )
    await sql.execute("create trigger refuse before insert on cronty.queue execute function cronty.refuse()")
    try:
        with pytest.raises(asyncpg.RaiseError):
            await hands.engine.lease.claiming(hands.engine.firing.step)
    finally:
        await sql.execute("drop function cronty.refuse cascade")
    assert await sql.fetchval("select sum(used) from cronty.usage where what = 'calls'") is None
    await hands.engine.lease.beat()  # hands back what was claimed and not started
    clock.advance(seconds=1)
    await hands.all()
    assert called == {0: 10}


async def test_what_is_sent_at_once_counts_as_a_call_too(door: Scheduler, called: Counter[int]) -> None:
    await add(door)
    assert [await door.allowance.for_push(ANN) for _ in range(10)] == [None] * 10
    refused = await door.allowance.for_push(ANN)
    assert refused is not None
    assert (refused.code, "10 calls a minute" in refused.message) == ("over_limit", True)


# -- tasks for some owners ----------------------------------------------------------------------------------------


async def test_a_task_for_some_owners_is_unknown_to_others(
    door: Scheduler, registry: Registry, hands: Hands, clock: HandClock
) -> None:
    worked: list[str] = []

    def audit() -> None:
        worked.append("audit")

    registry.add(audit, owners=["ann"])
    await hands.engine.enlist()
    hers = await add(door, task="audit")
    bob = local_caller("bob")
    refused = await door.schedule(bob, ScheduleJob("his", "audit", "interval", {"minutes": 1}))
    missing = await door.schedule(bob, ScheduleJob("his", "nothing", "interval", {"minutes": 1}))
    assert isinstance(refused, Err)
    assert isinstance(missing, Err)
    assert (refused.code, refused.hint) == (missing.code, missing.hint) == ("unknown_task", missing.hint)
    assert "audit" not in refused.hint
    assert "audit" in [task.name for task in await door.list_tasks(ANN)]
    assert "audit" not in [task.name for task in await door.list_tasks(bob)]
    clock.advance(minutes=1)
    await hands.all()
    assert (worked, (await look(door, hers)).run_count) == (["audit"], 1)


async def test_a_worker_does_not_perform_a_task_for_an_owner_it_is_not_there_for(
    door: Scheduler, registry: Registry, hands: Hands, clock: HandClock, calls: list[tuple[object, ...]]
) -> None:
    job = await add(door, owner="bob")
    registry.add(registry.tasks["note"].function, owners=["ann"])  # as a worker that was started with this since
    clock.advance(minutes=1)
    await hands.all()
    failed = await look(door, job)
    assert (calls, failed.failures_in_row, hands.engine.working.in_flight) == ([], 1, 0)
    assert failed.last_error is not None
    assert "isn't available to its owner" in failed.last_error


async def test_a_prompt_for_an_agent_that_is_not_there_for_its_owner_is_refused(
    door: Scheduler, registry: Registry, hands: Hands
) -> None:
    def wake(prompt: str, agent: str | None = None) -> None: ...

    registry.add(wake, "prompt:claude", owners=["ann"])
    await hands.engine.enlist()
    for task, kwargs in (("prompt", {"prompt": "Look", "agent": "claude"}), ("prompt:claude", {"prompt": "Look"})):
        request = ScheduleJob("n", task, "interval", {"minutes": 1}, kwargs=kwargs)
        assert code(await door.schedule(ANN, request)) == "ok"
        assert code(await door.schedule(local_caller("bob"), request)) == "not_allowed"


# -- one attempt at a time ----------------------------------------------------------------------------------------


async def test_a_retry_waits_until_the_attempt_before_has_really_ended(
    door: Scheduler, registry: Registry, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    cleaned = asyncio.Event()
    busy: list[int] = []
    attempts: list[int] = []

    async def tidy() -> None:
        attempts.append(len(busy))
        busy.append(1)
        try:
            if len(attempts) == 1:
                await asyncio.Event().wait()
        finally:
            if len(attempts) == 1:
                await cleaned.wait()
            busy.pop()

    registry.add(tidy)
    await hands.engine.enlist()
    policy = {"timeout": 0.001, "attempts": 2, "backoff": 1, "jitter": 0}
    await add(door, "once", SOON, task="tidy", policy=policy)
    clock.advance(seconds=1)
    await hands.engine.firing.step(hands.engine.worker)
    await asyncio.sleep(0.002)  # longer than its timeout
    hands.engine.working.expire()
    await hands.finish()
    assert await reasons(sql) == {("waiting", None): 1}
    other = await add(door, owner="bob")
    clock.advance(minutes=1)
    await hands.all()
    assert await reasons(sql) == {("waiting", "the attempt before is still ending"): 1, ("done", None): 1}
    assert (await look(door, other)).run_count == 1, "others don't wait for it"
    assert (attempts, hands.engine.working.in_flight) == ([0], 0)
    cleaned.set()
    await asyncio.sleep(0)
    clock.advance(seconds=5)
    await hands.claim()
    assert attempts == [0, 0], "none was under way"
    assert await sql.fetchval("select attempt from cronty.runs where state = 'done' and attempt > 1") == 2
