"""What it costs to list an agenda that somebody has filled to slow down the others."""

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

import pytest

from cronty import Cronty
from cronty.contract.result import Ok
from cronty.scheduler import agenda
from cronty.timing import Changed, Trigger, calendar_clock
from tests.conftest import START, HandClock
from tests.turns import turns_of_others

EVERY_MINUTE = {"rules": [{"times": ["00:00-23:59/1"]}]}


@pytest.fixture
async def cronty(url: str, clock: HandClock) -> AsyncGenerator[Cronty]:
    async with Cronty(url, clock=clock, owner="ann", run_jobs=False) as made:
        yield made


async def prompts(cronty: Cronty, number: int, prompt: str = "Look around") -> None:
    for one in range(number):
        kwargs = {"prompt": prompt}
        await cronty.schedule_job(f"p{one}", "prompt", "calendar", EVERY_MINUTE, kwargs=kwargs, max_runs=10**6)


async def test_a_list_of_the_far_future_counts_no_runs_until_then(
    cronty: Cronty, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prompts(cronty, 3)
    walked: list[int] = []
    month_by_month = calendar_clock.first_and_length

    def counting(month: int) -> tuple[int, int]:
        walked.append(month)
        return month_by_month(month)

    monkeypatch.setattr(calendar_clock, "first_and_length", counting)
    for since in (START.replace(year=9900), START + timedelta(days=3000)):
        assert await cronty.list_scheduled_tasks(since=since) == [], "a million minutes are over in two years"
        assert len(walked) < 1000, "months"


async def test_what_repeats_is_found_years_ahead_while_it_has_runs_left(cronty: Cronty) -> None:
    weekly = {"rules": [{"times": ["09:00"], "weekdays": ["MO"]}]}
    await cronty.schedule_job("w", "prompt", "calendar", weekly, kwargs={"prompt": "Weekly"}, max_runs=104)

    async def listed(since: datetime) -> list[str]:
        return [job.name for job in await cronty.list_scheduled_tasks(since=since)]

    assert await listed(START + timedelta(days=700)) == ["w"]
    assert await listed(START + timedelta(days=750)) == []


async def test_others_have_their_turn_between_any_two_items(cronty: Cronty, monkeypatch: pytest.MonkeyPatch) -> None:
    await prompts(cronty, 30)
    at_turn: list[int] = []
    next_slot_of = agenda.next_slot_of

    async with turns_of_others() as turns:

        def noting(slots: Trigger | Changed, now: datetime, ends_at: datetime | None) -> datetime | None:
            at_turn.append(turns.count)
            return next_slot_of(slots, now, ends_at)

        monkeypatch.setattr(agenda, "next_slot_of", noting)
        found = await agenda.Agenda(cronty.service).list(cronty.caller, since=START + timedelta(days=300), most=5)
    assert isinstance(found, Ok)
    assert (len(found.value.jobs), found.value.total) == (5, 30)
    assert len(set(at_turn)) == 30
