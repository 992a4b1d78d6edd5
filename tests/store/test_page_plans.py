"""What an owner looks at costs what the owner has: never a walk through everybody's jobs, runs or queue."""

import json
import os
from collections.abc import AsyncGenerator, Iterator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from cronty.store.database import AT_THE_DOOR, parameters, query
from tests.conftest import START, TRUNCATE, database_named
from tests.store.test_plans import nodes, pages

NOW = f"timestamptz '{START.isoformat()}'"
DAY = f"{NOW} - interval '1 day', {NOW} + interval '1 minute'"
LARGE = ("jobs", "due", "runs", "queue", "attempts")
_PAGE = {"owner": "'ann'", "rows": "26", "most_counted": "10000"}


def _named(name: str, /, **given: str) -> str:
    """The arguments of a statement that names its parameters; the others are null."""
    return f"({', '.join(given.get(one, 'null') for one in parameters(name))})"


LOOKS = {
    "count_slots": f"('ann', {DAY}, '30 minutes')",
    "slots_passed": f"('ann', {DAY}, 2001)",
    "slots_planned": f"('ann', {NOW} + interval '1 day', 2000)",
    "lag_of_owner": f"('ann', {DAY}, '30 minutes')",
    "list_concerns": f"('ann', {NOW}, 6, 'claude')",
    "list_tags": "('ann')",
    "count_jobs": "('ann')",
    "count_inbox": "('ann', 'claude', 100)",
    "latest_of_jobs": "('ann', '{1,2,3}', 10)",
    "latest_results": f"('ann', {NOW} - interval '1 day', 5, 'claude')",
    "list_jobs by health": _named("list_jobs", **_PAGE, health="'waiting'", words="'jo'"),
    "list_jobs": _named("list_jobs", **_PAGE),
    "list_jobs by status": _named("list_jobs", **_PAGE, status="'pending'"),
    "list_jobs by words": _named("list_jobs", **_PAGE, name="'jo'", tag="'tag'", task="'note'", since=NOW, topic="'x'"),
    "list_jobs next page": _named("list_jobs", **_PAGE, idle="false", fire_at=NOW, number="5"),
    "show_job": f"('ann', 5, {NOW}, false)",
    "list_runs": "('ann', 5, 20, null, null)",
    "list_attempts": f"('ann', 5, {NOW})",
    "days_of_job": f"('ann', 5, 'UTC', {NOW} - interval '371 days', 100000)",
    "list_failed": "('ann', 16, null, null, null, 'claude')",
    "tally": f"('ann', {NOW} - interval '1 day')",
    "absences": f"('ann', {NOW} - interval '1 day', 5)",
    "peek_inbox": f"({NOW}, 'ann', 20, null, null, null)",
    "read_inbox": f"({NOW}, 'ann', null, 20, 600, null)",
    "standing": _named(
        "standing", now=NOW, owner="'ann'", leased="true", lease="600", key="'a key'", tasks="'{note}'", channels="true"
    ),
    "recount": f"('ann', {NOW})",
    "list_usage": f"('ann', {NOW}, {NOW}, {NOW}, 'calls')",
    "list_keys": "('ann')",
    "lock_job": "('ann', 5, false)",
}
ANN = """
insert into cronty.owners (id, name) values (1024, 'ann');
insert into cronty.jobs (id, owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
select 1024 * i, 1024, i, 'job', 'note', '{"args": [], "kwargs": {}}', '{}', '{}', '{tag}', now(), now()
from generate_series(1, %(jobs)s) i;
insert into cronty.due (job_id, owner_id, next_at, last_run, serial)
select 1024 * i, 1024, timestamptz '2027-03-01 09:00+00', timestamptz '2027-03-01 07:00+00', true
from generate_series(1, %(jobs)s) i;
insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at)
select 1024 * i, timestamptz '2027-03-01 08:00+00' - k * interval '1 hour', 1024, 'done', 1, now(), now()
from generate_series(1, %(jobs)s) i, generate_series(1, 20) k;
"""
CROWD = """
insert into cronty.owners (id, name) select 1024 * i, 'owner ' || i from generate_series(%(a)s, %(b)s) i;
insert into cronty.jobs (id, owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
select 1024 * i, 1024 * i, 1, 'job', 'note', '{"args": [], "kwargs": {}}', '{}', '{}', '{tag}', now(), now()
from generate_series(%(a)s, %(b)s) i;
insert into cronty.due (job_id, owner_id, next_at, last_run, serial)
select 1024 * i, 1024 * i, timestamptz '2027-03-01 07:00+00', timestamptz '2027-03-01 07:00+00', true
from generate_series(%(a)s, %(b)s) i;
insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at, worker)
select 1024 * i, timestamptz '2027-03-01 08:00+00' - k * interval '1 hour', 1024 * i, s.state, 1,
  timestamptz '2027-03-01 08:00+00', case when k > 1 then timestamptz '2027-03-01 08:00+00' end,
  case when k = 1 then 1 end
from generate_series(%(a)s, %(b)s) i, generate_series(1, 20) k,
lateral (select (case k when 1 then 'running' when 2 then 'failed' else 'done' end)::cronty.run_state as state) s;
insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)
select 1024 * i, timestamptz '2027-03-01 07:00+00', timestamptz '2027-03-01 07:30+00', 1024 * i,
  case i % 2 when 0 then 'note' else 'prompt' end
from generate_series(%(a)s, %(b)s) i;
"""

NO_AUTOVACUUM = """
do $$ declare name regclass; begin
  for name in select oid from pg_class where relnamespace = 'cronty'::regnamespace and relkind = 'r' loop
    execute format('alter table %s set (autovacuum_enabled = off)', name);
  end loop;
end $$
"""
"""It would learn of an empty table that it is empty, between two looks at its plans."""


@pytest.fixture(scope="module")
def plans_url(server_url: str) -> Iterator[str]:
    """A database of these tests' own: what others left, weeks and statistics, would change plans."""
    with database_named(server_url, f"cronty_page_plans_{os.getpid()}") as url:
        yield url


@pytest.fixture
async def sql(plans_url: str) -> AsyncGenerator[asyncpg.Connection]:
    """A connection as the door opens it, with partitions of some weeks."""
    connection = await asyncpg.connect(plans_url, server_settings={"jit": "off", **AT_THE_DOOR})
    await connection.execute(TRUNCATE)
    weeks = [START - timedelta(weeks=week) for week in range(6)]
    await connection.fetch(query("make_partitions"), START, weeks)
    await connection.execute(NO_AUTOVACUUM)
    yield connection
    await connection.close()


async def ann(connection: asyncpg.Connection, jobs: int) -> None:
    """The owner who looks: jobs with a history of twenty runs each."""
    await connection.execute(ANN.replace("%(jobs)s", str(jobs)))


async def crowd(connection: asyncpg.Connection, first: int, last: int) -> None:
    """Other owners: a job each, late, with one run in flight, one that failed, one that waits, and a history."""
    await connection.execute(CROWD.replace("%(a)s", str(first)).replace("%(b)s", str(last)))


async def explain(
    connection: asyncpg.Connection, name: str, mode: str, options: str = "", arguments: str | None = None
) -> dict[str, Any]:
    """The plan of a statement as the door makes it on behalf of ann; what it does when analysed is taken back."""
    undone = connection.transaction()
    await undone.start()
    try:
        await connection.execute("set local role cronty_app; set local cronty.owner = 'ann'")
        await connection.execute(f"set local plan_cache_mode = {mode}")
        await connection.execute(f"prepare look as {query(name.split()[0])}")
        text = await connection.fetchval(f"explain (format json{options}) execute look{arguments or LOOKS[name]}")
        return json.loads(text)[0]["Plan"]
    finally:
        await undone.rollback()
        await connection.execute("deallocate look")


async def cost(connection: asyncpg.Connection, name: str) -> int:
    """The pages a statement reads when the functions it calls have been planned."""
    await explain(connection, name, "auto", ", analyze, buffers")
    return pages(await explain(connection, name, "auto", ", analyze, buffers"))


def wide(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """The parts of a plan that go through more of a large table than a key says."""
    scans = [node for node in nodes(plan) if node.get("Relation Name", "").startswith(LARGE)]
    by_time = [node for node in nodes(plan) if "scheduled_for_started_at" in node.get("Index Name", "")]
    whole = [node for node in scans if "Index" in node["Node Type"] and "Index Cond" not in node]
    found = by_time + whole + [node for node in scans if node["Node Type"] == "Seq Scan"]
    return [(node["Node Type"], node.get("Index Name") or node["Relation Name"]) for node in found]


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
async def test_looks_go_by_key_on_empty_on_new_and_on_analyzed_tables(sql: asyncpg.Connection, mode: str) -> None:
    looks = LOOKS.keys() - {"read_inbox"}  # whose update walks over weeks that were empty when they were analyzed
    found = {("empty", name): wide(await explain(sql, name, mode)) for name in looks}
    await ann(sql, 10)
    await crowd(sql, 100, 2000)
    found |= {("new", name): wide(await explain(sql, name, mode)) for name in looks}
    await sql.execute("analyze")
    found |= {("analyzed", name): wide(await explain(sql, name, mode)) for name in looks}
    assert {look: scans for look, scans in found.items() if scans} == {}


async def test_looks_cost_the_same_beside_ten_times_the_crowd(sql: asyncpg.Connection) -> None:
    await ann(sql, 10)
    await crowd(sql, 100, 1000)
    await sql.execute("vacuum analyze")
    few = {name: await cost(sql, name) for name in LOOKS}
    await crowd(sql, 1001, 10_000)
    await sql.execute("vacuum analyze")
    many = {name: await cost(sql, name) for name in LOOKS}
    # A tree may have grown a level for each of the rows that are touched.
    dearer = {name: (few[name], many[name]) for name in LOOKS if many[name] > few[name] * 1.4 + 12}
    assert dearer == {}, "pages beside 1,000 others, and beside 10,000"


async def test_making_a_job_costs_the_same_for_an_owner_with_ten_times_the_jobs(sql: asyncpg.Connection) -> None:
    """Beside a crowd of small owners, which is what the planner thinks of."""
    await ann(sql, 4000)
    await crowd(sql, 5000, 9000)
    await sql.execute("update cronty.owners set counted_at = now() + interval '1 day'")
    await sql.execute("vacuum analyze")
    assert await cost(sql, "standing") < 100


async def test_events_find_their_jobs_by_key_on_empty_tables(sql: asyncpg.Connection) -> None:
    given = f"('ann', {NOW} - interval '1 minute', {NOW}, 100, null, '-infinity')"
    for mode in ("force_generic_plan", "force_custom_plan"):
        scans = [node for node in nodes(await explain(sql, "list_events", mode, "", given)) if "Relation Name" in node]
        jobs = [node for node in scans if node["Relation Name"] == "jobs"]
        assert [node.get("Index Cond") for node in jobs] == ["(id = r.job_id)"], mode


@pytest.mark.parametrize(("name", "most"), [("list_tags", 10_000), ("lag_of_owner", 5_000)])
@pytest.mark.parametrize("others", [5, 40_000])
async def test_the_latest_jobs_of_an_owner_are_read_without_the_rest(
    sql: asyncpg.Connection, name: str, most: int, others: int
) -> None:
    await ann(sql, 1)
    await sql.execute(
        f"insert into cronty.owners (id, name) select 1024 + i, 'owner ' || i from generate_series(1, {others}) i;"
        "insert into cronty.jobs (id, owner_id, number, name, task, arguments, trigger, policy, tags, created_at,"
        " updated_at) select 1024 * i, owner, number, 'job', 'note', '{}', '{}', '{}', '{tag}', now(), now() from ("
        "  select i, case when i <= 30000 then 1024 else 1024 + i - 30000 end as owner,"
        "    case when i <= 30000 then i else 1 end as number"
        f"  from generate_series(2, 30000 + {others}) i order by random()) i"
    )
    await sql.execute("vacuum analyze")
    for mode in ("force_generic_plan", "force_custom_plan"):
        plan = await explain(sql, name, mode, ", analyze, buffers")
        read = [node["Actual Rows"] for node in nodes(plan) if node.get("Relation Name") == "jobs"]
        assert max(read) <= most, (mode, nodes(plan))


async def test_an_agent_that_waits_does_not_read_what_lies_there_for_another_one(sql: asyncpg.Connection) -> None:
    await ann(sql, 1)
    await sql.execute(
        """update cronty.jobs set task = 'prompt', arguments = '{"kwargs": {"agent": "a"}}'"""
        ";insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task) select 1024, t, t, 1024, 'prompt'"
        f" from generate_series({NOW} - interval '10 hours', {NOW} - interval '1 minute', interval '10 seconds') t"
    )
    await sql.execute("vacuum analyze")

    async def cost(within: str) -> int:
        look = f"({NOW}, 'ann', 'b', 20, 600, {within})"
        await explain(sql, "read_inbox", "auto", ", analyze, buffers", look)
        return pages(await explain(sql, "read_inbox", "auto", ", analyze, buffers", look))

    assert await cost("30") <= 20 < await cost("null")


async def test_a_list_looks_at_each_job_once_however_many_runs_wait(sql: asyncpg.Connection) -> None:
    await ann(sql, 2000)
    await sql.execute(
        "insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)"
        " select id, now(), now(), owner_id, 'note' from cronty.jobs;"
        "update cronty.runs set state = 'running', worker = 1, finished_at = null"
        " where scheduled_for = '2027-03-01 07:00+00'"
    )
    for name in ("list_jobs", "list_jobs by status", "list_jobs next page"):
        plan = await explain(sql, name, "force_generic_plan", ", analyze")
        looked_at = {
            node["Node Type"]: node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Join Filter", 0))
            for node in nodes(plan)
        }
        assert max(looked_at.values()) <= 3 * 2000, (name, looked_at)


async def test_the_fleet_and_the_doctor_cost_the_same_with_ten_times_the_queue_and_the_jobs(
    sql: asyncpg.Connection,
) -> None:
    asked = {
        "fleet": f"({NOW}, 100)",
        "health": "",
        "list_workers": f"({NOW})",
        "throughput": f"({NOW} - interval '5 minutes', {NOW} + interval '5 minutes', '10 seconds', 100)",
    }

    async def cost(name: str) -> int:
        await sql.execute(f"prepare look as {query(name)}")
        execute = f"explain (analyze, buffers, format json) execute look{asked[name]}"
        await sql.fetchval(execute)
        plan = await sql.fetchval(execute)
        await sql.execute("deallocate look")
        return pages(json.loads(plan)[0]["Plan"])

    await crowd(sql, 100, 1000)
    await sql.execute("vacuum analyze")
    few = {name: await cost(name) for name in asked}
    await crowd(sql, 1001, 10_000)
    await sql.execute("vacuum analyze")
    many = {name: await cost(name) for name in asked}
    # The index by time is read for each bin of the throughput; it is a thousandth of the runs.
    dearer = {name: (few[name], many[name]) for name in asked if many[name] > few[name] * 2.5 + 12}
    assert dearer == {}
