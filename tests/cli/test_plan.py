"""`cronty plan`: what starting a program would change, and that it changes nothing itself."""

import asyncio
import json
import sys
from types import ModuleType

import asyncpg
import pytest
from typer.testing import CliRunner

from cronty import Cronty
from cronty.cli.main import app


def program(url: str, **schedules: str) -> Cronty:
    cronty = Cronty(url)
    for name, when in schedules.items():

        @cronty.every(when, name=name)
        async def work() -> None: ...

    return cronty


async def open_once(cronty: Cronty) -> None:
    async with cronty:
        pass


@pytest.fixture
def runner(url: str, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    monkeypatch.setenv("COLUMNS", "200")
    return CliRunner()


def planned(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch, cronty: Cronty, *options: str, refused: bool = False
) -> str:
    module = ModuleType("shop")
    module.__dict__["cronty"] = cronty
    monkeypatch.setitem(sys.modules, "shop", module)
    done = runner.invoke(app, ["plan", "shop:cronty", *options])
    assert done.exit_code == (0 if refused is False else 1), done.output
    return done.output


def test_it_says_what_would_change_and_changes_nothing(
    url: str, runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert planned(runner, monkeypatch, Cronty(url)) == "shop:cronty declares no schedules.\n"
    asyncio.run(open_once(program(url, a="day at 3:00", b="day at 4:00", c="day at 5:00")))
    asyncio.run(_edit(url, "c", "every day at 09:00"))
    new = program(url, a="day at 3:00", c="day at 5:00", d="monday at 7:00")
    for _ in range(2):
        found = json.loads(planned(runner, monkeypatch, new, "--json"))["schedules"]
        changes = {one["name"]: (one["change"], one["declared"], one["now"]) for one in found}
        assert changes == {
            "a": ("same", "every day at 03:00", "every day at 03:00"),
            "b": ("gone", None, "every day at 04:00"),
            "c": ("edited", "every day at 05:00", "every day at 09:00"),
            "d": ("new", "every monday at 07:00", None),
        }
    text = planned(runner, monkeypatch, new)
    assert "will be paused" in text
    assert text.endswith("2 changes when the program starts.\n")
    assert asyncio.run(_tasks(url)) == {"a", "b", "c"}
    same = program(url, a="day at 3:00", b="day at 4:00", c="day at 5:00")
    assert planned(runner, monkeypatch, same).endswith("Starting it changes nothing.\n")


def test_it_names_each_schedule_that_cannot_be_read(
    url: str, runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = program(url, a="day at 3:00", b="whenever it suits", c="in 2 hours")
    said = planned(runner, monkeypatch, bad, refused=True)
    assert "The schedule 'b' of tests.cli.test_plan.program.<locals>.work can't be used" in said
    assert "The schedule 'c' of" in said
    assert "'a'" not in said


async def _edit(url: str, name: str, text: str) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        await cronty.edit_job(name, trigger_type="words", trigger_config={"text": text})


async def _tasks(url: str) -> set[str]:
    connection = await asyncpg.connect(url)
    try:
        return {row["name"] for row in await connection.fetch("select name from cronty.tasks")} & set("abcd")
    finally:
        await connection.close()
