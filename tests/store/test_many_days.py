"""What lists of very many days off cost, with many jobs that each go by all of them."""

import gc
from collections.abc import AsyncGenerator, Iterable
from datetime import date, timedelta
from weakref import ref

import pytest

from cronty import Cronty
from cronty.jobs.job import Job
from cronty.timing import Calendar, calendar
from cronty.timing.calendar_days import DaySet
from cronty.timing.named_calendar import NamedCalendar
from tests.conftest import START, HandClock

LISTS, DAYS, JOBS = 4, 100, 12
NAMES = [f"l{number}" for number in range(LISTS)]


@pytest.fixture
async def cronty(url: str, clock: HandClock) -> AsyncGenerator[Cronty]:
    async with Cronty(url, clock=clock, owner="ann", run_jobs=False) as made:
        for number, name in enumerate(NAMES):
            first = date(2030, 1, 1) + number * DAYS * timedelta(days=1)
            await made.save_calendar(name, days={str(first + one * timedelta(days=1)): "x" for one in range(DAYS)})
        for number in range(JOBS):
            names = [*NAMES[number % LISTS :], *NAMES[: number % LISTS]]
            rule = {"rules": [{"times": [f"09:{number:02}"]}], "calendars": names}
            await made.schedule_job(f"j{number}", "prompt", "calendar", rule, kwargs={"prompt": "x"})
        yield made


async def triggers(cronty: Cronty) -> list[Calendar]:
    jobs: list[Job] = await cronty.list_scheduled_tasks()
    found = [job.trigger for job in jobs if isinstance(job.trigger, Calendar)]
    assert len(found) == JOBS
    return found


async def test_jobs_refer_to_the_lists_in_whatever_order(cronty: Cronty) -> None:
    found = await triggers(cronty)
    assert len({id(each) for trigger in found for each in trigger.lists}) == LISTS
    assert {len(trigger.lists) for trigger in found} == {LISTS}


async def test_the_days_of_a_list_are_gone_through_once_for_all_its_jobs(
    cronty: Cronty, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[date] = []
    made: list[object] = []
    day_set, day_off = DaySet.__init__, calendar.DayOff

    def counting(self: DaySet, days: Iterable[date]) -> None:
        known = list(days)
        walked.extend(known)
        day_set(self, known)

    def noting(day: date, reason: str) -> object:
        made.append(day)
        return day_off(day, reason)

    monkeypatch.setattr(DaySet, "__init__", counting)
    monkeypatch.setattr(calendar, "DayOff", noting)
    await cronty.save_calendar("l0", days={"2029-01-01": "y"})
    for _ in range(2):
        assert (await cronty.list_jobs()).total == JOBS
    assert len(walked) <= LISTS * DAYS
    assert made == [], "nobody asked for the days of all lists together"


async def test_a_list_that_was_replaced_is_let_go(cronty: Cronty) -> None:
    before: ref[NamedCalendar] = ref((await triggers(cronty))[0].lists[0])
    assert {each.open.after(START) == each.after(START) for each in await triggers(cronty)} == {True}
    for name in NAMES:
        await cronty.save_calendar(name, days={"2029-01-01": "y"})
    await triggers(cronty)
    gc.collect()
    assert before() is None
