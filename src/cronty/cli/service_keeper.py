"""The keeper, a process that keeps the server up: starts it, restarts it when it exits, and stops it when told.

systemd or launchd keeps the keeper up; without either, `cronty up` runs it in the background. A server whose
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
from typing import Any, Final

from cronty.actions.secrecy import hide_process
from cronty.cli.service_folder import Role, ServiceFolder, ServiceSpec

SHORTEST_PAUSE: Final = 0.5
MAX_PAUSE: Final = 60.0
HEALTHY: Final = 60.0
"""Seconds that a server must live before its next exit counts as the first again."""

PATIENCE: Final = 45.0
"""Seconds between asking a server to stop and killing it: it finishes its runs first."""

LOG_CHECK: Final = 30.0

_MODULE: Final = ("-P", "-m")
"""Runs a module of ours. `-P`: modules are not looked for in the working folder, where others may be able to write."""


def command(folder: ServiceFolder) -> list[str]:
    """The command that starts a keeper."""
    spec = folder.spec()
    python = sys.executable if spec is None else spec.python
    return [python, *_MODULE, "cronty.cli.service_keeper", str(folder.path.parent)]


def start(folder: ServiceFolder) -> None:
    """In the background, in a session of its own, so that closing the terminal doesn't end it."""
    log = folder.open_log()
    # Its server gets the environment that was asked for, and it needs none of our settings itself.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRONTY_")}
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
    try:
        subprocess.Popen(command(folder), env=environment, cwd="/", start_new_session=True, **quiet)
    finally:
        os.close(log)


def end(folder: ServiceFolder, role: Role = "serving") -> None:
    """Stop the process in this role; kill it if it doesn't stop in time."""
    for number, patience in ((signal.SIGTERM, PATIENCE + 10), (signal.SIGKILL, 10.0)):
        ends = time.monotonic() + patience
        if (found := folder.alive(role)) is None:
            return
        with suppress(ProcessLookupError):
            os.kill(found.pid, number)
        while (still := folder.alive(role)) is not None and still.pid == found.pid:
            if time.monotonic() > ends:
                break
            time.sleep(0.02)


class Keeper:
    def __init__(self, folder: ServiceFolder) -> None:
        self._folder = folder
        self._stopping = asyncio.Event()
        self._starts = 0

    async def keep(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stopping.set)
        await asyncio.to_thread(end, self._folder)  # a server left behind by a killed keeper
        pause = SHORTEST_PAUSE
        while not self._stopping.is_set() and (spec := self._folder.spec()) is not None:
            began = time.monotonic()
            status = await self._serve(spec)
            if self._stopping.is_set():
                return
            pause = SHORTEST_PAUSE if time.monotonic() - began > HEALTHY else pause
            self._log(f"the server ended {_how(status)}; starting it again in {pause:g} s")
            await self._stopping_within(pause)
            pause = min(pause * 2, MAX_PAUSE)

    async def _serve(self, spec: ServiceSpec) -> int:
        """Start the server and wait for its end; its exit status."""
        self._starts += 1
        server = await self._start(spec)
        exited = asyncio.ensure_future(server.wait())
        stopping = asyncio.ensure_future(self._stopping.wait())
        while not exited.done() and not stopping.done():
            self._folder.bound_log()
            await asyncio.wait({exited, stopping}, timeout=LOG_CHECK, return_when=asyncio.FIRST_COMPLETED)
        if not exited.done():
            with suppress(ProcessLookupError):
                server.terminate()
            await asyncio.wait({exited}, timeout=PATIENCE)
        if not exited.done():
            with suppress(ProcessLookupError):
                server.kill()
        stopping.cancel()
        return await exited

    async def _start(self, spec: ServiceSpec) -> Process:
        folder, starts = self._folder, self._starts
        lock, name = folder.prepare("serving")
        log = folder.open_log()
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, *_MODULE, "cronty.cli.main", "serve", *spec.arguments),
                env={"CRONTY_PATIENCE": "0", **spec.environment},  # the keeper waits itself, and logs why
                cwd=folder.working_folder(spec),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                # Run in the server process, so that its pid is on file from its first moment.
                preexec_fn=lambda: folder.announce("serving", lock, name, starts),
                process_group=0,  # so that Ctrl-C in the keeper's terminal reaches the server once, from the keeper
            )
        finally:
            os.close(log)
            os.close(lock)

    async def _stopping_within(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    def _log(self, text: str) -> None:
        print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S,000} WARNING cronty.keeper: {text}", flush=True)


def _how(status: int) -> str:
    return f"by signal {-status}" if status < 0 else f"with status {status}"


def main() -> None:
    hide_process()  # it knows the environment of its server
    folder = ServiceFolder(Path(sys.argv[1]))
    with folder.lock():
        if folder.alive("keeper") is not None:
            return
        lock, name = folder.prepare("keeper")
        folder.announce("keeper", lock, name)
    asyncio.run(Keeper(folder).keep())


if __name__ == "__main__":
    main()
