"""Our programs for eleven usual wishes do what their row says, and the table of the page is what is counted."""

import asyncio
from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from bench.wishes import table
from bench.wishes.cronty import (
    change,
    five_at_once,
    later,
    one_at_once,
    retry,
    tested,
    timeout,
    transaction,
    weekday,
    why,
)
from cronty.testing import by_hand
from tests.patience import PATIENCE

FRIDAY = "2027-01-08 00:00"


async def verdicts(cronty: Any, job: str) -> list[tuple[str, str]]:
    return [
        (f"{run.scheduled_for.astimezone(UTC):%d %H:%M}", run.verdict) for run in (await cronty.list_runs(job)).runs
    ]


async def test_every_weekday_at_three_in_berlin(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with by_hand(weekday.cronty, url, at=FRIDAY) as clock:
        await clock.move(days=4)
        assert await verdicts(weekday.cronty, "close_the_books") == [("11 02:00", "done"), ("08 02:00", "done")]
    assert capsys.readouterr().out == "closed\n" * 2


async def test_once_in_two_hours(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with by_hand(later.cronty, url, at=FRIDAY) as clock:
        await later.ask()
        await clock.move(minutes=119)
        assert capsys.readouterr().out == ""
        await clock.move(minutes=1)
        assert capsys.readouterr().out == "reminded ann\n"


async def test_now_in_my_own_transaction(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("create temporary table orders (id int primary key)")
    async with by_hand(transaction.cronty, url) as clock:
        await transaction.buy(connection, 7)
        with pytest.raises(asyncpg.UniqueViolationError):
            await transaction.buy(connection, 7)
        await clock.run_until_idle()
    await connection.close()
    assert capsys.readouterr().out == "receipt for 7\n"


async def test_five_retries_with_growing_pauses(url: str) -> None:
    async with by_hand(retry.cronty, url, at=FRIDAY) as clock:
        await retry.ask()
        await clock.run_until_idle()
        [run] = (await retry.cronty.list_runs("fetch")).runs
        assert (run.verdict, run.attempt) == ("waiting", 1)
        await clock.move(hours=1)
        [run] = (await retry.cronty.list_runs("fetch")).runs
    assert (run.verdict, run.attempt) == ("failed", 6)


async def test_a_timeout(url: str) -> None:
    async with by_hand(timeout.cronty, url) as clock:
        await timeout.ask()
        await clock.run_until_idle()
        [run] = (await timeout.cronty.list_runs("fetch")).runs
    assert run.verdict == "failed"
    assert "1 s" in (run.error or "")


async def test_what_is_due_while_the_one_before_runs_on_another_machine_is_left_out(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = one_at_once.cronty, later.cronty
    ninety_seconds = asyncio.Event()
    monkeypatch.setattr(one_at_once, "asyncio", SimpleNamespace(sleep=lambda _: ninety_seconds.wait()))  # pyright: ignore
    async with by_hand(first, url, at=FRIDAY) as clock, by_hand(second, url, at=FRIDAY) as other:
        running = asyncio.create_task(clock.move(minutes=1))
        async with asyncio.timeout(PATIENCE):
            while await verdicts(second, "close_the_books") != [("08 00:01", "running")]:
                await asyncio.sleep(0.01)
        await other.move(minutes=2)
        assert await verdicts(second, "close_the_books") == [("08 00:02", "skipped"), ("08 00:01", "running")]
        ninety_seconds.set()
        await running


async def test_at_most_five_of_a_task_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    running: set[int] = set()
    most = 0

    async def sleep(_: float) -> None:
        nonlocal most
        running.add(id(asyncio.current_task()))
        most = max(most, len(running))
        await asyncio.sleep(0.01)
        running.discard(id(asyncio.current_task()))

    monkeypatch.setattr(five_at_once, "asyncio", SimpleNamespace(sleep=sleep))  # pyright: ignore
    async with by_hand(five_at_once.cronty, url) as clock:
        await five_at_once.ask()
        await clock.run_until_idle()
        made = await five_at_once.cronty.list_jobs(status="completed", limit=50)
    assert (most, made.total) == (5, 20)


async def test_a_changed_schedule_is_deployed(url: str) -> None:
    async with by_hand(one_at_once.cronty, url, at=FRIDAY):
        pass
    async with by_hand(change.cronty, url, at=FRIDAY) as clock:
        await clock.move(days=1)
        assert await verdicts(change.cronty, "close_the_books") == [("08 03:00", "done")]


async def test_the_test_of_the_page_passes(url: str) -> None:
    await tested.test_not_at_the_weekend(url)


async def test_why_a_run_did_not_happen(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with by_hand(why.cronty, url, at=FRIDAY):
        pass
    async with by_hand(why.cronty, url, at=datetime(2027, 1, 15, tzinfo=UTC)) as clock:
        await clock.run_until_idle()
        await why.ask()
    said = capsys.readouterr().out
    assert "missed" in said


@pytest.mark.parametrize("wish", [wish for wish in table.WISHES if ("cronty", wish) not in table.CANNOT])
def test_each_of_our_wishes_is_a_program_that_is_run_above(wish: str) -> None:
    assert import_module(f"bench.wishes.cronty.{wish}") in globals().values()


def test_the_table_of_the_page_is_what_is_counted() -> None:
    page = table.PAGE.read_text(encoding="utf-8")
    assert table.table() in page, "run `python -m bench wishes`"
    assert table.written(page) == page


def test_blank_lines_and_comments_are_not_counted() -> None:
    assert table.lines("# why\nimport os\n\n\nprint(os.name)  # that\n") == 2
