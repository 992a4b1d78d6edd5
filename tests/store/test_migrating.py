"""A migration is applied beside a fleet at work: it keeps nobody waiting, and mends what was cut off before."""

import asyncio
import logging
import re
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from cronty.store.faults import StoreMisnamed
from cronty.store.migrate import CannotMigrate, migrate, schema_state
from cronty.store.schema import HOME, compare, wanted
from cronty.store.scratch import scratch_server
from tests.conftest import as_user, with_database
from tests.patience import PATIENCE

Write = Callable[..., Path]
ADD_COLUMN = "-- older code: keeps working\nalter table cronty.jobs add column planted int;\n"
ADD_INDEX = (
    "-- outside a transaction\n-- older code: keeps working\n"
    "-- For whoever looks for a name.\n"
    "create index concurrently if not exists jobs_by_name on cronty.jobs (name)\n  where deleted_at is null;\n"
    "create unique index concurrently if not exists jobs_by_both on cronty.jobs (owner_id, id);\n"
)


@pytest.fixture
async def fresh(server_url: str) -> AsyncGenerator[str]:
    """A database with today's schema, of this test's own."""
    admin = await asyncpg.connect(server_url)
    await admin.execute("drop database if exists cronty_migrating with (force)")
    await admin.execute("create database cronty_migrating")
    url = with_database(server_url, "cronty_migrating")
    await migrate(url)
    yield url
    await admin.execute("drop database cronty_migrating with (force)")
    await admin.close()


@pytest.fixture
def home(tmp_path: Path) -> Write:
    """Today's files, in a folder of their own, and those of a newer version beside them."""
    count = 0

    def write(*, walls: tuple[str, str] = ("", ""), **planted: str) -> Path:
        nonlocal count
        count += 1
        folder = tmp_path / str(count)
        shutil.copytree(str(HOME / "migrations"), folder / "migrations")
        for name, text in planted.items():
            (folder / "migrations" / f"{name[1:]}.sql").write_text(text, encoding="utf-8")
        text = (HOME / "walls.sql").read_text(encoding="utf-8")
        assert walls[0] in text
        (folder / "walls.sql").write_text(text.replace(*walls), encoding="utf-8")
        schema = (HOME / "schema.sql").read_text(encoding="utf-8")
        if walls == CHANGED:
            schema = re.sub("(wall around usage lets cronty_app at )(.*)", r"\1(\2 AND true)", schema)
        (folder / "schema.sql").write_text(schema, encoding="utf-8")
        return folder

    return write


@asynccontextmanager
async def holding(url: str, statement: str) -> AsyncGenerator[asyncpg.Connection]:
    """A transaction that has made a statement and doesn't end: a backup, a forgotten session."""
    connection = await asyncpg.connect(url)
    await connection.execute("begin")
    await connection.execute(statement)
    try:
        yield connection
    finally:
        await connection.close()


async def said(caplog: pytest.LogCaptureFixture, words: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while words not in caplog.text:
            await asyncio.sleep(0.01)


async def ask(url: str, question: str, *arguments: object) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question, *arguments)
    finally:
        await connection.close()


VALID = "select indisvalid from pg_index where indexrelid = to_regclass($1::text)"


# -- beside others --------------------------------------------------------------------------------------------------


async def test_others_read_and_write_while_a_migration_waits_for_a_backup(
    fresh: str, home: Write, caplog: pytest.LogCaptureFixture
) -> None:
    newer = home(_0002_column=ADD_COLUMN)
    caplog.set_level(logging.WARNING, "cronty")
    async with holding(fresh, "select count(*) from cronty.jobs"):
        migrating = asyncio.create_task(migrate(fresh, newer))
        await said(caplog, "0002_column waits for a table")
        # The backup never ends here: whoever queued behind the migration would wait forever.
        for _ in range(50):
            async with asyncio.timeout(PATIENCE):
                await ask(fresh, "select count(*) from cronty.jobs")
                await ask(fresh, "update cronty.jobs set name = name returning 1")
        assert not migrating.done()
    assert await migrating == ["0002_column", "walls"]
    assert caplog.text.count("waits for a table") == 1, "it is said once"
    assert (await schema_state(fresh, newer)).missing == []


async def test_a_migration_that_is_kept_waiting_too_long_changes_nothing_and_says_so(fresh: str, home: Write) -> None:
    newer = home(_0002_column=f"{ADD_COLUMN}create table cronty.planted (id int);\n")
    async with holding(fresh, "select count(*) from cronty.jobs"):
        with pytest.raises(CannotMigrate, match="0002_column can't be applied: something has held a table"):
            await migrate(fresh, newer, patience=0)
        assert await ask(fresh, "select to_regclass('cronty.planted')") is None
    assert (await schema_state(fresh, newer)).missing == ["0002_column", "walls"]
    assert await migrate(fresh, newer) == ["0002_column", "walls"]


async def test_two_processes_apply_each_migration_once(fresh: str, home: Write) -> None:
    newer = home(_0002_column=ADD_COLUMN, _0003_index=ADD_INDEX, _0004_table="create table cronty.planted (id int);")
    applied = await asyncio.gather(*(migrate(fresh, newer) for _ in range(4)))
    assert sorted(applied)[-1] == ["0002_column", "0003_index", "0004_table", "walls"]
    assert sorted(applied)[:-1] == [[], [], []]


async def test_a_process_that_waits_too_long_for_another_ones_migration_says_so(fresh: str, home: Write) -> None:
    async with holding(fresh, "select pg_advisory_lock(7270011515)"):
        with pytest.raises(CannotMigrate, match="Another process"):
            await migrate(fresh, home(), patience=0)


async def test_a_session_that_is_not_its_own_is_noticed(fresh: str, home: Write) -> None:
    """As behind PgBouncer, where the next transaction may find itself in a session without the lock."""
    newer = home(_0002_pooled="select pg_advisory_unlock_all();", _0003_column=ADD_COLUMN)
    with pytest.raises(CannotMigrate, match="not PgBouncer in transaction mode"):
        await migrate(fresh, newer)
    assert (await schema_state(fresh, newer)).missing == ["0003_column", "walls"]


# -- indexes --------------------------------------------------------------------------------------------------------


async def test_an_index_is_built_concurrently(fresh: str, home: Write) -> None:
    newer = home(_0002_index=ADD_INDEX)
    assert await migrate(fresh, newer) == ["0002_index", "walls"]
    assert await ask(fresh, VALID, "cronty.jobs_by_name")
    assert await ask(fresh, VALID, "cronty.jobs_by_both")
    assert "WHERE" in str(await ask(fresh, "select pg_get_indexdef('cronty.jobs_by_name'::regclass)"))


async def test_a_build_that_was_cut_off_is_repaired(fresh: str, home: Write) -> None:
    newer = home(_0002_index=ADD_INDEX)
    async with holding(fresh, "insert into cronty.owners (name) values ('ann')") as old:
        await old.execute("select count(*) from cronty.jobs")
        await old.execute("update cronty.jobs set name = name")  # a build has to wait for this transaction
        migrating = asyncio.create_task(migrate(fresh, newer))
        waiting = (
            "select pid from pg_stat_activity where query like 'create%concurrently%' and wait_event_type = 'Lock'"
        )
        async with asyncio.timeout(PATIENCE):
            while (pid := await ask(fresh, waiting)) is None:
                await asyncio.sleep(0.01)
        await ask(fresh, "select pg_terminate_backend($1)", pid)
        with pytest.raises(Exception, match="can't be reached"):
            await migrating
    assert await ask(fresh, VALID, "cronty.jobs_by_name") is False
    assert await migrate(fresh, newer) == ["0002_index", "walls"]
    assert await ask(fresh, VALID, "cronty.jobs_by_name")


async def test_an_index_of_a_partitioned_table_is_built_partition_by_partition(fresh: str, home: Write) -> None:
    await ask(fresh, "select cronty.make_run_partition('2031-01-06 00:00+00')")
    newer = home(
        _0002_runs="-- outside a transaction\n"
        "create index concurrently if not exists runs_by_worker on cronty.runs (worker) where worker is not null;\n"
    )
    assert await migrate(fresh, newer) == ["0002_runs", "walls"]
    assert await ask(fresh, VALID, "cronty.runs_by_worker"), "valid as a whole means that every partition has it"
    assert await ask(fresh, VALID, "cronty.runs_20310106_runs_by_worker")
    await ask(fresh, "select cronty.make_run_partition('2031-01-13 00:00+00')")
    assert (
        await ask(
            fresh, "select count(*) from pg_indexes where tablename = 'runs_20310113' and indexdef like '%(worker)%'"
        )
        == 1
    )


async def test_every_migration_of_ours_can_be_applied_as_it_says() -> None:
    for migration in wanted().migrations[1:]:
        assert "-- older code: keeps working" in migration.text or "-- older code: must stop" in migration.text, (
            f"{migration.name} doesn't say whether an older version may go on"
        )
        assert not (migration.outside and "$$" in migration.text), "its statements are told apart by their semicolons"


# -- walls ----------------------------------------------------------------------------------------------------------

CHANGED = ("('usage', 'owner_id = ' || mine, null)", "('usage', 'owner_id = ' || mine || ' and true', null)")
WALLED = (
    "select string_agg(xmin::text, ' ' order by polrelid, polname) from pg_policy where polrelid <> $1::text::regclass"
)
RULE = (
    "select pg_get_expr(polqual, polrelid) from pg_policy where polrelid = $1::text::regclass and polname = 'own_rows'"
)


async def test_walls_that_have_not_changed_are_not_touched(fresh: str, home: Write) -> None:
    newer = home(_0002_table="create table cronty.planted (id int);")
    before = await ask(fresh, WALLED, "cronty.migrations")
    tables = "cronty.jobs, cronty.runs, cronty.due, cronty.queue, cronty.owners, cronty.attempts, cronty.usage"
    async with holding(fresh, f"lock table {tables} in access share mode"):
        assert await migrate(fresh, patience=0) == []
        assert await migrate(fresh, newer, patience=0) == ["0002_table", "walls"]
    assert await ask(fresh, WALLED, "cronty.migrations") == before


async def test_only_the_table_whose_policy_changed_is_locked(fresh: str, home: Write) -> None:
    newer = home(walls=CHANGED)
    assert (await schema_state(fresh, newer)).problem() is None, "it is no reason not to start"
    before = await ask(fresh, WALLED, "cronty.usage")
    async with holding(fresh, "lock table cronty.jobs, cronty.runs, cronty.due, cronty.owners in access share mode"):
        assert await migrate(fresh, newer, patience=0) == ["walls"]
    assert await ask(fresh, WALLED, "cronty.usage") == before
    assert "true" in str(await ask(fresh, RULE, "cronty.usage"))
    assert await migrate(fresh, newer) == []


async def test_walls_wait_for_others_as_migrations_do(
    fresh: str, home: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "cronty")
    async with holding(fresh, "lock table cronty.usage in access share mode"):
        migrating = asyncio.create_task(migrate(fresh, home(walls=CHANGED)))
        await said(caplog, "walls waits for a table")
        async with asyncio.timeout(PATIENCE):
            await ask(fresh, "select count(*) from cronty.usage")
    assert await migrating == ["walls"]


REPAIRS = "`cronty migrate`, with the login that owns the tables, repairs it"


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("drop policy own_rows on cronty.jobs", "lacks policies of jobs: "),
        ("drop policy all_rows on cronty.due", "lacks policies of due: "),
        ("alter policy own_rows on cronty.runs to public", "lacks policies of runs: "),
        ("alter policy own_rows on cronty.runs using (true)", "lacks policies of runs: "),
        ("create policy leak on cronty.jobs using (true)", "has other policies of jobs: "),
        ("create policy leak on cronty.due to cronty_app using (true)", "has other policies of due: "),
        ("grant delete on cronty.jobs to cronty_app", "lacks rights of cronty_app on jobs: "),
        ("grant delete on cronty.audit to cronty_engine", "has other rights of cronty_engine on audit: "),
        ("alter table cronty.usage disable row level security", "is off for usage: "),
        ("revoke select on cronty.runs from cronty_app", "lacks rights of cronty_app on runs: "),
        ("revoke usage on schema cronty from cronty_engine", "lacks rights of cronty_engine on schema cronty: "),
        (
            "revoke all on all tables in schema cronty from cronty_app",
            "lacks rights of cronty_app on alerts, api_keys, attempts and 23 more: ",
        ),
    ],
)
async def test_walls_that_were_damaged_by_hand_are_told_and_repaired(fresh: str, damage: str, told: str) -> None:
    before = await ask(fresh, WALLED, "cronty.migrations")
    await ask(fresh, damage)
    state = await schema_state(fresh)
    assert state.walls == f"{told}{REPAIRS}"
    assert state.problem() is None, "it is no reason to stop a process"
    assert await migrate(fresh) == ["walls"]
    assert (await schema_state(fresh)).walls is None
    if "revoke" in damage:
        assert await ask(fresh, WALLED, "cronty.migrations") == before, "policies that stand aren't touched"
    assert await migrate(fresh) == []


async def test_a_restore_without_roles_is_told_and_repaired() -> None:
    with scratch_server() as server:  # roles are of a whole server
        await migrate(server)
        await ask(server, "drop owned by cronty_app, cronty_engine")  # as a dump leaves it where they aren't there
        await ask(server, "drop role cronty_app, cronty_engine")
        assert (await schema_state(server)).walls == (
            "lacks roles: cronty_app, cronty_engine; lacks policies of absences, alerts, api_keys and 18 more; "
            "lacks rights of cronty_app on alerts, api_keys, attempts and 27 more; "
            f"lacks rights of cronty_engine on absences, alerts, api_keys and 28 more: {REPAIRS}"
        )
        assert await migrate(server) == ["walls"]
        assert (await schema_state(server)).walls is None


@pytest.mark.parametrize("held", [(), ("cronty_app",)])
async def test_a_login_that_is_no_member_of_a_role_is_told_which_and_how(held: tuple[str, ...]) -> None:
    with scratch_server() as server:
        await migrate(server)
        await ask(server, "create role svc login")
        for role in held:
            await ask(server, f"grant {role} to svc")
        needed = ", ".join(role for role in ("cronty_app", "cronty_engine") if role not in held)
        told = f"svc isn't a member of {needed}, which Cronty works as. As an administrator: grant {needed} to svc"
        if held:
            assert (await schema_state(as_user(server, "svc"))).outsider == told
        else:
            with pytest.raises(StoreMisnamed, match=told):
                await schema_state(as_user(server, "svc"))
        assert (await schema_state(server)).outsider is None


def test_migrations_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    (tmp_path / "walls.sql").touch()
    (tmp_path / "schema.sql").touch()
    for name in ("10000_more", "0002_second", "9999_many"):
        (folder / f"{name}.sql").touch()
    mine = wanted(tmp_path)
    assert mine.names == ["0002_second", "9999_many", "10000_more"]
    rows = [{"name": name, "older_code_works": False, "walls": ""} for name in ("10002_b", "9998_a", *mine.names)]
    assert compare(mine, rows).newer == ["9998_a", "10002_b"]


async def test_a_database_of_an_older_checkout_is_refused_in_a_sentence(fresh: str) -> None:
    await migrate(fresh)
    connection = await asyncpg.connect(fresh)
    try:
        await connection.execute("drop table cronty.tellings cascade; update cronty.migrations set walls = 'older'")
    finally:
        await connection.close()
    with pytest.raises(CannotMigrate, match=r"by an older checkout: .*tellings.*`cronty export`"):
        await migrate(fresh)
