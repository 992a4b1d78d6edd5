"""A server that can be made to hang, come and go, without touching the one behind it."""

import asyncio
import socket
from collections.abc import Generator
from contextlib import suppress
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

HEAD = 5
READY = b"Z"

type Counting = Generator[None, bytes]


class Middleman:
    """A way to a server, over TCP; once it is `frozen` it hears and says nothing, like a frozen machine.

    `trips` is how often the server has said that it is ready for the next thing: once for each round trip.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.address, self.came, self.frozen, self.trips = "", 0, False, 0
        self._host, self._port = parts.hostname, parts.port or 5432
        self._socket = f"{dict(parse_qsl(parts.query)).get('host')}/.s.PGSQL.{self._port}"
        self._ends: list[asyncio.StreamWriter] = []

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", port)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        if self._host:
            answers, asking = await asyncio.open_connection(self._host, self._port)
        else:
            answers, asking = await asyncio.open_unix_connection(self._socket)
        self._ends += [writer, asking]
        with suppress(OSError):
            await asyncio.gather(self._pass_on(reader, asking), self._pass_on(answers, writer, self._count()))

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counting: "Counting | None" = None
    ) -> None:
        while said := await reader.read(65536):
            if counting:
                counting.send(said)
            if not self.frozen:
                writer.write(said)
        if not self.frozen:
            writer.close()

    def _count(self) -> "Counting":
        counting = self._counting()
        next(counting)
        return counting

    def _counting(self) -> "Counting":
        """Reads messages as the protocol frames them: a letter, and how long it is with its four bytes of length."""
        held = b""
        while True:
            held += yield
            while len(held) >= HEAD and len(held) > (length := int.from_bytes(held[1:HEAD])):
                self.trips += held[:1] == READY
                held = held[1 + length :]

    async def stop(self) -> None:
        self._server.close()
        for end in self._ends:
            end.close()
        for end in self._ends:
            with suppress(OSError):
                await end.wait_closed()
        await self._server.wait_closed()


def nobody_there() -> str:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"127.0.0.1:{closed.getsockname()[1]}"


def through(url: str, *addresses: str, and_itself: bool = False) -> str:
    """The URL with these servers instead of its own, or before it."""
    parts = urlsplit(url)
    login, _, hosts = parts.netloc.rpartition("@")
    given = dict(parse_qsl(parts.query))
    places = [address.split(":") for address in addresses]
    if and_itself:
        places += [hosts.split(":")] if hosts else [[given["host"], given.get("port", "5432")]]
    given |= {"host": ",".join(place[0] for place in places), "port": ",".join(place[-1] for place in places)}
    given |= {"sslmode": "disable"}
    return urlunsplit(parts._replace(netloc=f"{login}@", query=urlencode(given)))
