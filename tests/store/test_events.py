"""One look for everybody who listens: each hears everything of its owner's once, and nothing of anybody else's."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta

import asyncpg
import pytest

from cronty.jobs.job import Job
from cronty.scheduler import Scheduler, event_stream
from cronty.scheduler.event_stream import EventBoard, Listener
from cronty.store.database import Database, StoreUnavailable, query
from cronty.store.engine_store import Success
from cronty.store.overview_store import OverviewStore
from tests.conftest import START, HandClock, Hands, add
from tests.middleman import Middleman, through
from tests.patience import PATIENCE

SECOND = timedelta(seconds=1)


@pytest.fixture
def board(database: Database) -> EventBoard:
    return EventBoard(OverviewStore(database), every=PATIENCE, late_every=0)


async def heard(board: EventBoard, listener: Listener) -> list[tuple[str, str]]:
    await board.step()
    return [(event.name, event.verdict) for event in await listener.wait(0)]


async def happen(sql: asyncpg.Connection, job: Job, at: datetime, slot: datetime | None = None) -> None:
    """A run that ended at a moment."""
    await sql.execute(
        "insert into cronty.runs (job_id, owner_id, scheduled_for, state, started_at, finished_at, attempt)"
        " select id, owner_id, $2, 'done', $3, $3, 1 from cronty.jobs where id = $1",
        job.id,
        slot or at,
        at,
    )


async def test_what_a_worker_writes_down_late_reaches_a_listener_once(
    board: EventBoard, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    """As when it couldn't reach the database for a while: others' events have been shown meanwhile."""
    late = await add(door, name="late")
    soon = await add(door, name="soon")
    async with board.listen("ann", START, polling=False) as listener:
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
        settle, slot = hands.store.settle_done, clock.moment
        clock.advance(seconds=20)
        await settle(hands.engine.worker, [Success(soon.id, slot, 1, None, 0, 0.1)])
        clock.advance(seconds=1)
        assert sorted(await heard(board, listener)) == [("late", "running"), ("soon", "done")]
        clock.advance(seconds=10)
        await settle(hands.engine.worker, [Success(late.id, slot, 1, None, 25, 0.1)])  # it ended before the other one
        clock.advance(seconds=1)
        assert await heard(board, listener) == [("late", "done")]
        assert await heard(board, listener) == []


async def test_a_listener_looks_back_over_an_outage(
    database: Database, door: Scheduler, hands: Hands, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It and the workers come back at the same time, and the workers write down what they did meanwhile."""
    jobs = [await add(door, name=name) for name in ("late", "soon")]
    passed = 0.0
    monkeypatch.setattr(event_stream, "monotonic", lambda: passed)

    def wait(seconds: float) -> None:
        nonlocal passed
        passed += seconds
        clock.advance(seconds=seconds)

    board = EventBoard(OverviewStore(database), every=PATIENCE)
    async with board.listen("ann", START, polling=False) as listener:
        wait(60)
        slot = clock.moment
        await hands.engine.firing.step(hands.engine.worker)
        wait(1)
        assert [verdict for _, verdict in await heard(board, listener)] == ["running"] * 2
        wait(1200)
        for job, ago in zip(reversed(jobs), (1, 1190), strict=True):
            await hands.store.settle_done(hands.engine.worker, [Success(job.id, slot, 1, None, ago, 0.1)])
            wait(11)
            assert await heard(board, listener) == [(job.name, "done")]


async def test_what_came_late_is_found_again_when_the_look_was_broken_off(
    database: Database, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    late, soon = [await add(door, name=name) for name in ("late", "soon")]
    store = OverviewStore(database)
    board = EventBoard(store, every=PATIENCE, late_every=0)
    async with board.listen("ann", START, polling=False) as listener:
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
        settle, slot = hands.store.settle_done, clock.moment
        clock.advance(seconds=20)
        await settle(hands.engine.worker, [Success(soon.id, slot, 1, None, 0, 0.1)])
        clock.advance(seconds=1)
        assert len(await heard(board, listener)) == 2
        clock.advance(seconds=10)
        await settle(hands.engine.worker, [Success(late.id, slot, 1, None, 25, 0.1)])
        clock.advance(seconds=1)
        for answers in range(3):
            with pytest.MonkeyPatch.context() as patch, suppress(StoreUnavailable):
                fail_after(patch, answers)
                await board.step()
        assert await heard(board, listener) == [("late", "done")]
        assert await heard(board, listener) == []


async def test_events_that_cannot_be_read_are_tried_less_and_less_often_and_logged_once(
    database: Database, door: Scheduler, hands: Hands, clock: HandClock, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    await add(door)
    passed, tried = 0.0, 0
    monkeypatch.setattr(event_stream, "monotonic", lambda: passed)

    async def unreadable(*_: object, **__: object) -> object:
        nonlocal tried
        tried += 1
        raise ValueError("unreadable")

    board = EventBoard(OverviewStore(database), every=PATIENCE)
    async with board.listen("ann", START, polling=False) as listener:
        clock.advance(minutes=1)
        await hands.fire()
        clock.advance(seconds=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(event_stream.EventStream, "poll", unreadable)
            for _ in range(600):
                await board.step()
                passed += 1
        assert tried == 5 + (600 - 62) // 60 + 1, "after 2, 4, 8, 16, 32, and then every 60 seconds"
        assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
            "events of 'ann' failed 1 time(s) in a row: unreadable"
        ]
        passed += 60
        assert await heard(board, listener) == [("a job", "done")], "nothing is lost"


def fail_after(patch: pytest.MonkeyPatch, answers: int) -> None:
    """The database is away after so many answers."""
    left = answers
    for name in ("mark", "stirred"):
        real: Callable[..., Awaitable[object]] = getattr(OverviewStore, name)

        async def asked(*given: object, _real: Callable[..., Awaitable[object]] = real, **named: object) -> object:
            nonlocal left
            if not left:
                raise StoreUnavailable("lost")
            left -= 1
            return await _real(*given, **named)

        patch.setattr(OverviewStore, name, asked)


async def test_a_clock_that_is_set_back_makes_nobody_deaf(
    board: EventBoard, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, hands: Hands
) -> None:
    assert hands.engine.worker
    job = await add(door, name="back")
    clock.advance(hours=1)
    async with board.listen("ann", START, polling=False) as listener:
        for _ in range(3):
            await happen(sql, job, clock.advance(seconds=1))
            clock.advance(seconds=1)
            assert await heard(board, listener) == [("back", "done")]
        clock.advance(minutes=-30)
        for _ in range(3):
            await happen(sql, job, clock.advance(seconds=1))
            clock.advance(seconds=1)
            assert await heard(board, listener) == [("back", "done")]
            assert await heard(board, listener) == []
        clock.advance(minutes=31)
        assert await heard(board, listener) == [], "all of it was heard"
        await happen(sql, job, clock.advance(seconds=1))
        clock.advance(seconds=1)
        assert await heard(board, listener) == [("back", "done")]


@pytest.fixture
async def counted(url: str, clock: HandClock) -> AsyncGenerator[tuple[Middleman, EventBoard]]:
    line = Middleman(url)
    await line.start()
    database = await Database(through(url, line.address), clock=clock).open()
    yield line, EventBoard(OverviewStore(database), every=PATIENCE, late_every=1000)
    await database.close()
    await line.stop()


@pytest.mark.usefixtures("hands")
async def test_a_look_is_one_statement_however_many_listen_and_one_more_for_each_owner_that_stirs(
    counted: tuple[Middleman, EventBoard], door: Scheduler, clock: HandClock, sql: asyncpg.Connection
) -> None:
    line, board = counted
    jobs = {owner: await add(door, owner=owner, name=f"{owner}'s") for owner in ("ann", "bob", "cid")}
    listening = [board.listen(owner, START, polling=False) for owner in jobs for _ in range(5)]
    listeners = [await one.__aenter__() for one in listening]

    async def round_trips() -> int:
        clock.advance(seconds=2)
        line.trips = 0
        await board.step()
        return line.trips

    await round_trips()
    await round_trips()
    assert await round_trips() == 1, "nothing happened"
    await happen(sql, jobs["ann"], clock.moment)
    await round_trips()  # its statement may have to be prepared on another connection
    await happen(sql, jobs["ann"], clock.moment)
    assert await round_trips() <= 2
    told = [[event.name for event in await listener.wait(0)] for listener in listeners]
    assert told == [["ann's", "ann's"]] * 5 + [[]] * 10, "each of hers, and nobody else"
    for one in listening:
        await one.__aexit__(None, None, None)
    assert board._feeds == {}  # pyright: ignore[reportPrivateUsage]


@pytest.mark.usefixtures("hands")
async def test_a_slow_listener_holds_nobody_up_and_hears_everything_once_in_the_end(
    board: EventBoard, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "MOST", 3)
    monkeypatch.setattr(event_stream, "MAX_HELD", 5)
    job = await add(door)
    async with (
        board.listen("ann", START, polling=False) as quick,
        board.listen("ann", START, polling=False) as slow,
    ):
        at = list[datetime]()
        for _ in range(20):
            at.append(clock.advance(seconds=1))
            await happen(sql, job, clock.moment)
            await board.step()
            assert len(slow._held) <= 5  # pyright: ignore[reportPrivateUsage]
            assert [event.at for event in await quick.wait(0)] == at[-2:-1], "half a second late, so at the next look"
        clock.advance(seconds=1)
        await board.step()
        assert await everything(slow) == at
        at.append(clock.advance(seconds=1))
        await happen(sql, job, at[-1])
        clock.advance(seconds=1)
        await board.step()
        assert await everything(slow) == at[-1:]


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize("most", [3, 500])
async def test_a_slow_listener_hears_also_all_that_came_late_once(
    board: EventBoard,
    door: Scheduler,
    clock: HandClock,
    sql: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
) -> None:
    monkeypatch.setattr(event_stream, "MOST", most)
    monkeypatch.setattr(event_stream, "MAX_HELD", 5)
    job = await add(door)
    clock.advance(minutes=5)
    async with board.listen("ann", clock.moment, polling=False) as slow:
        told = [clock.advance(seconds=1) for _ in range(4)]
        for at in told:
            await happen(sql, job, at)
        clock.advance(seconds=1)
        await board.step()
        assert await everything(slow) == told
        await board.step()
        for round_ in range(2):
            late = [at + timedelta(milliseconds=100 * n + round_) for at in told[1:] for n in (1, 2, 3)]
            new = [clock.advance(seconds=1) for _ in range(2)]
            for at in (*new, *late):
                await happen(sql, job, at)
            clock.advance(seconds=1)
            await board.step()
            assert len(slow._late) <= 5  # pyright: ignore[reportPrivateUsage]
            clock.advance(seconds=1)
            await happen(sql, job, told[0] + timedelta(milliseconds=round_ + 1))
            await board.step()
            expected = [*late, *new, told[0] + timedelta(milliseconds=round_ + 1)]
            found: list[datetime] = []
            for _ in range(30):
                found += await everything(slow)
            assert sorted(found) == sorted(expected)


async def everything(listener: Listener) -> list[datetime]:
    found: list[datetime] = []
    while page := [event.at for event in await listener.wait(0)]:
        found += page
    return found


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize("others", [True, False])
async def test_a_listener_that_comes_back_goes_on_where_it_was(
    board: EventBoard, door: Scheduler, clock: HandClock, sql: asyncpg.Connection, others: bool
) -> None:
    job = await add(door)
    async with board.listen("ann" if others else "bob", START, polling=False):
        at = list[datetime]()
        for _ in range(6):
            at.append(clock.advance(seconds=1))
            await happen(sql, job, clock.moment)
            await board.step()
        async with board.listen("ann", at[2], polling=False) as back:
            clock.advance(seconds=1)
            await board.step()
            assert await everything(back) == at[3:]
            await board.step()
            assert await everything(back) == []


@pytest.mark.usefixtures("hands")
async def test_who_begins_to_listen_hears_nothing_of_before(
    board: EventBoard, door: Scheduler, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(door)
    async with board.listen("ann", START, polling=False):
        await board.step()
        await happen(sql, job, clock.advance(seconds=5))
        clock.advance(seconds=0.1)
        async with board.listen("ann", clock.moment, polling=False) as new:
            clock.advance(seconds=2)
            for _ in range(3):
                assert await heard(board, new) == []


@pytest.mark.usefixtures("hands")
async def test_what_happens_to_a_slot_of_long_ago_is_heard_too(
    board: EventBoard, door: Scheduler, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(door, name="old")
    slot = START - timedelta(days=30)
    await sql.fetchval("select cronty.make_run_partition($1)", slot)
    async with board.listen("ann", START, polling=False) as listener:
        clock.advance(seconds=1)
        await board.step()
        await happen(sql, job, clock.advance(seconds=1), slot)
        clock.advance(seconds=1)
        assert await heard(board, listener) == [("old", "done")]
        assert await heard(board, listener) == []


async def heard_forever(listener: Listener) -> None:
    while True:
        await listener.wait(PATIENCE)


async def test_an_outage_is_told_to_listeners_and_nothing_is_missed_by_it(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await add(door, name="back")
    line = Middleman(url)
    await line.start()
    port = int(line.address.rpartition(":")[2])
    database = await Database(through(url, line.address), clock=clock).open()
    board = EventBoard(OverviewStore(database), every=0.05)
    async with asyncio.timeout(PATIENCE), board.listen("ann", START) as listener:
        await line.stop()
        with pytest.raises(StoreUnavailable):
            await heard_forever(listener)
        await happen(sql, job, clock.advance(seconds=1))
        clock.advance(seconds=1)
        line = Middleman(url)
        await line.start(port)
        found: list[str] = []
        while not found:
            try:
                found = [event.name for event in await listener.wait(PATIENCE)]
            except StoreUnavailable:
                await asyncio.sleep(0.01)
        assert found == ["back"]
    async with asyncio.timeout(PATIENCE):
        while not board._polling.done():  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
            await asyncio.sleep(0.01)  # nobody listens, so nothing is asked
    await database.close()
    await line.stop()


async def test_a_look_reads_what_happened_lately_and_not_history(url: str, sql: asyncpg.Connection) -> None:
    """300,000 runs over nine weeks, of which 20 are new."""
    now = await sql.fetchval("select now()")
    await sql.execute("insert into cronty.owners (id, name) select i * 1024, 'o' || i from generate_series(1, 1000) i")
    await sql.execute("select cronty.make_run_partition(now() - w * interval '7 days') from generate_series(0, 9) w")
    await sql.execute("""
        insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at)
        select i, t, 1024 * (1 + i % 1000), 'done', 1, t, t
        from (select i, now() - interval '3 s' - (300000 - i) * interval '17 s' as t
          from generate_series(1, 300000) i) x
        """)
    await sql.execute("vacuum analyze cronty.runs")
    await sql.execute("""
        insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at)
        select 900000 + i, now() - interval '1 s', 1024 * (1 + i % 3), 'done', 1, now() - interval '1 s', now()
        from generate_series(1, 20) i
        """)
    database = await Database(url).open()
    try:
        async with database.for_the_engine().transaction() as connection:
            await connection.execute(f"prepare look as {query('stirred')}")
            given = f"'{{o1,o2,o3}}', '{now - 2 * SECOND}', null, null"
            # The last 64 pages of a week may have to be read whole, beside its indexes; of all there are 3,700.
            # Two weeks are looked at, and on a Monday three: eight days back is then in the week before the last.
            lately = event_stream._weeks_before(now)  # pyright: ignore[reportPrivateUsage]
            weeks = -((lately - now) // timedelta(days=7))
            for slots_after, most in ((lately, 125 * weeks), ("-infinity", 900)):
                look = f"explain (analyze, buffers) execute look({given}, '{slots_after}')"
                plans = [await connection.fetch(look) for _ in range(7)]  # also the one that PostgreSQL keeps
                assert max(map(pages, plans)) <= most, [row[0] for row in plans[-1]]
        found = await OverviewStore(database).stirred(["o1", "o3", "o7"], now - 2 * SECOND)
        assert found[1] == {"o1", "o3"}
    finally:
        await database.close()


def pages(plan: list[asyncpg.Record]) -> int:
    buffers = next(row[0] for row in plan if "Buffers:" in row[0])
    return sum(int(part.split("=")[1]) for part in buffers.split() if "=" in part)
