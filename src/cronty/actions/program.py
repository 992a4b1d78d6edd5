"""A program of the operator's: started without a shell of ours, fed, watched, and ended with all it has started."""

import asyncio
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from cronty.actions.tasks import MAX_RESULT_BYTES, PermanentError

GRACE: Final = 5.0
"""Seconds between asking a program to end and ending it."""

_STDERR_KEPT: Final = 4096

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
    complained: int = 0

    def drop_halves(self, length: int) -> None:
        """Where something was cut off, leave out `length` more bytes: half a secret can't be recognised."""
        if length and self.size > len(self.stdout):
            self.stdout = self.stdout[:-length]
        if length and self.complained > len(self.stderr):
            self.stderr = self.stderr[length:]


@dataclass(frozen=True, slots=True)
class Program:
    """`what` is how it is spoken of; it gets a session of its own, so that whatever it starts ends with it."""

    what: str
    command: Sequence[str]
    environment: Mapping[str, str]
    workdir: str | None
    timeout: float
    grace: float = GRACE

    async def run(self, text: bytes) -> Printed:
        """Start it, with `text` on its standard input, and wait for its end."""
        watch = _Watch()
        transport = await self._start(watch)
        feed = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
        feed.write(text)
        feed.close()  # once everything is written
        try:
            async with asyncio.timeout(self.timeout):
                await watch.exited.wait()
        except TimeoutError:
            await self._stop(transport, watch)
            what = self.what[0].upper() + self.what[1:]
            raise ProgramFailed(f"{what} ran longer than its {self.timeout:g} s and was stopped.") from None
        except asyncio.CancelledError:
            await self._stop(transport, watch)
            raise
        else:
            _signal(transport, signal.SIGKILL)  # whatever it left behind
            with suppress(TimeoutError):  # somebody who left its session may hold the pipes open
                await asyncio.wait_for(watch.closed.wait(), self.grace)
        finally:
            if feed.get_write_buffer_size():  # nobody reads it any more
                feed.abort()
            transport.close()
        status = transport.get_returncode() or 0
        return Printed(status, bytes(watch.stdout), watch.size, bytes(watch.stderr), watch.complained)

    async def _start(self, watch: "_Watch") -> asyncio.SubprocessTransport:
        options: dict[str, Any] = {"env": dict(self.environment), "cwd": self.workdir, "start_new_session": True}
        try:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.subprocess_exec(lambda: watch, *self.command, **options)
        except OSError as error:
            log.error("%s can't be started: %s", self.what, error)
            raise ProgramFailed(
                f"The program of {self.what} can't be started on this worker; its operator has to look."
            ) from None
        return transport

    async def _stop(self, transport: asyncio.SubprocessTransport, watch: "_Watch") -> None:
        """Ask it and all it has started to end, and see to it."""
        _signal(transport, signal.SIGTERM)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(watch.exited.wait(), self.grace)
        finally:
            _signal(transport, signal.SIGKILL)
        with suppress(TimeoutError):
            await asyncio.wait_for(watch.closed.wait(), self.grace)


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
    """Keeps the beginning of what is printed and the end of what is complained about, however much it is."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.size = 0
        self.complained = 0

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.size += len(data)
            self.stdout += data[: max(0, MAX_RESULT_BYTES - len(self.stdout))]
        else:
            self.complained += len(data)
            self.stderr += data
            del self.stderr[:-_STDERR_KEPT]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()


def _signal(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    """To the whole group, which has the name of the program that leads it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), number)
