"""Whose clock is meant: the machine's at the first start, then what its owner says."""

import os
from pathlib import Path

import asyncpg
import pytest
from typer.testing import CliRunner

from cronty import Cronty
from cronty.app.machine_zone import machine_zone
from cronty.cli.main import app
from cronty.contract.result import CrontyError
from tests.conftest import TRAIL

runner = CliRunner()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TZ", raising=False)
    (tmp_path / "etc").mkdir()
    return tmp_path


@pytest.fixture
def here(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)
    monkeypatch.delenv("CRONTY_ZONE", raising=False)


def say(*words: str, code: int = 0) -> str:
    done = runner.invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.output


# -- the machine ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["America/New_York", ":America/New_York", "/usr/share/zoneinfo/America/New_York"])
def test_tz_names_the_zone(root: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("TZ", said)
    assert machine_zone(root) == "America/New_York"


@pytest.mark.parametrize(
    "place",
    ["/usr/share/zoneinfo/America/New_York", "../usr/share/zoneinfo/posix/America/New_York",
     "/var/db/timezone/zoneinfo/America/New_York", "/usr/share/zoneinfo/US/Eastern"],
)  # fmt: skip
def test_else_it_is_where_localtime_leads(root: Path, place: str) -> None:
    (root / "etc/localtime").symlink_to(place)
    assert machine_zone(root) == "America/New_York"


def test_the_name_that_was_chosen_wins_over_the_file_it_leads_to(root: Path) -> None:
    towns = root / "usr/share/zoneinfo/Europe"
    towns.mkdir(parents=True)
    (towns / "Stockholm").symlink_to("Berlin")
    (root / "etc/localtime").symlink_to("../usr/share/zoneinfo/Europe/Stockholm")
    assert machine_zone(root) == "Europe/Stockholm"


def test_else_it_is_in_a_file_and_what_names_no_zone_is_passed_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0,M11.1.0")
    (root / "etc/localtime").write_bytes(b"TZif")
    (root / "etc/timezone").write_text("America/New_York\n")
    assert machine_zone(root) == "America/New_York"
    (root / "etc/timezone").unlink()
    assert machine_zone(root) is None


def test_links_in_a_circle_name_no_zone(root: Path) -> None:
    (root / "etc/localtime").symlink_to("localtime")
    assert machine_zone(root) is None


# -- the owner --------------------------------------------------------------------------------------------------------


async def test_what_a_machine_or_a_browser_says_counts_until_somebody_has_said_it(url: str) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        scheduler = cronty.service.scheduler
        assert not await scheduler.suggest_zone(cronty.caller, "UTC")
        assert not await scheduler.suggest_zone(cronty.caller, "Mars/Olympus")
        assert (await scheduler.clock(cronty.caller))[1] == "UTC"
        assert await scheduler.suggest_zone(cronty.caller, "America/New_York")
        assert not await scheduler.suggest_zone(cronty.caller, "Asia/Tokyo")
        assert (await cronty.set_zone("Europe/Berlin")).before == "America/New_York"
        assert not await scheduler.suggest_zone(cronty.caller, "Asia/Tokyo")
        assert (await cronty.get_current_time()).timezone == "Europe/Berlin"


async def test_a_new_zone_is_for_what_comes_and_leaves_jobs_where_they_are(url: str, sql: asyncpg.Connection) -> None:
    async with Cronty(url, run_jobs=False) as cronty:
        await cronty.set_zone("America/New_York")
        call = ("notify", "words", {"text": "every day at 9"})
        kept = await cronty.schedule_job("kept", *call, kwargs={"message": "m", "topic": "t"})
        made = await cronty.set_zone("Europe/Berlin")
        assert "keep their own" in made.note
        new = await cronty.schedule_job("new", *call, kwargs={"message": "m", "topic": "t"})
        assert (kept.timezone, new.timezone) == ("America/New_York", "Europe/Berlin")
        listed = await cronty.list_jobs()
        shown = {job.name: (job.next_run and f"{job.next_run:%H:%M}", job.timezone) for job in listed.jobs}
        assert listed.timezone == "Europe/Berlin"
        assert shown["new"] == ("09:00", None)
        assert shown["kept"][1] == "America/New_York"
        assert shown["kept"][0] in ("14:00", "15:00")  # five hours between them for two weeks in spring
        with pytest.raises(CrontyError, match="Unknown time zone") as refused:
            await cronty.set_zone("Berlin")
        assert "Europe/Berlin" in refused.value.hint
    entries = await sql.fetch(f"select before, after from {TRAIL} where what = 'zone set' order by at")
    assert [entry["after"] for entry in entries] == ['{"zone": "America/New_York"}', '{"zone": "Europe/Berlin"}']


def test_the_command_shows_it_and_sets_it(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert "UTC, where it is " in (said := say("zone"))
    assert "`cronty zone America/New_York` makes it yours" in " ".join(said.split())
    assert "Your time zone is America/New_York" in say("zone", "America/New_York")
    assert "The clock of this machine" not in say("zone")
    assert "It was America/New_York. Jobs that are there already keep" in say("zone", "Europe/Berlin")
    assert "Unknown time zone: Nowhere" in say("zone", "Nowhere", code=1)


def test_lists_are_in_your_zone_with_the_jobs_own_beside(here: None) -> None:
    say("zone", "America/New_York")
    say("add", "every day at 9", "water", "--notify", "ntfy:phone")
    assert "next (America/New_York)" in (alone := say("list"))
    assert "own zone" not in alone
    say("add", "every day at 9", "feed", "--notify", "ntfy:phone", "--zone", "Asia/Tokyo")
    both = say("list")
    assert "its own zone" in both
    assert "Asia/Tokyo" in both


def test_next_is_in_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CRONTY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TZ", "America/New_York")
    assert "America/New_York       UTC" in say("next", "every day at 9", "-n", "1")
