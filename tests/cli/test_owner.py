"""`cronty owner erase`, through the real entry point and a real database."""

import json

import pytest
from typer.testing import CliRunner

from cronty.cli.main import app


def test_an_owner_is_erased_after_its_name_was_typed_once_more(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    runner = CliRunner()
    assert runner.invoke(app, ["add", "in 2h", "Call mum", "--notify", "phone"]).exit_code == 0
    refused = runner.invoke(app, ["owner", "erase", "local"], input="somebody\n")
    assert refused.exit_code != 0
    assert "Call mum" in runner.invoke(app, ["list"]).output
    erased = runner.invoke(app, ["owner", "erase", "local"], input="local\n")
    assert "Erased local: 1 jobs, 0 runs and other rows, 1 entries of the trail." in erased.output
    assert "No jobs" in runner.invoke(app, ["list"]).output
    again = runner.invoke(app, ["owner", "erase", "local", "--yes", "--json"])
    assert again.exit_code == 1
    assert runner.invoke(app, ["add", "in 2h", "Call dad", "--notify", "phone"]).exit_code == 0
    assert json.loads(runner.invoke(app, ["owner", "erase", "local", "--yes", "--json"]).output)["jobs"] == 1
