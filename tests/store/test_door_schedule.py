"""Making a job through the door."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.jobs.action import Action
from cronty.scheduler import Scheduler
from cronty.store.database import Database
from cronty.store.job_store import JobStore
from cronty.timing import Cron, Interval, Once, tzdata_version, zone_rules
from tests.conftest import START, HandClock, Hands, add, look

pytestmark = pytest.mark.usefixtures("hands")  # whose tasks are known


async def refusal(
    door: Scheduler, trigger_type: Any = "interval", config: dict[str, object] | None = None, *,
    name: str = "a job", action: Action | None = None, **rest: Any,
) -> Err:  # fmt: skip
    """What the door says to a job it must refuse."""
    config = {"minutes": 1} if config is None else config
    action = action or Action("note")
    request = ScheduleJob(name, action.task, trigger_type, config, action.args, action.kwargs, **rest)
    result = await door.schedule(local_caller("ann"), request)
    assert isinstance(result, Err), result
    assert result.message
    return result


# -- triggers ------------------------------------------------------------------------------------------------------


async def test_an_interval_first_fires_one_period_from_now(door: Scheduler) -> None:
    job = await add(door, "interval", {"hours": 1, "minutes": 30})
    assert job.trigger == Interval(timedelta(minutes=90), START)
    assert (job.next_slot, job.status) == (START + timedelta(minutes=90), "pending")


async def test_a_one_off_fires_at_its_time(door: Scheduler) -> None:
    job = await add(door, "once", {"run_at": "2027-03-01T10:00:00+01:00"})
    assert job.next_slot == datetime(2027, 3, 1, 9, 0, tzinfo=UTC)


async def test_a_time_without_an_offset_is_a_local_time_of_the_zone_given(door: Scheduler) -> None:
    job = await add(door, "once", {"run_at": "2027-03-01T10:00:00"}, timezone="America/New_York")
    assert job.trigger == Once.at_local(datetime.fromisoformat("2027-03-01T10:00"), "America/New_York")
    assert job.next_slot == datetime(2027, 3, 1, 15, 0, tzinfo=UTC)


async def test_a_cron_fires_in_its_zone(door: Scheduler) -> None:
    job = await add(door, "cron", {"expression": "30 9 * * MON-FRI"}, timezone="Asia/Calcutta")
    assert job.trigger == Cron("30 9 * * MON-FRI", "Asia/Kolkata")
    assert job.next_slot == datetime(2027, 3, 2, 4, 0, tzinfo=UTC)


async def test_the_zone_is_the_callers_or_the_owners_or_the_servers(database: Database, sql: Connection) -> None:
    door = Scheduler(JobStore(database), default_zone="Asia/Tokyo")
    first = await add(door, "cron", {"expression": "@daily"})
    await sql.execute("update cronty.owners set zone = 'Europe/Berlin' where name = 'ann'")
    second = await add(door, "cron", {"expression": "@daily"})
    third = await add(door, "cron", {"expression": "@daily"}, timezone="UTC")
    zones = [job.trigger.zone for job in (first, second, third) if isinstance(job.trigger, Cron)]
    assert zones == ["Asia/Tokyo", "Europe/Berlin", "UTC"]


async def test_everything_asked_for_is_remembered(door: Scheduler) -> None:
    ends_at = START + timedelta(days=1)
    made = await add(
        door,
        name="nightly",
        args=(1, "two", None, [3.5], {"x": True}),
        policy={"attempts": 5, "overlap": "queue"},
        max_runs=7,
        tags=["a", "b"],
        ends_at=ends_at,
    )
    shown = await door.show(local_caller("ann"), made.number)
    assert shown == Ok(made)
    assert (made.name, made.owner, made.max_runs, made.tags) == ("nightly", "ann", 7, ("a", "b"))
    assert made.action == Action("note", (1, "two", None, [3.5], {"x": True}))
    assert (made.policy.attempts, made.policy.overlap, made.ends_at) == (5, "queue", ends_at)
    assert (made.created_at, made.version, made.run_count, made.last_run) == (START, 1, 0, None)


@pytest.mark.parametrize("expression", ["not a cron", "61 * * * *", "0 0 31 2 *", "", "0 0 9 * * *"])
async def test_a_bad_cron_has_the_words_of_the_seed_and_the_explanation_apart(door: Scheduler, expression: str) -> None:
    refused = await refusal(door, "cron", {"expression": expression})
    assert (refused.code, refused.message) == ("bad_trigger", f"Invalid cron expression: {expression}")
    assert refused.hint


async def test_a_time_in_the_past_is_refused_with_both_times(door: Scheduler) -> None:
    refused = await refusal(door, "once", {"run_at": "2027-03-01T07:59:59+00:00"})
    assert refused.code == "bad_trigger"
    assert "2027-03-01T07:59:59+00:00" in refused.message
    assert "2027-03-01T08:00:00+00:00" in refused.message


async def test_now_is_past(door: Scheduler) -> None:
    assert (await refusal(door, "once", {"run_at": START})).code == "bad_trigger"


@pytest.mark.parametrize(
    ("trigger_type", "config"),
    [
        ("weekly", {"minutes": 1}),
        ("interval", {}),
        ("interval", {"minutes": 0}),
        ("interval", {"minutes": -1}),
        ("interval", {"minutes": "5"}),
        ("interval", {"minutes": True}),
        ("interval", {"minutes": float("nan")}),
        ("interval", {"weeks": 1}),
        ("interval", {"seconds": 0.5}),
        ("interval", {"days": 4000}),
        ("once", {}),
        ("once", {"run_at": "tomorrow"}),
        ("once", {"run_at": None}),
        ("once", {"run_at": 1738764000}),
        ("once", {"at": "2027-03-02T00:00:00Z"}),
        ("cron", {}),
        ("cron", {"expression": 5}),
        ("cron", {"cron": "* * * * *"}),
    ],
)
async def test_a_bad_trigger_is_refused_and_told_how_to_do_it(
    door: Scheduler, trigger_type: str, config: dict[str, object]
) -> None:
    refused = await refusal(door, trigger_type, config)
    assert refused.code in ("bad_trigger", "unreadable")
    assert refused.hint


async def test_an_absurd_period_is_refused_like_any_other(door: Scheduler) -> None:
    refused = await refusal(door, "interval", {"days": 999_999_999, "hours": 999_999_999})
    assert refused.code == "bad_trigger"


async def test_a_bad_zone_is_refused_with_near_ones(door: Scheduler) -> None:
    refused = await refusal(door, "cron", {"expression": "@daily"}, timezone="Europe/Berln")
    assert (refused.code, refused.message) == ("bad_trigger", "Unknown time zone: Europe/Berln")
    assert '"Europe/Berlin"' in refused.hint


@pytest.mark.parametrize(
    ("trigger_type", "config"), [("interval", {"hours": 1}), ("once", {"run_at": "2027-03-02T00:00:00Z"})]
)
async def test_a_bad_zone_is_refused_whatever_the_trigger(
    door: Scheduler, trigger_type: str, config: dict[str, object]
) -> None:
    refused = await refusal(door, trigger_type, config, timezone="Mars/Olympus")
    assert refused.message == "Unknown time zone: Mars/Olympus"


# -- the rest of a request -----------------------------------------------------------------------------------------


async def test_an_unknown_task_is_named_and_the_known_ones_apart(door: Scheduler) -> None:
    refused = await refusal(door, action=Action("os.system", ("rm -rf /",)))
    assert refused == Err("unknown_task", "Unknown task: os.system", "Registered tasks: fail, note.", "task")


async def test_a_prompt_needs_no_worker(door: Scheduler) -> None:
    assert (await add(door, task="prompt")).policy.attempts == 3


async def test_arguments_are_checked_against_what_a_worker_published(door: Scheduler) -> None:
    refused = await refusal(door, action=Action("fail", ("too", "many")))
    assert refused.code == "bad_arguments"
    assert refused.hint == "Call it as fail()."


async def test_the_way_to_call_a_task_has_its_parameters_in_order(door: Scheduler, hands: Hands) -> None:
    def pack(path: str, compress: bool = True, to: str = ".") -> None: ...

    packing = Registry()
    packing.add(pack)
    await hands.store.publish_tasks(packing.published())
    refused = await refusal(door, action=Action("pack"))
    assert refused.hint.index("path") < refused.hint.index("compress") < refused.hint.index("to:")


async def test_arguments_have_a_size(door: Scheduler) -> None:
    assert (await refusal(door, action=Action("note", ("x" * 70_000,)))).code == "bad_arguments"


async def test_a_bad_policy_is_refused_by_name(door: Scheduler) -> None:
    refused = await refusal(door, policy={"timeout": -5})
    assert refused.code == "bad_policy"
    assert "'timeout'" in refused.message


@pytest.mark.parametrize("max_runs", [0, -1, 2**31])
async def test_max_runs_is_positive(door: Scheduler, max_runs: int) -> None:
    assert (await refusal(door, max_runs=max_runs)).message == f"Invalid max_runs: {max_runs}"


@pytest.mark.parametrize("name", ["", "   ", "x" * 201])
async def test_a_name_has_1_to_200_characters(door: Scheduler, name: str) -> None:
    assert (await refusal(door, name=name)).code == "bad_name"


@pytest.mark.parametrize("tags", [[""], ["x" * 51], ["x"] * 21])
async def test_tags_are_few_and_short(door: Scheduler, tags: list[str]) -> None:
    assert (await refusal(door, tags=tags)).code == "bad_tags"


@pytest.mark.parametrize(
    "request_with_nul",
    [
        ScheduleJob("a\0b", "note", "interval", {"hours": 1}),
        ScheduleJob("a", "no\0te", "interval", {"hours": 1}),
        ScheduleJob("a", "note", "interval", {"hours": 1}, args=("\0",)),
        ScheduleJob("a", "note", "interval", {"hours": 1}, tags=["\0"]),
        ScheduleJob("a", "note", "interval", {"hours": 1}, idempotency_key="\0"),
    ],
)
async def test_text_the_database_cannot_hold_is_refused(door: Scheduler, request_with_nul: ScheduleJob) -> None:
    assert isinstance(await door.schedule(local_caller("ann"), request_with_nul), Err)


async def test_an_end_before_the_first_slot_is_refused_with_both_times(door: Scheduler) -> None:
    refused = await refusal(door, "interval", {"hours": 1}, ends_at=START + timedelta(minutes=59))
    assert refused.code == "bad_trigger"
    assert "08:59" in refused.message
    assert "09:00" in refused.message


async def test_an_end_at_the_first_slot_leaves_one(door: Scheduler) -> None:
    job = await add(door, "interval", {"hours": 1}, ends_at=START + timedelta(hours=1))
    assert job.next_slot == job.ends_at


async def test_an_end_without_an_offset_is_a_local_time_of_the_zone_given(door: Scheduler) -> None:
    naive = datetime(2027, 3, 2, 9, 0)  # noqa: DTZ001
    job = await add(door, "cron", {"expression": "@hourly"}, timezone="Europe/Berlin", ends_at=naive)
    assert job.ends_at == datetime(2027, 3, 2, 8, 0, tzinfo=UTC)


async def test_a_refused_job_leaves_nothing_behind(door: Scheduler, sql: Connection) -> None:
    await refusal(door, "cron", {"expression": "nonsense"})
    assert await sql.fetchval("select count(*) from cronty.jobs") == 0


# -- idempotency ---------------------------------------------------------------------------------------------------


async def test_each_call_makes_a_new_job(door: Scheduler) -> None:
    assert (await add(door)).number != (await add(door)).number


async def test_a_repeated_key_answers_with_the_first_job(door: Scheduler) -> None:
    first = await add(door, name="first", kwargs={}, idempotency_key="k")
    again = await add(door, name="first", kwargs={}, idempotency_key="k")
    assert again == first


OTHERS: list[Callable[[ScheduleJob], ScheduleJob]] = [
    lambda request: replace(request, name="second"),
    lambda request: replace(request, args=[1]),
    lambda request: replace(request, trigger_config={"minutes": 2}),
    lambda request: replace(request, tags=["x"]),
    lambda request: replace(request, timezone="UTC"),
]


@pytest.mark.parametrize("other", OTHERS)
async def test_a_repeated_key_with_another_request_is_refused(
    door: Scheduler, other: Callable[[ScheduleJob], ScheduleJob]
) -> None:
    ann = local_caller("ann")
    request = ScheduleJob("first", "note", "interval", {"minutes": 1}, idempotency_key="k")
    assert isinstance(await door.schedule(ann, request), Ok)
    refused = await door.schedule(ann, other(request))
    assert isinstance(refused, Err)
    assert (refused.code, refused.field) == ("key_taken", "idempotency_key")
    await door.delete(ann, 1)
    assert isinstance(await door.schedule(ann, other(request)), Ok), "the key is free again without its job"


async def test_another_owner_may_use_the_same_key(door: Scheduler) -> None:
    first = await add(door, idempotency_key="k")
    theirs = await add(door, owner="bob", idempotency_key="k")
    assert theirs.id != first.id
    assert theirs.number == first.number == 1, "each counts its own"


async def test_a_key_makes_one_job_even_from_many_connections_at_once(
    url: str, clock: HandClock, sql: Connection
) -> None:
    databases = [await Database(url, clock=clock).open() for _ in range(2)]
    doors = [Scheduler(JobStore(database)) for database in databases]
    made = await asyncio.gather(*(add(doors[number % 2], idempotency_key="k") for number in range(12)))
    for database in databases:
        await database.close()
    assert len({job.number for job in made}) == 1
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1
    assert await sql.fetchval("select count(*) from cronty.due") == 1


async def test_a_repeated_key_is_answered_even_when_the_time_has_come(door: Scheduler, clock: HandClock) -> None:
    run_at: dict[str, object] = {"run_at": START + timedelta(minutes=5)}
    first = await add(door, "once", run_at, idempotency_key="k")
    clock.advance(minutes=10)
    assert (await add(door, "once", run_at, idempotency_key="k")).number == first.number


# -- what was published --------------------------------------------------------------------------------------------


async def test_tasks_are_listed_with_parameters_and_doc(door: Scheduler) -> None:
    tasks = await door.list_tasks(local_caller("ann"))
    assert [(task.name, task.doc) for task in tasks] == [("fail", ""), ("note", "Remember being called.")]
    assert tasks[1].parameters["more_positional"] is True


# -- a beginning ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trigger_type", "config", "first"),
    [
        ("interval", {"hours": 1}, START + timedelta(days=2)),
        ("cron", {"expression": "0 * * * *"}, START + timedelta(days=2)),
        ("cron", {"expression": "30 * * * *"}, START + timedelta(days=2, minutes=30)),
    ],
)
async def test_no_slot_comes_before_the_beginning_and_the_beginning_may_be_one(
    door: Scheduler, trigger_type: str, config: dict[str, object], first: datetime
) -> None:
    job = await add(door, trigger_type, config, starts_at=START + timedelta(days=2))
    assert job.next_slot == first


async def test_a_beginning_that_has_passed_changes_nothing(door: Scheduler) -> None:
    job = await add(door, "interval", {"hours": 1}, starts_at=START - timedelta(days=2))
    assert job.next_slot == START + timedelta(hours=1)


async def test_the_rules_by_which_a_slot_was_computed_are_noted_for_its_zone(door: Scheduler, sql: Connection) -> None:
    for _ in range(2):
        await add(door, "cron", {"expression": "@hourly"}, timezone="Europe/Berlin")
    found = await sql.fetch("select name, rules, version, through from cronty.zones")
    assert [tuple(row) for row in found] == [("Europe/Berlin", zone_rules("Europe/Berlin"), tzdata_version(), None)]


async def test_the_answer_is_the_job_as_it_is_shown_from_then_on(door: Scheduler) -> None:
    made = await add(
        door,
        "cron",
        {"expression": "30 8 * * MON-FRI"},
        args=(1, ("a", {"b": None}), "ü"),
        timezone="Europe/Berlin",
        policy={"spread": 600, "overlap": "skip"},
        tags=("b", "a"),
        max_runs=3,
        ends_at="2027-12-01T00:00:00Z",
        caller=local_caller("ann", "cli"),
    )
    assert made == await look(door, made)
