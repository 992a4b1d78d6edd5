"""Every tool, field and error of the jobs dialect, through real clients."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.mcp.caller import Answer, Caller, until
from tests.stories.conftest import Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

LISTED = ["job_id", "name", "status", "trigger_type", "next_run", "run_count", "last_run"]
SHOWN = [
    *("job_id", "name", "status", "trigger_type", "created_at"),
    *("last_run", "next_run", "run_count", "max_runs", "error"),
]
HOURLY: Answer = {"trigger_type": "interval", "trigger_config": {"hours": 1}}


async def hourly(caller: Caller, name: str = "hourly_cleanup", **rest: object) -> Answer:
    return await caller.ask("schedule_job", name=name, task="cleanup_temp_files", **{**HOURLY, **rest})


async def soon(caller: Caller, task: str, name: str = "soon", **rest: object) -> str:
    """A job that runs at once and then has ended; its id."""
    run_at = (datetime.now(UTC) + timedelta(seconds=1.5)).isoformat()
    job = await caller.ask(
        "schedule_job", name=name, task=task, trigger_type="once", trigger_config={"run_at": run_at}, **rest
    )
    await until(lambda: caller.ask("job_status", job_id=job["job_id"]), lambda seen: seen["next_run"] is None)
    over = ("completed", "failed")
    await until(lambda: caller.ask("job_status", job_id=job["job_id"]), lambda seen: seen["status"] in over)
    return job["job_id"]


# -- schedule_job --------------------------------------------------------------------------------------------------


async def test_the_seeds_own_example(caller: Caller) -> None:
    answer = await caller.ask(
        "schedule_job",
        name="hourly_cleanup",
        task="cleanup_temp_files",
        trigger_type="interval",
        trigger_config={"hours": 1},
        max_runs=24,
    )
    assert list(answer)[:4] == ["job_id", "name", "next_run", "status"]
    assert (answer["name"], answer["status"]) == ("hourly_cleanup", "pending")
    word, number, created = answer["job_id"].split("_")
    assert (word, number.isdigit()) == ("job", True)
    assert abs(int(created) - datetime.now(UTC).timestamp()) < 60
    wait = datetime.fromisoformat(answer["next_run"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < wait <= timedelta(hours=1)
    assert (answer["schedule"], answer["timezone"], len(answer["next_runs"])) == ("Every hour", "UTC", 3)


@pytest.mark.parametrize(
    ("trigger_type", "config"),
    [
        ("once", {"run_at": "2031-02-05T15:00:00"}),
        ("interval", {"seconds": 0, "minutes": 0, "hours": 1, "days": 0}),
        ("cron", {"expression": "0 */2 * * *"}),
    ],
)
async def test_every_trigger_of_the_seed(caller: Caller, trigger_type: str, config: Answer) -> None:
    job = await caller.ask(
        "schedule_job", name="nightly_backup", task="run_backup", trigger_type=trigger_type, trigger_config=config
    )
    assert job["status"] == "pending"
    assert datetime.fromisoformat(job["next_run"]).utcoffset() == timedelta(0)
    assert (await caller.ask("job_status", job_id=job["job_id"]))["trigger_type"] == trigger_type


async def test_arguments_reach_the_task(caller: Caller) -> None:
    job_id = await soon(caller, "run_backup", args=["/srv"], kwargs={"compress": True})
    shown = await caller.ask("job_status", job_id=job_id)
    assert (shown["status"], shown["run_count"]) == ("completed", 1)
    assert shown["runs"][0]["result"] == "backed up /srv, compress=True"


KNOWN = "Registered tasks: cleanup_temp_files, fill_the_disk, notify, prompt, run_backup, webhook."


async def test_an_unknown_task(caller: Caller) -> None:
    answer = await caller.ask("schedule_job", name="n", task="rm_rf", **HOURLY)
    assert answer == {"error": "Unknown task: rm_rf", "hint": KNOWN}


@pytest.mark.parametrize("expression", ["every day", "99 * * * *", "* * * *", "", "0 0 31 2 *"])
async def test_a_malformed_cron(caller: Caller, expression: str) -> None:
    answer = await caller.ask(
        "schedule_job", name="n", task="run_backup", trigger_type="cron", trigger_config={"expression": expression}
    )
    assert answer["error"] == f"Invalid cron expression: {expression}"
    assert answer.keys() == {"error", "hint"}


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"hours": -1}, "Invalid interval: hours is -1"),
        ({"hours": 0}, "Invalid interval: it is 0"),
        ({"hours": 1, "minutes": -1}, "Invalid interval: minutes is -1"),
        ({}, "Invalid trigger_config for 'interval': it is empty"),
    ],
)
async def test_numbers_must_be_positive(caller: Caller, config: Answer, error: str) -> None:
    answer = await caller.ask(
        "schedule_job", name="n", task="run_backup", trigger_type="interval", trigger_config=config
    )
    assert answer["error"] == error
    assert (await caller.ask("list_jobs"))["total"] == 0


async def test_a_missing_parameter_is_named(caller: Caller) -> None:
    said = await caller.refused("schedule_job", task="run_backup", **HOURLY)
    assert said == "name is required: A name people recognize, e.g. nightly_backup."


async def test_each_call_makes_a_new_job_unless_its_key_repeats(caller: Caller) -> None:
    assert (await hourly(caller))["job_id"] != (await hourly(caller))["job_id"]
    keyed = [await hourly(caller, idempotency_key="the same") for _ in range(2)]
    assert keyed[0] == keyed[1]
    assert (await caller.ask("list_jobs"))["total"] == 3


async def test_max_runs_ends_the_job(caller: Caller) -> None:
    seconds: Answer = {"trigger_type": "interval", "trigger_config": {"seconds": 1}}
    job = await hourly(caller, max_runs=1, **seconds)
    shown = await until(
        lambda: caller.ask("job_status", job_id=job["job_id"]), lambda seen: seen["status"] == "completed"
    )
    assert (shown["run_count"], shown["max_runs"], shown["next_run"]) == (1, 1, None)


# -- list_jobs -----------------------------------------------------------------------------------------------------


async def test_listing_has_the_fields_of_the_seed(caller: Caller) -> None:
    assert await caller.ask("list_jobs") == {"jobs": [], "total": 0, "cursor": None, "timezone": "UTC"}
    job = await hourly(caller)
    answer = await caller.ask("list_jobs")
    assert list(answer)[:2] == ["jobs", "total"]
    [listed] = answer["jobs"]
    assert list(listed)[: len(LISTED)] == LISTED
    assert [listed[name] for name in LISTED] == [
        *(job["job_id"], "hourly_cleanup", "pending", "interval", job["next_run"], 0, None)
    ]


async def test_listing_by_every_status(caller: Caller) -> None:
    await hourly(caller, "pending")
    off = await hourly(caller, "cancelled")
    await caller.ask("cancel_job", job_id=off["job_id"])
    await soon(caller, "run_backup", "completed")
    await soon(caller, "fill_the_disk", "failed")
    for status in ("pending", "completed", "failed", "cancelled"):
        answer = await caller.ask("list_jobs", status=status)
        assert [(job["name"], job["status"]) for job in answer["jobs"]] == [(status, status)]
        assert answer["total"] == 1
    assert (await caller.ask("list_jobs", status="running"))["total"] == 0
    assert (await caller.ask("list_jobs"))["total"] == 4


async def test_an_unknown_status(caller: Caller) -> None:
    assert await caller.ask("list_jobs", status="done") == {
        "error": "Unknown status: done",
        "hint": "Use one of: pending, running, completed, failed, cancelled.",
    }


async def test_total_counts_all_matches_and_pages_follow_each_other(caller: Caller) -> None:
    for number in range(3):
        await hourly(caller, f"job {number}", tags=["paged"])
    await hourly(caller, "another")
    first = await caller.ask("list_jobs", tag="paged", limit=2)
    rest = await caller.ask("list_jobs", tag="paged", limit=2, cursor=first["cursor"])
    assert (len(first["jobs"]), first["total"], len(rest["jobs"]), rest["cursor"]) == (2, 3, 1, None)
    assert [job["name"] for job in (await caller.ask("list_jobs", name="noth"))["jobs"]] == ["another"]
    assert await caller.ask("list_jobs", cursor="nonsense") == {
        "error": "Invalid cursor: nonsense",
        "hint": "Use the cursor from the previous page, or none.",
    }


# -- cancel_job ----------------------------------------------------------------------------------------------------


async def test_cancelling_can_be_repeated(caller: Caller) -> None:
    job_id = (await hourly(caller))["job_id"]
    for _ in range(2):
        assert await caller.ask("cancel_job", job_id=job_id) == {"cancelled": True, "job_id": job_id}
    shown = await caller.ask("job_status", job_id=job_id)
    assert (shown["status"], shown["next_run"]) == ("cancelled", None)


@pytest.mark.parametrize("job_id", ["job_999999_1738764000", "scd_nonexistent", "no such thing"])
async def test_cancelling_an_unknown_job(caller: Caller, job_id: str) -> None:
    answer = await caller.ask("cancel_job", job_id=job_id)
    assert (answer["cancelled"], answer["job_id"]) == (False, job_id)
    assert answer["error"].startswith(f"Job not found: {job_id}")


async def test_cancelling_what_is_nearly_a_name_says_which(caller: Caller) -> None:
    made = await hourly(caller, "Call Mom")
    number = made["job_id"].split("_")[1]
    for tool, named in (
        ("cancel_job", "job_id"),
        ("pause_schedule", "schedule_id"),
        ("delete_schedule", "schedule_id"),
    ):
        answer = await caller.ask(tool, **{named: "call mum"})
        assert f"Did you mean {number} (Call Mom)? Give its number" in f"{answer['error']} {answer.get('hint')}"
        assert [choice["words"] for choice in answer["choices"]] == [number]


async def test_cancelling_a_finished_job_does_not_rewrite_its_status(caller: Caller) -> None:
    job_id = await soon(caller, "run_backup")
    assert await caller.ask("cancel_job", job_id=job_id) == {"cancelled": True, "job_id": job_id}
    assert (await caller.ask("job_status", job_id=job_id))["status"] == "completed"


# -- job_status ----------------------------------------------------------------------------------------------------


async def test_status_has_the_fields_of_the_seed(caller: Caller) -> None:
    job = await hourly(caller, max_runs=24)
    shown = await caller.ask("job_status", job_id=job["job_id"])
    assert list(shown)[: len(SHOWN)] == SHOWN
    assert [shown[name] for name in SHOWN if name != "created_at"] == [
        *(job["job_id"], "hourly_cleanup", "pending", "interval", None, job["next_run"], 0, 24, None)
    ]
    assert datetime.fromisoformat(shown["created_at"]).utcoffset() == timedelta(0)


async def test_the_status_of_an_unknown_job(caller: Caller) -> None:
    for job_id in ("job_999999_1738764000", "nonsense"):
        assert await caller.ask("job_status", job_id=job_id) == {
            "error": f"Job not found: {job_id}",
            "hint": "It may have been deleted, or the id is wrong; list_jobs shows yours.",
        }


async def test_an_error_is_one_line_and_never_a_trace(caller: Caller) -> None:
    shown = await caller.ask("job_status", job_id=await soon(caller, "fill_the_disk"))
    assert (shown["status"], shown["error"], shown["run_count"]) == ("failed", "RuntimeError: disk full", 1)
    assert shown["last_run"] is not None
    assert [(run["verdict"], run["error"]) for run in shown["runs"]] == [("failed", "RuntimeError: disk full")]
    assert "second line" not in str(shown)


async def test_somebody_elses_job_is_as_unknown_as_none(caller: Caller, empty_town: Town) -> None:
    clerk = empty_town.clerk
    clerk.owner = "mallory"
    try:
        theirs = await clerk.schedule_job("theirs", "run_backup", "interval", {"hours": 1})
        job_id = theirs.job_id
        assert (await caller.ask("job_status", job_id=job_id))["error"] == f"Job not found: {job_id}"
        assert not (await caller.ask("cancel_job", job_id=job_id))["cancelled"]
        assert (await caller.ask("delete_schedule", schedule_id=job_id))["success"] is False
        assert (await caller.ask("list_jobs"))["total"] == 0
        await empty_town.clear()
    finally:
        clerk.owner = "local"
