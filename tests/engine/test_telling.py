"""A channel that doesn't answer holds up its owner's messages and nobody else's, and what was sent isn't forgotten."""

import asyncio

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.engine import sending, telling
from cronty.scheduler import Scheduler
from cronty.store.database import StoreUnavailable, query
from cronty.store.telling_store import Telling, TellingStore
from tests.conftest import START, HandClock, Hands, add


class Phones:
    """Stands for ntfy: `silent` doesn't answer until it is told to, `refused` never takes any."""

    def __init__(self, registry: Registry) -> None:
        self.sent: list[str] = []
        self.answered = asyncio.Event()
        registry.add(self.notify, "notify")

    async def notify(self, message: str, topic: str, title: str) -> None:
        if topic == "silent":
            await self.answered.wait()
        if topic == "refused":
            raise ValueError("no such topic")
        self.sent.append(topic)


@pytest.fixture
def phones(registry: Registry) -> Phones:
    return Phones(registry)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "LOOK_AGAIN", 0.05)


async def tell(door: Scheduler, sql: asyncpg.Connection, owner: str, channel: str, count: int) -> None:
    """So many results are to be told."""
    job = await add(door, owner=owner)
    await sql.execute(
        "update cronty.jobs set policy = policy || jsonb_build_object('tell', $2::text) where id = $1", job.id, channel
    )
    await sql.execute(
        """with made as (
             insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, result, finished_at)
             select id, created_at + n * interval '1 second', owner_id, 'done', 1, to_jsonb(n), created_at
             from cronty.jobs, generate_series(1, $2::int) n where id = $1
             returning job_id, scheduled_for, owner_id
           )
           insert into cronty.tellings (job_id, scheduled_for, owner_id, attempt, due_at)
           select job_id, scheduled_for, owner_id, 1, $3 from made""",
        job.id, count, START,
    )  # fmt: skip


async def test_a_silent_channel_holds_up_its_owner_alone(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, phones: Phones
) -> None:
    await tell(door, sql, "ann", "silent", 150)
    await tell(door, sql, "bob", "loud", 12)
    for _ in range(4):
        assert await hands.engine.telling.step() == 0
    assert phones.sent == ["loud"] * 12
    claimed = await sql.fetchval("select count(*) from cronty.tellings where tries > 0 and state = 'waiting'")
    assert claimed == telling.SHARE
    phones.answered.set()
    while await hands.engine.telling.step() == 0:
        pass
    assert phones.sent.count("silent") == 150


async def test_what_was_sent_is_not_sent_again_though_the_database_was_away(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, phones: Phones, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tell(door, sql, "ann", "loud", 3)
    settle = TellingStore.settle
    away = True

    async def or_not(store: TellingStore, tellings: list[Telling]) -> None:
        if away:
            raise StoreUnavailable("away")
        await settle(store, tellings)

    monkeypatch.setattr(TellingStore, "settle", or_not)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await hands.engine.telling.step()
    away = False
    await hands.engine.telling.step()
    assert phones.sent == ["loud"] * 3
    assert await sql.fetchval("select count(*) from cronty.tellings where state = 'delivered'") == 3


async def test_a_failure_whose_answer_got_lost_counts_once(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, phones: Phones, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tell(door, sql, "ann", "refused", 1)
    settle = TellingStore.settle
    answers = iter((False, True))

    async def or_lost(store: TellingStore, tellings: list[Telling]) -> None:
        await settle(store, tellings)
        if not next(answers):
            raise StoreUnavailable("the commit's answer got lost")

    monkeypatch.setattr(TellingStore, "settle", or_lost)
    with pytest.raises(StoreUnavailable):
        await hands.engine.telling.step()
    await hands.engine.telling.step()
    assert await sql.fetchval("select failures from cronty.tellings where state = 'waiting'") == 1


async def test_an_engine_that_stops_waits_for_what_is_on_its_way(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, phones: Phones
) -> None:
    await tell(door, sql, "ann", "silent", 1)
    await hands.engine.telling.step()
    stopping = asyncio.create_task(hands.engine.telling.finish(30))
    await asyncio.sleep(0)
    phones.answered.set()
    await stopping
    assert await sql.fetchval("select state from cronty.tellings") == "delivered"


async def test_one_that_never_answers_is_left_to_another_engine(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, phones: Phones, clock: HandClock
) -> None:
    await tell(door, sql, "ann", "silent", 1)
    await hands.engine.telling.step()
    await hands.engine.telling.finish(0.01)
    assert await sql.fetchval("select state from cronty.tellings") == "waiting"
    clock.advance(seconds=61)
    phones.answered.set()
    await hands.engine.telling.step()
    assert phones.sent == ["silent"]


async def test_a_run_that_is_tried_again_is_told_again_whatever_is_still_on_its_way(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, phones: Phones, clock: HandClock
) -> None:
    await tell(door, sql, "ann", "silent", 1)
    await hands.engine.telling.step()
    await sql.execute("update cronty.runs set attempt = 2")
    run = await sql.fetchrow("select job_id, scheduled_for from cronty.runs")
    assert run is not None
    await sql.execute(query("tell_runs"), clock(), [run["job_id"]], [run["scheduled_for"]])
    phones.answered.set()
    while await hands.engine.telling.step() == 0:
        pass
    assert phones.sent == ["silent", "silent"]
    assert await sql.fetchval("select state from cronty.tellings") == "delivered"


async def test_what_an_owner_may_not_send_yet_holds_up_nobody_else(
    door: Scheduler, hands: Hands, sql: asyncpg.Connection, phones: Phones
) -> None:
    """700 results that came before bob's, of which 300 may be sent in a minute."""
    await tell(door, sql, "ann", "garden", 700)
    await sql.execute("update cronty.tellings set due_at = due_at - interval '1 second'")
    await tell(door, sql, "bob", "loud", 1)
    for _ in range(70):
        await hands.engine.telling.step()
    assert "loud" in phones.sent
    assert phones.sent.count("garden") == 300
    waiting = await sql.fetchval("select count(*) from cronty.tellings where tries > 0 and state = 'waiting'")
    assert waiting <= 2 * telling.SHARE, "those that were over the limit once; the others weren't touched"
