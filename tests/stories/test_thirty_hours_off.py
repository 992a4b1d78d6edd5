"""A laptop was off for thirty hours: every one-off arrives with its planned time, and one message says what passed."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import asyncpg
import pytest

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.store.sealing import new_key
from tests.actions.servers import Plain, answer, plain
from tests.conftest import START, HandClock, add, hands_of

PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')
ANN = local_caller("ann")


@dataclass
class Laptop:
    """`phone` is the ntfy server that ann's phone listens to."""

    cronty: Cronty
    phone: Plain
    clock: HandClock
    url: str

    async def remind(self, name: str, hours: float, policy: dict[str, object] | None = None) -> None:
        at = (START + timedelta(hours=hours)).isoformat()
        await add(
            self.cronty.service.scheduler, "once", {"run_at": at}, name=name, task="notify",
            kwargs={"message": name, "topic": "phone"}, policy=policy,
        )  # fmt: skip

    async def on(self, *minutes: float) -> None:
        """Start an engine and let these minutes pass, each of them with a look at everything."""
        async with hands_of(self.url, self.clock, self.cronty.registry) as hands:
            for some in (0.0, *minutes):
                self.clock.advance(minutes=some)
                await hands.all()
                await hands.all()

    def said(self) -> Sequence[str]:
        return [json.loads(one.body)["message"] for one in self.phone.received]


@asynccontextmanager
async def laptop_of(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Laptop]:
    async with plain(PUBLISHED) as phone:
        monkeypatch.setenv("CRONTY_NTFY_URL", phone.url)
        monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", f"{phone.allowed}@*")
        monkeypatch.setenv("CRONTY_SECRET_KEY", new_key())
        async with Cronty(url, run_jobs=False, clock=clock) as cronty:
            yield Laptop(cronty, phone, clock, url)


@pytest.fixture
async def laptop(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Laptop]:
    async with laptop_of(url, clock, monkeypatch) as made:
        await made.on()  # it was there before, and tasks are published
        yield made


async def phone_of(laptop: Laptop) -> None:
    added = await laptop.cronty.service.channels.add(ANN, "phone", f"ntfy://{laptop.phone.allowed}/hard-to-guess")
    assert isinstance(added, Ok), added


async def test_after_thirty_hours_off_every_one_off_arrives_and_one_message_says_what_passed(laptop: Laptop) -> None:
    await phone_of(laptop)
    for number, hours in enumerate((1, 2, 5, 20, 29.5), 1):
        await laptop.remind(f"Reminder {number}", hours)
    await laptop.remind("Only in time", 3, policy={"catch_up": "none"})
    hourly = {"message": "Stretch", "topic": "phone"}
    await add(
        laptop.cronty.service.scheduler, "cron", {"expression": "0 * * * *"}, name="Stretch", task="notify",
        kwargs=hourly,
    )  # fmt: skip
    laptop.clock.advance(hours=30)
    await laptop.on(1, 1)
    *arrived, summary = laptop.said()
    assert sorted(arrived) == [
        "Reminder 1\n(planned for Mon 1 Mar 09:00)",
        "Reminder 2\n(planned for Mon 1 Mar 10:00)",
        "Reminder 3\n(planned for Mon 1 Mar 13:00)",
        "Reminder 4\n(planned for 04:00)",
        "Reminder 5\n(planned for 13:30)",
        "Stretch",
    ]
    assert summary.splitlines() == [
        "From Mon 1 Mar 09:00 to Tue 2 Mar 14:00, UTC.",
        "Ran late: Reminder 1, Reminder 2, Reminder 3, Reminder 4, Reminder 5.",
        "Caught up by a later run: 24 times.",
        "Missed: Stretch, Only in time (6 in all).",
    ]
    await laptop.on(5, 5)
    assert len(laptop.said()) == 7


async def test_a_short_absence_needs_no_message_of_its_own(laptop: Laptop) -> None:
    await phone_of(laptop)
    await laptop.remind("Call mum", 1)
    laptop.clock.advance(hours=1, minutes=40)
    await laptop.on(1, 1)
    assert laptop.said() == ["Call mum\n(planned for 09:00)"]


async def test_without_a_channel_the_message_waits_in_the_inbox(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.remind("Call mum", 1)
    laptop.clock.advance(hours=30)
    await laptop.on(1, 1)
    found = await laptop.cronty.service.inbox.read(ANN)
    assert isinstance(found, Ok)
    [item] = found.value
    assert item.prompt.startswith("Tell your user: Nothing was running. From Mon 1 Mar 09:00")
    assert "Ran late: Call mum." in item.prompt
    assert await sql.fetchval("select count(*) from cronty.absences") == 0


async def test_what_is_late_for_another_reason_is_no_absence(laptop: Laptop, sql: asyncpg.Connection) -> None:
    """A job that was held and is let go hours later, while an engine was running all the time."""
    await phone_of(laptop)
    await laptop.remind("Call mum", 1)
    await sql.execute("update cronty.due set held_slot = next_at, next_at = null")
    async with hands_of(laptop.url, laptop.clock, laptop.cronty.registry) as hands:
        for _ in range(3):
            await hands.all()
            laptop.clock.advance(hours=10)
        await hands.all()
        await sql.execute("update cronty.due set next_at = held_slot, held_slot = null")
        hands.engine.firing.low.forget()
        await hands.all()
        laptop.clock.advance(minutes=1)
        await hands.all()
    assert laptop.said() == ["Call mum\n(planned for Mon 1 Mar 09:00)"]
