"""`cronty next`, as somebody types it."""

import json

import pytest
from typer.testing import CliRunner, Result

from cronty.cli.main import app


def cronty_next(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["next", *arguments], env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})


def test_slots_are_shown_under_the_rule_in_words() -> None:
    said = cronty_next("every weekday at 8:30", "--zone", "Europe/Berlin", "-n", "10")
    assert said.exit_code == 0
    words, zone, empty, header, *slots = said.stdout.splitlines()
    assert words == "At 08:30 on weekdays, Berlin time"
    assert zone == "Europe/Berlin, cron 30 8 * * MON-FRI"
    assert (empty, header.split()[:2]) == ("", ["Europe/Berlin", "UTC"])
    assert len(slots) == 10
    assert all(" 08:30  " in slot for slot in slots)


@pytest.mark.parametrize("when", ["30 2 * * *", "every 2 days", "*/15 * * * *", "last day of the month at 17:00"])
def test_a_year_of_slots_fits_into_80_columns(when: str) -> None:
    said = cronty_next(when, "--zone", "Europe/Berlin", "-n", "400")
    assert said.exit_code == 0
    assert max(len(line) for line in said.stdout.splitlines()) <= 80


def test_a_change_of_the_clocks_is_noted() -> None:
    said = cronty_next("30 2 * * *", "--zone", "Europe/Berlin", "-n", "400")
    text = " ".join(said.stdout.split())
    assert "clocks go forward that night:" in text
    assert "clocks go back: first pass of" in text


def test_a_zone_in_the_words_wins() -> None:
    said = cronty_next("daily at 9 New York time", "--zone", "Europe/Berlin", "-n", "1")
    assert said.stdout.splitlines()[:2] == ["At 09:00 every day, New York time", "America/New_York, cron 0 9 * * *"]


def test_without_a_zone_the_setting_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_ZONE", "Asia/Kolkata")
    assert cronty_next("daily at 9").stdout.splitlines()[0] == "At 09:00 every day, Kolkata time"


def test_what_cannot_be_read_is_one_line_and_exit_code_2() -> None:
    said = cronty_next("evry day at 9", "--zone", "UTC")
    assert (said.exit_code, said.stdout) == (2, "")
    assert said.stderr.startswith('cronty: Can\'t read "evry" in "evry day at 9". Did you mean "every"?')
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize(("when", "zone"), [("61 * * * *", "UTC"), ("daily at 9", "Europe/Berln")])
def test_a_bad_expression_or_zone_is_one_line_too(when: str, zone: str) -> None:
    said = cronty_next(when, "--zone", zone)
    assert said.exit_code == 2
    assert len(said.stderr.splitlines()) == 1


def test_what_may_mean_two_things_is_listed_with_exit_code_3() -> None:
    said = cronty_next("every day at 5", "--zone", "Europe/Berlin")
    assert said.exit_code == 3
    title, header, first, second, advice = said.stdout.splitlines()
    assert title == '"every day at 5" may mean:'
    assert header.split() == ["words", "next", "(Europe/Berlin)"]
    assert [line.split()[0] for line in (first, second)] == ["1)", "2)"]
    assert {line.partition(" time ")[0][2:].strip() for line in (first, second)} == {
        "At 05:00 every day, Berlin",
        "At 17:00 every day, Berlin",
    }
    assert advice == "Repeat the command with the words of the one you mean."


def test_what_names_no_exact_time_is_offered_as_such() -> None:
    said = cronty_next("tomorrow morning", "--zone", "Europe/Berlin")
    assert said.exit_code == 3
    title, _, only, advice = said.stdout.splitlines()
    assert title == '"tomorrow morning" names no exact time. It may mean:'
    assert only.startswith("1)")
    assert advice == "If so, repeat it with those words."


def test_json_holds_the_trigger_and_its_slots() -> None:
    said = cronty_next("every weekday at 8:30", "--zone", "Europe/Berlin", "-n", "3", "--json")
    answer = json.loads(said.stdout)
    assert answer["words"] == "At 08:30 on weekdays, Berlin time"
    assert answer["zone"] == "Europe/Berlin"
    assert answer["trigger"] == {"kind": "cron", "expression": "30 8 * * MON-FRI", "zone": "Europe/Berlin"}
    assert len(answer["slots"]) == 3
    assert set(answer["slots"][0]) == {"local", "utc", "note"}


def test_json_holds_the_choices_and_the_errors() -> None:
    unclear = cronty_next("every day at 5", "--json")
    assert unclear.exit_code == 3
    choices = json.loads(unclear.stdout)["ambiguous"]
    assert sorted(choice["trigger"]["expression"] for choice in choices) == ["0 17 * * *", "0 5 * * *"]
    assert all(choice["next"]["utc"] for choice in choices)
    wrong = cronty_next("blah", "--json")
    assert wrong.exit_code == 2
    assert json.loads(wrong.stdout)["error"] == 'Can\'t read "blah"'
