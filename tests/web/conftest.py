"""REST in this process with its clock in the hand, and a server of its own; over the real database, with keys."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from cronty import Cronty
from cronty.asgi import http_app
from cronty.contract.caller import SCOPES, local_caller
from cronty.contract.result import Ok
from cronty.mcp.server import GROUPS
from cronty.store.sealing import new_key
from tests.actions.servers import Plain, answer, plain
from tests.clients.serving import Served, serving
from tests.conftest import HandClock, Hands, database_named, hands_of

PLACE = "/api/v1"
APP = '''
from cronty import Cronty

cronty = Cronty()

@cronty.task
def say(word: str) -> str:
    """Say a word."""
    return word
'''


@dataclass(frozen=True, slots=True)
class Api:
    """What one key can ask for."""

    http: httpx2.AsyncClient
    key: str
    key_number: int

    async def ask(self, method: str, path: str, **given: Any) -> httpx2.Response:
        return await self.http.request(method, PLACE + path, **given)

    async def get(self, path: str, **given: Any) -> httpx2.Response:
        return await self.ask("GET", path, **given)

    async def post(self, path: str, **given: Any) -> httpx2.Response:
        return await self.ask("POST", path, **given)

    async def make(self, **given: Any) -> dict[str, Any]:
        """A job that must be accepted."""
        body = {"name": "backup", "task": "run_backup", "trigger_type": "interval", "trigger_config": {"hours": 1}}
        made = await self.post("/jobs", json=body | given)
        assert made.status_code == 201, made.text
        return made.json()


type Keyed = Callable[..., Any]


@pytest.fixture
async def phone() -> AsyncGenerator[Plain]:
    """A push service on loopback."""
    async with plain(answer(200, b'{"id": "abc"}')) as server:
        yield server


@pytest.fixture
async def cronty(url: str, clock: HandClock, phone: Plain, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Cronty]:
    monkeypatch.setenv("CRONTY_SECRET_KEY", new_key())
    monkeypatch.setenv("CRONTY_NTFY_URL", phone.url)
    monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", f"{phone.allowed}@*")
    made = Cronty(url, clock=clock, run_jobs=False)

    @made.task
    def run_backup(path: str = "/data", *, compress: bool = False) -> str:  # pyright: ignore[reportUnusedFunction]
        """Back a folder up."""
        return f"{path} {compress}"

    @made.task
    def fail() -> None:  # pyright: ignore[reportUnusedFunction]
        raise ValueError("no luck")

    async with made:
        yield made


@pytest.fixture
async def worker(url: str, clock: HandClock, cronty: Cronty) -> AsyncGenerator[Hands]:
    """Also publishes the tasks."""
    async with hands_of(url, clock, cronty.registry) as made:
        yield made


@pytest.fixture
def application(cronty: Cronty, worker: Hands) -> Starlette:
    assert worker.engine.worker
    return http_app(cronty, GROUPS, ["here", "localhost:8125"])


@pytest.fixture
async def keyed(cronty: Cronty, application: Starlette) -> AsyncGenerator[Keyed]:
    """An API for an owner, with a new key of these scopes."""
    async with AsyncExitStack() as stack:

        async def make(owner: str, *scopes: str, **given: Any) -> Api:
            made = await cronty.service.identity.add_key(
                local_caller(owner), f"{owner}'s key", scopes or SCOPES, **given
            )
            assert isinstance(made, Ok)
            http = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(application), base_url="http://here",
                headers={"authorization": f"Bearer {made.value.text}", "user-agent": "tests/1"},
            )  # fmt: skip
            return Api(await stack.enter_async_context(http), made.value.text, made.value.number)

        yield make


@pytest.fixture
async def ann(keyed: Keyed) -> Api:
    return await keyed("ann")


@pytest.fixture
async def bob(keyed: Keyed) -> Api:
    return await keyed("bob")


# -- a server of its own, over the wire ----------------------------------------------------------------------------


async def key_of(own_url: str, owner: str, *scopes: str) -> str:
    async with Cronty(own_url, run_jobs=False) as cronty:
        made = await cronty.service.identity.add_key(local_caller(owner), "a key", scopes or SCOPES)
    assert isinstance(made, Ok)
    return made.value.text


@pytest.fixture(scope="session")
def own_url(server_url: str) -> Iterator[str]:
    """A database that no other test empties."""
    with database_named(server_url, f"cronty_rest_{os.getpid()}") as url:
        yield url


@pytest.fixture(scope="session")
def served(own_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("app")
    (folder / "words.py").write_text(APP)
    with serving(Path(folder), "--auth", "--app", "words:cronty", database_url=own_url) as running:
        yield running
