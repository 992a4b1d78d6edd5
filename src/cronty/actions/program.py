"""A program of the operator's: started without a shell of ours, fed, watched, and ended with all it has started."""

import asyncio
import logging
import os
import signal
import socket
import subprocess
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
_PYTHON: Final = (sys.executable, "-I", "-S", _SUPERVISOR)
_PLACES: Final = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[2]))
_OWN_CODE: Final = {place: os.stat(place) for place in map(os.path.realpath, _PLACES)}
"""Where what we run is from: Python, and the folder that we are imported from, with what is installed beside us; as it
was when we started, because a program may have moved it."""

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
    the folders and files it finds empty, where the account is ours; `kept` are those that it can't change then;
    `limits` are the system's, by their names."""

    account: Account | None = None
    hidden: Sequence["Hidden"] = ()
    kept: Sequence[str] = ()
    limits: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Hidden:
    """A folder or file to be found empty. The folder, for a file the one it is in, is known by its number too: a
    program could have moved it."""

    path: str
    device: int = 0
    inode: int = 0

    @classmethod
    def at(cls, path: Path) -> "Hidden":
        path = path.expanduser().resolve()
        try:
            found = (path.parent if path.is_file() else path).stat()
        except OSError:  # it isn't there, or not yet
            return cls(str(path))
        return cls(str(path), found.st_dev, found.st_ino)


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
        return said["status"]

    async def _start(self, watch: "_Watch", channel: int) -> asyncio.SubprocessTransport:
        limits = self.confinement or Confinement()
        account = limits.account
        hidden = [] if account is not None else [[one.path, one.device, one.inode] for one in limits.hidden]
        if moved := [place for place, known in _OWN_CODE.items() if not _is_still(place, known)]:
            raise self._not_started(f"{moved[0]} isn't what it was when the service started: put it back, or restart")
        apart = self.confinement is not None and (bool(hidden) or os.geteuid() == 0) and why_not_apart() is None
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
            "apart": apart,
            "hidden": hidden if apart else [],
            "kept": [*_OWN_CODE, *limits.kept],
            "limits": dict(limits.limits),
        }
        options: dict[str, Any] = {"env": dict(self.environment), "cwd": "/", "start_new_session": True}
        supervisor = (*_PYTHON, orjson.dumps(order).decode())
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


def _is_still(place: str, known: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(place), known)
    except OSError:
        return False


@cache
def why_not_apart() -> str | None:
    """Why this system gives programs no namespaces of their own; None if it does. Asked once, before any of them runs
    that could have used them up."""
    asked = subprocess.run([*_PYTHON, "probe"], capture_output=True, check=False, cwd="/", stdin=subprocess.DEVNULL)
    if asked.returncode:
        raise OSError(f"{_SUPERVISOR} can't be run: {asked.stderr.decode(errors='replace')[-500:]}")
    return asked.stdout.decode(errors="replace") or None


def warn_of_open_folders() -> None:
    """Say so, if agents that run as our own user can read what is ours."""
    if why := open_folders():
        log.warning(why)


def open_folders() -> str | None:
    """What is wrong with running agents as our own user; None if nothing is."""
    if (why := why_not_apart()) is None:
        return None
    return (
        "programs of agents run as the same user as this service, and this system gives them no namespace "
        f"({why}): they can read its folders and files. Run the service as root and name a user for each agent, or "
        "allow user namespaces"
    )


def result_of(text: str, printed: Printed) -> object:
    """JSON as JSON, anything else as text; of too much the beginning."""
    if printed.size > len(printed.stdout):
        return _beginning(text, printed.size)
    found = read_json(text, text)
    if len(orjson.dumps(found)) > MAX_RESULT_BYTES:  # escaped, it may take up more
        return _beginning(text, printed.size)
    return None if text == "" else found


def read_json(text: str, otherwise: object) -> object:
    """What a program wrote as JSON; `otherwise` if it isn't, or goes so deep that it can be read and not be written."""
    try:
        found: object = orjson.loads(text)
        orjson.dumps(found)
    except (orjson.JSONDecodeError, TypeError):
        return otherwise
    return found


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
