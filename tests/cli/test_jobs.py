"""The acts of the tools from the command line, through the real entry point and a real database."""

import asyncio
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from typer.testing import CliRunner, Result

from cronty.actions.tasks import Registry, RetryAfter
from cronty.cli.completion import complete_jobs
from cronty.cli.main import app
from cronty.jobs.firing import OVERLAPPED
from cronty.store.sealing import new_key
from tests.conftest import hands_of

type Say = Callable[..., Result]


@pytest.fixture
def say(url: str, monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    monkeypatch.setenv("COLUMNS", "100")
    runner = CliRunner()
    return lambda *words: runner.invoke(app, list(words))


def standup(say: Say) -> Result:
    return say("add", "every weekday at 8:30", "Stand-up [now]", "--notify", "ntfy:phone", "--zone", "Europe/Berlin")


def test_a_reminder_is_made_from_words_and_read_back(say: Say) -> None:
    made = standup(say)
    assert made.exit_code == 0, made.output
    assert "Stand-up [now]: At 08:30 on weekdays, Berlin time" in made.output
    assert re.search(r"job_1_\d+, first on \w{3} \d\d \w{3} \d{4} 08:30, Europe/Berlin", made.output)


def test_a_reminder_to_a_topic_that_anybody_can_read_says_so(say: Say) -> None:
    made = say("add", "tomorrow at 9:00", "Call Mom", "--notify", "ntfy:a-phone")
    assert made.exit_code == 0
    assert "public" in made.output


def test_a_reminder_goes_to_the_only_channel_and_with_several_to_the_one_that_is_named(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONTY_SECRET_KEY", new_key())
    monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", "127.0.0.1:1")
    assert say("channel", "add", "phone", "ntfy://127.0.0.1:1/topic").exit_code == 0
    assert say("add", "tomorrow at 9", "Call Mom").exit_code == 0
    assert "does: notify phone: Call Mom" in say("show", "1").output
    assert say("channel", "add", "work", "ntfy://127.0.0.1:1/other").exit_code == 0
    which = say("add", "tomorrow at 9", "Call Dad")
    assert (which.exit_code, "Which channel? There are phone, work." in which.output) == (1, True), which.output
    wrong = say("edit", "1", "--notify", "home")
    assert (wrong.exit_code, "There is no channel 'home'. Yours: phone, work." in wrong.output) == (1, True)
    assert say("edit", "1", "--notify", "work").exit_code == 0
    assert "does: notify work: Call Mom" in say("show", "1").output


def test_the_next_runs_by_a_list_of_days_off_and_by_holidays_say_which_are_skipped(say: Say) -> None:
    none = say("next", "every day at 9:00 except days off of team")
    assert "make a list with `cronty call save_calendar`" in " ".join(none.output.split())
    day = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"
    saved = say("call", "save_calendar", json.dumps({"name": "team", "days": {day: "Founding Day"}}))
    assert saved.exit_code == 0, saved.output
    asked = ("next", "every day at 9:00 except days off of team", "--zone", "UTC")
    shown = say(*asked)
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("At 09:00 every day, except on days off of team, UTC")
    assert [line for line in shown.output.splitlines() if "skipped: holiday (Founding Day)" in line and day in line]
    slots = json.loads(say(*asked, "--json").output)["slots"]
    assert [slot["note"] for slot in slots if slot["utc"].startswith(day)] == ["skipped: holiday (Founding Day)"]
    by_country = say("next", "25 December at 9:00 every year except holidays in Germany", "-n", "1")
    assert "skipped: holiday (Christmas Day)" in " ".join(by_country.output.split()), by_country.output
    unknown = say("next", "every day at 9:00 except days off of teem")
    assert (unknown.exit_code, "Unknown calendar: 'teem'. Use 'team'." in unknown.output) == (1, True), unknown.output


def test_a_prompt_and_a_task_are_made_too(say: Say) -> None:
    assert say("add", "in 2h", "Look at my PRs", "--prompt").exit_code == 0
    assert say("add", "in 2h", "Look at my PRs", "--agent", "claude").exit_code == 0
    unknown = say("add", "in 2h", "--task", "backup")
    assert unknown.exit_code == 1
    assert "Unknown task: backup. Registered tasks: notify, prompt, webhook." in unknown.output


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add", "in 2h"), 2, "Give the text of the message"),
        (("add", "in 2h", "x"), 1, "`cronty channel add phone ntfy://ntfy.sh/TOPIC`"),
        (("add", "in 2h", "x", "--notify", "phone"), 1, "`cronty channel add phone ntfy://ntfy.sh/TOPIC` makes it"),
        (("add", "in 2h", "x", "--notify", "ntfy:phone", "--prompt"), 2, "Give one of"),
        (("add", "in 2h", "--notify", "ntfy:phone"), 2, "Give the text of the message"),
        (("add", "in 2h", "--task", "backup", "--kwargs", "[]"), 2, "must be a JSON object"),
        (("add", "blah", "x", "--prompt"), 1, 'Can\'t read "blah"'),
        (("add", "03/04 at 9:00", "x", "--prompt"), 3, "may mean"),
        (("show", "99"), 1, "Job not found: 99"),
        (("cancel", "99"), 1, "Job not found: 99"),
        (("delete", "99"), 1, "Job not found: 99"),
        (("run", "99"), 1, "Job not found: 99"),
        (("runs", "99"), 1, "Job not found: 99"),
        (("why", "99", "today at 9:00"), 1, "Job not found: 99"),
        (("show", "my list_jobs report"), 1, "Job not found: my list_jobs report. It may"),
        (("list", "--status", "odd"), 1, "Unknown status: odd"),
    ],
)
def test_what_cannot_be_done_says_why_and_with_which_code(
    say: Say, words: tuple[str, ...], code: int, said: str
) -> None:
    result = say(*words)
    assert (result.exit_code, said in " ".join(result.output.replace("│", " ").split())) == (code, True), result.output


def test_what_may_mean_several_things_is_a_numbered_choice_of_words_to_type(say: Say) -> None:
    asked = ("x", "--prompt", "--zone", "Europe/Berlin")
    unclear = say("add", "every day at 5", *asked)
    assert unclear.exit_code == 3
    choices = re.findall(r"^ *\d\) (At \d\d:00 every day, Berlin time), next \w{3} .*\d\d:00$", unclear.output, re.M)
    assert len(choices) == 2, unclear.output
    assert [line.split()[0] for line in unclear.output.splitlines()[-2:]] == ["1)", "2)"]
    assert say("add", choices[1], *asked).exit_code == 0
    soft = say("add", "every evening", *asked)
    assert (soft.exit_code, "names no exact time" in soft.output) == (3, True), soft.output


def test_the_words_of_a_job_are_shown_as_they_were_said(say: Say) -> None:
    standup(say)
    assert "every weekday at 8:30" in say("list").output
    assert 'said as "every weekday at 8:30"' in say("show", "1").output
    assert json.loads(say("show", "1", "--json").output)["said"] == "every weekday at 8:30"


def test_jobs_are_listed_and_shown(say: Say) -> None:
    assert "No jobs. Make one" in say("list").output
    standup(say)
    listed = say("list").output
    assert "Stand-up [now]" in listed
    assert "pending" in listed
    assert json.loads(say("list", "--json").output)["total"] == 1
    assert "At 08:30 on weekdays, Berlin time" in say("show", "1").output
    assert json.loads(say("show", "1", "--json").output)["task"] == "notify"


def test_one_run_is_skipped_moved_and_restored(say: Say) -> None:
    say("add", "every day at 8:30", "Stand-up", "--notify", "ntfy:phone", "--zone", "UTC")
    first = json.loads(say("show", "1", "--json").output)["next_run"]
    skipped = say("skip", "1")
    assert skipped.output.startswith("Stand-up: The run of "), skipped.output
    assert "08:30, UTC is skipped. Next on " in skipped.output
    assert "asked for by local" in say("show", "1").output
    assert "It won't run: asked for by local." in say("why", "1", first).output
    assert say("skip", "1", first, "--undo").exit_code == 0
    assert json.loads(say("show", "1", "--json").output)["next_run"] == first
    moved = say("move", "1", first, first.replace("08:30", "08:45"))
    assert "08:30, UTC is moved to " in moved.output
    assert "08:45, UTC. Next on " in moved.output
    assert "moved to" in say("show", "1").output
    assert say("skip", "1", "--undo").exit_code == 2
    odd = say("skip", "1", "2098-01-01 08:00")
    assert (odd.exit_code, "No run of this job is planned" in odd.output) == (1, True)


def test_a_job_is_paused_resumed_cancelled_and_deleted(say: Say) -> None:
    standup(say)
    assert say("pause", "1").output == "Paused Stand-up [now].\n"
    assert "paused" in say("list").output
    assert say("resume", "1").output.startswith("Resumed Stand-up [now]; next on ")
    assert say("cancel", "1").output == "Cancelled Stand-up [now].\n"
    assert "cancelled" in say("list").output
    assert say("delete", "1").output.startswith("Deleted 1. For 30 days ")
    assert re.search(r"1 +Stand-up", say("list", "--deleted").output)
    assert say("undelete", "1").output.startswith("Undeleted Stand-up")
    assert say("list", "--deleted").output == "No deleted jobs.\n"
    assert say("delete", "1").exit_code == 0
    assert "No jobs" in say("list").output


def test_a_run_that_was_asked_for_is_seen(say: Say) -> None:
    standup(say)
    assert "It has not run yet." in say("runs", "1").output
    assert re.match(r"Queued run_1_\d+; `cronty runs 1` shows it.", say("run", "1").output)
    assert "waiting" in say("runs", "1").output
    assert "Nothing has failed." in say("runs").output


def test_a_moment_is_explained(say: Say) -> None:
    say("add", "2098-01-31T09:00:00Z", "x", "--prompt")
    assert "It is planned, and its time hasn't come." in say("why", "1", "2098-01-31 09:00").output
    assert "is not a planned time of this job. The next one after that is Fri 31 Jan 2098 09:00, UTC." in " ".join(
        say("why", "1", "2098-01-31 08:00").output.split()
    )


async def test_who_schedules_while_nothing_runs_is_told(say: Say, url: str) -> None:
    alone = await asyncio.to_thread(standup, say)
    assert "No worker is running, so nothing fires. Start one with `cronty up`." in alone.output
    async with hands_of(url, None, Registry()):
        made = await asyncio.to_thread(standup, say)
        assert "Nothing runs" not in made.output
        asked = await asyncio.to_thread(say, "run", "1", "--json")
    assert json.loads(asked.output)["armed"] is True


async def test_a_reminder_that_does_not_get_out_says_so_and_why(say: Say, url: str) -> None:
    registry = Registry()

    @registry.add
    def notify(message: str, topic: str) -> None:
        raise RetryAfter(f"{topic} can't be reached.", timedelta(hours=1))

    async with hands_of(url, None, registry) as hands:
        await asyncio.to_thread(standup, say)
        await asyncio.to_thread(say, "run", "1")
        await hands.all()
        listed, shown = [(await asyncio.to_thread(say, *words)).output for words in (("list",), ("show", "1"))]
        asked = json.loads((await asyncio.to_thread(say, "list", "--json")).output)["jobs"][0]
        why = (await asyncio.to_thread(say, "why", "1")).output
    assert why.count("phone can't be reached") == 1
    trouble = "Not getting out, will be tried again: phone can't be reached."
    assert "retrying" in listed
    assert f"Stand-up [now]: {trouble}" in listed
    assert trouble in shown.splitlines()
    assert (asked["status"], asked["trouble"]) == ("running", trouble), "the status is one that MCP clients know"


async def test_a_run_that_no_worker_takes_is_said_to_wait_for_one(say: Say, sql: asyncpg.Connection) -> None:
    await asyncio.to_thread(standup, say)
    await asyncio.to_thread(say, "run", "1")
    shown = (await asyncio.to_thread(say, "show", "1")).output
    assert "Waiting for a worker" not in shown, "it may be taken any moment"
    due_at = await sql.fetchval("update cronty.queue set due_at = now() - interval '1 minute' returning due_at")
    answers = [(await asyncio.to_thread(say, *words)).output for words in (("list",), ("show", "1"))]
    listed, shown = [" ".join(one.split()) for one in answers]
    trouble = (
        f"Waiting for a worker since {due_at:%Y-%m-%d %H:%M} UTC. "
        "One must be alive that has the task notify, serves its queue, and has room."
    )
    assert " waiting " in listed
    assert f"Stand-up [now]: {trouble}" in listed
    assert "running" not in listed
    assert trouble in shown
    slot = await sql.fetchval("select scheduled_for from cronty.queue")
    for words in (("why", "1"), ("why", "1", slot.isoformat())):
        assert trouble in " ".join((await asyncio.to_thread(say, *words)).output.split())
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, finished_at, reason)"
        " select job_id, scheduled_for + interval '1 second', owner_id, 'skipped', now(), $1 from cronty.queue",
        OVERLAPPED,
    )
    skipped = " ".join((await asyncio.to_thread(say, "why", "1")).output.split())
    assert f"skipped: {OVERLAPPED} " in skipped
    assert f" {trouble} Next: " in skipped
    before = (slot - timedelta(days=30)).isoformat()
    assert "Waiting for a worker" not in (await asyncio.to_thread(say, "why", "1", before)).output
    assert (await asyncio.to_thread(say, "freeze")).exit_code == 0
    assert "Waiting for a worker" not in (await asyncio.to_thread(say, "show", "1")).output, "a freeze holds it"


async def test_a_reminder_that_came_is_snoozed_once(say: Say, url: str) -> None:
    registry = Registry()

    @registry.add
    def notify(message: str, topic: str) -> None:
        pass

    async with hands_of(url, None, registry) as hands:
        await asyncio.to_thread(standup, say)
        early = await asyncio.to_thread(say, "snooze", "1")
        await asyncio.to_thread(say, "run", "1")
        await hands.all()
        snoozed, again, shown = [
            await asyncio.to_thread(say, *words)
            for words in (("snooze", "Stand-up [now]", "tomorrow at 9:00"), ("snooze", "1"), ("show", "2"))
        ]
    assert (early.exit_code, "Stand-up [now] hasn't come yet." in early.output) == (1, True), early.output
    assert snoozed.output.startswith("Snoozed until "), snoozed.output
    assert "09:00" in snoozed.output
    assert "This reminder was settled already" in " ".join(again.output.split())
    assert shown.output.startswith("Stand-up [now] (snoozed)")


def test_a_shell_completes_numbers_by_the_names_of_their_jobs(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    standup(say)
    assert complete_jobs("") == [("1", "Stand-up [now]")]
    assert complete_jobs("stand") == [("1", "Stand-up [now]")]
    assert complete_jobs("x") == []
    monkeypatch.setenv("CRONTY_DATABASE_URL", "postgresql://localhost:1/nowhere")
    assert complete_jobs("") == []


@pytest.mark.parametrize("when", ["today at 0:01", "today at 23:59", "0:01", "23:59:30"])
def test_a_moment_of_today_is_explained_before_and_after_it(say: Say, when: str) -> None:
    say("add", "2098-01-31T09:00:00Z", "x", "--prompt")
    assert "is not a planned time of this job." in " ".join(say("why", "1", when).output.split())


def test_acts_answer_in_json(say: Say) -> None:
    standup(say)
    for words in (("pause", "1"), ("resume", "1"), ("why", "1", "today at 9:00"), ("cancel", "1"), ("delete", "1")):
        answer = say(*words, "--json")
        assert answer.exit_code == 0, answer.output
        assert isinstance(json.loads(answer.output), dict)
    for words in (("channel", "list"), ("token", "list"), ("token", "add", "laptop"), ("token", "list"), ("key",)):
        assert json.loads(say(*words, "--json").output)
