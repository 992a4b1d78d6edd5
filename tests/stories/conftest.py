"""Real servers for the stories: one over HTTP, two over stdio, with a database and an ntfy of their own.

They are started once, because a cold start takes seconds; all of them serve the same owner, so that what one
client does is another process's change to the others. Every test begins with nothing scheduled.
"""

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx2
import pytest
import pytest_asyncio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.result import Err
from cronty.store.migrate import migrate
from tests.conftest import with_database
from tests.mcp.caller import ERAS, Caller, held
from tests.patience import PATIENCE
from tests.pooler import carried
from tests.stories.ntfy import Ntfy

ROOT = Path(__file__).parents[2]
APP = ("--app", "tests.stories.backup_app:cronty")
LINES = [f"{transport} {era}" for transport in ("stdio", "http") for era in ERAS]
"""Every way to reach Cronty, by its transport and its era."""


@dataclass
class Town:
    """`clerk` is the Python face, in this process, of the owner whom all servers serve."""

    database_url: str
    ntfy: Ntfy
    mcp_url: str
    bearer: dict[str, str]
    callers: dict[str, Caller]
    clerk: Cronty
    environment: dict[str, str]

    async def clear(self) -> None:
        """Nothing is scheduled any more, and ntfy remembers nothing."""
        while True:
            page = await self.clerk.service.scheduler.list_jobs(local_caller(self.clerk.owner), limit=1000)
            assert not isinstance(page, Err)
            for job in page.value.jobs:
                await self.clerk.service.scheduler.delete(local_caller(job.owner), job.number)
            if page.value.cursor is None:
                break
        self.ntfy.published.clear()

    async def rows(self, statement: str) -> list[tuple[object, ...]]:
        """What the database knows."""
        connection = await asyncpg.connect(self.database_url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    async def count(self, statement: str) -> int:
        [[number]] = await self.rows(statement)
        assert isinstance(number, int)
        return number


@pytest.fixture(scope="session")
def ntfy() -> Iterator[Ntfy]:
    made = Ntfy()
    made.start()
    yield made
    made.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def town(server_url: str, ntfy: Ntfy) -> AsyncGenerator[Town]:
    with (
        tempfile.TemporaryDirectory(prefix="cronty-town-") as folder,
        tempfile.TemporaryDirectory(prefix="cronty-data-") as data,
    ):
        url = await _database(server_url)
        environment = {
            "CRONTY_DATABASE_URL": url,
            "CRONTY_NTFY_URL": f"http://{ntfy.host}",
            "CRONTY_ALLOWED_HOSTS": ntfy.host,
            "CRONTY_DATA_DIR": data,
            **carried(),
        }
        async with AsyncExitStack() as stack:
            clerk = await stack.enter_async_context(Cronty(url, run_jobs=False))
            served = asyncio.create_task(stack.enter_async_context(serving(environment, Path(folder))))
            spoken = [
                asyncio.create_task(stack.enter_async_context(speaking(mode, environment, Path(folder) / era)))
                for era, mode in ERAS.items()
            ]
            mcp_url = await served
            callers = {f"stdio {era}": await client for era, client in zip(ERAS, spoken, strict=True)}
            bearer = bearer_of(environment)
            for era, mode in ERAS.items():
                client = await stack.enter_async_context(calling(mcp_url, bearer, mode))
                callers[f"http {era}"] = Caller(client)
            yield Town(url, ntfy, mcp_url, bearer, callers, clerk, environment)
        _check_logs(Path(folder))


def bearer_of(environment: dict[str, str]) -> dict[str, str]:
    """The header that a server asks for."""
    return {"authorization": f"Bearer {(Path(environment['CRONTY_DATA_DIR']) / 'local.key').read_text().strip()}"}


@asynccontextmanager
async def calling(mcp_url: str, bearer: dict[str, str], mode: str = "auto") -> AsyncGenerator[Client]:
    async with httpx2.AsyncClient(headers=bearer, timeout=PATIENCE) as http:
        transport = streamable_http_client(mcp_url, http_client=http)
        async with held(Client(transport, mode=mode)) as client:  # pyright: ignore[reportArgumentType]
            yield client


def _check_logs(folder: Path) -> None:
    """Whatever was asked of the servers, none of it was a fault."""
    for log in folder.iterdir():
        said = log.read_text()
        assert " ERROR " not in said, said


async def _database(server_url: str) -> str:
    """A database of the town's own, because its servers go on while other tests empty theirs."""
    name = f"cronty_town_{os.getpid()}"
    connection = await asyncpg.connect(server_url)
    await connection.execute(f"drop database if exists {name}")
    await connection.execute(f"create database {name}")
    await connection.close()
    url = with_database(server_url, name)
    await migrate(url)
    return url


@asynccontextmanager
async def serving(environment: dict[str, str], folder: Path) -> AsyncGenerator[str]:
    """`cronty serve` in a process of its own, told to leave in the end; the address of its MCP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "serve").open("w") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "cronty.cli.main", "serve", *APP, "--port", str(port)),
            cwd=ROOT,
            env={**os.environ, **environment},
            stderr=log,
        )
        try:
            await _ready(f"http://127.0.0.1:{port}/ready", process)
            yield f"http://127.0.0.1:{port}/mcp"
            process.terminate()
            await asyncio.wait_for(process.wait(), PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _ready(url: str, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(PATIENCE), httpx2.AsyncClient() as http:
        while True:
            assert process.returncode is None
            try:
                if (await http.get(url)).status_code == 200:
                    return
            except httpx2.ConnectError:
                pass
            await asyncio.sleep(0.05)


@asynccontextmanager
async def speaking(
    mode: str, environment: dict[str, str], log: Path, arguments: tuple[str, ...] = APP
) -> AsyncGenerator[Caller]:
    """`cronty mcp` in a process of its own, and the client that has started it."""
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "cronty.cli.main", "mcp", *arguments], env=environment, cwd=ROOT
    )
    with log.open("w") as errors:
        async with held(Client(stdio_client(parameters, errlog=errors), mode=mode)) as client:
            yield Caller(client)


@pytest.fixture(params=LINES)
def line(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest_asyncio.fixture(loop_scope="session")
async def empty_town(town: Town) -> AsyncGenerator[Town]:
    """The town with nothing scheduled in it."""
    await town.clear()
    yield town
    town.ntfy.status = 200


@pytest.fixture
def caller(line: str, empty_town: Town) -> Caller:
    """A real client: over stdio and over HTTP, once in each era."""
    return empty_town.callers[line]
