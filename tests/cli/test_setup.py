"""`cronty setup` with clients that look like the real ones: a program that notes its arguments, a file in its place."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cronty.cli import setup as module
from cronty.cli.main import app

PROGRAM = """#!/bin/sh
echo "$@" >> "{notes}"
[ "$2" = get ] && exit {knows}
{then}
"""


class Machine:
    """A home folder, and a folder of programs that is all of the PATH."""

    def __init__(self, folder: Path) -> None:
        self.home, self.programs, self.notes = folder / "home", folder / "bin", folder / "notes"
        self.home.mkdir()
        self.programs.mkdir()

    def program(self, name: str, *, knows: int = 1, then: str = "exit 0") -> None:
        path = self.programs / name
        path.write_text(PROGRAM.format(notes=self.notes, knows=knows, then=then))
        path.chmod(0o755)

    def file(self, name: str, text: str | None = None) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True)
        if text is not None:
            path.write_text(text)
        return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    made.program("cronty")
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("PATH", str(made.programs))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return made


def states(*words: str) -> dict[str, str]:
    done = CliRunner().invoke(app, ["setup", *words, "--json"])
    return {one["name"]: one["state"] for one in json.loads(done.stdout)["clients"]}


def test_it_is_added_to_every_client_that_is_here_and_only_once(machine: Machine) -> None:
    machine.program("claude")
    machine.program("code")
    desktop = machine.file(".config/Claude/claude_desktop_config.json", '{"theme": "dark", "mcpServers": {"a": {}}}')
    cursor = machine.file(".cursor/mcp.json")
    cronty = str(machine.programs / "cronty")
    names = ("Claude Code", "VS Code", "Claude Desktop", "Cursor")
    assert states("--yes") == dict.fromkeys(names, "added")
    assert f"mcp add --scope user cronty -- {cronty} mcp" in machine.notes.read_text()
    entry = {"command": cronty, "args": ["mcp"]}
    assert json.loads(desktop.read_text()) == {"theme": "dark", "mcpServers": {"a": {}, "cronty": entry}}
    assert json.loads(desktop.with_name(f"{desktop.name}.before-cronty").read_text())["mcpServers"] == {"a": {}}
    assert json.loads(cursor.read_text()) == {"mcpServers": {"cronty": entry}}
    machine.program("claude", knows=0)
    assert states("--yes") == {**dict.fromkeys(names, "there already"), "VS Code": "added"}


def _a_person_is_there(*, json: bool) -> bool:
    return not json


def test_a_person_chooses(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.program("codex")
    cursor = machine.file(".cursor/mcp.json")
    monkeypatch.setattr(module, "can_ask", _a_person_is_there)
    done = CliRunner().invoke(app, ["setup"], input="n\ny\n")
    assert "Add Cronty to Codex (codex mcp add cronty -- {cronty} mcp)?" not in done.output, "the program is named"
    assert "Codex: not chosen.\nCursor: added.\nStart it anew" in done.output
    assert cursor.exists()


def test_without_a_person_it_asks_for_yes_and_changes_nothing(machine: Machine) -> None:
    cursor = machine.file(".cursor/mcp.json")
    done = CliRunner().invoke(app, ["setup"])
    assert (done.exit_code, "Say --yes" in done.output, "Found: Cursor." in done.output) == (1, True, True)
    assert not cursor.exists()


def test_what_fails_is_told_and_the_others_are_done(machine: Machine) -> None:
    machine.program("claude", then="echo 'not signed in' >&2; exit 3")
    broken = machine.file(".cursor/mcp.json", '{"mcpServers": {} // mine\n}')
    windsurf = machine.file(".codeium/windsurf/mcp_config.json")
    done = CliRunner().invoke(app, ["setup", "--yes"])
    assert done.exit_code == 1
    assert "`claude` ended with 3: not signed in." in done.output
    assert "isn't plain JSON" in " ".join(done.output.split())
    assert broken.read_text() == '{"mcpServers": {} // mine\n}'
    assert windsurf.exists()


def test_it_says_so_if_there_is_no_client_or_no_cronty(machine: Machine) -> None:
    said = " ".join(CliRunner().invoke(app, ["setup"]).output.split())
    assert "None of these is here: Claude Code, Codex" in said
    assert "/cronty mcp`" in said
    assert '"mcpServers":{"cronty":{"command":"' in said
    (machine.programs / "cronty").unlink()
    assert "isn't installed for good" in CliRunner().invoke(app, ["setup", "--yes"]).output
