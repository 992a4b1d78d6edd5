"""The agenda dialect in Python: list, update and cancel what is on the agenda."""

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

import pytest

from cronty import Cronty
from cronty.actions.tasks import Registry
from cronty.contract.result import CrontyError
from cronty.jobs.job import Job
from tests.conftest import START, HandClock, Hands

HOUR = timedelta(hours=1)


@pytest.fixture
async def agenda(url: str, clock: HandClock) -> AsyncGenerator[Cronty]:
    async with Cronty(url, clock=clock, run_jobs=False) as made:
        yield made


def prompts(found: list[Job]) -> list[object]:
    return [job.action.kwargs["prompt"] for job in found]


async def three(agenda: Cronty) -> list[int]:
    """Three items, written down in the wrong order; their ids, earliest first."""
    third = await agenda.schedule_prompt(START + 3 * HOUR, "third")
    first = await agenda.schedule_prompt(START + HOUR, "first")
    second = await agenda.schedule_prompt(START + 2 * HOUR, "second")
    return [first, second, third]


async def performed(agenda: Cronty, hands: Hands, clock: HandClock, registry: Registry) -> int:
    """An item that an agent has dealt with."""
    registry.add(lambda prompt: prompt, "prompt")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    item = await agenda.schedule_prompt(clock.moment + HOUR, "dealt with")
    clock.advance(hours=1)
    await hands.fire()
    return item


# -- listScheduledTasks --------------------------------------------------------------------------------------------


async def test_without_filters_everything_pending_is_listed_by_fire_time(agenda: Cronty) -> None:
    ids = await three(agenda)
    cancelled = await agenda.schedule_prompt(START + HOUR, "cancelled")
    await agenda.cancel_scheduled_task(cancelled)
    found = await agenda.list_scheduled_tasks()
    assert prompts(found) == ["first", "second", "third"]
    assert [job.number for job in found] == ids
    assert [job.fire_at for job in found] == [START + HOUR, START + 2 * HOUR, START + 3 * HOUR]


async def test_list_by_status(agenda: Cronty, hands: Hands, clock: HandClock, registry: Registry) -> None:
    await performed(agenda, hands, clock, registry)
    await agenda.cancel_scheduled_task(await agenda.schedule_prompt(clock.moment + HOUR, "called off"))
    await agenda.schedule_prompt(clock.moment + HOUR, "to come")
    assert prompts(await agenda.list_scheduled_tasks("pending")) == ["to come"]
    assert prompts(await agenda.list_scheduled_tasks("completed")) == ["dealt with"]
    assert prompts(await agenda.list_scheduled_tasks("cancelled")) == ["called off"]


async def test_list_by_date_range_with_both_ends(agenda: Cronty) -> None:
    await three(agenda)
    assert prompts(await agenda.list_scheduled_tasks(since=START + 2 * HOUR)) == ["second", "third"]
    assert prompts(await agenda.list_scheduled_tasks(until=START + 2 * HOUR)) == ["first", "second"]
    between = await agenda.list_scheduled_tasks(since=START + 2 * HOUR, until=START + 2 * HOUR)
    assert prompts(between) == ["second"]


async def test_list_by_status_and_date_range(agenda: Cronty) -> None:
    ids = await three(agenda)
    for item in ids[1:]:
        await agenda.cancel_scheduled_task(item)
    found = await agenda.list_scheduled_tasks("cancelled", START, START + 2 * HOUR)
    assert prompts(found) == ["second"]


async def test_an_empty_agenda_is_an_empty_list(agenda: Cronty) -> None:
    assert await agenda.list_scheduled_tasks() == []
    await three(agenda)
    assert await agenda.list_scheduled_tasks(since=START + 4 * HOUR) == []
    assert await agenda.list_scheduled_tasks("failed") == []


async def test_only_prompts_are_on_the_agenda(agenda: Cronty, hands: Hands) -> None:
    assert hands.engine.worker
    await agenda.schedule_job("not a prompt", "note", "interval", {"hours": 1})
    assert await agenda.list_scheduled_tasks() == []


async def test_an_unknown_status_is_named(agenda: Cronty) -> None:
    with pytest.raises(CrontyError, match="Unknown status: done"):
        await agenda.list_scheduled_tasks("done")


# -- updateScheduledTask -------------------------------------------------------------------------------------------


async def seen(agenda: Cronty, item: int) -> tuple[datetime | None, object]:
    [job] = [job for job in await agenda.list_scheduled_tasks() if job.number == item]
    return job.fire_at, job.action.kwargs["prompt"]


async def test_update_fire_at(agenda: Cronty) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "call Ann")
    assert await agenda.update_scheduled_task(item, fire_at=START + 5 * HOUR) == 1
    assert await seen(agenda, item) == (START + 5 * HOUR, "call Ann")


async def test_update_prompt(agenda: Cronty) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "call Ann")
    assert await agenda.update_scheduled_task(item, prompt="call Bob") == 1
    assert await seen(agenda, item) == (START + HOUR, "call Bob")


async def test_update_both(agenda: Cronty) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "call Ann")
    assert await agenda.update_scheduled_task(item, fire_at=START + 2 * HOUR, prompt="call Bob") == 1
    assert await seen(agenda, item) == (START + 2 * HOUR, "call Bob")


async def test_update_of_what_is_not_there_changes_nothing(agenda: Cronty, hands: Hands) -> None:
    assert hands.engine.worker
    assert await agenda.update_scheduled_task(99, prompt="call Bob") == 0
    await agenda.schedule_job("not a prompt", "note", "interval", {"hours": 1})
    assert await agenda.update_scheduled_task(1, prompt="call Bob") == 0


async def test_update_of_what_is_not_pending_changes_nothing(
    agenda: Cronty, hands: Hands, clock: HandClock, registry: Registry
) -> None:
    done = await performed(agenda, hands, clock, registry)
    cancelled = await agenda.schedule_prompt(clock.moment + HOUR, "called off")
    await agenda.cancel_scheduled_task(cancelled)
    for item in (done, cancelled):
        assert await agenda.update_scheduled_task(item, prompt="too late") == 0
        assert await agenda.update_scheduled_task(item, fire_at=clock.moment + HOUR) == 0


async def test_update_of_what_is_being_dealt_with_changes_nothing(
    agenda: Cronty, hands: Hands, clock: HandClock
) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "call Ann")
    clock.advance(hours=1)
    await hands.fire()  # nobody has taken it yet, but it has fired
    assert prompts(await agenda.list_scheduled_tasks("running")) == ["call Ann"]
    assert await agenda.update_scheduled_task(item, prompt="too late") == 0


async def test_update_needs_at_least_one_field(agenda: Cronty) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "call Ann")
    with pytest.raises(ValueError, match="at least one of fire_at and prompt"):
        await agenda.update_scheduled_task(item)


async def test_update_into_the_past_is_refused(agenda: Cronty) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "call Ann")
    with pytest.raises(CrontyError, match="That time is past"):
        await agenda.update_scheduled_task(item, fire_at=START - HOUR)
    assert await seen(agenda, item) == (START + HOUR, "call Ann")


async def test_a_prompt_may_be_long_and_begin_with_a_blank_line(agenda: Cronty) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "\n" * 100 + "call Ann" * 100)
    assert (await seen(agenda, item))[1] == "\n" * 100 + "call Ann" * 100


# -- cancelScheduledTask -------------------------------------------------------------------------------------------


async def test_cancel(agenda: Cronty, hands: Hands, clock: HandClock, calls: list[object]) -> None:
    item = await agenda.schedule_prompt(START + HOUR, "call Ann")
    assert await agenda.cancel_scheduled_task(item) == 1
    assert await agenda.list_scheduled_tasks() == []
    clock.advance(hours=2)
    await hands.all()
    assert calls == []


async def test_cancel_of_what_is_not_pending_changes_nothing(
    agenda: Cronty, hands: Hands, clock: HandClock, registry: Registry
) -> None:
    done = await performed(agenda, hands, clock, registry)
    cancelled = await agenda.schedule_prompt(clock.moment + HOUR, "called off")
    assert await agenda.cancel_scheduled_task(cancelled) == 1
    assert await agenda.cancel_scheduled_task(cancelled) == 0
    assert await agenda.cancel_scheduled_task(done) == 0
    assert await agenda.cancel_scheduled_task(99) == 0
    assert prompts(await agenda.list_scheduled_tasks("completed")) == ["dealt with"]


async def test_both_kinds_of_agent_of_one_owner_see_the_same_agenda(agenda: Cronty, url: str, clock: HandClock) -> None:
    await agenda.schedule_prompt(START + HOUR, "call Ann")
    async with Cronty(url, clock=clock, run_jobs=False) as heartbeat:
        [item] = await heartbeat.list_scheduled_tasks()
        assert await heartbeat.cancel_scheduled_task(item.number) == 1
    assert await agenda.list_scheduled_tasks() == []
    async with Cronty(url, clock=clock, run_jobs=False, owner="bob") as stranger:
        assert await stranger.list_scheduled_tasks("cancelled") == []
