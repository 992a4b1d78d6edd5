"""What Prometheus is told of the whole installation costs little, however much waits."""

from typing import Any

import asyncpg
import orjson

from cronty.store.database import query


async def test_each_kind_is_counted_up_to_the_limit_over_all_of_its_tasks(sql: asyncpg.Connection) -> None:
    await sql.execute(
        """insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, crashes, task)
           select n, now() - n * interval '1 second', now() - n * interval '1 second', 1, n % 3, 'prompt:' || n % 40
           from generate_series(1, 4000) n"""
    )
    await sql.execute(
        """insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)
           select 5000 + n, now() - n * interval '1 minute', now() - n * interval '1 minute', 1, 'report'
           from generate_series(1, 7) n"""
    )
    async with sql.transaction():
        now = await sql.fetchval("select now()")
        [row] = await sql.fetch(query("fleet_figures"), now, 100)
        text = query("fleet_figures").replace("$1", "now()").replace("$2", "100")
        plan = await sql.fetchval(f"explain (analyze, timing off, format json) {text}")
    queued = {kind: (runs, age) for kind, runs, age in orjson.loads(row["queued"])}
    assert {kind: runs for kind, (runs, _) in queued.items()} == {"wake": 100, "task": 7}
    assert round(queued["wake"][1] / 10) == 400
    assert round(queued["task"][1] / 10) == 42
    assert _rows_of_the_queue(orjson.loads(plan)[0]["Plan"]) < 400, "it doesn't read 100 of each of the 120"


def _rows_of_the_queue(node: dict[str, Any]) -> float:
    """How many rows of the queue a plan has read."""
    own = node["Actual Rows"] * node["Actual Loops"] if node.get("Relation Name") == "queue" else 0
    return own + sum(_rows_of_the_queue(inner) for inner in node.get("Plans", []))
