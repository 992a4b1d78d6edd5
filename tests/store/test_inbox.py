"""Prompts wait in the inbox until an agent says what became of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import asyncpg
import orjson
import pytest

from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.envelope import Envelope
from cronty.jobs.job import Job
from cronty.jobs.outcome import Done, Failed, Snoozed
from cronty.jobs.run import read_receipt, receipt
from cronty.scheduler import Scheduler
from cronty.scheduler.inbox import Inbox, result_json
from cronty.scheduler.listeners import Listeners
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from tests.conftest import START, HandClock, Hands, look
from tests.patience import PATIENCE

MINUTE = timedelta(minutes=1)


@pytest.fixture
def inbox(database: Database, door: Scheduler) -> Inbox:
    return Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))


async def remind(
    door: Scheduler, prompt: str = "Stand up", *, owner: str = "ann", agent: str | None = None, **rest: object
) -> Job:
    kwargs = {"prompt": prompt, "data": {"room": 3}} | ({"agent": agent} if agent else {})
    result = await door.schedule(
        local_caller(owner),
        ScheduleJob(prompt, "prompt", "interval", {"minutes": 1}, kwargs=kwargs, **rest),  # pyright: ignore[reportArgumentType]
    )
    assert isinstance(result, Ok), result
    return result.value


async def read(inbox: Inbox, owner: str = "ann", agent: str | None = None) -> list[Envelope]:
    result = await inbox.read(local_caller(owner), agent)
    assert isinstance(result, Ok), result
    return result.value


async def test_a_fired_prompt_waits_and_is_done_when_its_agent_says_so(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await remind(door, max_runs=1)
    assert await read(inbox) == []
    clock.advance(minutes=1, seconds=5)
    await hands.all()
    assert (await look(door, job)).status == "running"
    [item] = await read(inbox)
    assert (item.prompt, item.data, item.agent) == ("Stand up", {"room": 3}, None)
    assert (item.scheduled_for, item.late, item.attempt) == (START + MINUTE, timedelta(seconds=5), 1)
    assert await inbox.settle(local_caller("ann"), [item.receipt], Done(result_json("stood"))) == Ok(
        {item.receipt: True}
    )
    done = await look(door, job)
    assert (done.status, done.success_count) == ("completed", 1)
    assert await sql.fetchval("select result ->> 'report' from cronty.runs") == "stood"
    assert await inbox.settle(local_caller("ann"), [item.receipt], Done()) == Ok({item.receipt: False}), (
        "once is enough"
    )
    assert await sql.fetch("select * from cronty.slots_unaccounted") == []


async def test_what_an_agent_read_and_forgot_is_shown_again_and_its_receipt_no_longer_counts(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    await remind(door)
    clock.advance(minutes=1)
    await hands.all()
    [first] = await read(inbox)
    assert await read(inbox) == [], "it is leased"
    clock.advance(minutes=10)
    [second] = await read(inbox)
    assert second.attempt == 2
    assert await inbox.settle(local_caller("ann"), [first.receipt], Done()) == Ok({first.receipt: False})
    assert await inbox.settle(local_caller("ann"), [second.receipt], Done()) == Ok({second.receipt: True})


async def test_a_failure_counts_against_the_job_and_a_success_clears_it(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    job = await remind(door)
    clock.advance(minutes=1)
    await hands.all()
    await inbox.settle(local_caller("ann"), [(await read(inbox))[0].receipt], Failed("no such room"))
    failed = await look(door, job)
    assert (failed.failures_in_row, failed.failure_count, failed.last_error) == (1, 1, "no such room")
    clock.advance(minutes=1)
    await hands.all()
    await inbox.settle(local_caller("ann"), [(await read(inbox))[0].receipt], Done())
    assert (await look(door, job)).failures_in_row == 0


async def test_a_snoozed_prompt_comes_back_when_it_said(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await remind(door)
    clock.advance(minutes=1)
    await hands.all()
    [item] = await read(inbox)
    await inbox.settle(local_caller("ann"), [item.receipt], Snoozed(timedelta(hours=1)))
    clock.advance(minutes=59)
    assert await read(inbox) == []
    clock.advance(minutes=1)
    assert [again.attempt for again in await read(inbox)] == [2]
    assert await sql.fetchval("select outcome from cronty.attempts") == "snoozed"


async def test_an_unread_prompt_holds_the_next_one_up_and_that_slot_says_why(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    job = await remind(door)
    for _ in range(3):
        clock.advance(minutes=1)
        await hands.all()
    assert len(await read(inbox)) == 1
    runs = await door.list_runs(local_caller("ann"), job.number)
    assert isinstance(runs, Ok)
    assert [run.state for run in runs.value] == ["skipped", "skipped", "waiting"]


async def test_prompts_that_queue_come_one_after_the_other(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    await remind(door, policy={"overlap": "queue"})
    for _ in range(2):
        clock.advance(minutes=1)
        await hands.all()
    [first] = await read(inbox)
    await inbox.settle(local_caller("ann"), [first.receipt], Done())
    [second] = await read(inbox)
    assert second.scheduled_for == first.scheduled_for + MINUTE


async def test_each_agent_reads_its_own_and_what_is_for_anyone(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    for prompt, agent in (("for anyone", None), ("for claude", "claude"), ("for codex", "codex")):
        await remind(door, prompt, agent=agent)
    clock.advance(minutes=1)
    await hands.all()
    assert [item.prompt for item in await read(inbox, agent="claude")] == ["for anyone", "for claude"]
    assert [item.prompt for item in await read(inbox, agent="codex")] == ["for codex"]


async def test_who_gives_no_name_reads_only_what_is_for_anyone(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    for prompt, agent in (("for anyone", None), ("for claude", "claude")):
        await remind(door, prompt, agent=agent)
    clock.advance(minutes=1)
    await hands.all()
    assert [item.prompt for item in await read(inbox)] == ["for anyone"]
    assert [item.prompt for item in await read(inbox, agent="claude")] == ["for claude"], "nobody else holds it"


async def test_an_agents_key_reads_and_settles_its_own_and_the_trail_says_who_it_was(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    for prompt, agent in (("for anyone", None), ("for claude", "claude"), ("for codex", "codex")):
        await remind(door, prompt, agent=agent)
    clock.advance(minutes=1)
    await hands.all()
    claude = replace(local_caller("ann", "rest"), agent="claude", key_number=7)
    refused = await inbox.read(claude, "codex")
    assert isinstance(refused, Err)
    assert refused.code == "not_allowed"
    peeked, mine = await inbox.peek(claude), await inbox.read(claude)
    assert isinstance(peeked, Ok)
    assert isinstance(mine, Ok)
    assert [item.prompt for item in peeked.value] == ["for anyone", "for claude"]
    assert [item.prompt for item in mine.value] == ["for anyone", "for claude"]
    [other] = await read(inbox, agent="codex")
    receipts = [item.receipt for item in (*mine.value, other)]
    assert await inbox.settle(claude, receipts, Done()) == Ok(dict(zip(receipts, (True, True, False), strict=True)))
    told = await sql.fetch(
        "select actor::text, after ->> 'outcome' from cronty.audit_unsealed where what like 'prompt %'"
    )
    assert [(orjson.loads(row[0]), row[1]) for row in told] == [
        ({"owner": "ann", "agent": "claude", "key_id": 7}, "done")
    ] * 2


async def test_nobody_reads_or_settles_what_is_somebody_elses(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    await remind(door)
    await remind(door, owner="bob")
    clock.advance(minutes=1)
    await hands.all()
    assert await read(inbox, owner="eve") == []
    [item] = await read(inbox, owner="bob")
    assert await inbox.settle(local_caller("ann"), [item.receipt], Done()) == Ok({item.receipt: False})


async def test_a_cancelled_job_takes_its_prompt_out_of_the_inbox(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    job = await remind(door)
    clock.advance(minutes=1)
    await hands.all()
    await door.cancel(local_caller("ann"), job.number)
    assert await read(inbox) == []


async def test_two_agents_that_read_at_once_never_get_the_same_prompt(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    for number in range(20):
        await remind(door, f"number {number}")
    clock.advance(minutes=1)
    await hands.all()
    results = await asyncio.gather(*(inbox.read(local_caller("ann"), None, 5) for _ in range(8)))
    seen = [item.receipt for result in results if isinstance(result, Ok) for item in result.value]
    assert len(seen) == len(set(seen)) == 20


async def test_waiting_for_a_prompt_ends_when_one_comes(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    await remind(door)
    waiting = asyncio.create_task(inbox.read(local_caller("ann"), wait=timedelta(seconds=20)))
    await asyncio.sleep(0)
    clock.advance(minutes=1)
    await hands.all()
    result = await asyncio.wait_for(waiting, PATIENCE)
    assert isinstance(result, Ok)
    assert len(result.value) == 1


async def test_who_waits_with_a_key_that_is_revoked_is_handed_nothing(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock
) -> None:
    ended = set[int]()
    looked = asyncio.Event()

    async def find_ended(keys: Sequence[int]) -> set[int]:
        return ended & set(keys)

    class Looking(InboxStore):
        async def ready(self, owners: Sequence[str]) -> set[str]:
            looked.set()
            return await super().ready(owners)

    listeners = Listeners(find_ended)
    inbox = Inbox(Looking(database), door.allowance, listeners)
    lost = Caller("ann", frozenset({"prompts"}), key_id=7)
    await remind(door)
    waiting = asyncio.create_task(inbox.read(lost, wait=timedelta(seconds=20)))
    await asyncio.wait_for(looked.wait(), PATIENCE)
    ended.add(7)
    await listeners.step()
    clock.advance(minutes=1)
    await hands.all()
    refused = await asyncio.wait_for(waiting, PATIENCE)
    assert isinstance(refused, Err)
    assert refused.code == "bad_token"
    assert len(items(await inbox.read(local_caller("ann")))) == 1, "the prompt is still there"


async def test_an_owner_waits_with_so_many_readers_and_no_more(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cronty.scheduler.listeners.MAX_LISTENERS", 2)
    wait = timedelta(seconds=20)
    waiting = [asyncio.create_task(inbox.read(local_caller("ann"), wait=wait)) for _ in range(3)]
    async with asyncio.timeout(PATIENCE):
        done, others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    [refused] = [one.result() for one in done]
    assert isinstance(refused, Err)
    assert refused.code == "too_many_listeners"
    assert await inbox.read(local_caller("ann")) == Ok([]), "who doesn't wait needs no place"
    for one in others:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def test_a_reader_that_has_gone_while_it_waited_is_handed_nothing(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    async def gone() -> bool:
        return True

    await remind(door)
    dead = replace(local_caller("ann"), gone=gone)
    waiting = asyncio.create_task(inbox.read(dead, wait=timedelta(seconds=20)))
    await asyncio.sleep(0)
    clock.advance(minutes=1)
    await hands.all()
    assert await asyncio.wait_for(waiting, PATIENCE) == Ok([])
    [item] = await read(inbox)
    assert item.attempt == 1


async def test_what_was_handed_to_a_reader_that_had_gone_is_put_back_at_once(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    noticed = iter((False, True))

    async def gone() -> bool:
        return next(noticed)

    await remind(door)
    dead = replace(local_caller("ann"), gone=gone)
    waiting = asyncio.create_task(inbox.read(dead, wait=timedelta(seconds=20)))
    await asyncio.sleep(0)
    clock.advance(minutes=1)
    await hands.all()
    assert await asyncio.wait_for(waiting, PATIENCE) == Ok([])
    [item] = await read(inbox)
    assert item.attempt == 1


async def test_more_than_a_thousand_receipts_in_one_call_are_refused(inbox: Inbox) -> None:
    receipts = [f"run_1_{number}#1" for number in range(1001)]
    refused = await inbox.settle(local_caller("ann"), receipts, Done())
    assert refused == Err("bad_receipt", "1001 receipts were given.", "Give 1 to 1000 in one call.")
    taken = await inbox.settle(local_caller("ann"), receipts[:1000], Done())
    assert taken == Ok(dict.fromkeys(receipts[:1000], False))


def test_a_receipt_says_which_run_and_which_reading() -> None:
    assert read_receipt(receipt(7, START, 3)) == (7, START, 3)
    assert read_receipt(receipt(7, START, 3).split("#")[0]) == (7, START, None)
    for odd in ("", "run_7", "run_x_1#1", "job_7_1", "run_99999999999999999999_1", "run_1_1#"):
        assert read_receipt(odd) is None


async def test_looking_into_the_inbox_takes_nothing(
    door: Scheduler, inbox: Inbox, hands: Hands, clock: HandClock
) -> None:
    first = await remind(door, "Stand up", max_runs=1)
    second = await remind(door, "Sit down", max_runs=1)
    await remind(door, "Bob's", owner="bob", max_runs=1)
    clock.advance(minutes=1, seconds=5)
    await hands.all()
    for _ in range(2):
        seen = await inbox.peek(local_caller("ann"))
        assert isinstance(seen, Ok)
        assert [(item.prompt, item.attempt) for item in seen.value] == [("Stand up", 0), ("Sit down", 0)]
        assert all(item.deadline <= clock() for item in seen.value)
    page = await inbox.peek(local_caller("ann"), limit=1)
    assert isinstance(page, Ok)
    rest = await inbox.peek(local_caller("ann"), after=page.value[0].run_id)
    assert isinstance(rest, Ok)
    assert [page.value[0].facts.job_number, *(item.facts.job_number for item in rest.value)] == [
        first.number,
        second.number,
    ]
    held = await read(inbox)
    seen = await inbox.peek(local_caller("ann"))
    assert isinstance(seen, Ok)
    assert [(item.receipt, item.deadline) for item in seen.value] == [(item.receipt, item.deadline) for item in held]
    assert isinstance(await inbox.peek(local_caller("ann"), after="nonsense"), Err)


async def test_however_many_wait_the_inbox_is_looked_at_once_for_all_of_them(
    database: Database, door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    asked: list[set[str]] = []

    class Counting(InboxStore):
        async def ready(self, owners: Sequence[str]) -> set[str]:
            asked.append(set(owners))
            return await super().ready(owners)

    inbox = Inbox(Counting(database), door.allowance, Listeners(KeyStore(database).ended))
    hers = await remind(door, max_runs=1)
    longest = timedelta(seconds=20)
    waiting = {
        owner: [asyncio.create_task(inbox.read(local_caller(owner), wait=longest)) for _ in range(5)]
        for owner in ("ann", "bob")
    }
    async with asyncio.timeout(PATIENCE):
        while not asked or asked[-1] != {"ann", "bob"}:
            await asyncio.sleep(0.01)
        clock.advance(minutes=1)
        await hands.all()
        done, others = await asyncio.wait(waiting["ann"], return_when=asyncio.FIRST_COMPLETED)
        [read] = [item for one in done for item in items(one.result())]
        assert read.prompt == hers.name
        assert not any(one.done() for one in waiting["bob"])
        for one in (*others, *waiting["bob"]):
            one.cancel()
        await asyncio.gather(*others, *waiting["bob"], return_exceptions=True)
        asks = len(asked)
        while not inbox._poll._polling.done():  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
            await asyncio.sleep(0.01)
    assert len(asked) <= asks + 1, "nobody waits, so nothing is asked"


def items(result: Result[list[Envelope]]) -> list[Envelope]:
    assert isinstance(result, Ok)
    return result.value
