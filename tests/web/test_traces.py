"""A request is part of the trace that its caller names, if what it names is one; its job remembers it."""

from typing import Any

import asyncpg
import pytest
from mcp import Client
from opentelemetry.trace import SpanKind

from cronty import Cronty, tracing
from cronty.client.calls import to_http
from cronty.contract.caller import local_caller
from cronty.contract.operations import Operations
from cronty.contract.requests import ListJobs
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from tests.conftest import HandClock, Hands
from tests.mcp.caller import ERAS
from tests.spans import GIVEN, collecting, id_of, parent_of, trace_of, traceparent_of
from tests.web.conftest import Api

BACKUP = {"name": "backup", "task": "run_backup", "trigger_type": "interval", "trigger_config": {"hours": 1}}
KEPT = "select origin ->> 'traceparent' from cronty.jobs order by id desc limit 1"


async def test_a_job_is_made_in_the_span_that_its_caller_names(ann: Api, sql: asyncpg.Connection) -> None:
    await ann.http.post("/api/v1/jobs", headers={"traceparent": GIVEN}, json=BACKUP)
    assert await sql.fetchval(KEPT) == GIVEN
    await ann.make()
    assert await sql.fetchval(KEPT) is None


async def test_where_spans_are_collected_it_is_made_in_a_span_of_ours(
    ann: Api, sql: asyncpg.Connection, worker: Hands, clock: HandClock
) -> None:
    with collecting() as spans:
        made = await ann.http.post("/api/v1/jobs", headers={"traceparent": GIVEN}, json=BACKUP)
        clock.advance(hours=1)
        await worker.all()
    ours = spans.one("cronty.schedule")
    number = made.json()["job_id"].split("_")[1]
    assert f"00-{trace_of(ours):032x}-{parent_of(ours):016x}-01" == GIVEN
    assert ours.kind is SpanKind.PRODUCER
    assert ours.attributes == {"cronty.action": "task", "cronty.outcome": "made", "cronty.job": number}
    assert await sql.fetchval(KEPT) == traceparent_of(ours)
    assert [link.context.span_id for link in spans.one("cronty.fire").links] == [id_of(ours)]


async def test_a_refusal_says_only_its_code(ann: Api) -> None:
    with collecting() as spans:
        refused = await ann.post("/jobs", json=BACKUP | {"task": "a secret"})
    assert refused.status_code == 422
    ours = spans.one("cronty.schedule")
    assert ours.attributes == {"cronty.action": "task", "cronty.outcome": "unknown_task"}
    assert "secret" not in ours.to_json()


async def test_who_changes_a_job_is_where_it_comes_from(ann: Api, sql: asyncpg.Connection) -> None:
    job = await ann.make()
    await ann.http.patch(f"/api/v1/jobs/{job['job_id']}", headers={"traceparent": GIVEN}, json={"name": "new"})
    assert await sql.fetchval(KEPT) == GIVEN


@pytest.mark.parametrize(
    "given", [[GIVEN, GIVEN], [GIVEN.upper()], ["junk"], [GIVEN + "x" * 5000], ["'; drop table cronty.jobs; --"], [""]]
)
async def test_what_is_no_span_is_not_kept(given: list[str], ann: Api, sql: asyncpg.Connection) -> None:
    headers = [("traceparent", one) for one in given]
    made = await ann.http.post("/api/v1/jobs", headers=headers, json=BACKUP)
    assert made.status_code == 201
    assert await sql.fetchval(KEPT) is None


async def test_over_mcp_it_is_named_in_meta(cronty: Cronty, worker: Hands, sql: asyncpg.Connection) -> None:
    assert worker.engine.worker
    server = CrontyServer(ToolContext(cronty, lambda: local_caller("ann")), ["jobs"])
    for mode in ERAS.values():
        async with Client(server, mode=mode) as client:
            for given in (GIVEN, "junk", 7, {"a": GIVEN}, [GIVEN.upper()], None):
                meta: Any = {"traceparent": given}
                made = await client.call_tool("schedule_job", dict(BACKUP), meta=meta)
                assert not made.is_error
                assert await sql.fetchval(KEPT) == (GIVEN if given == GIVEN else None)


async def test_our_client_names_the_span_that_it_calls_in() -> None:
    assert "traceparent" not in to_http(Operations.list_jobs, ListJobs())["headers"]
    with collecting(), tracing.within(GIVEN):
        assert to_http(Operations.list_jobs, ListJobs())["headers"]["traceparent"] == GIVEN


async def test_a_program_of_ours_is_in_a_span_already(cronty: Cronty, worker: Hands, sql: asyncpg.Connection) -> None:
    assert worker.engine.worker
    with tracing.within(GIVEN):
        await cronty.schedule_job("backup", "run_backup", "interval", {"hours": 1})
    assert await sql.fetchval(KEPT) == GIVEN
