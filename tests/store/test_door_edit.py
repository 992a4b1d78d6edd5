"""Changing a job through the door."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.jobs.run import Run
from cronty.scheduler import Scheduler
from cronty.timing import Cron, Interval, Once
from tests.conftest import START, HandClock, Hands, add

pytestmark = pytest.mark.usefixtures("hands")

MINUTE = timedelta(minutes=1)


def good[T](result: Result[T]) -> T:
    assert isinstance(result, Ok), result
    return result.value


async def runs_of(door: Scheduler, job: Job) -> list[Run]:
    """The runs of a job, oldest first."""
    return good(await door.list_runs(local_caller("ann"), job.number))[::-1]


async def unexplained(sql: Connection) -> list[dict[str, object]]:
    return [dict(row) for row in await sql.fetch("select * from cronty.slots_unaccounted")]


async def fire_every_minute(hands: Hands, clock: HandClock, times: int) -> None:
    for _ in range(times):
        clock.advance(minutes=1)
        await hands.fire()


# -- each field ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        (EditJob("", name="new"), "name", "new"),
        (EditJob("", task="note", args=(1,), kwargs={}), "action", Action("note", (1,), {})),
        (EditJob("", tags=["x", "y"]), "tags", ("x", "y")),
        (EditJob("", tags=[]), "tags", ()),
        (EditJob("", max_runs=9), "max_runs", 9),
        (EditJob("", ends_at=START + timedelta(days=9)), "ends_at", START + timedelta(days=9)),
        (EditJob("", trigger_type="interval", trigger_config={"hours": 2}), "next_slot", START + timedelta(hours=2)),
        (EditJob("", trigger_type="once", trigger_config={"run_at": START + MINUTE}), "trigger", Once(START + MINUTE)),
        (EditJob("", timezone="Europe/Berlin"), "trigger", Cron("0 9 * * *", "Europe/Berlin")),
    ],
)
async def test_one_field_is_changed_and_the_others_stay(
    door: Scheduler, changes: EditJob, field: str, expected: object
) -> None:
    job = await add(door, "cron", {"expression": "0 9 * * *"}, tags=["old"], policy={"attempts": 2})
    changed = good(await door.edit(local_caller("ann"), replace(changes, job_id=str(job.number))))
    assert getattr(changed, field) == expected
    assert (changed.version, changed.policy.attempts) == (2, 2)
    unchanged = {"name", "action", "tags", "max_runs", "ends_at", "created_at"} - {field}
    assert {name: getattr(changed, name) for name in unchanged} == {name: getattr(job, name) for name in unchanged}
    assert await door.show(local_caller("ann"), job.number) == Ok(changed)


async def test_a_policy_is_changed_field_by_field(door: Scheduler) -> None:
    job = await add(door, policy={"attempts": 5, "timeout": 60})
    changed = good(
        await door.edit(local_caller("ann"), EditJob(str(job.number), policy={"timeout": 90, "overlap": "queue"}))
    )
    assert (changed.policy.attempts, changed.policy.timeout, changed.policy.overlap) == (5, 90, "queue")


async def test_a_change_that_leaves_the_rule_alone_leaves_the_next_slot_alone(
    door: Scheduler, clock: HandClock
) -> None:
    job = await add(door, "interval", {"hours": 1})
    clock.advance(minutes=30)
    changed = good(
        await door.edit(local_caller("ann"), EditJob(str(job.number), name="new", policy={"attempts": 2}, max_runs=3))
    )
    assert changed.next_slot == job.next_slot


async def test_every_change_is_a_new_version(door: Scheduler, clock: HandClock) -> None:
    job = await add(door)
    for version in (2, 3, 4):
        moment = clock.advance(seconds=1)
        changed = good(await door.edit(local_caller("ann"), EditJob(str(job.number), name=f"v{version}")))
        assert (changed.version, changed.updated_at, changed.created_at) == (version, moment, START)


async def test_a_rule_without_its_type_is_not_ignored(door: Scheduler) -> None:
    job = await add(door)
    result = await door.edit(local_caller("ann"), EditJob(str(job.number), trigger_config={"hours": 5}))
    assert isinstance(result, Err) or result.value.trigger == Interval(timedelta(hours=5), START)


async def test_a_zone_is_not_ignored_because_the_job_is_an_interval(door: Scheduler) -> None:
    job = await add(door)
    assert isinstance(await door.edit(local_caller("ann"), EditJob(str(job.number), timezone="Mars/Olympus")), Err)


# -- refusals ------------------------------------------------------------------------------------------------------


async def test_an_edit_of_an_older_version_is_refused_and_changes_nothing(door: Scheduler) -> None:
    job = await add(door)
    changed = good(await door.edit(local_caller("ann"), EditJob(str(job.number), name="first", expected_version=1)))
    refused = await door.edit(local_caller("ann"), EditJob(str(job.number), name="second", expected_version=1))
    assert isinstance(refused, Err)
    assert (refused.code, refused.message) == ("version_conflict", f"Job {job.number} is at version 2, not 1.")
    assert await door.show(local_caller("ann"), job.number) == Ok(changed)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        (EditJob("", name=""), "bad_name"),
        (EditJob("", tags=[""]), "bad_tags"),
        (EditJob("", max_runs=0), "bad_max_runs"),
        (EditJob("", task="nowhere", args=(), kwargs={}), "unknown_task"),
        (EditJob("", task="fail", args=(1,), kwargs={}), "bad_arguments"),
        (EditJob("", policy={"attempts": 0}), "bad_policy"),
        (EditJob("", trigger_type="cron", trigger_config={"expression": "x"}), "bad_trigger"),
        (EditJob("", trigger_type="once", trigger_config={"run_at": START - MINUTE}), "bad_trigger"),
        (EditJob("", trigger_type="interval"), "bad_trigger"),
        (EditJob("", ends_at=START), "bad_trigger"),
    ],
)
async def test_a_bad_change_is_refused_and_changes_nothing(door: Scheduler, changes: EditJob, code: str) -> None:
    job = await add(door)
    refused = await door.edit(local_caller("ann"), replace(changes, job_id=str(job.number)))
    assert isinstance(refused, Err)
    assert refused.code == code
    assert await door.show(local_caller("ann"), job.number) == Ok(job)


async def test_a_job_that_has_completed_cannot_be_edited(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    job = await add(door, max_runs=1)
    await fire_every_minute(hands, clock, 1)
    refused = await door.edit(local_caller("ann"), EditJob(str(job.number), name="new"))
    assert isinstance(refused, Err)
    assert (refused.code, refused.hint) == ("not_editable", "Schedule a new one.")
    assert "is completed" in refused.message


async def test_a_job_that_was_cancelled_cannot_be_edited(door: Scheduler) -> None:
    job = await add(door)
    await door.cancel(local_caller("ann"), job.number)
    refused = await door.edit(local_caller("ann"), EditJob(str(job.number), name="new"))
    assert isinstance(refused, Err)
    assert refused.code == "not_editable"


async def test_a_one_off_that_is_running_can_still_get_another_name(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    job = await add(door, "once", {"run_at": START + MINUTE}, task="prompt")  # it waits for an agent
    await fire_every_minute(hands, clock, 1)
    changed = good(await door.edit(local_caller("ann"), EditJob(str(job.number), name="new")))
    assert (changed.name, changed.status) == ("new", "running")


# -- from the next slot on, and no slot unexplained ----------------------------------------------------------------


async def test_a_new_rule_holds_from_the_next_slot_on(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 2)
    clock.advance(seconds=30)
    rule = EditJob("", trigger_type="cron", trigger_config={"expression": "*/5 * * * *"})
    assert (
        good(await door.edit(local_caller("ann"), replace(rule, job_id=str(job.number)))).next_slot
        == START + 5 * MINUTE
    )
    assert await unexplained(sql) == []
    clock.moment = START + 5 * MINUTE
    await hands.fire()
    runs = await runs_of(door, job)
    assert [run.scheduled_for - START for run in runs] == [MINUTE, 2 * MINUTE, 5 * MINUTE]
    assert {run.state for run in runs} == {"done"}
    assert await unexplained(sql) == []


async def test_new_arguments_hold_from_the_next_slot_on(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object]
) -> None:
    job = await add(door, args=("old",))
    await fire_every_minute(hands, clock, 1)
    good(await door.edit(local_caller("ann"), EditJob(str(job.number), task="note", args=("new",), kwargs={})))
    await fire_every_minute(hands, clock, 1)
    assert calls == [("old",), ("new",)]


async def test_slots_that_came_before_the_new_rule_and_were_not_fired_are_skipped(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 1)
    clock.advance(minutes=3, seconds=30)
    good(
        await door.edit(
            local_caller("ann"), EditJob(str(job.number), trigger_type="interval", trigger_config={"hours": 1})
        )
    )
    _, skipped = await runs_of(door, job)
    assert (skipped.state, skipped.reason, skipped.slots) == ("skipped", "the rule was changed", 3)
    assert (skipped.scheduled_for, skipped.through) == (START + 2 * MINUTE, START + 4 * MINUTE)
    assert await unexplained(sql) == []
    clock.advance(hours=1)
    await hands.fire()
    assert [run.state for run in await runs_of(door, job)] == ["done", "skipped", "done"]
    assert await unexplained(sql) == []


async def test_a_late_slot_still_runs_if_only_the_name_changes(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    clock.advance(minutes=1, seconds=30)
    good(await door.edit(local_caller("ann"), EditJob(str(job.number), name="new")))
    await hands.fire()
    assert [run.state for run in await runs_of(door, job)] == ["done"]
    assert await unexplained(sql) == []


async def test_a_rule_can_be_changed_again_and_again(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    for minutes in (7, 3, 1, 2):
        await fire_every_minute(hands, clock, 1)
        clock.advance(minutes=4, seconds=10)
        rule = EditJob("", trigger_type="interval", trigger_config={"minutes": minutes})
        assert (
            good(await door.edit(local_caller("ann"), replace(rule, job_id=str(job.number)))).next_slot
            == clock.moment + minutes * MINUTE
        )
        assert await unexplained(sql) == []
    clock.advance(minutes=9)
    await hands.fire()
    assert await unexplained(sql) == []


async def test_raising_max_runs_during_the_last_run_lets_the_job_go_on(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, max_runs=1, task="prompt")
    await fire_every_minute(hands, clock, 1)
    assert good(await door.show(local_caller("ann"), job.number)).next_slot is None
    changed = good(await door.edit(local_caller("ann"), EditJob(str(job.number), max_runs=2)))
    assert (changed.next_slot, changed.remaining) == (START + 2 * MINUTE, 1)
    assert await unexplained(sql) == []


async def test_lowering_max_runs_to_what_has_run_ends_the_job(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 2)
    changed = good(await door.edit(local_caller("ann"), EditJob(str(job.number), max_runs=2)))
    assert (changed.next_slot, changed.status) == (None, "completed")
    await fire_every_minute(hands, clock, 2)
    assert good(await door.show(local_caller("ann"), job.number)).run_count == 2
    assert await unexplained(sql) == []


async def test_lowering_max_runs_of_a_paused_job_ends_it_too(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 2)
    await door.pause(local_caller("ann"), job.number)
    good(await door.edit(local_caller("ann"), EditJob(str(job.number), max_runs=2)))
    await door.resume(local_caller("ann"), job.number)
    await fire_every_minute(hands, clock, 2)
    shown = good(await door.show(local_caller("ann"), job.number))
    assert (shown.run_count, shown.next_slot) == (2, None)
    assert await unexplained(sql) == []


async def test_a_paused_job_stays_paused_when_its_rule_changes(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door)
    await fire_every_minute(hands, clock, 1)
    await door.pause(local_caller("ann"), job.number)
    clock.advance(minutes=5)
    rule = EditJob("", trigger_type="interval", trigger_config={"minutes": 10})
    changed = good(await door.edit(local_caller("ann"), replace(rule, job_id=str(job.number))))
    assert (changed.state, changed.next_slot) == ("paused", None)
    assert await unexplained(sql) == []
    resumed = good(await door.resume(local_caller("ann"), job.number))
    assert resumed.next_slot == clock.moment + 10 * MINUTE
    assert await unexplained(sql) == []


async def test_a_spread_moves_the_start_and_not_the_slot(door: Scheduler, sql: Connection) -> None:
    job = await add(door, "interval", {"hours": 1})
    changed = good(await door.edit(local_caller("ann"), EditJob(str(job.number), policy={"spread": 600})))
    assert changed.next_slot == job.next_slot
    delay, next_at = (await sql.fetch("select delay, next_at from cronty.due"))[0]
    assert 0 < delay < 600
    assert next_at == START + timedelta(hours=1, seconds=delay)


# -- runs that wait, and jobs that were set aside -------------------------------------------------------------------


async def test_a_run_that_waits_survives_a_change_to_a_task_this_worker_lacks(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    elsewhere = Registry()
    elsewhere.add(lambda: None, "elsewhere")
    await hands.store.publish_tasks(elsewhere.published())
    job = await add(door, task="fail", policy={"attempts": 2, "jitter": 0})
    await fire_every_minute(hands, clock, 1)
    good(await door.edit(local_caller("ann"), EditJob(str(job.number), task="elsewhere", args=(), kwargs={})))
    clock.advance(seconds=10)
    await hands.claim()
    assert await sql.fetchval("select count(*) from cronty.runs where state = 'running'") == 0
    assert hands.engine.working.in_flight == 0


async def set_aside(door: Scheduler, hands: Hands, clock: HandClock, sql: Connection, trigger: str) -> Job:
    """A job whose rule has become impossible to compute, as after a change of the zone database."""
    job = await add(door, "cron", {"expression": "*/5 * * * *"}, timezone="Europe/Berlin")
    await sql.execute("update cronty.due set zone = 'Europe/Atlantis'")
    await sql.execute(trigger)
    clock.advance(minutes=5)
    await hands.fire()
    assert await sql.fetchval("select state::text from cronty.jobs") == "set_aside"
    return job


ATLANTIS = """update cronty.jobs set trigger = jsonb_set(trigger, '{zone}', '"Europe/Atlantis"')"""


async def test_a_job_that_was_set_aside_is_shown_with_the_reason(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await set_aside(door, hands, clock, sql, ATLANTIS)
    shown = good(await door.show(local_caller("ann"), job.number))
    assert (shown.state, shown.status) == ("set_aside", "failed")
    assert "Europe/Atlantis" in (shown.reason or "")


async def test_a_job_that_was_set_aside_does_not_hide_the_others(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await set_aside(door, hands, clock, sql, ATLANTIS)
    await add(door, name="healthy")
    page = good(await door.list_jobs(local_caller("ann")))
    assert {job.name for job in page.jobs} == {"a job", "healthy"}


async def test_a_job_that_was_set_aside_goes_on_with_a_new_rule(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await set_aside(door, hands, clock, sql, "select 1")
    rule = EditJob("", trigger_type="interval", trigger_config={"minutes": 1})
    changed = good(await door.edit(local_caller("ann"), replace(rule, job_id=str(job.number))))
    assert (changed.state, changed.reason, changed.next_slot) == ("active", None, clock.moment + MINUTE)
    await fire_every_minute(hands, clock, 1)
    assert [run.state for run in await runs_of(door, job)] == ["skipped", "done"]
    assert await unexplained(sql) == []


async def test_a_new_name_does_not_make_a_job_fire_that_was_set_aside(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await set_aside(door, hands, clock, sql, "select 1")
    await door.edit(local_caller("ann"), EditJob(str(job.number), name="new"))
    healthy = await add(door, name="healthy")
    await fire_every_minute(hands, clock, 1)
    assert [run.state for run in await runs_of(door, healthy)] == ["done"]
    assert await unexplained(sql) == []


async def test_an_edit_after_the_clock_went_back_does_not_fire_a_slot_twice(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    job = await add(door, "cron", {"expression": "* * * * *"})
    await fire_every_minute(hands, clock, 5)
    clock.advance(minutes=-3)
    good(await door.edit(local_caller("ann"), EditJob(str(job.number), timezone="Europe/Berlin")))
    hands.engine.firing.low.forget()  # as the notice of the edit would make it
    await fire_every_minute(hands, clock, 4)
    assert [run.scheduled_for - START for run in await runs_of(door, job)] == [n * MINUTE for n in range(1, 7)]
    assert await unexplained(sql) == []


async def test_a_slot_of_a_cron_in_summer_time_is_found_when_the_zone_changes(door: Scheduler) -> None:
    job = await add(door, "cron", {"expression": "0 9 1 7 *"}, timezone="UTC")
    changed = good(await door.edit(local_caller("ann"), EditJob(str(job.number), timezone="Europe/Berlin")))
    assert changed.next_slot == datetime(2027, 7, 1, 7, 0, tzinfo=UTC)
