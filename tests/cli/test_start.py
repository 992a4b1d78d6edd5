"""What somebody sees who has only just installed Cronty."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronty.cli.commands import COMMANDS
from cronty.cli.main import app


def test_alone_it_names_a_handful_of_commands_and_where_the_others_are() -> None:
    start = CliRunner().invoke(app, [])
    assert start.exit_code == 0
    lines = start.output.splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    assert "cronty --help" in lines[-1]
    assert set(re.findall(r"^  cronty (\w+)", start.output, re.MULTILINE)) <= COMMANDS.keys()


def test_doctor_says_how_to_start_where_nothing_has_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRONTY_DATABASE_URL", raising=False)
    monkeypatch.setenv("CRONTY_DATA_DIR", str(tmp_path / "data"))
    said = CliRunner().invoke(app, ["doctor"])
    assert said.exit_code == 1
    assert (
        said.output == "cronty: Cronty has not run on this machine yet. `cronty up` makes its database and starts it.\n"
    )
    assert not (tmp_path / "data").exists(), "looking makes nothing"
