"""Connections are bounded, in number and in time, and the jobs go on beside them."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from cronty.web.connections import bounded_protocol
from tests.clients.serving import free_port, serving
from tests.patience import PATIENCE

APP = '''
from cronty import Cronty

cronty = Cronty()

@cronty.task
def note() -> str:
    """Be done."""
    return "done"
'''


def test_idle_connections_leave_health_answering_and_jobs_firing(migrated_url: str, tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(APP)
    with (
        serving(tmp_path, "--app", "notes:cronty", files=128, database_url=migrated_url) as served,
        ExitStack() as held,
    ):
        for _ in range(200):
            held.enter_context(socket.create_connection(("127.0.0.1", served.port), PATIENCE))
        for _ in range(5):
            assert served.get("/health").status_code == 200
        with httpx2.Client(base_url=f"{served.url}/api/v1", headers=served.bearer, timeout=PATIENCE) as http:
            job = {"name": "n", "task": "note", "trigger_type": "interval", "trigger_config": {"days": 3000}}
            made = http.post("/jobs", json=job)
            assert made.status_code == 201, made.text
            where = f"/jobs/{made.json()['job_id']}"
            assert http.post(f"{where}/run").is_success
            while not (runs := http.get(f"{where}/runs").json()["runs"]) or runs[0]["verdict"] != "done":
                held.enter_context(socket.create_connection(("127.0.0.1", served.port), PATIENCE))
        assert "Too many open files" not in served.log.read_text()


class Pending:
    """An application that answers once it is told to."""

    def __init__(self) -> None:
        self.reached, self.told = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        self.reached.set()
        if scope["path"] == "/slow":
            await self.told.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def listening(app: ASGIApp, most: int, within: float) -> AsyncGenerator[int]:
    port = free_port()
    http = bounded_protocol(most, within)
    config = uvicorn.Config(app, port=port, http=http, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield port
    server.should_exit = True
    await serving


type Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connected(port: int, said: bytes = b"") -> Connection:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    return reader, writer


async def end_of(connection: Connection) -> bytes:
    """All that came until the server hung up."""
    async with asyncio.timeout(PATIENCE):
        try:
            return await connection[0].read()
        except ConnectionResetError:
            return b""


HEAD = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n"


async def test_a_request_that_does_not_arrive_is_cut() -> None:
    async with listening(Pending(), 8, 0.3) as port:
        for said in (b"", b"GET", HEAD, HEAD + b"\r\n12345", b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HT"):
            slow = await connected(port, said)
            assert (b"ok" in await end_of(slow)) is said.endswith(b"HT"), said
            slow[1].close()


async def test_an_answer_may_take_its_time_and_is_not_cut_for_a_newcomer() -> None:
    app = Pending()
    async with listening(app, 2, 0.3) as port:
        first = await connected(port, b"GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        await app.reached.wait()
        for _ in range(5):
            idle = await connected(port)
            assert await end_of(idle) == b""  # by its time
            idle[1].close()
        held = await connected(port)
        served = await connected(port, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert b"ok" in await end_of(served), "the idle one made room"
        assert await end_of(held) == b""
        app.told.set()
        assert b"ok" in await end_of(first)
        for _, writer in (first, held, served):
            writer.close()
