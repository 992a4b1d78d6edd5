"""The addresses of names, as the system knows them: within a time of its own, and at each owner's own expense."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Final

from cronty.actions.shares import Shares

TIME_LIMIT: Final = 5.0

type LookUp = Callable[[str, int], Sequence[str]]


class Names:
    """`look_up` may take as long as it likes: whoever waits gives up after the limit."""

    def __init__(self, look_up: LookUp | None = None, *, time_limit: float = TIME_LIMIT) -> None:
        self._look_up = look_up or ask_system
        self._time_limit = time_limit
        self._shares = Shares("cronty-dns")

    async def find(self, host: str, port: int, owner: str | None) -> Sequence[str]:
        """Every address of the host; raises `socket.gaierror` if there is none, or not in time."""
        try:
            async with asyncio.timeout(self._time_limit):
                return await self._shares.run(owner, lambda: self._look_up(host, port))
        except TimeoutError:
            raise socket.gaierror(socket.EAI_AGAIN, "no answer in time") from None

    def close(self) -> None:
        self._shares.close()


def ask_system(host: str, port: int) -> Sequence[str]:
    try:
        return [str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except UnicodeError:  # how Python says that a label can't be asked for
        raise socket.gaierror(socket.EAI_NONAME, "no such name") from None
