"""The outside world on loopback: servers that answer what a test tells them, and a watch on who is connected to."""

import asyncio
import ssl
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.types import ASGIApp

type Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Received:
    """One request as it came over the wire."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Plain:
    """An HTTP server of a few lines; `answers` are given in turn, the last one forever."""

    port: int = 0
    answers: list[bytes] = field(default_factory=list[bytes])
    received: list[Received] = field(default_factory=list[Received])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def allowed(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.received.append(Received(line, headers, body))
        writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@asynccontextmanager
async def listening(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """A TCP server on a free port that ends, with all of its connections, when the test does."""
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.add(asyncio.current_task())  # pyright: ignore[reportArgumentType]
        try:
            await handler(reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort() if tls else writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await server.wait_closed()


@asynccontextmanager
async def plain(*answers: bytes, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Plain]:
    server = Plain(answers=[*answers])
    async with listening(server.serve, tls) as port:
        server.port = port
        yield server


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[int]:
    """A real uvicorn on a free port."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", ws="none"))
    running = asyncio.create_task(server.serve())
    while not server.started:
        assert not running.done()
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


@dataclass
class Watch:
    """Addresses somebody tried to connect to while it was open; only loopback is let through."""

    seen: list[str] = field(default_factory=list[str])


_watching: list[Watch] = []


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and _watching:
        address = arguments[1]
        host = str(address[0]) if isinstance(address, tuple) else str(address)  # pyright: ignore[reportUnknownArgumentType]
        _watching[-1].seen.append(host)
        if host != "127.0.0.1":
            raise ConnectionRefusedError(f"the test doesn't leave the machine for {host}")


sys.addaudithook(_on_event)  # beneath every library, so that nothing is connected to unseen


@contextmanager
def watching() -> Generator[Watch]:
    watch = Watch()
    _watching.append(watch)
    try:
        yield watch
    finally:
        _watching.remove(watch)


async def anns(_owner_id: int) -> str:
    """Every run is ann's."""
    return "ann"
