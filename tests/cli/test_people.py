"""What people type: names for ids, changes, retries, the inbox, commands, files of jobs, and why."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cronty import Cronty
from cronty.actions.shell import read_commands
from cronty.cli.main import app
from cronty.cli.output import counted, length
from cronty.cli.results import result_in_words
from cronty.cli.why import outlook
from cronty.contract.result import Ok
from cronty.timing import BadTrigger
from cronty.timing.past_said import read_past

type Say = Callable[..., Result]


@pytest.fixture
def say(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    monkeypatch.setenv("CRONTY_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CRONTY_COMMANDS_FILE", str(tmp_path / "commands.toml"))
    monkeypatch.setenv("COLUMNS", "100")
    runner = CliRunner()

    def invoke(*words: str, input: str = "") -> Result:
        return runner.invoke(app, list(words), input=input)

    return invoke


def data(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def one_line(result: Result) -> str:
    return " ".join(result.output.split())


def test_a_name_is_as_good_as_a_number_and_two_of_a_name_are_listed(say: Say) -> None:
    say("add", "every day at 9", "Backup", "--prompt", "--zone", "UTC")
    assert say("pause", "backup").output == "Paused Backup.\n"
    say("add", "every day at 10", "Backup", "--prompt", "--zone", "UTC")
    several = say("show", "Backup")
    assert several.exit_code == 3
    assert '2 jobs are called "Backup": 1, 2. Name one of them by its number.' in one_line(several)
    assert "1) Backup, At 09:00 every day, UTC, paused" in several.output
    near = say("show", "Back")
    assert (near.exit_code, "Did you mean" in near.output) == (1, True)


def test_a_job_is_edited_and_shows_what_it_does_and_when_it_ends(say: Say) -> None:
    say("add", "every day at 9", "Stand-up", "--notify", "ntfy:phone", "--zone", "UTC", "--policy", "timeout=10m")
    changed = say("edit", "stand-up", "every weekday at 10", "--text", "Stand up!", "--end", "31 December 2098")
    assert changed.exit_code == 0, changed.output
    assert "Stand up!: At 10:00 on weekdays, UTC, through Wed 31 Dec 2098" in one_line(changed)
    shown = data(say("show", "1", "--json"))
    assert shown["kwargs"] == {"message": "Stand up!", "topic": "phone"}
    assert shown["policy"] == {"attempts": 10, "timeout": 600.0}
    assert shown["said"] == "every weekday at 10"
    plain = say("show", "1").output
    assert "does: notify phone: Stand up!" in plain
    assert "policy: attempts 10, timeout 600.0" in plain
    assert data(say("edit", "1", "--end", "never", "--max-runs", "3", "--json"))["max_runs"] == 3
    assert "every weekday at 10, 3 times" not in say("list").output, "a new count ends what was said"
    assert "At 10:00 on weekdays, UTC, 3 times" in one_line(say("list"))
    assert "Say what to change" in one_line(say("edit", "1")).replace("│ ", "")


def test_a_command_of_this_machine_is_added_in_one_line(say: Say, tmp_path: Path) -> None:
    made = say("add", "every day at 03:00", "--command", "pg_dump app > app.sql", "--name", "backup", "--zone", "UTC")
    assert made.exit_code == 0, made.output
    (command,) = read_commands(tmp_path / "commands.toml").values()
    assert (command.run, command.workdir) == ("pg_dump app > app.sql", str(Path.cwd()))
    assert data(say("show", "backup", "--json"))["policy"] == {"timeout": 86400.0, "pause_after": 0}


def test_a_command_is_refused_where_another_machine_would_run_it(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_URL", "http://127.0.0.1:1")
    refused = say("add", "every day at 3", "--command", "true")
    assert (refused.exit_code, "at the machine that runs it" in refused.output) == (1, True), refused.output


def test_what_has_a_start_an_end_and_a_policy_is_made_in_one_line(say: Say) -> None:
    made = say(
        *("add", "every day at 9", "x", "--prompt", "--zone", "UTC", "--start", "2098-01-31", "--end", "2098-02-02"),
        *("--policy", "attempts=3", "--policy", "overlap=queue", "--json"),
    )
    assert data(made)["next_run"] == "2098-01-31T09:00:00+00:00"
    assert data(made)["ends_at"] == "2098-02-02T23:59:59.999999+00:00"
    odd = say("add", "in 2h", "x", "--prompt", "--policy", "attempts")
    assert (odd.exit_code, "NAME=VALUE" in odd.output) == (2, True)
    assert say("add", "in 2h", "x", "--prompt", "--kwargs", "{bad").exit_code == 2


def test_the_inbox_shows_what_waits_and_a_person_can_settle_it(say: Say) -> None:
    assert say("inbox").output == "No prompt is waiting.\n"
    say("add", "2098-01-31T09:00:00Z", "Look at my pull requests", "--agent", "claude")
    run = str(data(say("run", "1", "--json"))["run_id"])
    waiting = say("inbox")
    assert run in waiting.output
    assert "claude" in waiting.output
    assert "1 prompt. An agent takes" in one_line(waiting)
    assert say("inbox", "--done", run, "--report", "Two need you").output == f"Settled {run} as done.\n"
    assert say("inbox", "--done", run).exit_code == 1
    seen = one_line(say("runs", "1"))
    assert "Two need you" in seen
    assert run in seen
    assert re.search(r"done +\d+\.\d s|done", seen)
    assert "done: asked for: Two need you" in one_line(say("why", "1"))


def test_a_failed_run_is_tried_again_by_its_jobs_name(say: Say) -> None:
    say("add", "2098-01-31T09:00:00Z", "Look", "--prompt")
    nothing = say("retry", "Look")
    assert (nothing.exit_code, "No run of Look has failed." in nothing.output) == (1, True)
    run = str(data(say("run", "1", "--json"))["run_id"])
    assert say("inbox", "--failed", run, "--report", "no access").exit_code == 0
    again = say("retry", "look")
    assert f"Trying 1 run again: {run}." in one_line(again), again.output
    assert say("retry").exit_code == 2
    stopped = one_line(say("stop", "look"))
    assert stopped.startswith(f"Stopped: {run} of Look. `cronty runs job_1_"), stopped
    assert "cancelled" in one_line(say("runs", "1"))
    nothing = say("stop", "Look")
    assert (nothing.exit_code, "No run of Look is running or waits." in nothing.output) == (1, True)
    assert "is cancelled; there is nothing to stop." in one_line(say("stop", run))


def test_jobs_go_into_a_file_and_back_and_are_known_by_their_names(say: Say, tmp_path: Path) -> None:
    say(
        "add",
        "every weekday at 8:30",
        "Stand-up",
        "--notify",
        "ntfy:phone",
        "--zone",
        "Europe/Berlin",
        "--max-runs",
        "9",
    )
    say("add", "every 2 hours", "Look", "--agent", "claude", "--tag", "team", "--policy", "attempts=7")
    say("add", "0 3 * * *", "--command", "echo hi", "--name", "greet", "--zone", "UTC")
    say("add", "2098-01-31 09:00", "Once", "--prompt", "--zone", "Asia/Tokyo", "--end", "2099-01-01")
    say("add", "last friday of the month at 17:00", "Invoices", "--prompt", "--zone", "Europe/Berlin")
    say("pause", "Look")
    before = say("export").stdout
    unchanged = data(say("import", "json", "-", "--json", input=before))
    assert {one["result"] for one in unchanged["jobs"]} == {"unchanged"}  # type: ignore[union-attr]  # pyright: ignore
    for name in ("Stand-up", "Look", "greet", "Once", "Invoices"):
        assert say("delete", name).exit_code == 0
    (tmp_path / "commands.toml").unlink()
    back = say("import", "json", "-", input=before)
    assert back.exit_code == 0, back.output
    assert "5 jobs: 5 made." in back.output

    def without_ids(text: str) -> list[dict[str, object]]:
        found = [{key: value for key, value in one.items() if key != "job_id"} for one in json.loads(text)["jobs"]]
        return [{**one, "said": None} if one["name"] == "Look" else one for one in found]  # it keeps its phase instead

    assert without_ids(say("export").stdout) == without_ids(before)
    changed = before.replace('"message": "Stand-up"', '"message": "Stand up!"')
    results = data(say("import", "json", "-", "--json", input=changed))["jobs"]
    assert [one["result"] for one in results] == ["changed", *["unchanged"] * 4]  # type: ignore[union-attr]  # pyright: ignore
    twice = json.dumps({"jobs": json.loads(before)["jobs"][:1] * 2})
    assert say("import", "json", "-", input=twice).exit_code == 1
    assert say("import", "json", "-", input="[]").exit_code == 2


def test_why_is_true_of_what_is_paused_cancelled_or_at_its_end(say: Say) -> None:
    say("add", "every day at 9", "daily", "--prompt", "--zone", "UTC", "--max-runs", "2", "--end", "2098-01-01")
    first = datetime.fromisoformat(str(data(say("show", "daily", "--json"))["next_run"]))
    assert "It is planned" in one_line(say("why", "daily", first.isoformat()))
    third = (first + timedelta(days=2)).isoformat()
    assert "It won't run: by then it will have run as often as it was meant to" in one_line(say("why", "daily", third))
    assert re.fullmatch(r"It has not run yet\. Next: .*, UTC\.", one_line(say("why", "daily")))
    before = one_line(say("why", "daily", (first - timedelta(days=30)).isoformat()))
    assert before.startswith("It didn't run: the job was made later, on ")
    say("pause", "daily")
    assert "It won't run: the job is paused; `cronty resume 1` continues it." in one_line(
        say("why", "daily", first.isoformat())
    )
    assert "won't run again as it is: the job is paused" in one_line(say("why", "daily"))
    odd = one_line(say("why", "daily", (first + timedelta(hours=1)).isoformat()))
    assert "is not a planned time of this job. The next one after that would be" in odd
    say("cancel", "daily")
    assert "It won't run: the job was cancelled on" in one_line(say("why", "daily", first.isoformat()))


NOW = datetime(2026, 11, 16, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("yesterday 9:00", "2026-11-15T09:00"),
        ("yesterday 3:00", "2026-11-15T03:00"),
        ("yesterday at 3:00 pm", "2026-11-15T15:00"),
        ("yesterday at 9am", "2026-11-15T09:00"),
        ("9:00", "2026-11-16T09:00"),
        ("today at 17:00", "2026-11-16T17:00"),
        ("last friday at 9:00", "2026-11-13T09:00"),
        ("2026-11-01 09:00", "2026-11-01T09:00"),
        ("tomorrow at 9", "2026-11-17T09:00"),
    ],
)
def test_a_time_that_is_past_is_read(text: str, moment: str) -> None:
    assert read_past(text, "UTC", NOW) == datetime.fromisoformat(moment).replace(tzinfo=UTC)


def test_a_past_time_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(BadTrigger):
        read_past("yesterday at blah", "UTC", NOW)
    with pytest.raises(BadTrigger, match="yesterday"):
        read_past("yesterday", "UTC", NOW)


def test_numbers_and_lengths_are_said_plainly() -> None:
    assert [counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert [length(seconds) for seconds in (0.04, 12, 125, 12_000)] == ["0.0 s", "12 s", "2 min 5 s", "3 h 20 min"]


def test_what_came_of_a_run_is_a_line() -> None:
    assert result_in_words({"report": "Two\nneed you"}) == "Two need you"
    assert result_in_words({"quiet": True}) == "nothing to report"
    assert result_in_words({"id": "x"}) == '{"id":"x"}'
    assert len(result_in_words("x" * 5000)) == 500


def test_the_log_is_shown_where_there_is_one(say: Say, tmp_path: Path) -> None:
    assert say("logs").exit_code == 1
    folder = tmp_path / "data/service"
    folder.mkdir(parents=True)
    (folder / "service.log").write_text("".join(f"line {number}\n" for number in range(100)))
    assert say("logs", "-n", "2").output == "line 98\nline 99\n"
    assert data(say("logs", "-n", "1", "--json"))["lines"] == ["line 99"]


def test_help_is_grouped_and_answers_to_h(say: Say) -> None:
    helped = say("-h").output
    for panel in ("Plan", "Look", "Act", "This machine", "For a team", "Servers and programs"):
        assert f"─ {panel} ─" in helped
    assert "<bool>" not in helped + say("add", "-h").output + say("channel", "add", "-h").output


async def test_a_one_off_whose_retry_waits_is_not_called_over(url: str) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        await cronty.schedule_job("a", "prompt", "once", {"run_at": "2098-01-31T09:00:00Z"}, kwargs={"prompt": "a"})
        found = await cronty.service.scheduler.show(cronty.caller, 1)
    assert isinstance(found, Ok)
    fired = replace(found.value, next_slot=None, in_flight=1)
    assert outlook(fired, fired.created_at) == "It isn't over yet, and nothing follows it."
    assert "the job has ended" in outlook(replace(fired, in_flight=0), fired.created_at)


def test_what_was_missed_is_shown_first_and_run_when_told_and_says_by_whom(say: Say) -> None:
    say("add", "every day at 9", "daily", "--prompt", "--zone", "UTC")
    asked = ("backfill", "daily", "--from", "4 days ago", "--to", "yesterday")
    shown = one_line(say(*asked))
    assert re.match(r"Would run [34] slots: .* 09:00:00 to .* 09:00:00, UTC \([34] no run\)\.", shown)
    assert "Nothing was run. Repeat it with --yes." in shown
    assert say("inbox").output == "No prompt is waiting.\n"
    done = data(say(*asked, "--yes", "--json"))
    first = str(done["first"])
    assert (done["dry_run"], done["armed"], done["left_out"]) == (False, False, {})
    again = one_line(say(*asked, "--yes"))
    assert again.startswith("No slot of that range is left to run. Left out: ")
    assert "waiting: backfilled by local on" in one_line(say("why", "daily", first))
    assert "running" in str(data(say("show", "daily", "--json"))["status"])
    later = say("backfill", "daily", "--from", "tomorrow", "--to", "tomorrow")
    assert (later.exit_code, "That is still to come" in one_line(later)) == (1, True)
