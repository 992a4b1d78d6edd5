"""It rings with the laptop shut: ntfy is given reminders ahead of their time, and follows what becomes of them."""

from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

import asyncpg
import pytest

from cronty.contract.requests import ChangeSlot, EditJob
from cronty.contract.result import Err, Ok
from cronty.engine.handing import Ahead
from cronty.jobs.ahead import MOST
from tests.conftest import START, HandClock, hands_of
from tests.stories.shut_laptop import ANN, Laptop, open_laptop


@pytest.fixture
async def laptop(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Laptop]:
    async with open_laptop(url, clock, monkeypatch) as made:
        yield made


@pytest.fixture
async def phone(laptop: Laptop) -> None:
    await laptop.channel()


@pytest.mark.usefixtures("phone")
async def test_a_reminder_rings_with_the_laptop_shut_and_not_again_when_it_is_opened(laptop: Laptop) -> None:
    await laptop.remind()
    await laptop.awake()
    assert laptop.ntfy.kept() == [(START + timedelta(hours=1), "Call mum")]
    laptop.clock.advance(hours=1)
    assert laptop.ntfy.ring() == ["Call mum"]
    laptop.clock.advance(hours=9)
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call mum"]
    said = await laptop.result()
    assert said["note"] == "delivered by ntfy, handed over at Mon 1 Mar 2027 08:00, UTC"


@pytest.mark.usefixtures("phone")
async def test_open_at_its_time_it_leaves_it_to_ntfy(laptop: Laptop) -> None:
    await laptop.remind()
    await laptop.awake()
    laptop.clock.advance(hours=1)
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call mum"]
    assert (await laptop.result())["channel"] == "phone"


@pytest.mark.usefixtures("phone")
async def test_what_is_edited_paused_resumed_moved_skipped_and_cancelled_is_so_at_ntfy(laptop: Laptop) -> None:
    scheduler = laptop.cronty.service.scheduler
    number = await laptop.remind("every day at 9:00")
    days = [datetime.fromisoformat(f"2027-03-0{day}T09:00:00+00:00") for day in (1, 2, 3)]

    async def kept() -> list[tuple[datetime, str]]:
        await laptop.awake()
        return laptop.ntfy.kept()

    assert await kept() == [(day, "Call mum") for day in days]
    edited = await scheduler.edit(ANN, EditJob(str(number), kwargs={"message": "Call dad", "topic": "phone"}))
    assert isinstance(edited, Ok), edited
    assert await kept() == [(day, "Call dad") for day in days]
    assert isinstance(await scheduler.pause(ANN, number), Ok)
    assert await kept() == []
    assert isinstance(await scheduler.resume(ANN, number), Ok)
    assert await kept() == [(day, "Call dad") for day in days]
    later = days[1] + timedelta(hours=2)
    moved = await scheduler.change_slot(ANN, ChangeSlot(str(number), days[1].isoformat(), later.isoformat()))
    assert not isinstance(moved, Err), moved
    assert await kept() == [(days[0], "Call dad"), (later, "Call dad"), (days[2], "Call dad")]
    skipped = await scheduler.change_slot(ANN, ChangeSlot(str(number), days[2].isoformat()))
    assert not isinstance(skipped, Err), skipped
    assert await kept() == [(days[0], "Call dad"), (later, "Call dad")]
    assert isinstance(await scheduler.cancel(ANN, number), Ok)
    assert await kept() == []


@pytest.mark.usefixtures("phone")
async def test_the_window_moves_and_nothing_is_given_twice(laptop: Laptop) -> None:
    await laptop.remind("every day at 9:00")
    await laptop.awake()
    assert len(laptop.ntfy.kept()) == 3
    calls = len(laptop.ntfy.calls)
    await laptop.awake()
    assert len(laptop.ntfy.calls) == calls
    laptop.clock.advance(days=1)
    laptop.ntfy.ring()
    await laptop.awake()
    assert (len(laptop.ntfy.kept()), laptop.ntfy.calls[calls:]) == (3, ["POST"])


@pytest.mark.usefixtures("phone")
async def test_of_a_job_that_fires_often_ntfy_is_given_the_next_few(laptop: Laptop) -> None:
    await laptop.remind("every 10 minutes")
    await laptop.awake()
    assert len(laptop.ntfy.kept()) == MOST


@pytest.mark.usefixtures("phone")
async def test_what_could_not_be_handed_over_is_sent_at_its_time(laptop: Laptop) -> None:
    await laptop.remind()
    laptop.ntfy.offline = True
    await laptop.awake()
    laptop.ntfy.offline = False
    laptop.clock.advance(hours=1)
    await laptop.awake()
    assert (laptop.ntfy.ring(), laptop.ntfy.calls) == (["Call mum"], ["POST"])
    assert "note" not in await laptop.result()


@pytest.mark.usefixtures("phone")
async def test_a_hand_over_that_failed_is_tried_again_before_its_time(laptop: Laptop) -> None:
    await laptop.remind()
    laptop.ntfy.limit = True
    await laptop.awake()
    laptop.ntfy.limit = False
    await laptop.awake()
    assert laptop.ntfy.kept() == []  # not at once
    laptop.clock.advance(minutes=2)
    await laptop.awake()
    assert len(laptop.ntfy.kept()) == 1


@pytest.mark.usefixtures("phone")
async def test_an_answer_that_is_lost_makes_no_second_message(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.remind()
    await laptop.awake()
    await sql.execute(
        "update cronty.handed_over set state = 'giving', handed_at = null, due_at = '-infinity'"
    )  # killed there
    laptop.ntfy.deaf = True
    await laptop.awake()
    laptop.ntfy.deaf = False
    assert len(laptop.ntfy.kept()) == 1
    laptop.clock.advance(hours=1)
    await laptop.hands.all()  # it may or may not be there: it is sent under the same id, which replaces it
    assert laptop.ntfy.ring() == ["Call mum"]


@pytest.mark.usefixtures("phone")
async def test_a_job_cancelled_after_a_kill_between_the_call_and_its_row_does_not_ring(
    laptop: Laptop, sql: asyncpg.Connection
) -> None:
    number = await laptop.remind()
    await laptop.awake()
    await sql.execute("update cronty.handed_over set state = 'giving', handed_at = null, due_at = '-infinity'")
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    await laptop.awake()
    laptop.clock.advance(hours=1)
    assert laptop.ntfy.ring() == []


@pytest.mark.usefixtures("phone")
async def test_what_cannot_be_taken_back_is_tried_again(laptop: Laptop) -> None:
    number = await laptop.remind()
    await laptop.awake()
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    laptop.ntfy.offline = True
    await laptop.awake()
    laptop.ntfy.offline = False
    laptop.clock.advance(minutes=2)
    await laptop.awake()
    laptop.clock.advance(hours=1)
    assert laptop.ntfy.ring() == []


@pytest.mark.usefixtures("phone")
async def test_if_it_rings_after_all_its_owner_is_told(laptop: Laptop) -> None:
    number = await laptop.remind()
    await laptop.awake()
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    laptop.ntfy.offline = True
    await laptop.awake()
    laptop.clock.advance(hours=2)
    assert laptop.ntfy.ring() == ["Call mum"]
    laptop.ntfy.offline = False
    await laptop.awake()
    await laptop.awake()
    await laptop.awake()
    [_, told] = laptop.ntfy.ring()
    assert told.startswith("mum, planned for Mon 1 Mar 2027 09:00, UTC, was to be taken back from ntfy:")


@pytest.mark.usefixtures("phone")
async def test_a_text_changed_at_the_last_moment_is_the_one_that_rings(laptop: Laptop) -> None:
    number = await laptop.remind()
    await laptop.awake()
    laptop.clock.advance(minutes=59, seconds=45)
    await laptop.cronty.service.scheduler.edit(
        ANN, EditJob(str(number), kwargs={"message": "Call dad", "topic": "phone"})
    )
    laptop.ntfy.limit = True  # and it can't even be taken back
    await laptop.awake()
    laptop.ntfy.limit = False
    laptop.clock.advance(seconds=15)
    await laptop.hands.all()
    assert laptop.ntfy.ring() == ["Call dad"]


@pytest.mark.usefixtures("phone")
async def test_a_channel_that_is_replaced_or_removed_takes_its_messages_along(laptop: Laptop) -> None:
    await laptop.remind()
    await laptop.awake()
    await laptop.channel("another-topic")
    await laptop.awake()
    await laptop.awake()
    assert [topic for topic, _ in laptop.ntfy.waiting] == ["another-topic"]
    await laptop.cronty.service.channels.remove(ANN, "phone")
    await laptop.awake()
    assert laptop.ntfy.kept() == []


@pytest.mark.usefixtures("phone")
async def test_a_channel_that_is_not_ahead_any_more_takes_back_what_it_gave(laptop: Laptop) -> None:
    await laptop.remind()
    await laptop.awake()
    await laptop.channel(ahead=False)
    await laptop.awake()
    assert laptop.ntfy.kept() == []
    laptop.clock.advance(hours=1)
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call mum"]


@pytest.mark.usefixtures("phone")
async def test_a_server_that_takes_nothing_back_is_given_nothing(laptop: Laptop) -> None:
    laptop.ntfy.old = True
    await laptop.remind()
    await laptop.awake()
    assert (laptop.ntfy.kept(), laptop.ntfy.calls) == ([], ["DELETE"])
    laptop.clock.advance(hours=1)
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call mum"]


@pytest.mark.usefixtures("phone")
async def test_a_server_that_keeps_messages_for_less_time_gets_them_later(laptop: Laptop) -> None:
    laptop.ntfy.longest = timedelta(hours=12)
    await laptop.remind(timedelta(hours=24))
    await laptop.awake()
    assert laptop.ntfy.kept() == []
    laptop.clock.advance(hours=13)
    await laptop.awake()
    assert len(laptop.ntfy.kept()) == 1


async def test_without_such_a_channel_nothing_is_looked_for_but_that(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.channel(ahead=False)
    await laptop.remind()
    assert await laptop.handing.step() > 20
    assert (laptop.ntfy.calls, await sql.fetchval("select count(*) from cronty.handed_over")) == ([], 0)


@pytest.mark.usefixtures("phone")
async def test_two_engines_give_it_once(laptop: Laptop, url: str) -> None:
    await laptop.remind()
    ahead = Ahead(laptop.cronty._outside.notify, laptop.cronty.service.channels._store._sealer)  # pyright: ignore[reportPrivateUsage]
    async with hands_of(url, laptop.clock, laptop.cronty.registry, ahead) as other:
        first, second = laptop.hands.engine.handing, other.engine.handing
        assert first is not None
        assert second is not None
        await first.step()
        await second.step()
    assert laptop.ntfy.calls.count("POST") == 1
