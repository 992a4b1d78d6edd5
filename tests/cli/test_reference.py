"""The page about the commands is complete, and every exit code on it is the one that commands end with."""

import json
import re
import sys
from pathlib import Path

import pytest

from cronty.cli.main import main
from tests.cli.reference_page import MARK, PAGE, commands, rendered

NOWHERE = "postgresql://localhost:1/nowhere"
SILENT = {"cronty mcp", "cronty serve", "cronty work"}  # they run until told to stop
JSON_ANYWAY = {"cronty audit export", "cronty call", "cronty export"}

CODES = [
    (0, ("list",)),
    (0, ("next", "every weekday at 8:30")),
    (0, ("down",)),
    (0, ("migrate",)),
    (1, ("show", "99")),
    (1, ("cancel", "99")),
    (1, ("add", "blah", "x", "--prompt")),
    (1, ("status",)),
    (1, ("doctor",)),
    (1, ("token", "revoke", "99")),
    (1, ("list", "--status", "odd")),
    (2, ("list", "--nonsense")),
    (2, ("nonsense",)),
    (2, ("add", "in 2h")),
    (2, ("next", "evry day")),
    (2, ("import", "crontab", "/nowhere")),
    (2, ("up", "--host", "0.0.0.0")),
    (3, ("next", "03/04 at 9:00")),
    (3, ("add", "03/04 at 9:00", "x", "--prompt")),
]


@pytest.fixture
def database(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    monkeypatch.setenv("CRONTY_DATA_DIR", str(tmp_path))


def code_of(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> int:
    """As the console script ends."""
    monkeypatch.setattr(sys, "argv", ["cronty", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code if isinstance(ended.value.code, int) else 0


def test_the_page_says_what_every_command_takes() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition(MARK)[2] == rendered().partition(MARK)[2], "run: python -m tests.cli.reference_page"


def test_every_command_that_answers_can_answer_in_json() -> None:
    lacking = {name for name, command in commands() if not any("--json" in one.opts for one in command.params)}
    assert lacking == SILENT | JSON_ANYWAY


def test_the_page_has_every_exit_code() -> None:
    table = re.findall(r"^\| (\d) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted({str(code) for code, _ in CODES}) == table


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(("code", "words"), CODES)
def test_a_command_ends_with_the_code_on_the_page(
    code: int, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(words, monkeypatch) == code
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [("list",), ("add", "in 2h", "x", "--prompt"), ("doctor",), ("watch",), ("export",)])
def test_a_database_that_is_away_ends_with_2(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", NOWHERE)
    assert code_of(words, monkeypatch) == 2
    assert capsys.readouterr().err.startswith("cronty: PostgreSQL can't be reached: ")


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    "words", [("show", "99"), ("cancel", "99"), ("delete", "99"), ("why", "99", "today at 9:00"), ("next", "evry day")]
)
def test_a_refusal_is_json_too(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of((*words, "--json"), monkeypatch) in (1, 2)
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]
    assert said.err == ""
