"""Every question of evaluation.xml has an answer that the tools give, found here by a program instead of a model."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.mcp.caller import Answer, Caller, until
from tests.stories.conftest import LINES, Town
from tests.stories.evaluation_fixture import fill

type Solve = Callable[[Caller], Awaitable[str]]


@dataclass(frozen=True)
class Solver:
    """`begins` is how its question begins; `state` is a query, and `after` what it finds once the answer is given."""

    begins: str
    solve: Solve
    state: str | None
    after: list[tuple[object, ...]]


SOLVERS: list[Solver] = []


def solves(begins: str, state: str | None = None, *after: tuple[object, ...]) -> Callable[[Solve], Solve]:
    def register(solve: Solve) -> Solve:
        SOLVERS.append(Solver(begins, solve, state, list(after)))
        return solve

    return register


def questions() -> list[tuple[str, str]]:
    root = ElementTree.parse(Path(__file__).parents[2] / "evaluation.xml").getroot()
    pairs = [(pair.findtext("question", ""), pair.findtext("answer", "")) for pair in root.iter("qa_pair")]
    return [(" ".join(question.split()), answer.strip()) for question, answer in pairs]


def solver_of(question: str) -> Solver:
    [found] = [solver for solver in SOLVERS if question.startswith(solver.begins)]
    return found


async def job_named(caller: Caller, name: str, **filters: object) -> Answer:
    [job] = (await caller.ask("list_jobs", name=name, **filters))["jobs"]
    return job


async def reminders(caller: Caller, **filters: object) -> list[Answer]:
    return (await caller.ask("list_scheduled_notifications", **filters))["schedules"]


# -- one solver for each question ----------------------------------------------------------------------------------

LIVE = "from cronty.jobs j join cronty.due d on d.job_id = j.id where j.deleted_at is null"


@solves(
    'Create a cron schedule with message "Delete test',
    f"select count(*) {LIVE} and j.arguments -> 'kwargs' ->> 'topic' = 'cronty-eval-test'",
    (0,),
)
async def create_and_delete(caller: Caller) -> str:
    now = await caller.ask("get_current_time")
    made = await caller.ask(
        "schedule_cron_notification",
        message=f"Delete test {now['datetime']}",
        notification_topic="cronty-eval-test",
        cron="0 0 * * *",
        timezone="UTC",
    )
    gone = await caller.ask("delete_schedule", schedule_id=made["schedule_id"])
    return "Yes" if made["success"] and gone["success"] else "No"


@solves('Try to delete a schedule with ID "scd_nonexistent_test_id"')
async def delete_nothing(caller: Caller) -> str:
    answer = await caller.ask("delete_schedule", schedule_id="scd_nonexistent_test_id")
    return "Yes" if not answer["success"] and "not found" in answer["error"] else "No"


@solves('How many jobs that are tagged "ops" are still pending?')
async def pending_ops(caller: Caller) -> str:
    return str((await caller.ask("list_jobs", tag="ops", status="pending"))["total"])


@solves("The last run of one of the jobs failed.")
async def what_failed(caller: Caller) -> str:
    for job in (await caller.ask("list_jobs"))["jobs"]:
        shown = await caller.ask("job_status", job_id=job["job_id"])
        if shown["error"] is not None:
            return f"{shown['name']}: {shown['error']}"
    return "none"


@solves('At what time in UTC will the job "invoice_run" start?')
async def invoice_run(caller: Caller) -> str:
    next_run = datetime.fromisoformat((await job_named(caller, "invoice_run"))["next_run"])
    return f"{next_run.astimezone(datetime.fromisoformat('2031-01-01T00:00:00Z').tzinfo):%H:%M}"


@solves("Which notification topic has the most notifications still to come")
async def busiest_topic(caller: Caller) -> str:
    found = await reminders(caller)
    topics = [one["notification_topic"] for one in found]
    topic = max(topics, key=topics.count)
    [once] = [one for one in found if one["notification_topic"] == topic and one["type"] == "once"]
    return f"{topic}: {once['notification_body']}"


@solves("What is on the agenda for February 2031")
async def february(caller: Caller) -> str:
    [task] = (await caller.ask("schedule_list", **{"from": "2031-02-01", "to": "2031-02-28"}))["tasks"]
    return f"{task['prompt']} ({task['agent']})"


@solves('A cron of "30 2 30 3 *" in Europe/Berlin')
async def skipped_time(caller: Caller) -> str:
    shown = await caller.ask("preview_schedule", schedule="30 2 30 3 *", timezone="Europe/Berlin", count=20)
    [slot] = [slot for slot in shown["slots"] if slot["local"].startswith("2031-03-30")]
    return slot["local"][11:16]


@solves('Which of the tasks that can be scheduled has a parameter named "compress"?')
async def compressing_task(caller: Caller) -> str:
    tasks = (await caller.ask("list_tasks"))["tasks"]
    [name] = [task["name"] for task in tasks if "compress" in task["parameters"]["properties"]]
    return name


@solves("How many agenda items are there in 2031")
async def whole_agenda(caller: Caller) -> str:
    span = {"from": "2031-01-01", "to": "2031-12-31"}
    statuses = ("pending", "running", "completed", "failed", "cancelled")
    return str(sum([(await caller.ask("schedule_list", status=one, **span))["count"] for one in statuses]))


@solves(
    'Move the agenda item "Review the roadmap"',
    f"select j.name, d.next_at::text {LIVE} and j.name = 'Review the roadmap'",
    ("Review the roadmap", "2031-01-16 10:00:00+00"),
)
async def move_the_review(caller: Caller) -> str:
    tasks = (await caller.ask("schedule_list"))["tasks"]
    [task] = [task for task in tasks if task["prompt"] == "Review the roadmap"]
    moved = await caller.ask("schedule_edit", id=task["id"], at="2031-01-16T10:00:00Z")
    return moved["task"]["at"]


@solves(
    'Pause every notification to the topic "eval-phone"',
    f"select j.name, j.state::text {LIVE} and j.task = 'notify' order by 1",
    ("Renew passport", "paused"),
    ("Take a break", "paused"),
    ("Water the plants", "active"),
)
async def pause_the_phone(caller: Caller) -> str:
    for one in await reminders(caller, notification_topic="eval-phone"):
        await caller.ask("pause_schedule", schedule_id=one["schedule_id"])
    return str(sum(one["paused"] for one in await reminders(caller)))


@solves(
    'The job "weekly_report" is to go on',
    f"select j.state::text, d.zone, d.next_at is not null, extract(isodow from d.next_at)::int {LIVE} "
    "and j.name = 'weekly_report'",
    ("active", "UTC", True, 2),
)
async def report_on_tuesdays(caller: Caller) -> str:
    job_id = (await job_named(caller, "weekly_report"))["job_id"]
    await caller.ask("edit_job", job_id=job_id, trigger_type="cron", trigger_config={"expression": "0 10 * * TUE"})
    await caller.ask("resume_schedule", schedule_id=job_id)
    next_run = (await caller.ask("job_status", job_id=job_id))["next_run"]
    return f"{datetime.fromisoformat(next_run):%A}"


@solves(
    'Cancel every job tagged "ops" that is still pending.',
    f"select j.name, j.state::text, d.next_at {LIVE} and 'ops' = any(j.tags) order by 1",
    ("disk_check", "cancelled", None),
    ("nightly_backup", "cancelled", None),
    ("old_cleanup", "cancelled", None),
)
async def cancel_ops(caller: Caller) -> str:
    for job in (await caller.ask("list_jobs", tag="ops", status="pending"))["jobs"]:
        await caller.ask("cancel_job", job_id=job["job_id"])
    return str((await caller.ask("list_jobs", tag="ops", status="cancelled"))["total"])


@solves(
    "Schedule the task cleanup_temp_files for the folder /var/tmp every 90 minutes",
    f"select j.task, j.arguments -> 'kwargs' ->> 'folder', j.max_runs, d.period / 1000000 {LIVE} "
    "and j.name = 'eval_cleanup'",
    ("cleanup_temp_files", "/var/tmp", 8, 5400),
)
async def schedule_twice(caller: Caller) -> str:
    call: Answer = {
        "name": "eval_cleanup",
        "task": "cleanup_temp_files",
        "trigger_type": "interval",
        "trigger_config": {"minutes": 90},
        "kwargs": {"folder": "/var/tmp"},
        "max_runs": 8,
        "idempotency_key": "eval-1",
    }
    for _ in range(2):
        await caller.ask("schedule_job", **call)
    return str((await caller.ask("list_jobs", name="eval_cleanup"))["total"])


@solves(
    "The plants are gone",
    "select count(*) from cronty.jobs where name = 'Water the plants' and deleted_at is null",
    (0,),
)
async def delete_the_plants(caller: Caller) -> str:
    [one] = [one for one in await reminders(caller) if one["notification_body"] == "Water the plants"]
    await caller.ask("delete_schedule", schedule_id=one["schedule_id"])
    left = await caller.ask("list_scheduled_notifications", notification_topic=one["notification_topic"])
    return str(left["count"])


@solves(
    '"nightly_backup" should run right now as well',
    "select r.state::text, r.manual, j.state::text, d.next_at is not null from cronty.runs r join cronty.jobs j "
    "on j.id = r.job_id join cronty.due d on d.job_id = j.id where j.name = 'nightly_backup' and j.deleted_at is null",
    ("done", True, "active", True),
)
async def run_the_backup(caller: Caller) -> str:
    job_id = (await job_named(caller, "nightly_backup"))["job_id"]
    started = await caller.ask("run_job_now", job_id=job_id)
    seen = await until(
        lambda: caller.ask("list_runs", job_id=job_id),
        lambda seen: seen["runs"][0]["verdict"] not in ("waiting", "running"),
    )
    assert seen["runs"][0]["run_id"] == started["run_id"]
    return seen["runs"][0]["verdict"]


# -- the tests -----------------------------------------------------------------------------------------------------


def test_every_question_has_its_solver_and_every_solver_its_question() -> None:
    solved = [solver_of(question).begins for question, _ in questions()]
    assert sorted(solved) == sorted(solver.begins for solver in SOLVERS)
    assert len(solved) >= 12


def test_the_first_two_questions_are_as_they_were_given() -> None:
    first, second = questions()[:2]
    assert first == (
        'Create a cron schedule with message "Delete test {current_time}" to topic "cronty-eval-test" that runs every '
        "day at midnight UTC (cron: 0 0 * * *). Then immediately delete the schedule using the returned schedule ID. "
        "Was the schedule created and then deleted successfully? Answer: Yes or No.",
        "Yes",
    )
    assert second == (
        'Try to delete a schedule with ID "scd_nonexistent_test_id". Did the deletion fail with a "not found" error? '
        "Answer: Yes or No.",
        "Yes",
    )


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("number", "question", "answer"),
    [
        pytest.param(number, question, answer, id=re.sub(r"\W+", "-", question[:40]).strip("-"))
        for number, (question, answer) in enumerate(questions())
    ],
)
async def test_the_answer_can_be_found_with_the_tools(
    empty_town: Town, number: int, question: str, answer: str
) -> None:
    """Each over another transport and era in turn."""
    await fill(empty_town.clerk)
    solver = solver_of(question)
    assert await solver.solve(empty_town.callers[LINES[number % len(LINES)]]) == answer
    if solver.state is not None:
        assert await empty_town.rows(solver.state) == solver.after
