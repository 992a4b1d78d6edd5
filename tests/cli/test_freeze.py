"""`cronty freeze` and `cronty thaw`, through the real entry point; and everybody who looks is told."""

import asyncio
import json

import httpx2
import pytest
from typer.testing import CliRunner

from cronty import Cronty
from cronty.asgi import http_app
from cronty.cli.main import app
from cronty.cli.service_status import show_status


@pytest.fixture
def runner(url: str, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    return CliRunner()


def test_a_frozen_installation_says_so_and_a_thawed_one_does_not(runner: CliRunner) -> None:
    thawed = runner.invoke(app, ["thaw"]).output
    assert thawed.startswith("Database: ")
    assert thawed.endswith("\nIt wasn't frozen.\n")
    frozen = " ".join(runner.invoke(app, ["freeze", "--because", "a restored copy"]).output.split())
    said = frozen[frozen.index("Frozen since 20") :]
    assert said.endswith(" UTC (a restored copy): nothing fires until `cronty thaw`.")
    found = json.loads(runner.invoke(app, ["doctor", "--json"]).output)
    [told] = [one for one in found["findings"] if one["what"] == "freeze"]
    assert (found["good"], told["good"], told["said"]) == (False, False, said)
    thawed = json.loads(runner.invoke(app, ["thaw", "--json"]).output)
    assert thawed["frozen_since"]
    assert thawed["overdue"] == 0
    findings = json.loads(runner.invoke(app, ["doctor", "--json"]).output)["findings"]
    assert [one["good"] for one in findings if one["what"] == "freeze"] == [True]


def test_a_server_that_is_only_called_is_not_frozen(runner: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_URL", "http://127.0.0.1:9")
    for command in ("freeze", "thaw"):
        refused = runner.invoke(app, [command])
        assert refused.exit_code == 1
        assert "CRONTY_DATABASE_URL" in refused.output
    monkeypatch.delenv("CRONTY_URL")
    assert runner.invoke(app, ["thaw"]).output.endswith("\nIt wasn't frozen.\n"), "nor is the one at hand"


async def test_ready_and_metrics_tell_it_and_it_is_no_fault(url: str, runner: CliRunner) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        service = http_app(cronty, ["jobs"], ["test"])
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(service), base_url="http://test") as client:
            assert (await client.get("/ready")).json() == {"status": "ready"}
    from_outside = await _in_thread(runner, "freeze")
    assert "\nFrozen since" in from_outside
    async with Cronty(url, run_jobs=False) as cronty:
        service = http_app(cronty, ["jobs"], ["test"])
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(service), base_url="http://test") as client:
            answer = await client.get("/ready")
        assert answer.status_code == 200
        assert answer.json()["frozen"].startswith("Frozen since")
        assert "cronty_fleet_frozen 1\n" in await cronty.metrics()


async def _in_thread(runner: CliRunner, *arguments: str) -> str:
    return (await asyncio.to_thread(runner.invoke, app, list(arguments))).output


def test_the_status_of_the_service_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_status({"state": "up", "log": "", "frozen": "Frozen since today: nothing fires until `cronty thaw`."})
    assert "Frozen since today" in capsys.readouterr().out


def test_why_does_not_answer_from_another_database_than_the_server_that_is_named(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONTY_URL", "http://127.0.0.1:9")
    refused = runner.invoke(app, ["why", "sales"])
    assert refused.exit_code == 1
    assert "`cronty runs sales`" in refused.output
