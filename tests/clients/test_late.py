"""What an agent is told about a run that started long after its slot."""

from datetime import timedelta

import pytest

from cronty.jobs.answers import run_answer
from cronty.jobs.result import Ok
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add


async def test_a_task_that_was_caught_up_says_that_it_was_late(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, "once", {"run_at": (START + timedelta(hours=1)).isoformat()})
    clock.advance(hours=3)
    await hands.all()
    runs = await door.list_runs("ann", job.number, 1)
    assert isinstance(runs, Ok)
    [run] = runs.value
    if run.state != "done":
        pytest.fail("it wasn't caught up at all", pytrace=False)
    assert run_answer(run)["reason"] in ("started 2:00:00 late", "started 1:59:59 late")
