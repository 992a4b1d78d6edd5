"""The server in this process, with its clock in the hand, and clients of both eras."""

from collections.abc import AsyncGenerator

import pytest
from mcp import Client

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from cronty.scheduler import Scheduler
from cronty.scheduler.service import Service
from tests.conftest import HandClock, Hands, hands_of
from tests.mcp.caller import ERAS, Caller, held


@pytest.fixture
async def cronty(url: str, clock: HandClock) -> AsyncGenerator[Cronty]:
    """A scheduler of Ann's; what may be scheduled is published by `worker`."""
    made = Cronty(url, owner="ann", clock=clock, run_jobs=False)

    @made.task
    def run_backup(path: str = "/data", *, compress: bool = False) -> str:  # pyright: ignore[reportUnusedFunction]
        """Back a folder up."""
        return f"{path} {compress}"

    async with made:
        yield made


@pytest.fixture
async def worker(url: str, clock: HandClock, cronty: Cronty) -> AsyncGenerator[Hands]:
    async with hands_of(url, clock, cronty.registry) as made:
        yield made


class Behind:
    """What stands behind the one server of the session; another Cronty for each test."""

    cronty: Cronty

    @property
    def scheduler(self) -> Scheduler:
        return self.cronty.service.scheduler

    @property
    def service(self) -> Service:
        return self.cronty.service


@pytest.fixture(scope="session")
def behind() -> Behind:
    return Behind()


@pytest.fixture(scope="session")
def server(behind: Behind) -> CrontyServer:
    """Made once: making the schemas of all tools takes longer than most tests do."""
    return CrontyServer(ToolContext(behind, lambda: local_caller(behind.cronty.owner)))


@pytest.fixture(params=ERAS)
async def caller(
    request: pytest.FixtureRequest, behind: Behind, server: CrontyServer, cronty: Cronty, worker: Hands
) -> AsyncGenerator[Caller]:
    """A client in the same process, once in each era."""
    assert worker.engine.worker
    behind.cronty = cronty
    async with held(Client(server, mode=ERAS[request.param])) as client:
        assert client.protocol_version == request.param
        yield Caller(client)
