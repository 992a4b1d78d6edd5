"""All jobs of a tag are paused and resumed together, and nobody else's."""

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.scheduler.tagged import Changed, pause_tagged, resume_tagged
from tests.conftest import HandClock, Hands, add, look


async def test_all_jobs_of_a_tag_pause_and_go_on_together(
    door: Scheduler, hands: Hands, url: str, clock: HandClock
) -> None:
    reports = [await add(door, name=f"report {number}", tags=["reports"]) for number in range(3)]
    other = await add(door, name="other", tags=["backups"])
    foreign = await add(door, name="foreign", tags=["reports"], owner="bob")
    assert isinstance(await door.pause(local_caller("ann"), reports[0].number), Ok)

    async with Cronty(url, clock=clock, run_jobs=False) as cronty:
        assert await pause_tagged(cronty.service, local_caller("ann"), "reports") == Ok(Changed(2, more=False))

        assert [(await look(door, job)).state for job in reports] == ["paused"] * 3
        assert [(await look(door, job)).state for job in (other, foreign)] == ["active"] * 2
        assert await resume_tagged(cronty.service, local_caller("ann"), "reports") == Ok(Changed(3, more=False))
        assert [(await look(door, job)).state for job in reports] == ["active"] * 3
        assert await pause_tagged(cronty.service, local_caller("ann"), "nothing of the kind") == Ok(
            Changed(0, more=False)
        )
