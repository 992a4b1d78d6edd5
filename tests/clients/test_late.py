"""What an agent is told about a run that started long after its slot."""

from datetime import timedelta

import pytest

from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.scheduler.answers import run_of
from tests.conftest import START, HandClock, Hands, add


async def test_a_task_that_was_caught_up_says_that_it_was_late(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, "once", {"run_at": (START + timedelta(hours=1)).isoformat()})
    clock.advance(hours=3)
    await hands.all()
    runs = await door.list_runs(local_caller("ann"), job.number, 1)
    assert isinstance(runs, Ok)
    [run] = runs.value
    if run.state != "done":
        pytest.fail("it wasn't caught up at all", pytrace=False)
    assert run_of(run).reason in ("started 2:00:00 late", "started 1:59:59 late")
