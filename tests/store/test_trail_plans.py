"""What the trail costs an owner: what the owner has, beside however many entries of others in however many months."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import asyncpg
import pytest

from cronty.store.database import query

MONTHS = 24
FILL = """
insert into cronty.owners (id, name) select 1024 * o, case o when 1 then 'ann' else 'o' || o end
from generate_series(1, $1::int) o on conflict do nothing;
"""
ENTRIES = """
insert into cronty.audit (owner_id, number, sealed_at, at, what, previous, hash)
select 1024 * o, 1 + n * $3 + k, at, at, 'edited', '', sha256(int8send(n))
from generate_series($1::int, $2::int) o, generate_series(0, 23) n, generate_series(0, $3::int - 1) k,
  lateral (select timestamptz '2025-04-10 00:00+00' + n * interval '1 month') m(at)
"""
STATEMENTS = {
    "read_audit": ("cronty_app", "('ann', 10, null)", 60),
    "seal_audit": ("cronty_engine", "(1000, true, '2027-03-01', 'ann')", 60),
    "audit_entry": (None, "('ann', 20)", 120),
    "audit_chains": (None, "('ann')", 160),
    "export_audit": (None, "('ann', null)", 160),
    "count_unsealed": (None, "('ann')", 20),
    "checkpoints_of": (None, "('{1024}')", 20),
}
"""Who makes them, with what, and how many pages they may touch: an index in a month is two or three."""


@pytest.fixture
async def full(sql: asyncpg.Connection) -> AsyncGenerator[asyncpg.Connection]:
    """Ann has an entry a month; 200 others have twenty, and as many wait to be sealed. Plans know no argument."""
    await sql.execute("set plan_cache_mode = force_generic_plan")
    await sql.execute(
        "select cronty.make_audit_partition(timestamptz '2025-04-01 00:00+00' + n * interval '1 month')"
        " from generate_series(0, 23) n"
    )
    await sql.execute(FILL.replace("$1::int", "201"))
    await sql.execute(ENTRIES, 1, 1, 1)
    await sql.execute(ENTRIES, 2, 201, 20)
    await sql.execute(
        "insert into cronty.audit_heads select owner_id, max(number), '', min(sealed_at), max(sealed_at)"
        " from cronty.audit group by 1"
    )
    await sql.execute(
        "insert into cronty.audit_checkpoints select owner_id, '2025-03-01', 0, '', 0, '', '' from cronty.audit_heads"
    )
    await sql.execute(
        "insert into cronty.audit_unsealed (at, owner_id, what)"
        " select now(), 1024 * (2 + n % 200), 'x' from generate_series(1, 20000) n"
    )
    await sql.execute("insert into cronty.audit_unsealed (at, owner_id, what) values (now(), 1024, 'x')")
    await sql.execute("vacuum analyze")
    yield sql
    await sql.execute("deallocate all")


async def explained(sql: asyncpg.Connection, statement: str, arguments: str, role: str | None) -> dict[str, Any]:
    """The plan as it was carried out; what it did is taken back."""
    undone = sql.transaction()
    await undone.start()
    try:
        if role is not None:
            await sql.execute(f"set local role {role}; set local cronty.owner = 'ann'")
        await sql.execute(f"prepare looked_at as {statement}")
        [row] = await sql.fetch(f"explain (analyze, buffers, format json) execute looked_at{arguments}")
        return json.loads(row[0])[0]["Plan"]
    finally:
        await undone.rollback()
        await sql.execute("deallocate looked_at")


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


def pages(plan: dict[str, Any]) -> int:
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


async def test_each_statement_costs_what_the_owner_has(full: asyncpg.Connection) -> None:
    for name, (role, arguments, most) in STATEMENTS.items():
        await explained(full, query(name), arguments, role)
        plan = await explained(full, query(name), arguments, role)
        walked = [node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan" and pages(node) > 1]
        assert [table for table in walked if table.startswith(("audit_2", "audit_unsealed"))] == [], name
        assert pages(plan) <= most, name


async def test_a_page_of_the_trail_looks_into_no_more_months_than_it_takes(full: asyncpg.Connection) -> None:
    plan = await explained(full, query("read_audit"), "('ann', 5, null)", "cronty_app")
    looked_into = [
        node for node in nodes(plan) if node.get("Relation Name", "").startswith("audit_2") and node["Actual Loops"] > 0
    ]
    assert plan["Actual Rows"] == 5
    assert len(looked_into) <= 6, f"of {MONTHS}"


async def test_erasing_an_owner_uses_an_index_in_every_month(full: asyncpg.Connection) -> None:
    await full.execute("update cronty.owners set erasing_since = now() where id in (1024, 2048)")
    erase = "select cronty.erase_audit($1::bigint, $2::int)"
    await explained(full, erase, "(2048, 10)", None)
    few = pages(await explained(full, erase, "(1024, 5)", None))
    assert few <= 400, "five entries among 96,000, in 24 months"
    assert await full.fetchval("select cronty.erase_audit(1024, 1000)") == 25
    assert await full.fetchval("select count(*) from cronty.audit where owner_id = 1024") == 0
