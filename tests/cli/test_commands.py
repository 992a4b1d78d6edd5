"""The commands of an operator, as an operator runs them."""

import json
import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import asyncpg
import pytest

from cronty.actions.tasks import Registry
from cronty.store.connecting import place_of
from tests.cli.forked import Said, run
from tests.clients.serving import environment
from tests.conftest import as_user, hands_of, with_database

NOWHERE = "postgresql://localhost:1/nowhere"


async def cronty(*arguments: str, folder: Path | None = None, stdin: str = "", **settings: str) -> Said:
    """Run `cronty` with nothing but these settings."""
    return await run(arguments, environment(**settings), folder, stdin)


def findings(said: Said) -> dict[str, str]:
    """What doctor found: `wrong` or `good`, by what was looked at."""
    names = (
        "database",
        "locks",
        "role",
        "clock",
        "time zones",
        "workers",
        "leases",
        "oldest overdue slot",
        "queue",
        "set aside",
    )
    found = re.findall(rf"^(good|wrong) +({'|'.join(names)}) ", said.out, re.MULTILINE)
    assert [name for _, name in found] == list(names), said.out
    return {name: finding for finding, name in found}


@pytest.fixture
async def plain_url(url: str, sql: asyncpg.Connection) -> AsyncGenerator[str]:
    """The database for a user that is no superuser."""
    user = f"cronty_plain_{os.getpid()}"
    await sql.execute(f"create role {user} login password 'secret'; grant cronty_app, cronty_engine to {user}")
    yield as_user(url, user)
    await sql.execute(f"drop role {user}")


@pytest.fixture
async def empty_url(server_url: str) -> AsyncGenerator[str]:
    """A database without a schema."""
    name = f"cronty_empty_{os.getpid()}"
    connection = await asyncpg.connect(server_url)
    await connection.execute(f"create database {name}")
    yield with_database(server_url, name)
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()


async def test_help_names_every_command() -> None:
    said = await cronty("--help")
    assert said.code == 0
    for command in ("work", "migrate", "doctor"):
        assert f" {command} " in said.out


async def test_an_empty_database_is_sent_to_migrate_and_migrated_once(empty_url: str) -> None:
    lost = await cronty("doctor", database_url=empty_url)
    assert lost.code == 1
    assert "Run `cronty migrate`." in lost.err
    first = await cronty("migrate", database_url=empty_url)
    assert (first.code, first.err) == (0, "")
    place = f"Database: {place_of(empty_url)}\n"
    assert first.out.startswith(f"{place}Applied: 0001_foundation")
    second = await cronty("migrate", database_url=empty_url)
    assert (second.code, second.out, second.err) == (0, f"{place}The schema is up to date.\n", "")


async def test_a_check_of_the_schema_says_what_is_missing_and_changes_nothing(empty_url: str) -> None:
    place = f"Database: {place_of(empty_url)}\n"
    for _ in range(2):
        lacking = await cronty("migrate", "--check", database_url=empty_url)
        assert (lacking.code, lacking.out, lacking.err) == (1, f"{place}Missing: 0001_foundation, walls.\n", "")
    await cronty("migrate", database_url=empty_url)
    good = await cronty("migrate", "--check", database_url=empty_url)
    assert (good.code, good.out) == (0, f"{place}Nothing is missing.\n")


async def test_a_check_of_the_schema_says_that_the_database_is_newer(empty_url: str) -> None:
    await cronty("migrate", database_url=empty_url)
    connection = await asyncpg.connect(empty_url)
    await connection.execute("insert into cronty.migrations (name, older_code_works) values ('9001_column', true)")
    newer = await cronty("migrate", "--check", database_url=empty_url)
    assert newer.code == 0
    assert "The database is newer, and this version can use it: 9001_column." in " ".join(newer.out.split())
    await connection.execute("update cronty.migrations set older_code_works = false")
    await connection.close()
    stop = await cronty("migrate", "--check", "--json", database_url=empty_url)
    assert (stop.code, json.loads(stop.out)) == (
        1,
        {
            "missing": [], "newer": ["9001_column"], "incompatible": ["9001_column"], "walls": None,
            "database": place_of(empty_url),
        },
    )  # fmt: skip
    for command in ("doctor", "migrate"):
        said = await cronty(command, database_url=empty_url)
        assert said.code == 1
        assert "upgraded by a newer version (9001_column)" in " ".join((said.out + said.err).split())


@pytest.mark.parametrize("command", ["migrate", "migrate --check", "freeze", "thaw"])
async def test_two_urls_that_lead_to_different_databases_are_refused(url: str, empty_url: str, command: str) -> None:
    said = await cronty(*command.split(), database_url=url, direct_url=empty_url)
    assert (said.code, said.out) == (2, "")
    both = f"{place_of(empty_url)}, and {place_of(url)}"
    assert said.err == (
        f"cronty: CRONTY_DIRECT_URL and CRONTY_DATABASE_URL lead to different databases: {both}. "
        "Correct one, or leave CRONTY_DIRECT_URL out if there is no pooler.\n"
    )


async def test_a_wall_that_is_missing_is_told_until_migrate_has_repaired_it(empty_url: str) -> None:
    await cronty("migrate", database_url=empty_url)
    connection = await asyncpg.connect(empty_url)
    await connection.execute("drop policy own_rows on cronty.runs")
    await connection.close()
    lacking = await cronty("migrate", "--check", database_url=empty_url)
    assert lacking.code == 1
    repaired = "`cronty migrate`, with the login that owns the tables, repairs it"
    assert lacking.out.endswith(f"\nRow-level security lacks policies of runs: {repaired}.\n")
    seen = await cronty("doctor", database_url=empty_url)
    assert re.search(r"^wrong +walls +row-level security lacks policies of runs: ", seen.out, re.MULTILINE)
    assert (await cronty("migrate", database_url=empty_url)).out.endswith("\nApplied: walls.\n")
    assert re.search(r"^good +walls +", (await cronty("doctor", database_url=empty_url)).out, re.MULTILINE)


async def test_a_worker_without_a_schema_is_sent_to_migrate(empty_url: str, tmp_path: Path) -> None:
    (tmp_path / "backup.py").write_text("from cronty import Cronty\ncronty = Cronty()\n")
    said = await cronty("work", "backup:cronty", folder=tmp_path, database_url=empty_url)
    assert said.code == 2
    assert "Run `cronty migrate`." in " ".join(said.err.split())
    assert "Traceback" not in said.err


@pytest.mark.parametrize("command", ["freeze", "thaw", "audit verify", "owner erase ann --yes"])
async def test_what_only_the_owner_of_the_tables_may_do_names_that_login(plain_url: str, command: str) -> None:
    said = await cronty(*command.split(), database_url=plain_url)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("cronty: This login may not do that (permission denied for ")
    assert said.err.endswith("Use the one that owns the tables: `cronty_owner` in docs/how-to/production.md.\n")


async def test_a_login_that_may_not_erase_is_refused_before_it_is_asked_for_the_name(plain_url: str) -> None:
    said = await cronty("owner", "erase", "ann", stdin="ann\n", database_url=plain_url)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("cronty: This login may not do that (permission denied for ")


async def test_where_a_database_is_set_the_status_speaks_of_this_machine_alone(url: str, tmp_path: Path) -> None:
    here = str(tmp_path / "data")
    assert (await cronty("status", data_dir=here)).out == "Cronty is down. `cronty up` starts it.\n"
    said = await cronty("status", data_dir=here, database_url=url)
    assert said.code == 1
    assert " ".join(said.out.split()) == (
        "No service of this machine runs: `cronty up` starts one. "
        "`cronty doctor` tells of the workers on the database in CRONTY_DATABASE_URL."
    )


async def test_the_doctor_finds_everything_good(url: str, plain_url: str) -> None:
    async with hands_of(url, None, Registry()):
        said = await cronty("doctor", database_url=plain_url)
    assert (said.code, said.err) == (0, "")
    assert set(findings(said).values()) == {"good"}
    assert "1 alive" in said.out


async def test_the_doctor_finds_what_is_wrong(plain_url: str, sql: asyncpg.Connection) -> None:
    await sql.execute(
        """
        with owner as (
          insert into cronty.owners (name) values ('ann') returning id
        ), job as (
          insert into cronty.jobs
            (owner_id, number, name, task, arguments, trigger, policy, tags, state, created_at, updated_at)
          select id, 1, 'a job', 'note', '{}', '{}', '{}', '{}', 'set_aside', now(), now() from owner
          returning id, owner_id
        ), queued as (
          insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)
          select id, now(), now() - interval '1 hour', owner_id, 'note' from job
        )
        insert into cronty.due (job_id, owner_id, next_at, serial)
        select id, owner_id, now() - interval '1 hour', true from job
        """
    )
    said = await cronty("doctor", database_url=plain_url)
    assert (said.code, said.err) == (1, "")
    wrong = {name for name, finding in findings(said).items() if finding == "wrong"}
    assert wrong == {"workers", "oldest overdue slot", "queue", "set aside"}
    assert "none alive: nothing will fire" in said.out
    assert "1 run due for over 30 s; no worker takes: note" in " ".join(said.out.split())


async def test_the_doctor_says_what_runs_and_waits_under_a_limit(
    url: str, plain_url: str, sql: asyncpg.Connection
) -> None:
    registry = Registry()

    def count() -> None: ...

    registry.add(count, concurrency=2, limit="model")
    registry.limit("model", per_minute=100)
    async with hands_of(url, None, registry):
        await sql.execute(
            """
            with owner as (
              insert into cronty.owners (name) values ('ann') returning id
            )
            insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)
            select 7, now(), now() - interval '1 hour', id, 'count' from owner
            """
        )
        idle = await cronty("doctor", "--json", database_url=plain_url)
        await sql.execute("update cronty.task_limits set held_until = now() + interval '1 hour'")
        held = await cronty("doctor", "--json", database_url=plain_url)
    wrong = {one["what"]: one["said"] for one in json.loads(idle.out)["findings"] if not one["good"]}
    assert wrong["limit task:count"].startswith("0 of 2 under way, 1 run waiting, though there is room: does a worker")
    assert set(wrong) == {"limit model", "limit task:count"}
    assert held.code == 0
    [said] = [one["said"] for one in json.loads(held.out)["findings"] if one["what"] == "limit model"]
    assert said.startswith("0 of 100 begun within a minute, 1 run waiting, held until")


@pytest.mark.parametrize("command", ["doctor", "migrate"])
async def test_a_database_that_cannot_be_reached_is_said_without_a_trace(command: str) -> None:
    said = await cronty(command, database_url=NOWHERE)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("cronty: PostgreSQL can't be reached: ")
    assert "Traceback" not in said.err


async def test_a_fault_is_one_line_for_whoever_reads_the_log() -> None:
    said = await cronty("doctor", database_url=NOWHERE)
    assert len(said.err.splitlines()) == 1


async def test_a_database_that_does_not_exist_is_one_line_without_a_trace(server_url: str) -> None:
    said = await cronty("doctor", database_url=with_database(server_url, "nosuchdatabase"))
    assert said.code == 2
    assert said.err.startswith("cronty: ")
    assert "nosuchdatabase" in said.err
    assert len(said.err.splitlines()) == 1


async def test_an_address_that_cannot_be_read_is_one_line_without_a_trace() -> None:
    said = await cronty("doctor", database_url="postgresql://localhost:port/x")
    assert said.code == 2
    assert len(said.err.splitlines()) == 1


async def test_a_bad_setting_is_one_line_that_names_it(url: str) -> None:
    said = await cronty("doctor", database_url=url, concurrency="many")
    assert said.code == 2
    assert "CRONTY_CONCURRENCY" in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("nowhere:cronty", "'nowhere:cronty' can't be loaded: No module named 'nowhere'"),
        ("backup:nothing", "module 'backup' has no attribute 'nothing'"),
        ("backup:number", "not a Cronty"),
    ],
)
async def test_a_bad_target_is_refused_with_the_reason(tmp_path: Path, target: str, says: str) -> None:
    (tmp_path / "backup.py").write_text("number = 5\n")
    said = await cronty("work", target, folder=tmp_path, database_url=NOWHERE)
    assert said.code == 2
    assert says in " ".join(said.err.replace("│", " ").split())
    assert "Traceback" not in said.err


async def test_a_target_without_a_module_is_refused_like_any_other(tmp_path: Path) -> None:
    said = await cronty("work", ":cronty", folder=tmp_path, database_url=NOWHERE)
    assert said.code == 2
    assert "module:name" in said.err


async def test_a_worker_with_room_for_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "backup.py").write_text("from cronty import Cronty\ncronty = Cronty()\n")
    said = await cronty("work", "backup:cronty", "--concurrency", "0", folder=tmp_path, database_url=NOWHERE)
    assert said.code == 2
    assert "--concurrency" in said.err


async def test_a_queue_that_there_cannot_be_is_refused_before_the_database_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "backup.py").write_text("from cronty import Cronty\ncronty = Cronty()\n")
    said = await cronty("work", "backup:cronty", "--queue", "gpu big", folder=tmp_path, database_url=NOWHERE)
    assert said.code != 0
    assert "'gpu big'" in said.err
    assert "--queue" in said.err
    assert "Traceback" not in said.err
