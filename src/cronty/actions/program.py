"""A program of the operator's: started without a shell of ours, fed, watched, and ended with all it has started."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import orjson

from cronty.actions.accounts import Account
from cronty.actions.secrecy import hide_process
from cronty.actions.tasks import MAX_RESULT_BYTES, PermanentError

GRACE: Final = 5.0
"""Seconds between asking a program to end and ending it."""

_STDERR_KEPT: Final = 4096
_SUPERVISOR: Final = str(Path(__file__).with_name("supervisor.py"))

log = logging.getLogger("cronty.agents")


class ProgramFailed(PermanentError):
    """It couldn't be started, or ran too long."""


@dataclass(slots=True)
class Printed:
    """What came out of a program; `stdout` is its beginning, `stderr` its end."""

    status: int
    stdout: bytes
    size: int
    stderr: bytes
    stderr_size: int = 0

    def drop_halves(self, length: int) -> None:
        """Where something was cut off, leave out `length` more bytes: half a secret can't be recognized."""
        if length and self.size > len(self.stdout):
            self.stdout = self.stdout[:-length]
        if length and self.stderr_size > len(self.stderr):
            self.stderr = self.stderr[length:]


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a program that isn't trusted is held to. `account` is who it runs as, where that can be chosen; `hidden` are
    the folders and files it finds empty, where the account is ours; `limits` are the system's, by their names."""

    account: Account | None = None
    hidden: Sequence[str] = ()
    limits: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Program:
    """`what` is how it is spoken of. A supervisor starts it, and ends it with whatever it has started; without a
    `confinement` what it has put into a session of its own goes on."""

    what: str
    command: Sequence[str]
    environment: Mapping[str, str]
    workdir: str | None
    timeout: float
    grace: float = GRACE
    confinement: Confinement | None = None

    async def run(self, text: bytes) -> Printed:
        """Start it, with `text` on its standard input, and wait for its end."""
        hide_process()  # or a program of the same user could read our memory
        watch = _Watch()
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                transport = await self._start(watch, theirs.fileno())
            feed = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
            feed.write(text)
            feed.close()  # once everything is written
            try:
                async with asyncio.timeout(self.timeout + 3 * self.grace):  # the supervisor is to end it earlier
                    await watch.exited.wait()
            except TimeoutError:
                await self._stop(transport, watch, ours)
            except asyncio.CancelledError:
                await self._stop(transport, watch, ours)
                raise
            else:
                with suppress(TimeoutError):  # what can't be ended may hold the pipes open
                    await asyncio.wait_for(watch.closed.wait(), self.grace)
            finally:
                if feed.get_write_buffer_size():  # nobody reads it any more
                    feed.abort()
                transport.close()
            status = self._status(ours, transport)
        return Printed(status, bytes(watch.stdout), watch.size, bytes(watch.stderr), watch.stderr_size)

    def _status(self, ours: socket.socket, transport: asyncio.SubprocessTransport) -> int:
        """How it ended, as the supervisor says; if that has been killed, as that ended."""
        ours.setblocking(False)
        try:
            said = cast("dict[str, Any]", orjson.loads(ours.recv(65_536)))
        except (OSError, orjson.JSONDecodeError):
            return transport.get_returncode() or -signal.SIGKILL
        if "error" in said:
            raise self._not_started(said["error"])
        if said["late"]:
            what = self.what[0].upper() + self.what[1:]
            raise ProgramFailed(f"{what} ran longer than its {self.timeout:g} s and was stopped.")
        held = self.confinement
        if held is not None and held.account is None and held.hidden and not said["hidden"]:
            _warn_of_open_folders()
        return said["status"]

    async def _start(self, watch: "_Watch", channel: int) -> asyncio.SubprocessTransport:
        limits = self.confinement or Confinement()
        account = limits.account
        order = {
            "socket": channel,
            "command": list(self.command),
            "workdir": self.workdir,
            "timeout": self.timeout,
            "grace": self.grace,
            "confined": self.confinement is not None,
            "uid": account and account.uid,
            "gid": account and account.gid,
            "groups": account and list(account.groups),
            "hidden": [] if account is not None else list(limits.hidden),
            "limits": dict(limits.limits),
        }
        options: dict[str, Any] = {"env": dict(self.environment), "cwd": "/", "start_new_session": True}
        supervisor = (sys.executable, "-I", "-S", _SUPERVISOR, orjson.dumps(order).decode())
        try:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.subprocess_exec(lambda: watch, *supervisor, pass_fds=(channel,), **options)
        except OSError as error:
            raise self._not_started(str(error)) from None
        return transport

    def _not_started(self, why: str) -> ProgramFailed:
        log.error("%s can't be started: %s", self.what, why)
        return ProgramFailed(f"The program of {self.what} can't be started on this worker; check the worker's log.")

    async def _stop(self, transport: asyncio.SubprocessTransport, watch: "_Watch", ours: socket.socket) -> None:
        """Have it ended with all it has started."""
        with suppress(OSError):
            ours.shutdown(socket.SHUT_WR)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(watch.closed.wait(), 3 * self.grace)
        finally:
            with suppress(ProcessLookupError):
                transport.kill()


@cache
def _warn_of_open_folders() -> None:
    """Log this warning once per process."""
    log.warning(
        "programs of agents run as the same user as this service, and this system gives them no namespace: they can "
        "read its folders and files. Run the service as root and name a user for each agent, or allow user namespaces"
    )


def result_of(text: str, printed: Printed) -> object:
    """JSON as JSON, anything else as text; of too much the beginning."""
    if printed.size > len(printed.stdout):
        return _beginning(text, printed.size)
    try:
        found: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = text
    if len(orjson.dumps(found)) > MAX_RESULT_BYTES:  # escaped, it may take up more
        return _beginning(text, printed.size)
    return None if text == "" else found


def _beginning(text: str, size: int) -> dict[str, object]:
    kept: dict[str, object] = {"truncated": True, "bytes": size, "text": text}
    while len(orjson.dumps(kept)) > MAX_RESULT_BYTES:
        text = text[: len(text) * 3 // 4]
        kept["text"] = text
    return kept


class _Watch(asyncio.SubprocessProtocol):
    """Keeps the beginning of what is printed and the end of its errors, however much it is."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.size = 0
        self.stderr_size = 0

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.size += len(data)
            self.stdout += data[: max(0, MAX_RESULT_BYTES - len(self.stdout))]
        else:
            self.stderr_size += len(data)
            self.stderr += data
            del self.stderr[:-_STDERR_KEPT]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()
