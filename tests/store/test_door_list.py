"""Looking at jobs and runs through the door."""

import base64
from datetime import datetime, timedelta

import orjson
import pytest
from asyncpg import Connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import STATUSES, Filter
from cronty.scheduler import JobPage, Scheduler
from cronty.store import job_store
from tests.conftest import START, HandClock, Hands, add

pytestmark = pytest.mark.usefixtures("hands")

FOREIGN = "bob"


def page_of(result: Result[JobPage]) -> JobPage:
    assert isinstance(result, Ok), result
    return result.value


async def names(door: Scheduler, wanted: Filter | None = None) -> list[str]:
    page = page_of(await door.list_jobs(local_caller("ann"), wanted))
    assert page.total == len(page.jobs)
    return [job.name for job in page.jobs]


async def one_of_each_status(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    """Jobs named after the status they have."""
    at: dict[str, object] = {"run_at": START + timedelta(minutes=1)}
    await add(door, "once", at, name="completed")
    await add(door, "once", at, name="failed", task="fail")
    clock.advance(minutes=1)
    await hands.fire()
    running = await add(door, "once", {"run_at": clock.moment + timedelta(hours=1)}, name="running")
    assert isinstance(await door.run_now(local_caller("ann"), running.number), Ok)
    await add(door, name="pending")
    await add(door, name="paused")
    cancelled = await add(door, name="cancelled")
    await door.cancel(local_caller("ann"), cancelled.number)
    await door.pause(local_caller("ann"), cancelled.number - 1)


async def test_nothing_is_a_page_too(door: Scheduler) -> None:
    assert await door.list_jobs(local_caller("ann")) == Ok(JobPage([], 0, None))


async def test_jobs_can_be_listed_by_every_status(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    await one_of_each_status(door, hands, clock)
    found = {status: await names(door, Filter(status)) for status in STATUSES}
    assert found == {
        "pending": ["pending", "paused"],
        "running": ["running"],
        "completed": ["completed"],
        "failed": ["failed"],
        "cancelled": ["cancelled"],
    }


async def test_a_job_has_the_status_it_is_listed_by(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    await one_of_each_status(door, hands, clock)
    for status in STATUSES:
        for job in page_of(await door.list_jobs(local_caller("ann"), Filter(status))).jobs:
            assert job.status == status
            assert await door.show(local_caller("ann"), job.number) == Ok(job)


async def test_an_unknown_status_has_the_words_of_the_seed(door: Scheduler) -> None:
    refused = await door.list_jobs(local_caller("ann"), Filter("finished"))
    assert refused == Err(
        "unknown_status", "Unknown status: finished", "Use one of: pending, running, completed, failed, cancelled."
    )


async def test_a_part_of_the_name_is_enough_in_any_case(door: Scheduler) -> None:
    for name in ("Nightly backup", "hourly BACKUP", "report 100%", "report_1"):
        await add(door, name=name)
    assert await names(door, Filter(name="backup")) == ["Nightly backup", "hourly BACKUP"]
    assert await names(door, Filter(name="%")) == ["report 100%"]
    assert await names(door, Filter(name="_")) == ["report_1"]


async def test_a_tag_is_matched_as_a_whole(door: Scheduler) -> None:
    await add(door, name="one", tags=["db", "night"])
    await add(door, name="two", tags=["night"])
    await add(door, name="three", tags=["nightly"])
    assert await names(door, Filter(tag="night")) == ["one", "two"]


async def test_jobs_can_be_listed_by_task(door: Scheduler) -> None:
    await add(door, name="one")
    await add(door, name="two", task="prompt")
    assert await names(door, Filter(task="prompt")) == ["two"]


async def test_a_range_includes_both_its_ends(door: Scheduler) -> None:
    for hours in range(1, 6):
        await add(door, "interval", {"hours": hours}, name=f"in {hours} h")
    hour = timedelta(hours=1)
    wanted = Filter(since=START + 2 * hour, until=START + 4 * hour)
    assert await names(door, wanted) == ["in 2 h", "in 3 h", "in 4 h"]
    assert await names(door, Filter(since=START + 5 * hour)) == ["in 5 h"]
    assert await names(door, Filter(until=START + hour)) == ["in 1 h"]
    assert await names(door, Filter(since=START + 6 * hour)) == []


async def test_filters_combine(door: Scheduler) -> None:
    await add(door, name="a one", tags=["x"])
    await add(door, name="a two", tags=["y"])
    late = await add(door, "interval", {"hours": 5}, name="a three", tags=["x"])
    await door.cancel(local_caller("ann"), (await add(door, name="a four", tags=["x"])).number)
    wanted = Filter("pending", name="a ", tag="x", until=START + timedelta(hours=1))
    assert await names(door, wanted) == ["a one"]
    assert late.next_slot == START + timedelta(hours=5)


async def test_those_that_fire_next_come_first_and_those_that_never_will_last(door: Scheduler) -> None:
    await door.cancel(local_caller("ann"), (await add(door, "interval", {"minutes": 1}, name="ended")).number)
    await add(door, "interval", {"hours": 2}, name="second")
    await add(door, "interval", {"hours": 1}, name="first")
    await add(door, "interval", {"hours": 2}, name="third")
    assert await names(door) == ["first", "second", "third", "ended"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
async def test_paging_visits_each_job_once(door: Scheduler, hands: Hands, clock: HandClock, size: int) -> None:
    await one_of_each_status(door, hands, clock)
    for number in range(6):
        await add(door, "interval", {"hours": 1 + number // 3}, name=f"job {number}")
    everything = page_of(await door.list_jobs(local_caller("ann"))).jobs
    seen: list[int] = []
    cursor = None
    for _ in range(20):
        page = page_of(await door.list_jobs(local_caller("ann"), None, size, cursor))
        assert page.total == len(everything)
        seen += [job.number for job in page.jobs]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [job.number for job in everything]
    assert len(set(seen)) == len(seen) == 12


async def test_a_cursor_holds_its_place_while_jobs_come_and_go(door: Scheduler) -> None:
    jobs = [await add(door, "interval", {"hours": hours}) for hours in range(1, 7)]
    first = page_of(await door.list_jobs(local_caller("ann"), None, 3))
    await door.delete(local_caller("ann"), jobs[0].number)
    await door.delete(local_caller("ann"), jobs[2].number)
    await add(door, "interval", {"minutes": 1})
    rest = page_of(await door.list_jobs(local_caller("ann"), None, 3, first.cursor))
    assert [job.number for job in rest.jobs] == [job.number for job in jobs[3:]]


def cursor_of(place: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "x", "é", "====", "bm90IGpzb24", cursor_of(None), cursor_of([]), cursor_of({"a": 1, "b": 2, "c": 3})),
        *(cursor_of([False, "yesterday", 1, 1]), cursor_of(["no", None, 1, 1]), cursor_of([True, None, "1", 1])),
        *(cursor_of([True, None, 1, "many"]), cursor_of([True, None, 1, None]), "A" * 10_000),
    ],
)
async def test_a_cursor_of_ones_own_making_is_refused(door: Scheduler, cursor: str) -> None:
    refused = await door.list_jobs(local_caller("ann"), None, 10, cursor)
    assert isinstance(refused, Err)
    assert refused.code == "bad_cursor"
    assert len(refused.message) < 200


@pytest.mark.parametrize("place", [[False, None, 2**64 - 1, 1], [False, "9999-12-31T23:59:59-05:00", 1, 1]])
async def test_a_cursor_out_of_range_is_refused(door: Scheduler, place: object) -> None:
    assert isinstance(await door.list_jobs(local_caller("ann"), None, 10, cursor_of(place)), Err)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cursor=st.text(max_size=40))
async def test_any_text_as_a_cursor_is_an_answer(door: Scheduler, cursor: str) -> None:
    assert isinstance(await door.list_jobs(local_caller("ann"), None, 10, cursor), Ok | Err)


# -- owners --------------------------------------------------------------------------------------------------------


async def test_an_owner_sees_only_their_own_jobs(door: Scheduler) -> None:
    await add(door, name="mine")
    await add(door, name="theirs", owner=FOREIGN)
    assert await names(door) == ["mine"]


async def every_answer(door: Scheduler, job_id: str | int) -> list[object]:
    """What each call answers about an id, said of the same number."""
    calls = [
        door.show(local_caller("ann"), job_id),
        door.edit(local_caller("ann"), EditJob(str(job_id), name="stolen")),
        door.pause(local_caller("ann"), job_id),
        door.resume(local_caller("ann"), job_id),
        door.cancel(local_caller("ann"), job_id),
        door.run_now(local_caller("ann"), job_id),
        door.list_runs(local_caller("ann"), job_id),
        door.delete(local_caller("ann"), job_id),
    ]
    return [await call for call in calls]


async def test_somebody_elses_id_answers_exactly_like_a_missing_one(door: Scheduler, sql: Connection) -> None:
    theirs = await add(door, owner=FOREIGN)
    expected = Err(
        "not_found",
        f"Job not found: {theirs.number}",
        "It may have been deleted, or the id is wrong; list_jobs shows yours.",
    )
    assert await every_answer(door, theirs.number) == [expected] * 8
    await sql.execute("delete from cronty.due")
    await sql.execute("delete from cronty.jobs")
    assert await every_answer(door, theirs.number) == [expected] * 8


async def test_trying_somebody_elses_id_changes_nothing(door: Scheduler) -> None:
    theirs = await add(door, owner=FOREIGN)
    await every_answer(door, theirs.number)
    assert await door.show(local_caller(FOREIGN), theirs.number) == Ok(theirs)


@pytest.mark.parametrize("odd", ["", "nonsense", "scd_nonexistent", 0, -1, 2**63, "9" * 30, "job_1_1; --", "\0"])
async def test_an_odd_id_is_not_found(door: Scheduler, odd: str | int) -> None:
    for answer in await every_answer(door, odd):
        assert isinstance(answer, Err)
        assert (answer.code, answer.message) == ("not_found", f"Job not found: {odd}")


async def test_any_form_of_an_id_finds_the_job(door: Scheduler) -> None:
    job = await add(door)
    for form in (
        job.number,
        str(job.number),
        f"#{job.number}",
        f"job_{job.number}_{int(START.timestamp())}",
        f"scd_{job.number}",
    ):
        assert await door.show(local_caller("ann"), form) == Ok(job)


# -- runs ----------------------------------------------------------------------------------------------------------


async def three_runs(door: Scheduler, hands: Hands, clock: HandClock) -> tuple[int, list[datetime]]:
    """A job that ran three times; its id, and its slots, newest first."""
    job = await add(door)
    slots = [clock.advance(minutes=1)]
    await hands.fire()
    for _ in range(2):
        slots.insert(0, clock.advance(minutes=1))
        await hands.fire()
    return job.number, slots


async def test_runs_come_newest_first_and_in_pages(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job_id, slots = await three_runs(door, hands, clock)
    runs = await door.list_runs(local_caller("ann"), job_id)
    assert isinstance(runs, Ok)
    assert [run.scheduled_for for run in runs.value] == slots
    assert {run.state for run in runs.value} == {"done"}
    page = await door.list_runs(local_caller("ann"), job_id, limit=2, before=slots[0])
    assert isinstance(page, Ok)
    assert page.value == runs.value[1:]


async def test_runs_can_be_listed_by_state(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job_id, slots = await three_runs(door, hands, clock)
    done = await door.list_runs(local_caller("ann"), job_id, state="done")
    assert isinstance(done, Ok)
    assert len(done.value) == len(slots)
    assert await door.list_runs(local_caller("ann"), job_id, state="failed") == Ok([])


async def test_an_unknown_run_state_is_refused_with_the_known_ones(door: Scheduler) -> None:
    refused = await door.list_runs(local_caller("ann"), 1, state="finished")
    assert isinstance(refused, Err)
    assert refused.message == "Unknown run state: finished"
    assert "done, failed" in refused.hint


async def test_a_list_counts_on_its_first_page_and_not_for_ever(
    door: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        await add(door, name=f"job {number}")
    monkeypatch.setattr(job_store, "MAX_COUNTED", 3)
    first = page_of(await door.list_jobs(local_caller("ann"), limit=2))
    await add(door, name="one more")
    rest = page_of(await door.list_jobs(local_caller("ann"), limit=2, cursor=first.cursor))
    assert (first.total, rest.total) == (3, 3), "at least; the cursor carries it"
    assert page_of(await door.list_jobs(local_caller("ann"), Filter(name="1"))).total == 1
