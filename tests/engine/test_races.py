"""Many engines on one database: no slot twice, none missing, whatever people do meanwhile."""

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Err
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add, hands_of

JOBS = 5000

FILL = """
with o as (insert into cronty.owners (name) values ('ann') returning id), j as (
  insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
  select o.id, i, 'job ' || i, 'note', jsonb_build_object('args', jsonb_build_array(i), 'kwargs', '{}'::jsonb),
    case i % 3 when 0 then '{"kind": "once", "at": "2027-03-01T08:01:00+00:00"}'::jsonb
      when 1 then '{"kind": "interval", "seconds": 3600, "anchor": "2027-03-01T07:01:00+00:00"}'::jsonb
      else '{"kind": "cron", "expression": "1 * * * *", "zone": "UTC"}'::jsonb end, '{}', '{}', $2, $2
  from o, generate_series(1, $1::int) i returning id, owner_id, trigger)
insert into cronty.due (job_id, owner_id, next_at, serial, period, expression, zone)
select id, owner_id, timestamptz '2027-03-01 08:01+00', true,
  case when trigger->>'kind' = 'interval' then 3600000000 end, trigger->>'expression', trigger->>'zone' from j
"""


async def fire_all(hands: Hands) -> None:
    """Fire until nothing is due, twice over: what another engine had locked may be free by then."""
    for _ in range(2):
        await hands.all()
        hands.engine.firing.low.forget()


@pytest.mark.parametrize("engines", [2, 4, 8])
async def test_engines_share_five_thousand_due_jobs(
    url: str, clock: HandClock, registry: Registry, calls: list[tuple[object, ...]], sql: Connection, engines: int
) -> None:
    await sql.execute(FILL, JOBS, START)
    clock.advance(minutes=1)
    async with AsyncExitStack() as stack:
        team = [await stack.enter_async_context(hands_of(url, clock, registry)) for _ in range(engines)]
        await asyncio.gather(*map(fire_all, team))
    assert sorted(call[0] for call in calls) == list(range(1, JOBS + 1))  # pyright: ignore[reportArgumentType]
    found = await sql.fetchrow(
        "select count(*), count(distinct job_id), min(state::text), max(state::text) from cronty.runs"
    )
    assert found is not None
    assert tuple(found) == (JOBS, JOBS, "done", "done")
    assert await sql.fetchval("select count(*) from cronty.due where run_count <> 1") == 0
    assert await sql.fetchval("select count(*) from cronty.slots_unaccounted where why like 'its%'") == 0


async def meddle(door: Scheduler, job_id: int, chance: random.Random) -> None:
    """One thing somebody may do to a job while engines fire it."""
    act = chance.choice(["pause", "resume", "cancel", "delete", "run_now", "edit", "show"])
    match act:
        case "edit":
            changes = EditJob("", trigger_type="interval", trigger_config={"seconds": chance.randint(20, 90)})
            result = await door.edit(local_caller("ann"), replace(changes, job_id=str(job_id)))
        case "show":
            result = await door.show(local_caller("ann"), job_id)
        case _:
            result = await getattr(door, act)(local_caller("ann"), job_id)
    if isinstance(result, Err):
        assert result.code in ("not_found", "not_editable", "already_running", "bad_trigger"), result


async def test_nothing_is_lost_or_doubled_while_people_meddle(
    url: str, clock: HandClock, door: Scheduler, registry: Registry, sql: Connection
) -> None:
    chance = random.Random(7)
    kinds: list[tuple[str, dict[str, object]]] = [
        ("interval", {"seconds": 30}),
        ("cron", {"expression": "* * * * *"}),
        ("once", {"run_at": (START + timedelta(minutes=3)).isoformat()}),
    ]
    async with AsyncExitStack() as stack:
        team = [await stack.enter_async_context(hands_of(url, clock, registry)) for _ in range(3)]
        jobs = [
            await add(door, *kinds[i % 3], policy={"overlap": chance.choice(["skip", "queue", "allow"])},
                      max_runs=chance.choice([None, 2, 5]))
            for i in range(60)
        ]  # fmt: skip
        for _ in range(12):
            clock.advance(seconds=chance.choice([10, 30, 61, 200]))
            meddling = [meddle(door, chance.choice(jobs).id, chance) for _ in range(30)]
            await asyncio.gather(*map(fire_all, team), *meddling)
        await asyncio.gather(*map(fire_all, team))
    assert await sql.fetchval("select count(*) from cronty.runs where finished_at is null") == 0
    assert await sql.fetchval("select count(*) from cronty.queue") == 0
    assert await sql.fetch("select * from cronty.slots_unaccounted where why like 'its%'") == []
    executed = await sql.fetch(
        "select d.job_id, d.run_count, count(r.*) filter (where r.attempt > 0 or r.state = 'cancelled') as runs"
        " from cronty.due d left join cronty.runs r using (job_id)"
        " where not exists (select from cronty.runs c where c.job_id = d.job_id and c.state = 'cancelled')"
        " group by 1, 2 having d.run_count <> count(r.*) filter (where r.attempt > 0)"
    )
    assert executed == []
    too_many = await sql.fetchval(
        "select count(*) from cronty.due d join cronty.jobs j on j.id = d.job_id"
        " where d.run_count - d.manual_count > j.max_runs"
    )
    assert too_many == 0
