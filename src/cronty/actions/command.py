"""Wakes an agent by starting its program: the envelope on standard input, what it prints is the result.

The program is the operator's, named in a file; a caller can't name one. It gets no shell, no environment but what
is named, and a session of its own, so that whatever it starts ends with it.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast

import orjson

from cronty.actions.agents import Agent, BadAgents, read_agents
from cronty.actions.outbound import untrusted_text, without
from cronty.actions.prompt import About, WebhookAgent, envelope_of
from cronty.actions.tasks import MAX_RESULT_BYTES, PermanentError, RetryAfter, Snooze, running_in
from cronty.actions.webhook import Webhook
from cronty.jobs.action import ROUTED
from cronty.jobs.envelope import Envelope
from cronty.jobs.outcome import QUIET
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

GRACE: Final = 5.0
"""Seconds between asking a program to end and ending it."""

TRY_AGAIN: Final = 75  # EX_TEMPFAIL
PASSED_ON: Final = ("PATH", "HOME", "LANG")
MAX_SAID: Final = 200
_STDERR_KEPT: Final = 4096
_SHORTEST_SECRET: Final = 6
_LONGEST_CHARACTER: Final = 12  # bytes, as two escaped surrogates in JSON

log = logging.getLogger("cronty.agents")


class AgentFailed(PermanentError):
    """The agent ended in a way that trying again can't mend, or said so itself."""


class AgentBusy(RetryAfter):
    """The agent asked to be tried again, by its exit status."""


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
class CommandAgent:
    """One agent of the operator's file, on this worker. `source` is the environment that names are looked up in."""

    agent: Agent
    about: About
    source: Mapping[str, str]
    grace: float = GRACE

    async def wake(self, prompt: str, agent: str | None = None, data: object = None) -> object:
        """Wake the agent by starting its program. Schedule it as a prompt for this agent."""
        patience = timedelta(seconds=self.agent.timeout)
        envelope = await envelope_of(self.about, prompt, agent or self.agent.name, data, patience)
        printed = await self._run(envelope.as_text().encode(errors="replace"))
        secrets = self._secrets()
        printed.drop_halves(max(map(len, secrets), default=0) * _LONGEST_CHARACTER)
        said = without(secrets, printed.stderr.decode(errors="replace"))
        if printed.status:
            log.warning("agent %s ended with status %d: %s", self.agent.name, printed.status, said)
        last = untrusted_text(said.strip().rsplit("\n", 1)[-1], MAX_SAID)
        _require_success(self.agent.name, printed.status, last)
        result = _result(without(secrets, printed.stdout.decode(errors="replace")), printed)
        try:  # again, because in JSON a secret may be spelled differently
            return without(secrets, settled(result, envelope))
        except AgentFailed as failed:
            raise AgentFailed(without(secrets, str(failed))) from None

    def environment(self) -> dict[str, str]:
        """What is named, and the run: a `cronty mcp` that the program starts keeps it with every job it makes."""
        names = (*PASSED_ON, *self.agent.environment)
        given = {name: self.source[name] for name in names if name in self.source}
        run = running_in()
        return given if run is None else {**given, "CRONTY_RUN": run}

    def _secrets(self) -> set[str]:
        """What it was trusted with, and what is taken out of its words."""
        values = {self.source.get(name, "") for name in self.agent.environment}
        return {value for value in values if len(value) >= _SHORTEST_SECRET}

    async def _run(self, text: bytes) -> Printed:
        watch = _Watch()
        transport = await self._start(watch)
        feed = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
        feed.write(text)
        feed.close()  # once everything is written
        try:
            async with asyncio.timeout(self.agent.timeout):
                await watch.exited.wait()
        except TimeoutError:
            await self._stop(transport, watch)
            limit = f"{self.agent.timeout:g} s"
            raise AgentFailed(f"Agent {self.agent.name!r} ran longer than its {limit} and was stopped.") from None
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
        options: dict[str, Any] = {"env": self.environment(), "cwd": self.agent.workdir, "start_new_session": True}
        try:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.subprocess_exec(lambda: watch, *self.agent.command, **options)
        except OSError as error:
            log.error("agent %s can't be started: %s", self.agent.name, error)
            raise AgentFailed(
                f"The program of agent {self.agent.name!r} can't be started on this worker; its operator has to look."
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


def agent_tasks(
    path: Path, webhook: Webhook, about: About, source: Mapping[str, str]
) -> dict[str, Callable[..., object]]:
    """What wakes the agents of a file, by the names of their tasks; those of the inbox wake themselves."""
    tasks: dict[str, Callable[..., object]] = {}
    for agent in read_agents(path).values():
        if agent.deliver == "command":
            tasks[f"{ROUTED}{agent.name}"] = CommandAgent(agent, about, source).wake
        elif agent.deliver == "webhook":
            if flaw := webhook.check(agent.url):
                raise BadAgents(f"{path}: agent {agent.name!r}: url: {flaw}")
            tasks[f"{ROUTED}{agent.name}"] = WebhookAgent(agent.name, agent.url, webhook, about).wake
    return tasks


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


def _require_success(name: str, status: int, said: str) -> None:
    if status == 0:
        return
    words = f"; it said: {said!r}" if said else ""
    if status == TRY_AGAIN:
        raise AgentBusy(f"Agent {name!r} asked to be tried again{words}.", timedelta(0))
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    raise AgentFailed(f"Agent {name!r} {how}{words}.")


def _result(text: str, printed: Printed) -> object:
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


def settled(result: object, envelope: Envelope) -> object:
    """The result to keep, unless the agent says what became of its run: quiet, snooze or failed."""
    said = _verdict(result)
    if said is None:
        return result
    match said.get("outcome"):
        case "done":
            return said.get("report", result)
        case "quiet":
            return orjson.loads(cast("str", QUIET.result))
        case "failed":
            raise AgentFailed(untrusted_text(str(said.get("report") or "The agent gave no reason."), 1000))
        case "snooze":
            facts = envelope.facts
            try:
                wait = read_instant(said.get("for"), facts.zone, facts.now) - facts.now
            except BadTrigger as bad:
                raise AgentFailed(f"The agent asked to snooze, and until when can't be read: {bad.message}") from None
            raise Snooze(wait)
        case other:
            shown = untrusted_text(str(other), 50)
            raise AgentFailed(f"The agent said the outcome is {shown!r}; known are done, quiet, snooze and failed.")


def _verdict(result: object) -> dict[str, object] | None:
    """What stands under `cronty`; `claude --output-format json` hands the answer over as a text under `result`."""
    if not isinstance(result, dict):
        return None
    found = cast("dict[str, object]", result)
    said = found.get("cronty")
    if said is None and isinstance(inner := found.get("result"), str):
        with suppress(orjson.JSONDecodeError):
            answer: object = orjson.loads(inner.strip())
            said = cast("dict[str, object]", answer).get("cronty") if isinstance(answer, dict) else None
    return cast("dict[str, object]", said) if isinstance(said, dict) else None
