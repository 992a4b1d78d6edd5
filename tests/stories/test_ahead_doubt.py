"""What ntfy was given ahead of its time, when an answer is lost, late or cut: it rings once, with the right words, or
its owner is told."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

import asyncpg
import pytest

from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Ok
from cronty.engine.handing import CALLS, LONGEST_REST, SHARE, HandingOver, rest_after
from cronty.engine.lease import since_boot
from cronty.engine.pruning import Pruning
from cronty.store.ahead_store import ARRIVES_WITHIN, Ended
from cronty.store.database import Database, query
from cronty.store.freezing import freeze, thaw
from cronty.store.history_store import HistoryStore
from tests.conftest import HandClock
from tests.patience import PATIENCE
from tests.stories.keeping_ntfy import keeping_ntfy
from tests.stories.shut_laptop import ANN, Laptop, open_laptop

BOB = local_caller("bob")
SLOT = timedelta(hours=1)


@pytest.fixture
async def laptop(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Laptop]:
    async with open_laptop(url, clock, monkeypatch) as made:
        await made.channel()
        yield made


@pytest.fixture
async def number(laptop: Laptop) -> int:
    """A reminder in an hour that ntfy has."""
    made = await laptop.remind()
    await laptop.awake()
    assert len(laptop.ntfy.kept()) == 1
    return made


async def look(laptop: Laptop, **later: float) -> None:
    """Hand over what there is to hand over, so much later."""
    laptop.clock.advance(**later)
    await until_rest(laptop.handing)


def another(laptop: Laptop) -> HandingOver:
    """Another engine's."""
    one = laptop.handing
    return HandingOver(one._store, one._notify, one._limiting)  # pyright: ignore[reportPrivateUsage]


async def until_rest(handing: HandingOver) -> None:
    handing._look_at = 0  # pyright: ignore[reportPrivateUsage]
    while await handing.step() == 0:
        pass


async def edit(laptop: Laptop, number: int, message: str) -> None:
    new = EditJob(str(number), kwargs={"message": message, "topic": "phone"})
    assert isinstance(await laptop.cronty.service.scheduler.edit(ANN, new), Ok)


async def told(laptop: Laptop) -> list[str]:
    """What the owner is told about reminders that may have rung."""
    for _ in range(3):
        await laptop.awake()
    return [message for message in laptop.ntfy.ring() if "was to be taken back" in message]


def messages(laptop: Laptop) -> list[str]:
    return [message for _, message in laptop.ntfy.kept()]


# -- settling --------------------------------------------------------------------------------------------------------


async def test_what_is_settled_twice_is_settled_once(laptop: Laptop, number: int, sql: asyncpg.Connection) -> None:
    store = laptop.handing._store  # pyright: ignore[reportPrivateUsage]
    await edit(laptop, number, "Call dad")
    await look(laptop)
    await laptop.remind(message="Call Ann")
    [job] = await store.jobs(0, 10, 0, every=False)
    await store.plan([(job, [laptop.clock() + SLOT])])
    ended = [Ended(call, held=True, there=True) for call in await store.claim(20, 5, [])]
    await store.settle(ended)
    before = await sql.fetch("select * from cronty.handed_over order by id")
    await store.settle(ended)  # the answer to the first was lost
    assert await sql.fetch("select * from cronty.handed_over order by id") == before
    assert {row["state"] for row in before} == {"held"}


async def test_what_may_have_rung_is_told_once_if_its_settlement_is_repeated(
    laptop: Laptop, number: int, sql: asyncpg.Connection
) -> None:
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    laptop.ntfy.offline = True
    await look(laptop)
    laptop.clock.advance(hours=2)
    handing = laptop.handing
    [call] = await handing._store.claim(20, 5, [])  # pyright: ignore[reportPrivateUsage]
    ended = await handing._too_late(call)  # pyright: ignore[reportPrivateUsage]
    for _ in range(2):
        await handing._store.settle([ended])  # pyright: ignore[reportPrivateUsage]
    assert await sql.fetchval("select count(*) from cronty.alerts") == 1


# -- what is carried out late ----------------------------------------------------------------------------------------


async def test_a_late_take_back_removes_no_newer_message(laptop: Laptop, number: int) -> None:
    scheduler = laptop.cronty.service.scheduler
    await scheduler.pause(ANN, number)
    laptop.ntfy.slow = True
    await look(laptop)
    laptop.ntfy.slow = False
    await scheduler.resume(ANN, number)
    await look(laptop, minutes=2)
    laptop.ntfy.catch_up()
    assert messages(laptop) == ["Call mum"]
    laptop.clock.advance(hours=1)
    laptop.ntfy.ring()
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call mum"]
    assert (await laptop.result())["note"].startswith("delivered by ntfy")


async def test_a_late_take_back_does_not_remove_what_the_run_has_sent(laptop: Laptop, number: int) -> None:
    laptop.clock.advance(minutes=59, seconds=45)
    await edit(laptop, number, "Call dad")
    laptop.ntfy.slow = True
    await look(laptop)
    laptop.ntfy.slow = False
    laptop.clock.advance(seconds=15)
    await laptop.hands.all()
    laptop.ntfy.catch_up()
    assert list(laptop.ntfy.shown.values()) == ["Call dad"]


async def test_if_old_words_may_have_rung_beside_the_new_ones_the_owner_is_told(laptop: Laptop, number: int) -> None:
    laptop.clock.advance(minutes=59, seconds=45)
    await edit(laptop, number, "Call dad")
    laptop.ntfy.slow = True  # it is never carried out
    await look(laptop)
    laptop.ntfy.slow = False
    laptop.clock.advance(seconds=15)
    await laptop.hands.all()
    assert sorted(laptop.ntfy.ring()) == ["Call dad", "Call mum"]
    laptop.clock.advance(minutes=1)
    assert len(await told(laptop)) == 1


@pytest.mark.usefixtures("number")
async def test_a_message_that_arrives_after_it_was_cancelled_does_not_ring(laptop: Laptop) -> None:
    second = await laptop.remind(message="Call dad")
    laptop.ntfy.slow = True
    await look(laptop)
    laptop.ntfy.slow = False
    await laptop.cronty.service.scheduler.cancel(ANN, second)
    await look(laptop, minutes=1)
    laptop.ntfy.catch_up()
    assert messages(laptop) == ["Call dad", "Call mum"]
    await look(laptop, seconds=ARRIVES_WITHIN)
    assert messages(laptop) == ["Call mum"]


async def test_old_words_that_arrive_late_do_not_replace_new_ones(laptop: Laptop, number: int) -> None:
    await edit(laptop, number, "Call dad")
    laptop.ntfy.slow = True
    await look(laptop)
    laptop.ntfy.slow = False
    await edit(laptop, number, "Call Ann")
    await look(laptop, minutes=1)
    laptop.ntfy.catch_up()
    await look(laptop, seconds=ARRIVES_WITHIN)
    assert messages(laptop) == ["Call Ann"]


async def test_an_engine_that_stood_still_does_not_make_the_call_that_it_had_claimed(
    laptop: Laptop, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    calls = len(laptop.ntfy.calls)
    clocks = iter([since_boot(), since_boot() + 60])
    monkeypatch.setattr("cronty.engine.handing.since_boot", lambda: next(clocks))
    handing = laptop.handing
    handing._look_at = 0  # pyright: ignore[reportPrivateUsage]
    await handing.step()
    assert len(laptop.ntfy.calls) == calls
    monkeypatch.undo()
    await look(laptop)
    assert laptop.ntfy.kept() == []


@pytest.mark.parametrize("then", ["cancelled", "edited"])
async def test_what_is_given_by_an_engine_whose_claim_was_taken_over_is_put_right(laptop: Laptop, then: str) -> None:
    number = await laptop.remind()
    frozen, awake = laptop.handing, another(laptop)
    answer = laptop.ntfy.hangs["hard-to-guess"] = asyncio.Event()
    await frozen.step()  # its call hangs
    del laptop.ntfy.hangs["hard-to-guess"]
    laptop.clock.advance(minutes=5)
    await until_rest(awake)
    if then == "cancelled":
        await laptop.cronty.service.scheduler.cancel(ANN, number)
    else:
        await edit(laptop, number, "Call dad")
    await until_rest(awake)
    wanted = [] if then == "cancelled" else ["Call dad"]
    assert messages(laptop) == wanted
    answer.set()
    await frozen.finish(PATIENCE)
    await until_rest(awake)
    assert messages(laptop) == wanted


@pytest.mark.usefixtures("number")
async def test_an_answer_that_was_cut_off_may_be_a_yes(laptop: Laptop) -> None:
    second = await laptop.remind(message="Call dad")
    laptop.ntfy.cut = True
    await look(laptop)
    laptop.ntfy.cut = False
    assert messages(laptop) == ["Call dad", "Call mum"]
    await laptop.cronty.service.scheduler.cancel(ANN, second)
    await look(laptop, minutes=1)
    assert messages(laptop) == ["Call mum"]


# -- one server's trouble --------------------------------------------------------------------------------------------


async def test_an_owner_whose_server_answers_waits_for_no_other(laptop: Laptop) -> None:
    await laptop.channel("bobs", caller=BOB)
    for _ in range(2 * SHARE):
        await laptop.remind(caller=BOB, message="Bob's")
    laptop.ntfy.hangs["hard-to-guess"] = asyncio.Event()
    await laptop.remind()
    for _ in range(3):
        await laptop.handing.step()
    assert messages(laptop) == ["Bob's"] * 2 * SHARE
    await laptop.handing.finish(0)


async def test_a_server_that_hangs_leaves_half_of_the_places_to_others(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keeping_ntfy(clock) as dead, open_laptop(url, clock, monkeypatch, dead) as laptop:
        dead.hangs["dead"] = asyncio.Event()
        for owner in [local_caller(f"o{number}") for number in range(CALLS // SHARE)]:
            await laptop.channel("dead", caller=owner, at=dead.allowed)
            for _ in range(SHARE):
                await laptop.remind(caller=owner)
        await laptop.handing.step()
        await laptop.channel("bobs", caller=BOB)
        await laptop.remind(caller=BOB, message="Bob's")
        laptop.handing._look_at = 0  # pyright: ignore[reportPrivateUsage]
        await laptop.handing.step()
        assert messages(laptop) == ["Bob's"]
        await laptop.handing.finish(0)


async def test_a_channel_moved_away_from_a_broken_server_is_ahead_at_the_new_one_at_once(
    laptop: Laptop, number: int
) -> None:
    laptop.ntfy.broken.add("hard-to-guess")
    await laptop.channel("new")
    await look(laptop)
    assert sorted(topic for topic, _ in laptop.ntfy.waiting) == ["hard-to-guess", "new"]
    laptop.ntfy.broken.clear()
    await look(laptop, minutes=1)
    assert [topic for topic, _ in laptop.ntfy.waiting] == ["new"]
    laptop.clock.advance(hours=1)
    laptop.ntfy.ring()
    await laptop.awake()
    assert laptop.ntfy.ring() == ["Call mum"]
    assert (await laptop.result(number))["note"].startswith("delivered by ntfy")


async def test_a_plan_that_fails_stops_no_call(laptop: Laptop, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    await laptop.remind(message="Call dad")

    def broken(*_: object) -> list[datetime]:
        raise ArithmeticError("a trigger that nobody can read")

    monkeypatch.setattr("cronty.engine.handing.slots_ahead", broken)
    laptop.handing._look_at = 0  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ArithmeticError):
        await laptop.handing.step()
    await laptop.handing.finish(PATIENCE)
    assert messages(laptop) == []  # what was cancelled is taken back


async def test_an_owner_over_its_limit_is_asked_for_nothing_to_give_in_that_minute(
    laptop: Laptop, sql: asyncpg.Connection
) -> None:
    await sql.execute(query("save_limits"), "ann", '{"calls_per_minute": 10}', "{}", "{}", laptop.clock())
    await laptop.hands.engine.limiting.refresh()
    for _ in range(4 * SHARE):
        await laptop.remind()
    await look(laptop)
    claimed = await sql.fetchval("select count(*) from cronty.handed_over where tries > 0")
    assert (len(laptop.ntfy.kept()), claimed) == (SHARE, 2 * SHARE)


def test_changes_are_looked_for_every_few_seconds_however_long_a_look_takes() -> None:
    assert rest_after(0.0) < rest_after(60.0) == LONGEST_REST <= 10


# -- what rang and what was meant to ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pruned", [False, True])
async def test_what_rang_after_it_was_cancelled_is_told_if_nobody_looked_before_its_time(
    laptop: Laptop, number: int, pruned: bool
) -> None:
    await laptop.cronty.service.scheduler.cancel(ANN, number)
    laptop.clock.advance(hours=3)
    assert laptop.ntfy.ring() == ["Call mum"]
    if pruned:
        await Pruning(HistoryStore(laptop.handing._store._database), timedelta(days=90)).step()  # pyright: ignore[reportPrivateUsage]
    laptop.handing._look_at = 0  # pyright: ignore[reportPrivateUsage]
    [message] = await told(laptop)
    assert message.startswith("mum, planned for Mon 1 Mar 2027 09:00, UTC, was to be taken back from ntfy:")


async def test_words_that_were_changed_before_its_time_are_sent_though_the_old_ones_rang_and_it_was_changed_again(
    laptop: Laptop, number: int
) -> None:
    await edit(laptop, number, "Call dad")
    laptop.clock.advance(hours=2)
    assert laptop.ntfy.ring() == ["Call mum"]
    edited = await laptop.cronty.service.scheduler.edit(ANN, EditJob(str(number), name="dad"))
    assert isinstance(edited, Ok)
    await laptop.awake()
    assert [message.partition("\n")[0] for message in laptop.ntfy.ring()] == ["Call mum", "Call dad"]
    assert await told(laptop) == []  # in the app the new words have replaced the old ones


async def test_a_slot_that_ntfy_sent_is_not_skipped_for_an_earlier_run(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.remind("every 10 minutes", policy={"overlap": "skip"})
    laptop.clock.advance(minutes=10)
    laptop.ntfy.offline = True
    await laptop.hands.all()  # the run of the first slot waits to be tried again
    laptop.ntfy.offline = False
    await laptop.hand_over()
    await sql.execute("update cronty.queue set due_at = due_at + interval '30 minutes'")
    laptop.clock.advance(minutes=10)
    assert laptop.ntfy.ring() == ["Call mum"]
    await laptop.hands.all()
    await sql.execute("update cronty.queue set due_at = $1", laptop.clock())
    await laptop.hands.all()
    runs = await sql.fetch("select state::text, result->>'note' as note from cronty.runs order by scheduled_for")
    assert [row["state"] for row in runs] == ["done", "done"]
    assert runs[1]["note"].startswith("delivered by ntfy")


async def test_a_reminder_that_was_marked_done_is_not_sent_again(laptop: Laptop, sql: asyncpg.Connection) -> None:
    await laptop.channel(ahead=False)
    await laptop.remind()
    laptop.clock.advance(hours=1)
    laptop.ntfy.deaf = True
    await laptop.hands.all()
    laptop.ntfy.deaf = False
    await sql.execute(
        "insert into cronty.presses (job_id, scheduled_for, owner_id, act, pressed_at)"
        " select job_id, scheduled_for, owner_id, 'done', $1 from cronty.runs",
        laptop.clock(),
    )
    laptop.clock.advance(minutes=10)
    await laptop.hands.all()
    assert laptop.ntfy.ring() == ["Call mum"]
    assert (await laptop.result())["note"] == "not sent again: it was done or snoozed"


@pytest.mark.usefixtures("number")
async def test_what_ntfy_had_before_a_restore_it_is_given_again(laptop: Laptop, database: Database) -> None:
    await freeze(database, "a restored copy")
    laptop.ntfy.waiting.clear()  # after the dump
    await thaw(database)
    await look(laptop)
    assert messages(laptop) == ["Call mum"]
    await freeze(database, "and once more")
    await thaw(database)
    await look(laptop)
    assert messages(laptop) == ["Call mum"]
