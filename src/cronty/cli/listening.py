"""The address that a server listens at. The background service fires without it, and tries again until it is free."""

import asyncio
import errno
import os
import socket
from typing import Final

from cronty import telemetry
from cronty.cli.service_folder import ServiceFolder
from cronty.settings import BadSetting

PAUSE: Final = 1.0
"""Seconds until a port that is taken is tried again."""


def listen(host: str, port: int, backlog: int) -> list[socket.socket]:
    """Sockets that listen at every address of this host name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    made: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            made.append(socket.create_server((str(address[0]), port), family=family, backlog=backlog))
            # What it accepts inherits it. asyncio sets it by itself only for sockets that name their protocol, and
            # without it an answer in two parts takes 40 ms longer.
            made[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        for one in made:
            one.close()
        raise
    return made


def cannot_listen(host: str, port: int, error: OSError, chosen_by: str) -> BadSetting:
    """What to tell of an address that can't be listened at, and how another port is chosen."""
    why = os.strerror(error.errno).lower() if error.errno else str(error)
    hint = f" Name another port: {chosen_by}." if error.errno == errno.EADDRINUSE else ""
    return BadSetting(f"can't listen at {host}:{port}: {why}.{hint}")


async def listen_at_last(
    host: str, port: int, backlog: int, service: ServiceFolder | None, stopping: asyncio.Event
) -> list[socket.socket]:
    """The sockets, none if it is told to stop before. The `service` waits for a port that another program has."""
    told = False
    while not stopping.is_set():
        try:
            sockets = listen(host, port, backlog)
        except OSError as error:
            if service is None or error.errno != errno.EADDRINUSE:
                raise cannot_listen(host, port, error, "--port") from None
            if not told:
                telemetry.port_taken(port)
                service.mark_portless(True)
                told = True
            await _stopping_within(stopping, PAUSE)
            continue
        if service is not None:
            service.mark_portless(False)
        if told:
            telemetry.port_free(port)
        return sockets
    return []


async def _stopping_within(stopping: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return
