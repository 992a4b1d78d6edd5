"""An operation that stands in the table and in the service, and nowhere else, is served by every surface."""

from collections.abc import AsyncGenerator, Iterator
from typing import Any, ClassVar

import httpx2
import pytest
from mcp import Client as McpClient
from typer.testing import CliRunner

from cronty import Cronty
from cronty.cli.main import app as command_line
from cronty.client import AsyncClient, CrontyError
from cronty.client.client import Client
from cronty.contract.answers import Answer
from cronty.contract.caller import Caller, local_caller
from cronty.contract.operation import READS, Handler, Operation
from cronty.contract.operations import ALL, Operations
from cronty.contract.requests import OneJob
from cronty.contract.result import Err, Ok, Result
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from cronty.scheduler.job_calls import JobCalls
from cronty.web.callers import by_token
from cronty.web.rest.app import rest_app
from cronty.web.rest.openapi import openapi_document
from tests.house import operations_page, tools_page
from tests.web.test_rest_matrix import ways


class MeasureJob(OneJob):
    """Say how long the name of a job is."""

    EXAMPLE: ClassVar = {"job_id": "job_1_1738764000"}


class Measured(Answer):
    """The length of a name."""

    EXAMPLE: ClassVar = {"letters": 5}

    letters: int


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Operation[[str], MeasureJob, Measured]]:
    """The whole change: a row of the table and a handler."""
    measure_job = Operation(
        MeasureJob, Measured, "GET", "/jobs/{job_id}/measure", title="Measure a job", group="jobs", scope="read",
        hints=READS,
    )  # fmt: skip
    measure_job.__set_name__(Operations, "measure_job")
    monkeypatch.setattr(Operations, "measure_job", measure_job, raising=False)
    monkeypatch.setitem(ALL, "measure_job", measure_job)

    async def measure(self: JobCalls, caller: Caller, request: MeasureJob) -> Result[Measured]:
        shown = await self._scheduler.show(caller, request.job_id)  # pyright: ignore[reportPrivateUsage]
        return shown if isinstance(shown, Err) else Ok(Measured(letters=len(shown.value.name)))

    known = JobCalls.handlers

    def handlers(self: JobCalls) -> Iterator[Handler]:
        yield from known(self)
        yield measure_job.by(lambda caller, request: measure(self, caller, request))

    monkeypatch.setattr(JobCalls, "handlers", handlers)
    openapi_document.cache_clear()
    yield measure_job
    openapi_document.cache_clear()


@pytest.fixture
async def cronty(url: str, planted: object) -> AsyncGenerator[Cronty]:
    async with Cronty(url, owner="ann", run_jobs=False) as opened:
        yield opened


async def make(cronty: Cronty, name: str = "abcde") -> str:
    return (await cronty.schedule_job(name, "prompt", "interval", {"hours": 1}, kwargs={"prompt": "Look"})).job_id


async def test_python_has_it(cronty: Cronty) -> None:
    measure: Any = cronty.measure_job  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue, reportUnknownVariableType]
    assert await measure(await make(cronty)) == Measured(letters=5)
    with pytest.raises(CrontyError, match="Job not found"):
        await measure("job_77_1738764000")


async def test_mcp_has_it(cronty: Cronty) -> None:
    server = CrontyServer(ToolContext(cronty, lambda: local_caller("ann")))
    async with McpClient(server) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert (
            listed["measure_job"].description
            == 'Say how long the name of a job is. Example: {"job_id":"job_1_1738764000"}'
        )
        answer = await client.call_tool("measure_job", {"job_id": await make(cronty)})
        assert answer.structured_content == {"letters": 5}


async def test_rest_and_the_clients_have_it_for_those_who_may(cronty: Cronty) -> None:
    app = rest_app(lambda: cronty.service, by_token(lambda: cronty.service.identity))
    job_id = await make(cronty)
    keys = {scope: await cronty.add_key(f"to {scope}", [scope]) for scope in ("read", "schedule")}
    async with AsyncClient("http://cronty") as client:
        inside = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://cronty")
        client._http = inside  # pyright: ignore[reportPrivateUsage]
        ask: Any = client.measure_job  # pyright: ignore
        inside.headers["authorization"] = f"Bearer {keys['read'].key}"
        assert await ask(job_id) == Measured(letters=5)
        inside.headers["authorization"] = f"Bearer {keys['schedule'].key}"
        with pytest.raises(CrontyError) as refused:
            await ask(job_id)
    assert refused.value.code == "missing_scope"
    assert callable(Client("http://cronty").measure_job)  # pyright: ignore


async def test_the_references_and_the_matrix_of_foreign_ids_have_it(planted: object) -> None:
    assert "### `measure_job(job_id)`" in operations_page.page()
    assert "### `measure_job`" in tools_page.page()
    assert openapi_document()["paths"]["/jobs/{job_id}/measure"]["get"]["operationId"] == "measure_job"
    assert "GET /jobs/{job_id}/measure" in ways()


def test_the_command_line_has_it(planted: object) -> None:
    said = CliRunner().invoke(command_line, ["call", "--list"])
    assert "measure_job  Measure a job" in said.stdout
    asked = CliRunner().invoke(command_line, ["call", "measure_job", "{}"])
    assert "job_id is required" in asked.stdout
