"""What a caller may do to a job depends on what the job does, whoever made it."""

import json
from dataclasses import replace

import asyncpg
import pytest

from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import ChangeSlot, EditJob
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler import Scheduler
from cronty.scheduler.runs import Runs
from cronty.store.database import Database
from cronty.store.run_store import RunStore
from tests.conftest import add, look

pytestmark = pytest.mark.usefixtures("hands")
ANN = local_caller("ann")
WITHOUT_PROMPTS = Caller("ann", frozenset({"read", "schedule", "run"}))
INTERN = replace(ANN, agent="intern", surface="rest")


def every(number: int, **period: int) -> EditJob:
    return EditJob(str(number), trigger_type="interval", trigger_config=period)


def code(result: Result[object]) -> str:
    return result.code if isinstance(result, Err) else "ok"


async def prompt(door: Scheduler) -> int:
    return (await add(door, task="prompt", kwargs={"prompt": "Look"})).number


async def test_a_prompt_is_resumed_undeleted_and_redriven_only_with_the_scope_for_prompts(
    door: Scheduler, database: Database, sql: asyncpg.Connection
) -> None:
    number = await prompt(door)
    await door.pause(ANN, number)
    assert code(await door.resume(WITHOUT_PROMPTS, number)) == "missing_scope"
    await door.delete(ANN, number)
    assert code(await door.undelete(WITHOUT_PROMPTS, number)) == "missing_scope"
    assert code(await door.undelete(ANN, number)) == "ok"
    assert code(await door.resume(ANN, number)) == "ok"
    started = await door.run_now(ANN, number)
    assert isinstance(started, Ok)
    run = started.value.run_id
    await sql.execute("update cronty.runs set state = 'failed', finished_at = now(); delete from cronty.queue")
    runs = Runs(RunStore(database), door)
    assert await runs.redrive(WITHOUT_PROMPTS, [run]) == Ok({run: False})
    assert await runs.redrive(ANN, [run]) == Ok({run: True})


async def test_an_agent_that_edits_is_held_to_the_interval_for_agents(door: Scheduler) -> None:
    number = await prompt(door)
    assert code(await door.edit(INTERN, every(number, seconds=1))) == "over_limit"
    often = await add(door, "interval", {"seconds": 1}, caller=INTERN)
    changed = EditJob(str(often.number), task="prompt", kwargs={"prompt": "Look"})
    assert code(await door.edit(INTERN, changed)) == "over_limit"


async def test_an_editor_is_where_a_job_comes_from(door: Scheduler, sql: asyncpg.Connection) -> None:
    number = await prompt(door)
    changed = EditJob(str(number), kwargs={"prompt": "Wire the money"})
    assert code(await door.edit(INTERN, changed)) == "ok"
    origin = json.loads(await sql.fetchval("select origin::text from cronty.jobs"))
    assert origin == {"surface": "rest", "agent": "intern"}


async def test_a_commands_schedule_is_changed_only_at_its_machine(door: Scheduler, sql: asyncpg.Connection) -> None:
    job = await add(door)
    await sql.execute("update cronty.jobs set task = 'command'")
    assert code(await door.edit(ANN, every(job.number, seconds=1))) == "not_allowed"
    assert code(await door.change_slot(ANN, ChangeSlot(str(job.number), to="in 10 seconds"))) == "not_allowed"
    here = replace(ANN, trusted=True)
    assert code(await door.edit(here, every(job.number, days=1))) == "ok"
    assert (await look(door, job)).version == 2
