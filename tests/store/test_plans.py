"""The plans of the hot path: by index, and no dearer for history or for jobs that aren't due."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from cronty.store.database import HOT_PATH, query
from tests.conftest import START, database_named

NOW = START.isoformat()
SLOTS = f"array['{NOW}', '{NOW}']::timestamptz[]"
LONG_AGO = (START - timedelta(days=400)).isoformat()
HOT = {
    "pick_due": f"('{NOW}', '{(START - timedelta(minutes=1)).isoformat()}', 500, '{{2}}', '{{Europe/Riga}}')",
    "pick_urgent": f"('{NOW}', '{(START - timedelta(minutes=1)).isoformat()}', 500, '{{2}}', '{{Europe/Riga}}')",
    "next_urgent": f"('{NOW}', '{(START - timedelta(minutes=1)).isoformat()}', '{{Europe/Riga}}')",
    "mark_urgent": "(0, 100, '{note}', '{note}')",
    "fire": f"('{{1,2}}', {SLOTS}, 1, '{NOW}')",
    "move_due": f"('{{1,2}}', {SLOTS}, {SLOTS}, {SLOTS}, {SLOTS}, '{{1,1}}')",
    "insert_queue": f"('{{1,2}}', {SLOTS}, '{{1,1}}', '{{note,note}}', '{{true,false}}', '{NOW}')",
    "claim_runs": f"('{NOW}', 1, '{{note}}', 0, 500, '{{2}}', '{{1}}', '{{100}}', 500, null)",
    "lock_limits": "('{model,task:note}')",
    "room_of_limits": f"('{NOW}', '{{model,task:note}}', '{{null,{NOW}}}', 1)",
    "note_starts": f"('{NOW}', '{{model}}', '{{1,2}}', {SLOTS}, '{{1,1}}', '{{1,1}}')",
    "heads_of_tasks": f"('{NOW}', '{{note}}')",
    "hold_limits": f"('{NOW}', '{{model}}', '{{60}}')",
    "settings_of_tasks": "('{note}')",
    "settle_done": f"('{NOW}', 1, '{{1,2}}', {SLOTS}, '{{1,1}}', '{{1,1}}', '{{0,0}}', '{{0,0}}', '{NOW}', '{NOW}')",
    "settle_rest": f"('{NOW}', 1, '{{1,2}}', {SLOTS}, '{{1,1}}', '{{failed,waiting}}', '{{null,1}}', '{{a,b}}',"
    f" '{{null,null}}', '{{null,failed}}', '{{0,0}}', '{{0,0}}', '{{t,null}}', '{NOW}', '{NOW}')",
    "lock_lines": "('{1,2}')",
    "lock_free_lines": "(0, 1000)",
    "release": f"('{NOW}', '{{1,2}}')",
    "clear_failing": "('{1,2}')",
    "next_due": f"('{NOW}', '{(START - timedelta(minutes=1)).isoformat()}', '{{Europe/Riga}}')",
    "next_queued": f"('{NOW}', '{{note}}')",
    "jobs_after": "(0, 100)",
    "retime_lock": "(0, 5000, '{UTC}')",
    "retime_pick": "('{1,2}')",
    "pick_ended": f"('{NOW}', '{LONG_AGO}', 0, 300)",
    "pick_cancelled": f"('{NOW}', '{LONG_AGO}', 0, 300)",
    "still_ended": f"('{{1,2}}', '{NOW}')",
    "lock_expired": f"('{NOW}', 7776000, 3600, '{LONG_AGO}', 0, 300)",
    "expire_runs": f"('{NOW}', '{{1,2}}', '{{{NOW},{NOW}}}', '{{old,old}}')",
    "pick_deleted": f"('{NOW}', '{LONG_AGO}', 0, 300)",
    "still_deleted": f"('{{1,2}}', '{NOW}')",
    "delete_queued": "('{1,2}', 1000)",
    "delete_runs": "('{1,2}', 10)",
    "delete_attempts": "('{1,2}', 1000)",
    "delete_jobs": "('{}')",
    "prune_attempts": f"('{LONG_AGO}', 1000)",
    "prune_usage": f"('{LONG_AGO}', 1000)",
    "prune_keys": f"('{LONG_AGO}', 1000)",
    "tell_runs": f"('{NOW}', '{{1,2}}', {SLOTS})",
    "claim_tellings": f"('{NOW}', 20, 60, 5, '{{7}}', '{{8}}', '{{{NOW}}}')",
    "settle_tellings": f"('{NOW}', '{{1,2}}', {SLOTS}, '{{1,1}}', '{{delivered,failed}}', '{{null,null}}',"
    " '{0,1}', '{a,a}', '{null,b}', '{c,null}')",
    "prune_tellings": f"('{LONG_AGO}', 1000)",
    "delete_tellings": "('{1,2}', 1000)",
    "prune_presses": f"('{LONG_AGO}', 1000)",
    "delete_presses": "('{1,2}', 1000)",
    "prune_handed_over": f"('{LONG_AGO}', 1000)",
    "delivered": f"('{{1,2}}', '{NOW}')",
    "claim_handings": f"('{NOW}', 20, 60, 5, '{{}}', 30, 120, '{{7}}', '{{{NOW}}}')",
    "settle_handing": f"('{NOW}', '{{1,2}}', '{{1,1}}', '{{giving,taking}}', '{{1,1}}', '{{true,false}}',"
    " '{true,false}', '{false,true}', '{null,null}', '{null,30}', '{false,true}', '{null,b}')",
    "forget_handed": "('{1,2}', '{1,1}', '{taking,taking}', '{1,1}')",
    "drop_handing": f"('{NOW}', 60, '{{1,2}}', '{{1,2}}', {SLOTS}, '{{1,1}}', '{{x,x}}')",
    "note_absence": f"('{NOW}', '{{1,1}}', '{{1,2}}', {SLOTS}, '{{1,0}}', '{{0,1}}', '{{0,0}}')",
    "pick_orphaned": f"('{NOW}', 1000, '{NOW}', '%s')",
    "pause_orphaned": f"('{NOW}', '{{1,2}}', '{{a,b}}')",
}
FILL = """
insert into cronty.owners (id, name) values (1, 'ann') on conflict do nothing;
insert into cronty.jobs (id, owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
select i, 1, i, 'job', 'note', '{"args": [], "kwargs": {}}', '{}', '{}', '{}', now(), now()
from generate_series(%(a)s, %(b)s) i;
insert into cronty.due (job_id, owner_id, next_at, last_run, serial, period)
select i, 1, timestamptz '2027-03-01 09:00+00' + i * interval '1 second', timestamptz '2027-03-01 07:00+00',
  true, 3600000000
from generate_series(%(a)s, %(b)s) i;
insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, finished_at)
select i, timestamptz '2027-03-01 08:00+00' - k * interval '1 hour', 1, 'done', 1, now()
from generate_series(%(a)s, %(b)s) i, generate_series(1, 20) k;
"""


@pytest.fixture(scope="module")
def filled(server_url: str) -> Iterator[dict[int, str]]:
    """Databases by how many jobs they have, made once: what is explained is taken back."""

    async def make(url: str, jobs: int) -> None:
        connection = await asyncpg.connect(url)
        await connection.fetch(query("make_partitions"), START, [])
        if jobs:
            await fill(connection, 1, jobs)
            await connection.execute("vacuum analyze")
        await connection.close()

    with ExitStack() as stack:
        urls = {
            jobs: stack.enter_context(database_named(server_url, f"cronty_plans_{os.getpid()}_{jobs}"))
            for jobs in (0, 1000, 10_000)
        }
        for jobs, url in urls.items():
            asyncio.run(make(url, jobs))
        yield urls


@pytest.fixture
async def hot(new_url: str) -> AsyncGenerator[asyncpg.Connection]:
    """A connection as the engine opens it, with partitions around the test's day."""
    async with connected(new_url) as connection:
        await connection.fetch(query("make_partitions"), START, [])
        yield connection


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(url, server_settings=HOT_PATH)
    yield connection
    await connection.close()


async def fill(connection: asyncpg.Connection, first: int, last: int) -> None:
    """Jobs that aren't due, each with a history of twenty runs."""
    await connection.execute(FILL.replace("%(a)s", str(first)).replace("%(b)s", str(last)))


async def explain(
    connection: asyncpg.Connection, name: str, options: str = "", arguments: str | None = None
) -> dict[str, Any]:
    """The plan of a statement as the engine prepares it, in its role; what it does when analysed is taken back."""
    await connection.execute("set role cronty_engine")
    await connection.execute(f"prepare hot_{name} as {query(name)}")
    undone = connection.transaction()
    await undone.start()
    try:
        text = await connection.fetchval(f"explain (format json{options}) execute hot_{name}{arguments or HOT[name]}")
        return json.loads(text)[0]["Plan"]
    finally:
        await undone.rollback()
        await connection.execute(f"deallocate hot_{name}")
        await connection.execute("reset role")


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


def pages(plan: dict[str, Any]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.parametrize("name", HOT)
@pytest.mark.parametrize("jobs", [0, 10_000])
async def test_hot_statements_use_indexes_only(filled: dict[int, str], name: str, jobs: int) -> None:
    async with connected(filled[jobs]) as hot:
        plan = await explain(hot, name)
    scans = [node for node in nodes(plan) if "Relation Name" in node]
    by_hand = [
        node for node in scans if node["Node Type"] not in ("Index Scan", "Index Only Scan", "Tid Scan", "ModifyTable")
    ]
    assert by_hand == []
    whole = [node for node in scans if "Index Scan" in node["Node Type"] and "Index Cond" not in node]
    assert whole == [], "an index read from end to end is no better than a table read so"
    runs = [node for node in scans if node["Relation Name"].startswith("runs_") and "Index Cond" in node]
    assert [node for node in runs if "job_id = " not in node["Index Cond"]] == [], "a run is looked up by its key"


async def test_a_claim_passes_over_nobody_that_an_earlier_one_has_passed_over(hot: asyncpg.Connection) -> None:
    await hot.execute(
        "insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)"
        f" select i, '{NOW}', timestamptz '{NOW}' - interval '1 hour', 2, 'note' from generate_series(1, 20000) i"
    )
    await hot.execute("vacuum analyze cronty.queue")
    everywhere = pages(await explain(hot, "claim_runs", ", analyze, buffers"))
    low = (START - timedelta(minutes=1)).isoformat()
    bounded = HOT["claim_runs"].replace("null)", f"'{low}')")
    few = pages(await explain(hot, "claim_runs", ", analyze, buffers", bounded))
    assert few <= 10 < everywhere


@pytest.mark.parametrize("name", ["lock_lines", "lock_free_lines"])
async def test_lines_cost_the_same_however_long_they_are(hot: asyncpg.Connection, name: str) -> None:
    async def join(first: int, last: int) -> int:
        await hot.execute(
            "insert into cronty.queue (job_id, scheduled_for, owner_id, task)"
            f" select j, timestamptz '{NOW}' + i * interval '1 second', 1, 'note'"
            f" from generate_series({first}, {last}) i, generate_series(1, 2) j"
        )
        await hot.execute("vacuum analyze cronty.queue")
        await explain(hot, name, ", analyze, buffers")
        return pages(await explain(hot, name, ", analyze, buffers"))

    await fill(hot, 1, 2)
    few = await join(1, 10)
    assert await join(11, 10_000) <= few + 12


@pytest.mark.parametrize("name", ["running_by_owner", "running_of", "lost_workers"])
async def test_hot_statements_start_no_other_processes(hot: asyncpg.Connection, name: str) -> None:
    """Starting them takes longer than the few running runs, even if the planner expects many."""
    await hot.execute("set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_index_scan_size = 0")
    await hot.execute("set min_parallel_table_scan_size = 0")
    await fill(hot, 1, 1000)
    await hot.execute("analyze")
    plan = await explain(hot, name, "", "(1)" if name == "running_of" else " ")
    assert [node["Node Type"] for node in nodes(plan) if "Gather" in node["Node Type"]] == []


@pytest.mark.parametrize("name", ["settle_done", "settle_rest"])
@pytest.mark.parametrize("jobs", [0, 2000])
async def test_settling_looks_only_into_the_weeks_it_is_told(hot: asyncpg.Connection, name: str, jobs: int) -> None:
    for weeks in range(2, 12):
        await hot.fetch(query("make_partitions"), START - timedelta(weeks=weeks), [])
    if jobs:
        await fill(hot, 1, jobs)
        await hot.execute("analyze")
    scans = [node for node in nodes(await explain(hot, name)) if node["Node Type"] != "ModifyTable"]
    assert {one for node in scans if (one := node.get("Relation Name", "")).startswith("runs_")} == {"runs_20270301"}


@pytest.mark.parametrize("name", sorted(HOT.keys() - {"retime_lock"}))  # which looks at every job, batch by batch
async def test_hot_statements_cost_the_same_with_ten_times_the_jobs_and_history(
    filled: dict[int, str], name: str
) -> None:
    async def cost(jobs: int) -> int:
        async with connected(filled[jobs]) as hot:
            await explain(hot, name, ", analyze, buffers")
            return pages(await explain(hot, name, ", analyze, buffers"))

    few, many = await cost(1000), await cost(10_000)
    # A tree may have grown a level for each of the two rows that are touched in each of their indexes.
    assert many <= few + 12, f"{name}: {few} pages with 1,000 jobs, {many} with 10,000"


AHEAD = """
update cronty.jobs set task = 'notify';
insert into cronty.owners (id, name) values (2, 'bob');
insert into cronty.channels (owner_id, name, scheme, hint, key_id, sealed, created_at, ahead)
values (2, 'phone', 'ntfy', 'x', 'k', 'x', now(), true);
insert into cronty.jobs (id, owner_id, number, name, task, arguments, trigger, policy, tags, created_at, updated_at)
select 1000000 + i, 2, i, 'job', 'notify', '{"args": [], "kwargs": {"topic": "phone"}}', '{}', '{}', '{}', now(), now()
from generate_series(1, 5) i;
insert into cronty.due (job_id, owner_id, next_at, serial)
select 1000000 + i, 2, timestamptz '2027-03-02 09:00+00', false from generate_series(1, 5) i;
insert into cronty.handed_over (job_id, scheduled_for, owner_id, owner, channel, version, key_id, sealed, due_at)
select i, timestamptz '2027-03-02 09:00+00', 1, 'ann', 'phone', 1, 'k', 'x', now() from generate_series(1, 5) i;
"""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("jobs_ahead", f"('{NOW}', 0, 200, 250000, 30, 0, true)"), ("take_back", f"('{NOW}', 60, 0, 0, 5000)")],
)
@pytest.mark.parametrize("known", [False, True], ids=["without statistics", "with statistics"])
async def test_looking_ahead_costs_nothing_for_jobs_of_others(
    filled: dict[int, str], name: str, arguments: str, known: bool
) -> None:
    cost: list[int] = []
    for jobs in (1000, 10_000):
        async with connected(filled[jobs]) as hot:
            undone = hot.transaction()
            await undone.start()
            await hot.execute(AHEAD)
            if known:
                await hot.execute("analyze cronty.jobs, cronty.due, cronty.channels, cronty.owners, cronty.handed_over")
            plan = await explain(hot, name, ", analyze, buffers", arguments)
            cost.append(pages(plan))
            await undone.rollback()
    few, many = cost
    assert many <= few * 1.5
