"""What a revoked or expired key has set going stops: what fires, waits, is tried again, is in line, or runs."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.scheduler.identity import Identity
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from tests.conftest import START, HandClock, Hands, add, look

ANN = local_caller("ann")
WHY = 'the key "laptop" it was made with is no longer good'
SOON: dict[str, object] = {"run_at": START + timedelta(minutes=1)}
OFTEN = {"attempts": 1000, "backoff": 60, "pause_after": 0}


class Key:
    """A key, and a caller with it."""

    def __init__(self, identity: Identity, caller: Caller, number: int) -> None:
        self._identity = identity
        self.caller = caller
        self._number = number

    async def revoke(self) -> None:
        assert isinstance(await self._identity.revoke(ANN, self._number), Ok)


@pytest.fixture
async def key(database: Database, sql: asyncpg.Connection, hands: Hands, registry: Registry) -> Key:
    async def adrift() -> None:
        await asyncio.sleep(600)

    registry.add(adrift)
    await hands.store.publish_tasks(registry.published())
    identity = Identity(KeyStore(database), "https://cronty.example.com/mcp")
    made = await identity.add_key(ANN, "laptop", expires_at=START + timedelta(days=1))
    assert isinstance(made, Ok), made
    key_id = await sql.fetchval("select id from cronty.api_keys")
    return Key(identity, replace(ANN, key_id=key_id, key_number=made.value.number), made.value.number)


async def seen(sql: asyncpg.Connection) -> list[tuple[str, str | None]]:
    found = await sql.fetch("select state::text, reason from cronty.runs order by scheduled_for")
    return [(row["state"], row["reason"]) for row in found]


async def test_a_one_off_that_is_tried_again_is_cancelled_with_its_key(
    door: Scheduler, hands: Hands, clock: HandClock, key: Key, sql: asyncpg.Connection
) -> None:
    job = await add(door, "once", SOON, task="fail", policy=OFTEN, caller=key.caller)
    clock.advance(minutes=1)
    await hands.all()
    assert (await seen(sql))[0][0] == "waiting"
    await key.revoke()
    assert await seen(sql) == [("cancelled", WHY)]
    ended = await look(door, job)
    assert (ended.status, ended.last_error) == ("cancelled", f"cancelled: {WHY}")
    clock.advance(hours=1)
    await hands.all()
    assert await seen(sql) == [("cancelled", WHY)]


async def test_what_runs_and_what_is_in_line_stops_with_the_key(
    door: Scheduler, hands: Hands, clock: HandClock, key: Key, sql: asyncpg.Connection
) -> None:
    job = await add(door, task="adrift", policy={"overlap": "queue"}, caller=key.caller)
    for _ in range(3):
        clock.advance(minutes=1)
        await hands.engine.firing.step(hands.engine.worker)
    assert [state for state, _ in await seen(sql)] == ["running", "waiting", "waiting"]
    await key.revoke()
    await hands.engine.lease.beat()
    await hands.finish()
    assert await seen(sql) == [("cancelled", WHY)] * 3
    paused = await look(door, job)
    assert (paused.state, paused.reason) == ("paused", WHY)
    assert isinstance(await door.resume(ANN, job.number), Ok)
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await hands.engine.rescuing.step()
    assert (await seen(sql))[-1][0] == "running", "it stands on the key that resumed it"
    hands.engine.working.interrupt(hands.engine.working.known())


async def test_a_one_off_that_is_running_gets_no_other_attempt(
    door: Scheduler, hands: Hands, clock: HandClock, key: Key, sql: asyncpg.Connection
) -> None:
    await add(door, "once", SOON, task="adrift", policy=OFTEN, caller=key.caller)
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await key.revoke()
    assert not await hands.engine.rescuing.pause_orphaned(), "it was asked to stop, once"
    await hands.engine.lease.beat()
    await hands.finish()
    assert await seen(sql) == [("cancelled", WHY)]


async def test_a_prompt_that_has_fired_is_handed_to_nobody_once_its_key_has_expired(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, key: Key, sql: asyncpg.Connection
) -> None:
    once = await add(door, "once", SOON, task="prompt", kwargs={"prompt": "Wire the money"}, caller=key.caller)
    more = await add(door, task="prompt", kwargs={"prompt": "Go on"}, max_runs=2, caller=key.caller)
    clock.advance(minutes=1)
    await hands.all()
    assert await sql.fetchval("select count(*) from cronty.queue") == 2
    clock.advance(days=1)
    assert await hands.engine.rescuing.pause_orphaned()
    assert not await hands.engine.rescuing.pause_orphaned()
    inbox = Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended))
    assert await inbox.read(ANN) == Ok([])
    assert await seen(sql) == [("cancelled", WHY)] * 2
    assert ((await look(door, once)).status, (await look(door, more)).reason) == ("cancelled", WHY)


async def test_a_job_that_was_paused_before_is_not_tried_again_and_can_be_run_with_a_good_key(
    door: Scheduler, hands: Hands, clock: HandClock, key: Key, sql: asyncpg.Connection
) -> None:
    job = await add(door, task="fail", policy=OFTEN, caller=key.caller)
    clock.advance(minutes=1)
    await hands.all()
    assert isinstance(await door.pause(ANN, job.number), Ok)
    await key.revoke()
    assert await seen(sql) == [("cancelled", WHY)]
    assert (await look(door, job)).reason == WHY
    assert isinstance(await door.run_now(ANN, job.number), Ok)
    await hands.engine.rescuing.step()
    assert (await seen(sql))[-1] == ("waiting", "asked for")


async def test_what_has_ended_stays_as_it_is(door: Scheduler, hands: Hands, clock: HandClock, key: Key) -> None:
    job = await add(door, "once", SOON, caller=key.caller)
    clock.advance(minutes=1)
    await hands.all()
    await key.revoke()
    assert (await look(door, job)).status == "completed"


async def test_engines_look_for_ended_keys_every_five_seconds(hands: Hands) -> None:
    assert await hands.engine.rescuing.step() <= 5
