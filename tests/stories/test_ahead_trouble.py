"""What ntfy was given ahead of its time, when something goes wrong: verdicts agree with what rang, nobody waits for
another, and what must not ring is taken back."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Ok
from cronty.engine.handing import CALLS, SHARE
from cronty.engine.pruning import Pruning
from cronty.store.ahead_store import AheadStore
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Database, query
from cronty.store.freezing import freeze, thaw
from cronty.store.history_store import HistoryStore
from cronty.store.owner_store import OwnerStore
from cronty.store.sealing import Sealer, new_key
from tests.conftest import START, HandClock
from tests.patience import PATIENCE
from tests.stories.shut_laptop import ANN, Laptop, open_laptop

BOB = local_caller("bob")
DAILY = "every day at 9:00"


@pytest.fixture
async def laptop(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Laptop]:
    async with open_laptop(url, clock, monkeypatch) as made:
        await made.channel()
        yield made


def pruning_of(laptop: Laptop) -> Pruning:
    return Pruning(HistoryStore(laptop.handing._store._database), timedelta(days=90))  # pyright: ignore[reportPrivateUsage]


async def runs(sql: asyncpg.Connection) -> list[tuple[Any, ...]]:
    """Slots, states and whether ntfy delivered it, of the runs of reminders."""
    rows = await sql.fetch(
        "select r.slots, r.state::text, r.reason, r.result->>'note' like 'delivered by ntfy%' as delivered"
        " from cronty.runs r join cronty.jobs j on j.id = r.job_id where j.tags = '{}'"
        " order by r.scheduled_for"
    )
    return [tuple(row) for row in rows]


# -- what rang has the verdict that it rang -------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [{}, {"catch_up": "none"}, {"catch_up_window": 60}])
async def test_every_slot_that_ntfy_sent_is_done_however_late_the_laptop_is_opened(
    laptop: Laptop, sql: asyncpg.Connection, policy: dict[str, object]
) -> None:
    await laptop.remind(DAILY, policy=policy)
    await laptop.awake()
    laptop.clock.advance(days=2, hours=12)
    assert laptop.ntfy.ring() == ["Call mum"] * 3
    await laptop.awake()
    assert await runs(sql) == [(1, "done", None, True)] * 3
    assert laptop.ntfy.ring() == ["Call mum"] * 3
    assert await sql.fetchval("select count(*) from cronty.absences") == 0  # nothing passed unseen
    assert await sql.fetchval("select count(*) from cronty.slots_unaccounted") == 0


async def test_what_was_shut_for_longer_than_ntfy_keeps_is_told_as_it_was(
    laptop: Laptop, sql: asyncpg.Connection
) -> None:
    await laptop.remind(DAILY)
    await laptop.awake()
    laptop.clock.advance(days=5)
    laptop.ntfy.ring()
    await laptop.awake()
    assert await runs(sql) == [
        *[(1, "done", None, True)] * 3,
        (1, "missed", "more than 24 h late", None),
        (1, "done", None, None),
    ]
    assert await sql.fetchval("select count(*) from cronty.slots_unaccounted") == 0


async def test_a_text_edited_after_it_rang_is_not_sent_again(laptop: Laptop) -> None:
    number = await laptop.remind()
    await laptop.awake()
    laptop.clock.advance(hours=2)
    laptop.ntfy.ring()
    new = EditJob(str(number), kwargs={"message": "Call dad", "topic": "phone"})
    assert isinstance(await laptop.cronty.service.scheduler.edit(ANN, new), Ok)
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call mum"]


async def test_a_channel_removed_after_it_rang_fails_no_run(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.remind()
    await laptop.awake()
    laptop.clock.advance(hours=2)
    laptop.ntfy.ring()
    await laptop.cronty.service.channels.remove(ANN, "phone")
    await laptop.awake()
    assert await runs(sql) == [(1, "done", None, True)]


@pytest.mark.parametrize("refusal", [{"limit": True}, {"longest": timedelta(minutes=1)}])
async def test_old_words_do_not_ring_when_new_ones_could_not_be_given(laptop: Laptop, refusal: dict[str, Any]) -> None:
    number = await laptop.remind()
    await laptop.awake()
    new = EditJob(str(number), kwargs={"message": "Call dad", "topic": "phone"})
    assert isinstance(await laptop.cronty.service.scheduler.edit(ANN, new), Ok)
    for name, value in refusal.items():
        setattr(laptop.ntfy, name, value)
    await laptop.hand_over()
    laptop.clock.advance(minutes=59, seconds=40)
    laptop.ntfy.limit = False
    await laptop.hand_over()  # too near to be given: what ntfy has is taken back
    assert laptop.ntfy.kept() == []
    laptop.clock.advance(seconds=20)
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call dad"]


async def test_what_could_not_be_taken_back_is_told_once_by_two_engines(
    laptop: Laptop, sql: asyncpg.Connection
) -> None:
    number = await laptop.remind()
    await laptop.awake()
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    laptop.ntfy.offline = True
    await laptop.hand_over()
    laptop.clock.advance(hours=3)
    handing = laptop.handing
    await pruning_of(laptop).step()
    other = type(handing)(handing._store, handing._notify, handing._limiting)  # pyright: ignore[reportPrivateUsage]
    await asyncio.gather(handing.step(), other.step())
    assert await sql.fetchval("select count(*) from cronty.alerts") == 1


# -- one owner's trouble is nobody else's ----------------------------------------------------------------------------


async def test_an_ntfy_that_hangs_holds_up_nobody_but_its_owner(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.channel("bobs", caller=BOB)
    await laptop.remind(caller=BOB)
    await laptop.hand_over()
    await sql.execute(  # to be given again, a second after ann's
        "update cronty.handed_over set state = 'giving', handed_at = null, due_at = $1", START + timedelta(seconds=1)
    )
    laptop.ntfy.hangs["hard-to-guess"] = asyncio.Event()
    for _ in range(CALLS + 1):
        await laptop.remind()
    calls = len(laptop.ntfy.calls)
    await laptop.handing.step()
    laptop.clock.advance(seconds=1)
    await laptop.handing.step()
    await laptop.handing.step()
    assert laptop.ntfy.calls[calls:] == ["POST"]
    await laptop.handing.finish(0)


async def test_an_engine_that_stops_waits_for_its_calls_and_writes_down_how_they_went(
    laptop: Laptop, sql: asyncpg.Connection
) -> None:
    await laptop.remind()
    answer = laptop.ntfy.hangs["hard-to-guess"] = asyncio.Event()
    engine = laptop.hands.engine
    await engine.start()
    async with asyncio.timeout(PATIENCE):
        while not await sql.fetchval("select count(*) from cronty.handed_over where tries > 0"):
            await asyncio.sleep(0.01)
        [duty] = [task for name, task in engine._tasks if name == "hand over"]  # pyright: ignore[reportPrivateUsage]
        stopping = asyncio.create_task(engine.stop())
        await asyncio.wait({duty})
        answer.set()
        await stopping
    assert await sql.fetchval("select state from cronty.handed_over") == "held"


async def test_whoever_has_many_takes_turns_with_whoever_has_few(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.remind()
    await laptop.hand_over()
    await sql.execute(  # ten times as many as are looked at in one claim, and all of them due before bob's
        "insert into cronty.handed_over"
        " (job_id, scheduled_for, owner_id, owner, channel, version, key_id, sealed, due_at)"
        " select job_id, scheduled_for + i * interval '1 minute', owner_id, owner, channel, version, key_id, sealed, $1"
        " from cronty.handed_over, generate_series(1, 2000) i",
        START - timedelta(minutes=1),
    )
    await laptop.channel("bobs", caller=BOB)
    await laptop.remind(caller=BOB, message="Bob's")
    for _ in range(4):
        await laptop.handing.step()
    messages = [message for _, message in laptop.ntfy.kept()]
    assert messages.count("Bob's") == 1
    assert len(messages) <= 3 * SHARE + 2


async def test_handing_over_leaves_half_of_a_minutes_calls_to_runs(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await sql.execute(query("save_limits"), "ann", '{"calls_per_minute": 10}', "{}", "{}", START)
    await laptop.hands.engine.limiting.refresh()
    numbers = [await laptop.remind() for _ in range(12)]
    used = "select used from cronty.usage where what = 'calls' and since = $1"
    await laptop.hand_over()
    await laptop.hand_over()
    assert (len(laptop.ntfy.kept()), await sql.fetchval(used, START)) == (5, 5)
    for number in numbers:
        await laptop.cronty.service.scheduler.pause(ANN, number)
    await laptop.hand_over()
    assert laptop.ntfy.kept() == []  # what must not ring waits for no limit
    for number in numbers:
        await laptop.cronty.service.scheduler.resume(ANN, number)
    laptop.clock.advance(minutes=1, seconds=5)
    await laptop.hand_over()
    assert (len(laptop.ntfy.kept()), await sql.fetchval(used, START + timedelta(minutes=1))) == (5, 5)


async def test_an_owner_with_a_limit_of_runs_an_hour_has_them_sent_at_their_time(
    laptop: Laptop, sql: asyncpg.Connection
) -> None:
    await laptop.remind()
    await laptop.hand_over()
    assert len(laptop.ntfy.kept()) == 1
    await sql.execute(query("save_limits"), "ann", '{"runs_per_hour": 1}', "{}", "{}", START)
    await laptop.remind()
    await laptop.hand_over()
    assert laptop.ntfy.kept() == []


# -- what must not ring ----------------------------------------------------------------------------------------------


async def test_an_erased_owners_reminders_do_not_ring(
    laptop: Laptop, database: Database, sql: asyncpg.Connection
) -> None:
    await laptop.remind()
    await laptop.awake()
    await OwnerStore(database).erase("ann")
    laptop.ntfy.offline = True
    await laptop.hand_over()
    laptop.ntfy.offline = False
    laptop.clock.advance(minutes=2)
    await laptop.hand_over()
    assert laptop.ntfy.kept() == []
    assert await sql.fetchval("select count(*) from cronty.handed_over") == 0
    laptop.clock.advance(hours=2)
    assert laptop.ntfy.ring() == []


async def test_a_deleted_job_is_taken_back_after_an_outage_too(laptop: Laptop) -> None:
    number = await laptop.remind(DAILY)
    await laptop.awake()
    laptop.ntfy.offline = True
    await laptop.cronty.service.scheduler.delete(ANN, number)
    await laptop.cronty.service.channels.remove(ANN, "phone")
    await laptop.hand_over()
    assert len(laptop.ntfy.kept()) == 3
    laptop.ntfy.offline = False
    laptop.clock.advance(minutes=2)
    await laptop.hand_over()
    assert laptop.ntfy.kept() == []


async def test_a_frozen_installation_gives_nothing_and_takes_nothing_back(laptop: Laptop, database: Database) -> None:
    number = await laptop.remind()
    await laptop.awake()
    laptop.ntfy.limit = True
    await laptop.remind(message="Call dad")
    await laptop.hand_over()
    await freeze(database, "a copy")
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    await laptop.remind(message="Call Ann")
    laptop.ntfy.limit = False
    calls = len(laptop.ntfy.calls)
    laptop.clock.advance(minutes=2)
    await laptop.hand_over()
    assert (len(laptop.ntfy.calls), [message for _, message in laptop.ntfy.kept()]) == (calls, ["Call mum"])
    await thaw(database)
    await laptop.hand_over()
    assert [message for _, message in laptop.ntfy.kept()] == ["Call Ann", "Call dad"]


async def test_a_channel_encrypted_again_changes_nothing_at_ntfy_and_can_be_taken_back(
    laptop: Laptop, database: Database
) -> None:
    first = await laptop.remind()
    await laptop.remind(message="Call dad")
    await laptop.awake()
    await laptop.cronty.service.scheduler.cancel(ANN, first)
    laptop.ntfy.offline = True
    await laptop.hand_over()
    laptop.ntfy.offline = False
    handing, new = laptop.handing, new_key()
    old = handing._store._sealer  # pyright: ignore[reportPrivateUsage]
    assert old is not None
    both = Sealer.read(new)
    both._keys = {**both._keys, **old._keys}  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    assert await ChannelStore(database, both).reseal() == (1, 0)
    handing._store = AheadStore(handing._store._database, Sealer.read(new))  # pyright: ignore[reportPrivateUsage]
    calls = len(laptop.ntfy.calls)
    laptop.clock.advance(minutes=2)
    await laptop.hand_over()
    assert laptop.ntfy.calls[calls:] == ["DELETE"]
    assert [message for _, message in laptop.ntfy.kept()] == ["Call dad"]


async def test_what_rang_is_forgotten_once_its_run_has_ended(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.remind()
    await laptop.awake()
    pruning = pruning_of(laptop)
    laptop.clock.advance(hours=3)
    await pruning.step()
    assert await sql.fetchval("select count(*) from cronty.handed_over") == 1  # its run is yet to come
    await laptop.awake()
    await pruning.step()
    assert await sql.fetchval("select count(*) from cronty.handed_over") == 0
