"""What goes over an owner's limits by the hour is skipped, and the owner hears of it once."""

from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.jobs.result import Ok
from cronty.scheduler import JobRequest, Scheduler
from tests.conftest import START, HandClock, Hands, add, look

WAKES = "over the limit of 3 wakes an hour for agent claude"


async def states(sql: asyncpg.Connection) -> dict[tuple[str, str | None], int]:
    rows = await sql.fetch("select state::text, reason, count(*) from cronty.runs group by 1, 2")
    return {(row[0], row[1]): row[2] for row in rows}


async def prompt(door: Scheduler, agent: str, trigger: str = "interval", **config: object) -> Job:
    action = Action("prompt", (), {"prompt": "Look", "agent": agent})
    result = await door.schedule("ann", JobRequest("look", action, trigger, config))
    assert isinstance(result, Ok), result
    return result.value


def wake(prompt: str, agent: str) -> None: ...


async def minutes(count: int, hands: Hands, clock: HandClock) -> None:
    for _ in range(count):
        clock.advance(minutes=1)
        await hands.all()
        hands.engine.firing.low.forget()


@pytest.mark.parametrize("woken", ["by its inbox", "by a worker"])
async def test_wakes_beyond_the_limit_are_skipped_until_the_next_hour(
    door: Scheduler, registry: Registry, hands: Hands, clock: HandClock, sql: asyncpg.Connection, woken: str
) -> None:
    if woken == "by a worker":
        registry.add(wake, "prompt:claude")
        await hands.engine.enlist()
    await door.allowance.set("ann", {"wakes_per_hour": 3})
    job = await prompt(door, "claude", minutes=1)
    assert job.action.task == ("prompt" if woken == "by its inbox" else "prompt:claude")
    other = await prompt(door, "codex", minutes=30)
    for _ in range(5):
        await minutes(1, hands, clock)
        await sql.execute("delete from cronty.queue")  # as if the agent had settled it
        await sql.execute("update cronty.runs set state = 'done', finished_at = now() where state = 'waiting'")
    assert await states(sql) == {("done", None): 3, ("skipped", WAKES): 2}
    assert await sql.fetchval("select after ->> 'reason' from cronty.audit") == (
        f"Slots are skipped until the hour is over: {WAKES}."
    )
    await minutes(26, hands, clock)
    assert (await look(door, other)).run_count == 1, "another agent is another budget"
    clock.moment = START + timedelta(minutes=59, seconds=30)
    await hands.all()
    assert await sql.fetchval("select count(*) from cronty.audit") == 1, "said once"
    await minutes(1, hands, clock)
    assert (await look(door, job)).run_count == 4, "a new hour"


async def test_a_one_off_that_is_held_says_why(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await door.allowance.set("ann", {"wakes_per_hour": 3, "alert": "ann-phone"})
    jobs = [await prompt(door, "claude", "once", run_at=START + timedelta(seconds=n)) for n in range(1, 6)]
    clock.advance(minutes=1)
    await hands.fire()
    seen = [await look(door, job) for job in jobs]
    assert [job.status for job in seen] == ["running"] * 3 + ["failed"] * 2
    assert seen[-1].last_error == f"skipped: {WAKES}"
    assert await sql.fetchval("select count(*) from cronty.slots_unaccounted where why not like 'due %'") == 0
    [said] = await sql.fetch("select arguments #>> '{kwargs,topic}' from cronty.jobs where 'alert' = any(tags)")
    assert said[0] == "ann-phone"


async def test_runs_are_counted_for_an_owner_that_has_such_a_limit(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, calls: list[tuple[object, ...]]
) -> None:
    await door.allowance.set("ann", {"runs_per_hour": 10})
    for number in range(4):
        await add(door, name=f"job {number}")
        await add(door, owner="bob", name=f"job {number}")
    await minutes(5, hands, clock)
    anns = await sql.fetch(
        "select state::text, reason, count(*) from cronty.runs where owner_id = 1 group by 1, 2 order by 1"
    )
    assert [tuple(row) for row in anns] == [("done", None, 10), ("skipped", "over the limit of 10 runs an hour", 10)]
    assert len(calls) == 10 + 20
    assert hands.engine.working.in_flight == 0
