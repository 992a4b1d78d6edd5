"""When runs fail: the owner is told once, the job is held, and what failed can be tried again."""

from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry, TargetGone
from cronty.jobs.job import Job
from cronty.jobs.result import Err, Ok
from cronty.jobs.run import run_id
from cronty.scheduler import Scheduler
from cronty.scheduler.runs import Runs
from cronty.store.database import Database
from cronty.store.run_store import RunStore
from tests.conftest import START, HandClock, Hands, add, look

MINUTE = timedelta(minutes=1)


class Weather:
    """A task that fails while the weather is bad."""

    def __init__(self) -> None:
        self.error: Exception | None = ValueError("rain")
        self.seen: list[str] = []

    def sail(self) -> None:
        if self.error is not None:
            raise self.error


@pytest.fixture
def weather(registry: Registry) -> Weather:
    made = Weather()
    registry.add(made.sail)
    registry.add(_notify, "notify")
    return made


_sent: list[tuple[str, str, str]] = []


def _notify(message: str, topic: str, title: str) -> None:
    _sent.append((topic, title, message))


@pytest.fixture
def sent() -> list[tuple[str, str, str]]:
    _sent.clear()
    return _sent


@pytest.fixture
def runs(database: Database, door: Scheduler) -> Runs:
    return Runs(RunStore(database), door)


async def minutes(count: int, hands: Hands, clock: HandClock) -> None:
    for _ in range(count):
        clock.advance(minutes=1)
        await hands.all()
        hands.engine.firing.low.forget()  # as hearing of an alert does, which no hand is there to do
        await hands.all()


async def sailing(door: Scheduler, **policy: object) -> Job:
    return await add(door, task="sail", name="Ferry", policy=policy)


async def test_a_job_that_keeps_failing_is_paused_and_says_why(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door)
    await minutes(12, hands, clock)
    held = await look(door, job)
    assert (held.state, held.reason, held.failure_count) == ("paused", "it failed 10 times in a row", 10)
    assert held.held_slot == START + 11 * MINUTE
    weather.error = None
    await door.resume("ann", job.number)
    resumed = await look(door, job)
    assert (resumed.state, resumed.reason, resumed.failures_in_row) == ("active", None, 0)
    await minutes(1, hands, clock)
    assert (await look(door, job)).last_error is None


async def test_one_failure_after_resuming_does_not_pause_it_again(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door, pause_after=2)
    await minutes(2, hands, clock)
    await door.resume("ann", job.number)
    await minutes(1, hands, clock)
    assert (await look(door, job)).state == "active"


async def test_a_job_may_be_told_never_to_give_up(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door, pause_after=0)
    await minutes(15, hands, clock)
    assert (await look(door, job)).state == "active"


async def test_a_target_that_is_gone_pauses_its_job_at_once(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    weather.error = TargetGone("410")
    job = await sailing(door, attempts=3)
    await minutes(1, hands, clock)
    held = await look(door, job)
    assert (held.state, held.reason) == ("paused", "what it calls is gone")


async def test_alerts_come_once_each_for_the_first_failure_the_nth_the_pause_and_recovery(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sent: list[tuple[str, str, str]]
) -> None:
    job = await sailing(door, alert="ann-phone", alert_after=3, pause_after=4)
    await minutes(5, hands, clock)
    weather.error = None
    await door.resume("ann", job.number)
    await minutes(1, hands, clock)
    weather.error = ValueError("fog")
    await minutes(1, hands, clock)
    weather.error = None
    await minutes(3, hands, clock)
    assert sent == [
        ("ann-phone", "Ferry failed 1 time", "ValueError: rain"),
        ("ann-phone", "Ferry failed 3 times in a row", "ValueError: rain"),
        ("ann-phone", "Ferry was paused", "it failed 4 times in a row. The last error: ValueError: rain"),
        ("ann-phone", "Ferry works again", "It had been paused."),
        ("ann-phone", "Ferry failed 1 time", "ValueError: fog"),
        ("ann-phone", "Ferry works again", "It had failed 1 time."),
    ]


async def test_nobody_is_told_who_did_not_ask(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await sailing(door)
    await minutes(3, hands, clock)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1


async def test_a_failed_run_can_be_found_and_tried_again_under_its_own_id(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await sailing(door, attempts=2, backoff=1, jitter=0)
    await minutes(1, hands, clock)
    clock.advance(seconds=2)
    await hands.all()
    found = await runs.failed("ann")
    assert isinstance(found, Ok)
    [dead] = found.value
    assert (dead.name, dead.run.error, dead.run.attempt) == ("Ferry", "ValueError: rain", 2)
    weather.error = None
    assert await runs.redrive("ann", [dead.run.run_id]) == Ok({dead.run.run_id: True})
    assert await runs.redrive("ann", [dead.run.run_id]) == Ok({dead.run.run_id: False}), "it is on its way"
    await hands.all()
    detail = await runs.show("ann", dead.run.run_id)
    assert isinstance(detail, Ok)
    assert (detail.value.run.state, detail.value.run.attempt) == ("done", 3)
    assert [(one.attempt, one.outcome, one.error) for one in detail.value.attempts] == [
        (1, "failed", "ValueError: rain"),
        (2, "failed", "ValueError: rain"),
    ]
    assert (await look(door, job)).failure_count == 0
    assert await runs.failed("ann") == Ok([])
    assert await sql.fetch("select * from cronty.slots_unaccounted") == []


async def test_many_can_be_tried_again_and_those_of_a_serial_job_go_one_by_one(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await sailing(door)
    await minutes(4, hands, clock)
    weather.error = None
    ids = [run_id(job.number, START + minute * MINUTE) for minute in range(1, 5)]
    assert await runs.redrive("ann", ids) == Ok(dict.fromkeys(ids, True))
    assert await sql.fetchval("select count(*) from cronty.queue where behind is not null") == 3
    await hands.all()
    states = await sql.fetch("select state::text, attempt from cronty.runs order by scheduled_for")
    assert [tuple(row) for row in states] == [("done", 2)] * 4


async def test_nobody_elses_runs_are_seen_or_tried_again(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door)
    await minutes(1, hands, clock)
    theirs = run_id(job.number, START + MINUTE)
    assert await runs.failed("eve") == Ok([])
    assert await runs.redrive("eve", [theirs]) == Ok({theirs: False})
    missing = await runs.show("eve", theirs)
    assert missing == Err("not_found", f"Run not found: {theirs}", "list_runs shows the runs of a job.")


async def test_a_run_of_a_cancelled_job_is_not_tried_again(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door)
    await minutes(1, hands, clock)
    await door.cancel("ann", job.number)
    dead = run_id(job.number, START + MINUTE)
    assert await runs.redrive("ann", [dead]) == Ok({dead: False})


@pytest.mark.parametrize("odd", ["", "run_1", "run_1_1", "job_1_1", "nonsense"])
async def test_a_run_that_does_not_exist_is_not_found(runs: Runs, odd: str) -> None:
    assert isinstance(await runs.show("ann", odd), Err)


async def test_a_waiting_run_says_when_it_is_tried_again(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door, attempts=2, backoff=60, jitter=0)
    await minutes(1, hands, clock)
    found = await door.list_runs("ann", job.number)
    assert isinstance(found, Ok)
    assert (found.value[0].state, found.value[0].next_attempt_at) == ("waiting", START + 2 * MINUTE)
