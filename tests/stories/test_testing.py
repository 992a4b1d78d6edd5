"""The test kit: a developer's own tests with a real database, a clock to move, and no sleeping."""

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronty import Cronty, Snooze, TaskFailed, current_run
from cronty.testing import by_hand, fake_run, perform
from tests.patience import PATIENCE

PAGE = Path(__file__).parents[2] / "docs/how-to/testing.md"
AT = "2027-03-01 08:00"
START = datetime(2027, 3, 1, 8, tzinfo=UTC)


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    (tmp_path / "test_shop.py").write_text(program)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "test_shop.py",
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "3 passed" in ran.stdout, ran.stdout + ran.stderr


async def test_each_slot_is_performed_at_its_moment(url: str) -> None:
    cronty = Cronty()
    seen: list[datetime] = []

    @cronty.task
    async def tick() -> None:
        assert current_run().scheduled_for == clock.now
        seen.append(clock.now)

    async with by_hand(cronty, url, AT) as clock:
        await tick.schedule("every 6 hours")
        await clock.move(days=2)
        first = seen[0]
        assert seen == [first + timedelta(hours=6 * n) for n in range(8)]
        assert clock.now == START + timedelta(days=2)


async def test_a_retry_is_performed_when_its_wait_is_over_and_plain_functions_too(url: str) -> None:
    cronty = Cronty()
    attempts: list[int] = []

    @cronty.task(policy={"attempts": 3, "backoff": 60})
    def flaky() -> str:
        attempts.append(current_run().attempt)
        if len(attempts) < 3:
            raise ValueError("no luck")
        return "at last"

    async with by_hand(cronty, url, AT) as clock:
        run = await flaky.enqueue()
        await clock.run_until_idle()
        assert attempts == [1]
        await clock.move(hours=1)
        assert attempts == [1, 2, 3]
        assert await run.result(timeout=PATIENCE) == "at last"


async def test_a_program_keeps_its_settings_and_can_be_opened_again(url: str) -> None:
    cronty = Cronty("postgresql://nowhere/none", run_jobs=False)

    @cronty.task
    async def fail() -> None:
        raise ValueError("no luck")

    for _ in range(2):
        async with by_hand(cronty, url, START) as clock:
            run = await fail.options(policy={"attempts": 1}).enqueue()
            await clock.run_until_idle()
            with pytest.raises(TaskFailed, match="no luck"):
                await run.result(timeout=PATIENCE)
    assert (cronty.settings.database_url, cronty.run_jobs) == ("postgresql://nowhere/none", False)


async def test_a_task_that_is_always_due_again_is_no_endless_test(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cronty.engine.by_hand.ENDLESS", 5)
    cronty = Cronty()

    @cronty.task
    async def again() -> None:
        raise Snooze(timedelta(0))

    async with by_hand(cronty, url, AT) as clock:
        await again.enqueue()
        with pytest.raises(RuntimeError, match="always due again"):
            await clock.run_until_idle()
        with pytest.raises(ValueError, match="doesn't go back"):
            await clock.move(hours=-1)


async def test_performing_has_the_fake_run_that_is_given() -> None:
    cronty = Cronty()

    @cronty.task
    def which() -> int:
        return current_run().attempt

    assert await perform(which) == 1
    with fake_run(attempt=3, scheduled_for=START) as run:
        assert await perform(which) == 3
        assert run.scheduled_for == START


async def test_what_must_wait_for_room_under_a_limit_is_performed_when_there_is_some(url: str) -> None:
    cronty = Cronty()
    cronty.limit("model", per_minute=2)
    seen: list[datetime] = []

    @cronty.task(limit="model")
    async def ask() -> None:
        seen.append(clock.now)

    @cronty.task(concurrency=1, priority="urgent")
    async def alarm() -> None:
        seen.append(clock.now)

    async with by_hand(cronty, url, AT) as clock:
        for _ in range(5):
            await ask.enqueue()
        await alarm.enqueue()
        await clock.run_until_idle()
        assert seen == [START] * 3
        await clock.move(minutes=5)
        assert [round((moment - START).total_seconds()) for moment in seen[3:]] == [60, 60, 120]


async def test_urgent_tasks_are_performed_and_those_of_other_queues_wait(url: str) -> None:
    cronty = Cronty(queues=["default"])
    seen: list[str] = []

    @cronty.task(priority="urgent")
    async def alarm() -> None:
        seen.append("alarm")

    @cronty.task(queue="gpu")
    async def draw() -> None:
        seen.append("draw")

    async with by_hand(cronty, url, AT) as clock:
        await draw.enqueue()
        await alarm.enqueue()
        await clock.run_until_idle()
        await clock.move(hours=1)
        assert seen == ["alarm"]
