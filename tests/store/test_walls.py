"""The second wall between owners: with the door's own conditions gone, PostgreSQL still shows nobody else's rows."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from re import compile as pattern
from typing import Any

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok
from cronty.jobs.job import Job
from cronty.scheduler import Scheduler
from cronty.store.audit_store import AuditStore
from cronty.store.calendar_store import CalendarStore
from cronty.store.channel_store import ChannelStore
from cronty.store.database import DOOR, ENGINE, Database, StoreUnavailable, behind_the_wall, query, rows_changed
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from cronty.store.migrate import migrate, schema_state
from cronty.store.sealing import Sealer
from cronty.store.walls import OFF
from cronty.timing.named_calendar import NamedCalendar
from tests.conftest import START, HandClock, Hands, add, as_user, hands_of, with_database

OWNED = ("jobs", "due", "runs", "queue", "channels", "calendars", "audit", "audit_heads", "api_keys", "attempts")
NOBODYS = {
    "audit_months",
    "dropped_weeks",
    "found_waiting",
    "migrations",
    "server",
    "task_limits",
    "tasks",
    "workers",
    "zones",
}
KEY_COLUMNS = "id, owner_id, number, name, scopes, agent, created_at, expires_at, last_used_at, revoked_at"
VISIBLE = {"api_keys": KEY_COLUMNS}
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Life:
    """Something of an owner's in every table."""

    failing: Job
    prompt: Job
    slot: datetime
    key_id: int
    key_number: int


async def live(owner: str, door: Scheduler, database: Database, hands: Hands, sql: asyncpg.Connection) -> Life:
    if owner == "bob":
        await add(door, "once", {"run_at": START + timedelta(days=1)}, owner=owner)  # so that his numbers aren't hers
    failing = await add(
        door,
        owner=owner,
        task="fail",
        name=f"{owner} fails",
        policy={"attempts": 2, "backoff": 1},
    )
    prompt = await door.schedule(
        local_caller(owner),
        ScheduleJob(
            f"{owner} thinks", "prompt", "interval", {"minutes": 1}, kwargs={"prompt": owner}, idempotency_key="k"
        ),
    )
    assert isinstance(prompt, Ok)
    await ChannelStore(database, Sealer([b"k" * 32])).save(local_caller(owner), "phone", "ntfy://x", "ntfy", owner)
    key = await KeyStore(database).add(local_caller(owner), f"{owner}'s laptop", b"h" * 32, ["read"], None, None)
    assert isinstance(key, tuple)
    await CalendarStore(database).save(local_caller(owner), "team", NamedCalendar({START.date(): owner}))
    await sql.execute(
        "insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what)"
        " select now(), owner_id, id, number, 'seen' from cronty.jobs"
        " where id = $1",
        failing.id,
    )
    await sql.execute(
        "insert into cronty.stop_requests select 77, id, $2, owner_id from cronty.jobs where id = $1", failing.id, START
    )
    return Life(failing, prompt.value, START + timedelta(minutes=1), *key)


@pytest.fixture
async def lives(
    url: str, door: Scheduler, database: Database, clock: HandClock, registry: Registry, sql: asyncpg.Connection
) -> AsyncGenerator[dict[str, Life]]:
    """Ann and Bob, each with two jobs that have fired, a failed run and a waiting prompt."""
    async with hands_of(url, clock, registry) as hands:
        made = {owner: await live(owner, door, database, hands, sql) for owner in ("ann", "bob")}
        for seconds in (60, 2, 2, 2):
            clock.advance(seconds=seconds)
            await hands.all()
        await AuditStore(database).seal()
        yield made


async def rows_of(sql: asyncpg.Connection, owner: str, table: str) -> set[str]:
    """What is really there, whole."""
    whose = {"owners": "t.name = $1", "job_overview": "t.owner = $1"}
    where = whose.get(table, "t.owner_id = (select id from cronty.owners where name = $1)")
    columns = VISIBLE.get(table, "*")
    rows = await sql.fetch(f"select (x)::text from (select {columns} from cronty.{table} t where {where}) x", owner)
    return {row[0] for row in rows}


async def met(connection: Any, table: str) -> set[str]:
    """What a connection meets that asks for everything."""
    columns = VISIBLE.get(table, "*")
    return {row[0] for row in await connection.fetch(f"select (x)::text from (select {columns} from cronty.{table}) x")}


READABLE = ("owners", *OWNED, "job_overview")


@pytest.mark.parametrize("table", READABLE)
async def test_whoever_asks_for_everything_gets_the_rows_of_one_owner(
    table: str, lives: dict[str, Life], database: Database, sql: asyncpg.Connection
) -> None:
    assert database.walled
    for owner in lives:
        theirs = await rows_of(sql, owner, table)
        assert theirs, "an empty table proves nothing"
        async with database.of(owner).transaction() as connection:
            assert await met(connection, table) == theirs
    async with database.transaction() as connection:
        assert await met(connection, table) == set(), "on nobody's behalf there is nothing to see"
    async with database.of("eve").transaction() as connection:
        assert await met(connection, table) == set()


async def test_an_owner_is_forgotten_with_the_transaction(lives: dict[str, Life], url: str) -> None:
    database = await Database(url, size=1).open()
    try:
        assert await database.of("ann").value("owner_id", "ann") is not None
        assert await database.value("owner_id", "ann") is None
        with pytest.raises(ZeroDivisionError):
            async with database.of("ann").transaction():
                raise ZeroDivisionError
        assert await database.value("owner_id", "ann") is None
    finally:
        await database.close()


FILTER = pattern(r"(?<![\w.])(?:o\.name|v\.owner|name) = (\$\d)")
"""How the door's statements say whose rows they mean."""


def unfiltered(name: str) -> str:
    """The statement with its condition on the owner gone."""
    plain = FILTER.sub(r"\1::text is not null", query(name))
    # A scalar sub-select over all owners would fail, which is no answer either.
    return plain.replace("select id from cronty.owners where", "select min(id) from cronty.owners where")


def reads(life: Life, owner_id: int) -> dict[str, tuple[object, ...]]:
    job, number = life.failing.id, life.failing.number
    return {
        "show_job": ("bob", number, None, False),
        "list_runs": ("bob", number, 100, None, None),
        "list_failed": ("bob", 100, None, None, None, None),
        "list_channels": ("bob",),
        "list_calendars": ("bob",),
        "digests_of_lists": ([owner_id], ["team"]),
        "days_of_lists": ([owner_id], ["team"]),
        "find_channel": ("bob", "phone"),
        "list_keys": ("bob",),
        "owner_id": ("bob",),
        "lock_job": ("bob", number, False),
        "list_attempts": ("bob", number, life.slot),
        "in_flight_runs": ([life.prompt.id],),
        "about_run": (None, owner_id, job, life.slot),
        "find_channel_of_owner": (owner_id, "phone"),
        "taken_slots": ([job], [life.slot]),
    }


async def test_a_statement_that_names_somebody_else_or_forgets_to_ask_finds_nothing_of_theirs(
    lives: dict[str, Life], database: Database, sql: asyncpg.Connection
) -> None:
    bobs_id = await sql.fetchval("select id from cronty.owners where name = 'bob'")
    for name, arguments in reads(lives["bob"], bobs_id).items():
        async with database.of("bob").transaction() as connection:
            theirs = {str(row) for row in await connection.fetch(query(name), *arguments)}
            assert theirs, f"{name} does find something on Bob's own behalf"
        async with database.of("ann").transaction() as connection:
            assert await connection.fetch(query(name), *arguments) == [], name
            found = {str(row) for row in await connection.fetch(unfiltered(name), *arguments)}
            assert theirs.isdisjoint(found), f"{name}, unfiltered"


def facts(rows: list[asyncpg.Record]) -> set[str]:
    """What rows say but for the moment at which they say it."""
    return {str({name: value for name, value in row.items() if name != "now"}) for row in rows}


async def test_a_single_statement_that_forgets_to_ask_finds_nothing_of_somebody_elses(
    lives: dict[str, Life], database: Database, sql: asyncpg.Connection
) -> None:
    """It says for whom it runs in a parameter, which PostgreSQL reads before it plans: as a login that sees all."""
    bobs_id = await sql.fetchval("select id from cronty.owners where name = 'bob'")
    engines = behind_the_wall("select count(*) from cronty.jobs", ENGINE, 1)
    async with database.pool.lend() as connection:
        for name, arguments in reads(lives["bob"], bobs_id).items():
            if name == "lock_job":
                continue  # locks, so it isn't made alone
            text = behind_the_wall(unfiltered(name), DOOR, len(arguments) + 1)
            theirs = facts(await connection.fetch(text, *arguments, "bob"))
            assert theirs, f"{name} does find something on Bob's own behalf"
            for _ in range(7):  # PostgreSQL keeps a plan from the sixth time on
                assert theirs.isdisjoint(facts(await connection.fetch(text, *arguments, "ann"))), name
                assert theirs == facts(await connection.fetch(text, *arguments, "bob")), name
                assert theirs.isdisjoint(facts(await connection.fetch(text, *arguments, None))), f"{name} for nobody"
                assert await connection.fetchval(engines, None) == 5, "the engine meets all in between"
            assert await connection.fetchval("select current_user = session_user"), "and nothing stays"
            assert not await connection.fetchval("select current_setting('cronty.owner', true)")


async def test_a_statement_that_fails_leaves_nobodys_name_in_the_session(lives: dict[str, Life], url: str) -> None:
    database = await Database(url, size=1).open()
    try:
        for behalf in (database.of("ann"), database.for_the_engine()):
            with pytest.raises(asyncpg.DataError):
                await behalf.value("take_numbers", "ann", "no number")
            with pytest.raises(asyncpg.PostgresError):
                await behalf.change("ensure_owner", None)
            async with database.pool.lend() as connection:
                assert await connection.fetchval("select current_user = session_user")
        assert await database.value("owner_id", "ann") is None
    finally:
        await database.close()


async def snapshot(sql: asyncpg.Connection, owner: str) -> dict[str, set[str]]:
    return {table: await rows_of(sql, owner, table) for table in ("owners", *OWNED, "stop_requests")}


async def test_a_statement_that_changes_somebody_elses_rows_changes_none(
    lives: dict[str, Life], database: Database, sql: asyncpg.Connection
) -> None:
    bob, before = lives["bob"], await snapshot(sql, "bob")
    job, prompt, slot = bob.failing.id, bob.prompt.id, bob.slot
    changes: dict[str, tuple[object, ...]] = {
        "requeue": (prompt, "note"),
        "relink": (job, slot, FUTURE),
        "adopt_job": (job, 1, None),
        "run_now": (job, FUTURE),
        "stop_runs": (None, [prompt, job], [slot, slot], "no"),
        "pause_failing": (None, [job], ["no"]),
        "set_aside": (FUTURE, [job], ["no"]),
        "clear_failing": ([job],),
        "note_missed": ([job], ["no"]),
        "remove_channel": ("bob", "phone", None, "{}", "{}"),
        "revoke_key": (None, "bob", bob.key_number, "{}", "{}"),
        "touch_key": (None, bob.key_id),
        "read_inbox": (None, "bob", None, 10, 60.0, None),
        "revoke_children": (None, bob.key_id, "{}", "{}"),
        "put_off_prompts": ("bob", [bob.prompt.number], [slot], [0], FUTURE, "no"),
        "redrive": ("bob", [bob.failing.number], [slot], True, None, 0.0, None),
        "cut_range": (job, slot, None, 1, FUTURE, FUTURE),
        "backfill": (job, [slot], "{}", FUTURE, 0.1),
        "take_numbers": ("bob", 5),
        "settle_inbox": (
            *(None, "bob", [bob.prompt.number], [slot], [None], ["done"], [None], [None], [None]),
            *(None, "{}", "{}"),
        ),
        "lock_lines": ([job, prompt],),
        "release": (None, [job, prompt]),
        "end_line": (prompt, FUTURE),
        "pick_orphaned": (None, 10, None, "%s"),
        "pause_orphaned": (None, [job, prompt], ["why", "why"]),
    }
    for name, arguments in changes.items():
        async with database.of("ann").transaction() as connection:
            await connection.fetch(query(name), *arguments)
        assert await snapshot(sql, "bob") == before, name
        if unfiltered(name) != query(name):
            async with database.of("ann").transaction() as connection:
                await connection.fetch(unfiltered(name), *arguments)
            assert await snapshot(sql, "bob") == before, f"{name}, unfiltered"


@pytest.mark.parametrize(
    "statement",
    [
        "update cronty.jobs set name = 'mine'",
        "update cronty.jobs set deleted_at = now()",
        "update cronty.due set next_at = null",
        "update cronty.runs set error = 'mine'",
        "update cronty.queue set task = 'mine'",
        "delete from cronty.queue",
        "update cronty.channels set hint = 'mine'",
        "update cronty.calendars set name = 'mine'",
        "delete from cronty.calendars",
        "update cronty.api_keys set revoked_at = now()",
    ],
)
async def test_a_change_of_every_row_changes_one_owners_rows(
    statement: str, lives: dict[str, Life], database: Database, sql: asyncpg.Connection
) -> None:
    before = await snapshot(sql, "bob")
    async with database.of("ann").transaction() as connection:
        assert rows_changed(await connection.execute(statement)) > 0
    assert await snapshot(sql, "bob") == before
    async with database.transaction() as connection:
        assert rows_changed(await connection.execute(statement)) == 0


REFUSED = {
    "a job for Bob": "insert into cronty.jobs (owner_id, number, name, task, arguments, trigger, policy, tags,"
    " created_at, updated_at) values ({bob}, 99, 'x', 'note', '{{}}', '{{}}', '{{}}', '{{}}', now(), now())",
    "a job given to Bob": "update cronty.jobs set owner_id = {bob}",
    "a run of Bob's job": "insert into cronty.runs (job_id, scheduled_for, owner_id, state) values"
    " ({job}, '2027-03-01', {ann}, 'waiting')",
    "a turn for Bob's job": "insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task) values"
    " ({job}, '2100-01-01', now(), {ann}, 'fail')",
    "an attempt of Bob's": "insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, ended_at, outcome)"
    " values ({job}, '2100-01-01', 9, {ann}, now(), 'failed')",
    "a stop for Bob's run": "insert into cronty.stop_requests values (1, {job}, now(), {ann})",
    "a key of Bob's": "insert into cronty.api_keys (id, number, owner_id, name, hash, scopes, created_at) values"
    " (9, 9, {bob}, 'x', '\\x00', '{{read}}', now())",
    "a channel of Bob's": "insert into cronty.channels (owner_id, name, scheme, hint, key_id, sealed, created_at)"
    " values ({bob}, 'x', 'x', 'x', 'x', '\\x00', now())",
    "a list of Bob's": "insert into cronty.calendars values ({bob}, 'x', '{{}}', now(), '')",
    "a trail of Bob's": "insert into cronty.audit_unsealed (at, owner_id, job_id, job_number, what) values"
    " (now(), {bob}, {job}, 1, 'x')",
    "a sealed entry": "insert into cronty.audit (owner_id, number, sealed_at, at, what, previous, hash) values"
    " ({ann}, 9, now(), now(), 'x', '', '')",
    "the trail sealed": "select cronty.seal_audit(1, true, '2999-01-01', null)",
    "the trail erased": "select cronty.erase_audit({ann}, 1)",
    "a month closed": "select cronty.close_audit_month('2001-01-01', null)",
    "a month dropped": "select cronty.drop_audit_month('2001-01-01', null, 0, '')",
    "a checkpoint": "update cronty.audit_checkpoints set number = 1",
    "a month beside the wall": "select * from cronty.audit_202703",
    "an alert about Bob's job": "insert into cronty.alerts (owner_id, job_id, at, name, arguments) values"
    " ({ann}, {job}, now(), 'x', '{{}}')",
    "the rules of a zone": "update cronty.zones set rules = 'x'",
    "another owner": "insert into cronty.owners (name) values ('eve')",
    "the trail changed": "update cronty.audit set what = 'x'",
    "the trail shortened": "delete from cronty.audit",
    "the newest of the trail changed": "update cronty.audit_unsealed set what = 'x'",
    "the newest of the trail gone": "delete from cronty.audit_unsealed",
    "history deleted": "delete from cronty.runs",
    "a job deleted": "delete from cronty.jobs",
    "hashes of keys": "select hash from cronty.api_keys",
    "a key with another hash": "update cronty.api_keys set hash = '\\x00'",
    "a week beside the wall": "select * from cronty.runs_20270301",
    "who is asked to stop": "select * from cronty.stop_requests",
    "workers": "select * from cronty.workers",
    "slots unaccounted": "select * from cronty.slots_unaccounted",
    "another server": "select cronty.be_server(7)",
    "weeks dropped": "select cronty.drop_run_partition('2100-01-01')",
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_the_door_never_does_is_refused(
    what: str, lives: dict[str, Life], database: Database, sql: asyncpg.Connection
) -> None:
    ids = {row["name"]: row["id"] for row in await sql.fetch("select id, name from cronty.owners")}
    text = REFUSED[what].format(**ids, job=lives["bob"].failing.id)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with database.of("ann").transaction() as connection:
            await connection.execute(text)


@pytest.mark.parametrize(
    "statement",
    [
        "select hash from cronty.api_keys",
        "select * from cronty.find_key(1, now())",
        "select * from cronty.audit",
        "select * from cronty.audit_unsealed",
        "delete from cronty.audit_unsealed",
        "insert into cronty.audit_months (month) values ('2001-01-01')",
        "select cronty.erase_audit(1024, 1)",
        "select * from cronty.runs_20270301",
        "update cronty.channels set hint = 'x'",
        "update cronty.api_keys set revoked_at = null",
        "insert into cronty.owners (name) values ('eve')",
        "delete from cronty.owners",
        "delete from cronty.audit",
        "delete from cronty.channels",
        "delete from cronty.zones",
    ],
)
async def test_the_engine_has_no_more_than_it_needs(statement: str, lives: dict[str, Life], url: str) -> None:
    hot = await Database(url, hot=True).open()
    try:
        assert hot.walled
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with hot.transaction() as connection:
                await connection.execute(statement)
    finally:
        await hot.close()


async def test_every_table_is_behind_the_wall_or_is_nobodys(sql: asyncpg.Connection) -> None:
    rows = await sql.fetch(
        "select relname, relrowsecurity from pg_class where relnamespace = 'cronty'::regnamespace"
        " and relkind in ('r', 'p') and not relispartition"
    )
    walled = {row["relname"] for row in rows if row["relrowsecurity"]}
    told = {"alerts", "absences", "tellings", "presses", "handed_over", "starts"}
    assert walled == {"owners", "usage", "audit_unsealed", "audit_checkpoints", "stop_requests", *told, *OWNED}
    assert {row["relname"] for row in rows} - walled == NOBODYS, "a new table belongs into walls.sql"
    with_owner = await sql.fetch(
        "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'owner_id'"
        " where c.relnamespace = 'cronty'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"
    )
    assert {row["relname"] for row in with_owner} <= walled
    seen_through = await sql.fetch(
        "select relname from pg_class where relnamespace = 'cronty'::regnamespace and relkind = 'v'"
        " and not coalesce('security_invoker=true' = any(reloptions), false)"
    )
    assert seen_through == [], "a view shows its reader only what the reader may see"


@pytest.mark.parametrize(
    "owner", ["o'brien", 'a"b', "back\\slash", "'; reset role; --", "名前", "🦀", "\\+000041", "$$"]
)
async def test_an_owner_may_be_called_anything(owner: str, door: Scheduler, hands: Hands) -> None:
    job = await add(door, owner=owner)
    assert job.owner == owner
    found = await door.list_jobs(local_caller(owner))
    assert isinstance(found, Ok)
    assert [one.number for one in found.value.jobs] == [job.number]


# -- where there can be no wall -----------------------------------------------------------------------------------


async def test_without_the_right_to_make_roles_everything_works_without_a_wall_until_somebody_helps(
    server_url: str, migrated_url: str, clock: HandClock
) -> None:
    assert migrated_url, "the roles are there, and the plain user isn't a member of them"
    admin = await asyncpg.connect(server_url)
    await admin.execute("drop database if exists cronty_plain with (force)")
    for user in ("cronty_plain", "cronty_stranger"):
        await admin.execute(f"drop role if exists {user}")
        await admin.execute(f"create role {user} login password 'secret'")
    await admin.execute("create database cronty_plain owner cronty_plain")
    url = as_user(with_database(server_url, "cronty_plain"), "cronty_plain")
    try:
        await migrate(url)
        assert (await schema_state(url)).walls == OFF
        assert (await schema_state(url)).problem() is None, "it is no reason not to start"
        await use(url, clock, walled=False)
        await admin.execute("grant cronty_app, cronty_engine to cronty_plain")
        assert await migrate(url) == ["walls"], "there is nothing else to apply"
        assert (await schema_state(url)).walls is None
        await use(url, clock, walled=True)
        stranger = as_user(with_database(server_url, "cronty_plain"), "cronty_stranger")
        with pytest.raises(StoreUnavailable, match="grant cronty_app, cronty_engine to the user"):
            await Database(stranger).open()
        await admin.execute("grant cronty_app, cronty_engine to cronty_stranger")
        await use(stranger, clock, walled=True)
    finally:
        await admin.execute("drop database cronty_plain with (force)")
        await admin.execute("drop role cronty_plain, cronty_stranger")
        await admin.close()


async def use(url: str, clock: HandClock, *, walled: bool) -> None:
    """A job is made and runs, with this login."""
    registry = Registry()
    done: list[int] = []
    registry.add(lambda: done.append(1), "note")
    database = await Database(url, clock=clock).open()
    try:
        assert database.walled is walled
        async with hands_of(url, clock, registry) as hands:
            await add(Scheduler(JobStore(database)), owner="zoe", max_runs=1)
            clock.advance(minutes=1)
            hands.engine.firing.low.forget()
            await hands.all()
            await hands.engine.rescuing.step()
            await hands.engine.pruning.step()
            assert done == [1]
    finally:
        await database.close()


async def test_nobody_but_their_owner_may_execute_what_runs_with_its_owners_rights(sql: asyncpg.Connection) -> None:
    """A trigger function too: whoever may execute it can hang it on a table of their own."""
    open_to_all = await sql.fetch(
        """select p.oid::regprocedure::text from pg_proc p
           where p.pronamespace = 'cronty'::regnamespace and p.prosecdef
             and (p.proacl is null or exists (select from aclexplode(p.proacl) a where a.grantee = 0))"""
    )
    assert [row[0] for row in open_to_all] == []
