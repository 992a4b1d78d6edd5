"""`cronty owner erase`, through the real entry point and a real database."""

import json
import os

import pytest
from typer.testing import CliRunner

from cronty.cli.main import app


def test_an_owner_is_erased_after_its_name_was_typed_once_more(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    runner = CliRunner()
    assert runner.invoke(app, ["add", "in 2h", "Call mum", "--notify", "ntfy:phone"]).exit_code == 0
    refused = runner.invoke(app, ["owner", "erase", "local"], input="somebody\n")
    assert refused.exit_code != 0
    assert "Call mum" in runner.invoke(app, ["list"]).output
    erased = runner.invoke(app, ["owner", "erase", "local"], input="local\n")
    assert "Erased local: 1 jobs, 0 runs and other rows, 1 entries of the trail." in erased.output
    assert "No jobs" in runner.invoke(app, ["list"]).output
    again = runner.invoke(app, ["owner", "erase", "local", "--yes", "--json"])
    assert again.exit_code == 1
    assert runner.invoke(app, ["add", "in 2h", "Call dad", "--notify", "ntfy:phone"]).exit_code == 0
    assert json.loads(runner.invoke(app, ["owner", "erase", "local", "--yes", "--json"]).output)["jobs"] == 1


def test_every_command_acts_for_the_owner_that_is_named_before_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    for name in ("CRONTY_OWNER", "CRONTY_URL"):
        monkeypatch.setenv(name, "")  # so that what a command sets is taken back
    runner = CliRunner()
    unknown = runner.invoke(app, ["--owner", "ann", "list"])
    assert unknown.exit_code == 1
    hint = (
        "There is no owner ann. `cronty owner list` shows them; `cronty token add laptop --owner ann` makes a new one."
    )
    assert hint in " ".join(unknown.output.split())
    assert os.environ["CRONTY_OWNER"] == "ann", "as where it is set for all commands"
    assert runner.invoke(app, ["token", "add", "laptop", "--owner", "ann"]).exit_code == 0
    monkeypatch.setenv("CRONTY_OWNER", "")
    assert runner.invoke(app, ["add", "in 2h", "Call mum", "--prompt"]).exit_code == 0
    assert runner.invoke(app, ["--owner", "ann", "add", "in 2h", "Call ann's mum", "--prompt"]).exit_code == 0
    hers = runner.invoke(app, ["list"], env={"CRONTY_OWNER": "ann"}).output
    assert "Call ann's mum" in hers
    assert "laptop" in runner.invoke(app, ["token", "list"], env={"CRONTY_OWNER": "ann"}).output
    there = runner.invoke(app, ["--url", "http://127.0.0.1:9", "list"], env={"CRONTY_OWNER": "ann"})
    assert there.exit_code == 2
    assert "knows the owner by its key" in " ".join(there.output.split())


def test_owners_are_listed_with_what_they_have(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    runner = CliRunner()
    assert runner.invoke(app, ["add", "in 2h", "Call mum", "--prompt"]).exit_code == 0
    assert runner.invoke(app, ["token", "add", "a key", "--owner", "ann"]).exit_code == 0
    found = json.loads(runner.invoke(app, ["owner", "list", "--json"]).output)["owners"]
    assert [(one["name"], one["running"], one["failed"]) for one in found] == [("ann", 0, 0), ("local", 0, 0)]
    assert "--after ann" in runner.invoke(app, ["owner", "list", "-n", "1"]).output
    assert "ann" not in runner.invoke(app, ["owner", "list", "--after", "ann"]).output
    assert "No owner has a run that failed" in runner.invoke(app, ["owner", "list", "--failing"]).output
