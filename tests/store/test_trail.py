"""The trail: one entry for every act, with whoever did it; and whoever changes it afterwards is found out."""

import asyncio
import json
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from typing import Any

import asyncpg
import orjson
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Ok
from cronty.scheduler import Scheduler
from cronty.scheduler.identity import Identity
from cronty.scheduler.runs import Runs
from cronty.store.audit_store import MAX_SEALED, AuditStore
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Database
from cronty.store.key_store import KeyStore
from cronty.store.run_store import RunStore
from cronty.store.sealing import Sealer, new_key
from tests.conftest import START, TRAIL, HandClock, Hands, add, hands_of

CANARY = "Canary7Secret"

pytestmark = pytest.mark.usefixtures("hands")  # a worker publishes what may be scheduled


@pytest.fixture
def trail(database: Database) -> AuditStore:
    return AuditStore(database)


async def entries(trail: AuditStore, owner: str | None = "ann") -> list[dict[str, Any]]:
    return [orjson.loads(line) async for line in trail.export(owner)]


async def said(trail: AuditStore, owner: str | None = None) -> list[str]:
    return [broken.why for broken in await trail.verify(owner)]


async def test_every_act_on_a_job_leaves_one_entry_with_what_changed(
    door: Scheduler, database: Database, trail: AuditStore, hands: Hands, clock: HandClock
) -> None:
    job = await add(door, args=(CANARY,))
    await door.edit(
        local_caller("ann"), EditJob(str(job.number), name="another name", task="note", args=("x",), kwargs={})
    )
    await door.pause(local_caller("ann"), job.number)
    await door.pause(local_caller("ann"), job.number)  # changes nothing, leaves nothing
    await door.resume(local_caller("ann"), job.number)
    await door.run_now(local_caller("ann"), job.number)
    await door.cancel(local_caller("ann"), job.number)
    await door.delete(local_caller("ann"), job.number)
    await door.delete(local_caller("ann"), job.number)  # isn't there any more
    failing = await add(door, "once", {"run_at": START + timedelta(minutes=1)}, task="fail")
    clock.advance(minutes=1)
    await hands.all()
    failed = await Runs(RunStore(database), door).failed(local_caller("ann"))
    assert isinstance(failed, Ok)
    await Runs(RunStore(database), door).redrive(local_caller("ann"), [run.run.run_id for run in failed.value])
    found = await entries(trail)
    assert [(entry["what"], entry["job_id"]) for entry in found] == [
        ("created", job.id), ("edited", job.id), ("paused", job.id), ("resumed", job.id), ("run asked for", job.id),
        ("cancelled", job.id), ("deleted", job.id), ("created", failing.id), ("redriven", failing.id),
    ]  # fmt: skip
    edited = found[1]
    assert (edited["before"].keys(), edited["after"]["name"]) == ({"name", "arguments"}, "another name")
    assert edited["before"]["arguments"] == found[0]["after"]["arguments"]
    hashed = edited["after"]["arguments"]
    assert hashed.startswith("hmac-sha256:"), "arguments may hold a secret, and the trail is forever"
    assert CANARY not in json.dumps(found)
    assert (found[2]["before"]["state"], found[2]["after"]["state"]) == ("active", "paused")
    assert [entry["number"] for entry in found] == list(range(1, 10))
    assert await said(trail) == []


async def test_an_entry_names_who_acted_and_through_what(door: Scheduler, trail: AuditStore) -> None:
    client = {"name": "claude-code", "version": "2.1"}
    via = {"surface": "mcp", "operation": "pause_job", "client": client}
    caller = Caller(
        "ann", frozenset({"schedule"}), "claude", None, 7, surface="mcp", client=client, operation="pause_job"
    )
    job = await add(door)
    await door.pause(caller, job.number)
    await door.resume(local_caller("ann"), job.number)
    found = await entries(trail)
    assert [entry["actor"] for entry in found] == [
        {"owner": "ann"}, {"owner": "ann", "agent": "claude", "key_id": 7}, {"owner": "ann"}
    ]  # fmt: skip
    assert [entry["client"] for entry in found] == [{"surface": "python"}, via, {"surface": "python"}]


async def test_keys_and_channels_leave_entries_without_their_secrets(
    database: Database, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    identity = Identity(KeyStore(database), "https://cronty.example.com/mcp")
    made = await identity.add_key(local_caller("ann"), "laptop", ["read"], agent="claude")
    assert isinstance(made, Ok)
    channels = ChannelStore(database, Sealer.read(new_key()))
    for password in (CANARY, CANARY * 2):
        assert await channels.save(
            local_caller("ann"), "mail", f"mailtos://ann:{password}@example.com", "mailtos", "mail to a…"
        )
    assert await channels.remove(local_caller("ann"), "mail")
    assert isinstance(await identity.revoke(local_caller("ann"), made.value.number), Ok)
    found = await entries(trail)
    assert [entry["what"] for entry in found] == [
        "key added", "channel added", "channel replaced", "channel removed", "key revoked"
    ]  # fmt: skip
    assert found[0]["after"] == {"key_id": made.value.number, "name": "laptop", "scopes": ["read"], "agent": "claude"}
    assert found[4]["before"] == {"key_id": made.value.number, "name": "laptop"}
    assert found[2]["before"] == found[1]["after"] == found[3]["before"]
    everything = str(await sql.fetch(f"select * from {TRAIL}"))
    assert CANARY not in everything
    assert made.value.text.rsplit("_", 1)[-1] not in everything


async def test_what_nobody_asked_for_is_noted_without_an_actor(
    door: Scheduler, database: Database, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    identity = Identity(KeyStore(database), "https://cronty.example.com/mcp")
    made = await identity.add_key(local_caller("ann"), "laptop")
    assert isinstance(made, Ok)
    job = await add(door)
    await sql.execute("update cronty.jobs set key_id = (select id from cronty.api_keys)")
    await identity.revoke(local_caller("ann"), made.value.number)
    last = (await entries(trail))[-1]
    assert (last["what"], last["job_id"], last["actor"]) == ("paused", job.id, None)
    assert last["after"]["reason"] == 'the key "laptop" it was made with is no longer good'


async def test_an_act_that_fails_leaves_nothing(door: Scheduler, database: Database, trail: AuditStore) -> None:
    await add(door, idempotency_key="once")
    await add(door, idempotency_key="once")
    with suppress(RuntimeError):
        async with database.for_the_operator().transaction() as connection:
            await connection.execute(
                "insert into cronty.audit_unsealed (at, owner_id, what) values (now(), 1024, 'a lie')"
            )
            raise RuntimeError("changed my mind")
    assert [entry["what"] for entry in await entries(trail)] == ["created"]
    assert await said(trail) == []


async def test_an_act_waits_for_no_other_act_of_its_owner(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    await add(door)
    stalled = sql.transaction()
    await stalled.start()
    await sql.execute("insert into cronty.audit_unsealed (at, owner_id, what) values (now(), 1024, 'slow')")
    async with asyncio.timeout(5):
        await add(door)
        assert [entry["what"] for entry in await entries(trail)] == ["created", "created"]
    await stalled.commit()
    assert [entry["what"] for entry in await entries(trail)] == ["created", "created", "slow"], "as they were committed"
    assert await said(trail) == []


async def test_an_entry_is_sealed_by_the_engine_and_by_whoever_reads(
    door: Scheduler, trail: AuditStore, hands: Hands, sql: asyncpg.Connection
) -> None:
    await add(door)
    assert await trail.unsealed() == await trail.unsealed("ann") == 1
    assert await sql.fetchval("select count(*) from cronty.audit") == 0
    assert await hands.engine.sealing.step() > 1
    assert await trail.unsealed() == 0
    await add(door)
    assert [entry["number"] for entry in (await trail.read("ann", 10)).entries] == [2, 1]
    assert await trail.unsealed() == 0


async def test_sealing_is_a_duty_of_an_engine(
    url: str, door: Scheduler, trail: AuditStore, clock: HandClock, registry: Registry
) -> None:
    await add(door)
    async with hands_of(url, clock, registry, drain=0) as running:
        await running.engine.start()
        async with asyncio.timeout(20):
            while await trail.unsealed():
                await asyncio.sleep(0.01)
        await running.engine.stop()


async def test_one_seals_at_a_time_and_a_duty_does_not_wait_for_its_turn(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    await add(door)
    async with sql.transaction():
        assert await sql.fetchval("select cronty.seal_audit(10, true, null, null)") == 1
        await add(door)
        assert await trail.seal_some() == 0
    assert await trail.seal_some() == 1
    assert await said(trail) == []


async def test_much_is_sealed_in_bounded_steps(
    door: Scheduler, trail: AuditStore, hands: Hands, sql: asyncpg.Connection
) -> None:
    await add(door)
    await add(door, owner="bob")
    many = "select now(), 1024 + 1024 * (n % 2), 'x' from generate_series(1, $1) n"
    await sql.execute(f"insert into cronty.audit_unsealed (at, owner_id, what) {many}", 2 * MAX_SEALED)
    assert await hands.engine.sealing.step() == 0, "there is more"
    assert await trail.unsealed() == MAX_SEALED + 2
    assert await trail.seal() == MAX_SEALED + 2
    assert [(head.owner, head.number) for head in await trail.heads()] == [
        ("ann", MAX_SEALED + 1),
        ("bob", MAX_SEALED + 1),
    ]
    assert await said(trail) == []


async def test_many_at_once_make_one_chain_for_each_owner(door: Scheduler, trail: AuditStore) -> None:
    await asyncio.gather(*(add(door, owner=owner) for owner in ("ann", "bob", "cay") * 30))
    assert [(head.owner, head.number) for head in await trail.heads()] == [("ann", 30), ("bob", 30), ("cay", 30)]
    for owner in ("ann", "bob", "cay"):
        found = await entries(trail, owner)
        assert [entry["number"] for entry in found] == list(range(1, 31))
        assert [entry["previous"] for entry in found[1:]] == [entry["hash"] for entry in found[:-1]]
    assert await said(trail) == []


@pytest.mark.parametrize("table", ["audit_unsealed", "audit", "audit_202703"])
@pytest.mark.parametrize(
    "statement", ["update cronty.{} set what = 'x'", "delete from cronty.{}", "truncate cronty.{}"]
)
async def test_the_trail_is_only_added_to(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection, statement: str, table: str
) -> None:
    await add(door)
    await trail.seal()
    await add(door)
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="only ever added to"):
        await sql.execute(statement.format(table))


TAMPERED = {
    "an entry changed": (
        "update cronty.audit set what = 'nothing' where owner_id = 1024 and number = 3",
        ["entry 3 (nothing, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash"],
    ),
    "its actor changed": (
        """update cronty.audit set actor = '{"owner": "eve"}' where owner_id = 1024 and number = 3""",
        ["entry 3 (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash"],
    ),
    "its time changed": (
        "update cronty.audit set at = at + interval '1 microsecond' where owner_id = 1024 and number = 3",
        ["entry 3 (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash"],
    ),
    "an entry changed, with its hash": (
        """update cronty.audit set what = 'nothing' where owner_id = 1024 and number = 3;
        update cronty.audit a set hash = cronty.audit_hash(a) where owner_id = 1024 and number = 3""",
        [
            "entry 4 (created, 2027-03-01 08:00:00 UTC) doesn't follow the entry before it: that one was rewritten",
        ],
    ),
    "the last one changed, with its hash": (
        """update cronty.audit set what = 'nothing' where owner_id = 1024 and number = 6;
        update cronty.audit a set hash = cronty.audit_hash(a) where owner_id = 1024 and number = 6""",
        ["entry 6 (nothing, 2027-03-01 08:00:00 UTC) isn't the one the chain ended with: it was rewritten"],
    ),
    "an entry deleted": ("delete from cronty.audit where owner_id = 1024 and number = 3", ["entry 3 is missing"]),
    "entries deleted": (
        "delete from cronty.audit where owner_id = 1024 and number in (1, 3, 4)",
        ["entry 1 is missing", "entries 3 to 4 are missing"],
    ),
    "an entry deleted and the gap closed": (
        """delete from cronty.audit where owner_id = 1024 and number = 3;
        update cronty.audit set number = number - 1 where owner_id = 1024 and number = 4;
        update cronty.audit set number = number - 1 where owner_id = 1024 and number = 5;
        update cronty.audit set number = number - 1 where owner_id = 1024 and number = 6;
        update cronty.audit_heads set number = 5 where owner_id = 1024""",
        [f"entry {n} (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash" for n in (3, 4, 5)],
    ),
    "an entry inserted": (
        """update cronty.audit set number = 7 where owner_id = 1024 and number = 6;
        insert into cronty.audit (at, sealed_at, owner_id, what, number, previous, hash)
        select at, sealed_at, owner_id, 'a lie', 6, previous, hash from cronty.audit
        where owner_id = 1024 and number = 5""",
        [
            "entry 6 (a lie, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash",
            "entry 7 (created, 2027-03-01 08:00:00 UTC) is beyond the head: it wasn't added by Cronty",
            "entry 7 (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash",
        ],
    ),
    "an entry appended, with its hash": (
        """insert into cronty.audit (at, sealed_at, owner_id, what, number, previous, hash)
        select at, sealed_at, owner_id, 'a lie', 7, hash, '' from cronty.audit where owner_id = 1024 and number = 6;
        update cronty.audit a set hash = cronty.audit_hash(a) where owner_id = 1024 and number = 7""",
        ["entry 7 (a lie, 2027-03-01 08:00:00 UTC) is beyond the head: it wasn't added by Cronty"],
    ),
    "an entry put in beside another, with its hash": (
        """insert into cronty.audit (at, sealed_at, owner_id, what, number, previous, hash)
        select at, sealed_at + interval '1 second', owner_id, 'a lie', 3, previous, '' from cronty.audit
        where owner_id = 1024 and number = 3;
        update cronty.audit a set hash = cronty.audit_hash(a) where owner_id = 1024 and hash = ''""",
        ["entry 3 (a lie, 2027-03-01 08:00:00 UTC) is there twice: it wasn't added by Cronty"],
    ),
    "an entry sealed in another month": (
        """update cronty.audit set sealed_at = sealed_at + interval '1 month' where owner_id = 1024 and number = 3""",
        ["entry 3 (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash"],
    ),
    "two entries in each other's place": (
        """update cronty.audit set number = 99 where owner_id = 1024 and number = 3;
        update cronty.audit set number = 3 where owner_id = 1024 and number = 4;
        update cronty.audit set number = 4 where owner_id = 1024 and number = 99""",
        [
            "entry 3 (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash",
            "entry 4 (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash",
            "entry 5 (created, 2027-03-01 08:00:00 UTC) doesn't follow the entry before it: that one was rewritten",
        ],
    ),
    "the end cut off": (
        "delete from cronty.audit where owner_id = 1024 and number > 4",
        ["entries 5 to 6 are missing: the end was cut off"],
    ),
    "everything gone": (
        "delete from cronty.audit where owner_id = 1024",
        ["entries 1 to 6 are missing: the end was cut off"],
    ),
    "given to another owner": (
        "update cronty.audit set owner_id = 2048, number = 7 where owner_id = 1024 and number = 6",
        [
            "entry 6 is missing: the end was cut off",
            "entry 7 (created, 2027-03-01 08:00:00 UTC) is beyond the head: it wasn't added by Cronty",
            "entry 7 (created, 2027-03-01 08:00:00 UTC) was changed: it no longer has its hash",
        ],
    ),
}


@pytest.mark.parametrize("how", TAMPERED)
async def test_tampering_is_found_and_named(
    how: str, door: Scheduler, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    for owner in ("ann", "bob"):
        for _ in range(6):
            await add(door, owner=owner)
    assert await said(trail) == []
    statement, expected = TAMPERED[how]
    await sql.execute("set session_replication_role = replica")  # a superuser who knows what is in his way
    await sql.execute(statement)
    assert await said(trail) == expected
    assert await said(trail, "bob") == ([] if how != "given to another owner" else expected[1:])


async def test_what_was_cut_off_stays_found_when_the_chain_goes_on(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    for _ in range(3):
        await add(door)
    await trail.seal()
    await sql.execute("set session_replication_role = replica")
    await sql.execute("delete from cronty.audit where number = 3")
    await add(door)
    assert await said(trail) == ["entry 3 is missing"]


async def test_what_was_put_beyond_the_head_stays_found_when_the_chain_goes_on(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    await add(door)
    await trail.seal()
    await sql.execute("set session_replication_role = replica")
    await sql.execute(
        "insert into cronty.audit (at, sealed_at, owner_id, what, number, previous, hash)"
        " select at, sealed_at - interval '1 second', owner_id, 'a lie', 2, hash, '' from cronty.audit;"
        "update cronty.audit a set hash = cronty.audit_hash(a) where number = 2"
    )
    await add(door)
    assert await said(trail) == [
        "entry 2 (a lie, 2027-03-01 08:00:00 UTC) isn't the one the chain ended with: it was rewritten",
        "entry 2 (created, 2027-03-01 08:00:00 UTC) is there twice: it wasn't added by Cronty",
    ]


async def test_a_chain_made_anew_is_found_by_whoever_kept_a_head(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    for _ in range(3):
        await add(door)
    [kept] = await trail.heads("ann")
    assert await trail.hash_of("ann", kept.number) == kept.hash
    await sql.execute("alter table cronty.audit disable trigger only_grows")
    fields = "at, owner_id, job_id, job_number, actor, client, after"
    await sql.execute(f"create temp table old as select {fields} from cronty.audit")
    await sql.execute("delete from cronty.audit; delete from cronty.audit_heads")
    await sql.execute(f"insert into cronty.audit_unsealed ({fields}, what) select {fields}, 'forged' from old")
    await sql.execute("alter table cronty.audit enable trigger only_grows")
    assert await said(trail) == [], "a chain alone can't tell"
    assert await trail.hash_of("ann", kept.number) != kept.hash


async def test_an_export_is_of_one_owner_and_from_a_moment_on(
    door: Scheduler, trail: AuditStore, clock: HandClock
) -> None:
    await add(door)
    await add(door, owner="bob")
    clock.advance(hours=1)
    await add(door)
    assert [entry["owner"] for entry in await entries(trail, None)] == ["ann", "ann", "bob"]
    assert [entry["number"] for entry in await entries(trail)] == [1, 2]
    late = [orjson.loads(line) async for line in trail.export("ann", START + timedelta(minutes=1))]
    assert [(entry["number"], entry["at"]) for entry in late] == [(2, "2027-03-01T09:00:00+00:00")]
    assert [entry async for entry in trail.export("nobody")] == []


async def test_a_short_secret_cannot_be_guessed_from_the_hash_of_the_arguments(
    door: Scheduler, trail: AuditStore, sql: asyncpg.Connection
) -> None:
    for owner in ("ann", "ann", "bob"):
        await add(door, args=("1234",), owner=owner)
    found = await sql.fetch(f"select after ->> 'arguments' as hashed, after from {TRAIL} order by owner_id")
    hashes = [row["hashed"] for row in found]
    assert hashes[0] == hashes[1] != hashes[2], "the same for one owner, and of no use to another"
    texts = await sql.fetch("select arguments::text as said from cronty.jobs")
    plain = {sha256(row["said"].encode()).hexdigest() for row in texts}
    assert not any(one in hashed for one in plain for hashed in hashes)
