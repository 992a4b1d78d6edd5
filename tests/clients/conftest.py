"""One `cronty serve` with a task of its own and a push service on loopback, for all tools from outside."""

import asyncio
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import asyncpg
import pytest

from cronty.store.migrate import migrate
from tests.clients.npm import Npm, install
from tests.clients.serving import Served, serving
from tests.conftest import with_database

APP = '''
from cronty import Cronty

cronty = Cronty()

@cronty.task
def note(file: str, word: str) -> None:
    """Write a word down."""
    with open(file, "a") as opened:
        opened.write(word + "\\n")
'''


@pytest.fixture(scope="session")
def npm() -> Npm:
    return install()


@pytest.fixture(scope="session")
def own_url(server_url: str) -> Iterator[str]:
    """A database that no other test empties."""
    name = f"cronty_clients_{os.getpid()}"

    async def prepare(*statements: str) -> None:
        connection = await asyncpg.connect(server_url)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(prepare(f"drop database if exists {name}", f"create database {name}"))
    url = with_database(server_url, name)
    asyncio.run(migrate(url))
    yield url
    asyncio.run(prepare(f"drop database {name} with (force)"))


@pytest.fixture(scope="session")
def push_service() -> Iterator[str]:
    """Accepts every notification, as ntfy does."""

    class Accept(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            body = b'{"id": "abc"}'
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Accept)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def app_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app")
    (folder / "backup.py").write_text(APP)
    return folder


@pytest.fixture(scope="session")
def served(own_url: str, push_service: str, app_folder: Path) -> Iterator[Served]:
    with serving(
        app_folder, "--app", "backup:cronty", database_url=own_url, ntfy_url=f"http://{push_service}",
        allowed_hosts=push_service,
    ) as running:  # fmt: skip
        yield running
