"""The process that keeps the server up: starts it, starts it again when it ends, and ends with it when told.

systemd and launchd keep this process; where there is neither, `cronty up` leaves it in the background. A server whose
keeper was killed goes on serving; the next keeper ends it and starts one of its own, so that there is always one.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from asyncio.subprocess import Process
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cronty.cli.service_place import Place, Role, Wish

SHORTEST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 60.0
HEALTHY: Final = 60.0
"""Seconds that a server has to live before its next end counts as the first again."""

PATIENCE: Final = 45.0
"""Seconds between asking a server to end and ending it: it drains its runs first."""

LOG_CHECK: Final = 30.0


def command(place: Place) -> list[str]:
    """How a keeper is started, by whoever starts it."""
    return [sys.executable, "-m", "cronty.cli.service_keeper", str(place.folder.parent)]


def start(place: Place) -> None:
    """In the background, in a session of its own, so that closing the terminal doesn't end it."""
    log = place.open_log()
    try:
        subprocess.Popen(
            command(place), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
        )
    finally:
        os.close(log)


def end(place: Place, role: Role = "serving") -> None:
    """Ask the process in this role to end, and see to it."""
    for number, patience in ((signal.SIGTERM, PATIENCE + 10), (signal.SIGKILL, 10.0)):
        ends = time.monotonic() + patience
        if (found := place.alive(role)) is None:
            return
        with suppress(ProcessLookupError):
            os.kill(found.pid, number)
        while (still := place.alive(role)) is not None and still.pid == found.pid:
            if time.monotonic() > ends:
                break
            time.sleep(0.02)


class Keeper:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._told = asyncio.Event()
        self._starts = 0

    async def keep(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._told.set)
        await asyncio.to_thread(end, self._place)  # a server that its keeper has left behind
        pause = SHORTEST_PAUSE
        while not self._told.is_set() and (wish := self._place.wish()) is not None:
            began = time.monotonic()
            status = await self._serve(wish)
            if self._told.is_set():
                return
            pause = SHORTEST_PAUSE if time.monotonic() - began > HEALTHY else pause
            self._say(f"the server ended {_how(status)}; starting it again in {pause:g} s")
            await self._told_within(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _serve(self, wish: Wish) -> int:
        """Start the server and wait for its end; its exit status."""
        self._starts += 1
        server = await self._start(wish)
        exited = asyncio.ensure_future(server.wait())
        told = asyncio.ensure_future(self._told.wait())
        while not exited.done() and not told.done():
            self._place.bound_log()
            await asyncio.wait({exited, told}, timeout=LOG_CHECK, return_when=asyncio.FIRST_COMPLETED)
        if not exited.done():
            with suppress(ProcessLookupError):
                server.terminate()
            await asyncio.wait({exited}, timeout=PATIENCE)
        if not exited.done():
            with suppress(ProcessLookupError):
                server.kill()
        told.cancel()
        return await exited

    async def _start(self, wish: Wish) -> Process:
        place, starts = self._place, self._starts
        lock, name = place.prepare("serving")
        log = place.open_log()
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "cronty.cli.main", "serve", *wish.arguments),
                env={"CRONTY_PATIENCE": "0", **wish.environment},  # the keeper itself is patient, and says why it waits
                cwd=place.folder_of(wish),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                # By the server itself, so that no moment passes in which it lives and nobody knows its number.
                preexec_fn=lambda: place.announce("serving", lock, name, starts),
                process_group=0,  # an interrupt in the keeper's terminal is told once, by the keeper
            )
        finally:
            os.close(log)
            os.close(lock)

    async def _told_within(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), seconds)

    def _say(self, text: str) -> None:
        print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S,000} WARNING cronty.keeper: {text}", flush=True)


def _how(status: int) -> str:
    return f"by signal {-status}" if status < 0 else f"with status {status}"


def main() -> None:
    place = Place(Path(sys.argv[1]))
    with place.turn():
        if place.alive("keeper") is not None:
            return
        lock, name = place.prepare("keeper")
        place.announce("keeper", lock, name)
    asyncio.run(Keeper(place).keep())


if __name__ == "__main__":
    main()
