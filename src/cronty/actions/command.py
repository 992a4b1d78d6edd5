"""Wakes an agent by starting its program: the envelope on standard input, what it prints is the result.

The program is the operator's, named in a file; a caller can't name one. But a caller's words are what it reads, so it
is taken for hostile: it gets no shell, no environment but what is named, nothing of ours to read, limits, and a
supervisor that ends it with whatever it has started.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple, cast

import orjson

from cronty.actions.agents import Agent, BadAgents, read_agents
from cronty.actions.outbound import untrusted_text, without
from cronty.actions.program import (
    GRACE,
    Confinement,
    Hidden,
    Printed,
    Program,
    ProgramFailed,
    read_json,
    result_of,
    warn_of_open_folders,
)
from cronty.actions.prompt import About, Registered, WebhookAgent, envelope_of
from cronty.actions.tasks import PermanentError, RetryAfter, Snooze, running_in
from cronty.actions.webhook import Webhook
from cronty.jobs.action import ROUTED
from cronty.jobs.envelope import Envelope
from cronty.jobs.outcome import QUIET, SHORTEST_SNOOZE
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

TRY_AGAIN: Final = 75  # EX_TEMPFAIL
PASSED_ON: Final = ("PATH", "HOME", "LANG")
_LIMITS: Final = {"CORE": 0, "NOFILE": 4096}
MAX_SAID: Final = 200
_SHORTEST_SECRET: Final = 6
_MAX_CHARACTER: Final = 12  # bytes, as two escaped surrogates in JSON

log = logging.getLogger("cronty.agents")


class AgentFailed(PermanentError):
    """The agent ended in a way that trying again can't fix, or said so itself."""


class AgentBusy(RetryAfter):
    """The agent asked to be tried again, by its exit status."""


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """One agent of the operator's file, on this worker. `source` is the environment that names are looked up in;
    `hidden` are our own folders and files, which are no business of its program; `kept` those that it may read."""

    registered: Registered
    source: Mapping[str, str]
    hidden: Sequence[Hidden] = ()
    kept: Sequence[str] = ()
    grace: float = GRACE

    @property
    def agent(self) -> Agent:
        return self.registered.agent

    async def wake(self, prompt: str, agent: str | None = None, data: object = None) -> object:
        """Wake the agent by starting its program. Schedule it as a prompt for this agent."""
        patience = timedelta(seconds=self.agent.timeout)
        envelope = await envelope_of(self.registered, prompt, agent, data, patience)
        printed = await self._run(envelope.as_text().encode(errors="replace"))
        secrets = self._secrets()
        printed.drop_halves(max(map(len, secrets), default=0) * _MAX_CHARACTER)
        said = without(secrets, printed.stderr.decode(errors="replace"))
        if printed.status:
            log.warning("agent %s ended with status %d: %s", self.agent.name, printed.status, said)
        last = untrusted_text(said.strip().rsplit("\n", 1)[-1], MAX_SAID)
        _require_success(self.agent.name, printed.status, last)
        result = result_of(without(secrets, printed.stdout.decode(errors="replace")), printed)
        try:  # again, because in JSON a secret may be spelled differently
            return without(secrets, settled(result, envelope))
        except AgentFailed as failed:
            raise AgentFailed(without(secrets, str(failed))) from None

    def environment(self) -> dict[str, str]:
        """What is named, and the run: a `cronty mcp` that the program starts keeps it with every job it makes."""
        names = (*PASSED_ON, *self.agent.environment)
        given = {name: self.source[name] for name in names if name in self.source}
        if (account := self.agent.user) is not None:
            given |= {"HOME": account.home, "USER": account.name, "LOGNAME": account.name}
        run = running_in()
        return given if run is None else {**given, "CRONTY_RUN": run}

    def _secrets(self) -> set[str]:
        """What it was trusted with, and what is taken out of its words."""
        values = {self.source.get(name, "") for name in self.agent.environment}
        return {value for value in values if len(value) >= _SHORTEST_SECRET}

    async def _run(self, text: bytes) -> Printed:
        agent = self.agent
        what, limits = f"agent {agent.name!r}", {**_LIMITS, "DATA": agent.memory << 20, "NPROC": agent.processes}
        held = Confinement(agent.user, self.hidden, self.kept, limits)
        program = Program(
            what, agent.command, self.environment(), agent.workdir, agent.timeout, self.grace, confinement=held
        )
        try:
            return await program.run(text)
        except ProgramFailed as failed:
            raise AgentFailed(str(failed)) from None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What agents are woken in: `source` is the environment, `hidden` what no program of theirs may read, `kept` what
    none may change, `own` the owner that whoever sits at the machine is."""

    about: About
    source: Mapping[str, str]
    own: str
    hidden: Sequence[Path] = ()
    kept: Sequence[Path] = ()


class Waking(NamedTuple):
    """What wakes an agent, and for whom; None for every owner."""

    wake: Callable[..., object]
    owners: tuple[str, ...] | None


def agent_tasks(path: Path, webhook: Webhook, around: Surroundings) -> dict[str, Waking]:
    """What wakes the agents of a file, by the names of their tasks; those of the inbox wake themselves."""
    tasks: dict[str, Waking] = {}
    as_ourselves = False
    hidden = [Hidden.at(one) for one in around.hidden]
    kept = [str(one.expanduser().resolve()) for one in (path, *around.kept)]
    for agent in read_agents(path).values():
        registered = Registered(agent, around.about, around.own)
        if agent.deliver == "command":
            workdir = Path(agent.workdir or "/").resolve()
            if any(workdir.is_relative_to(one.path) for one in hidden):
                raise BadAgents(f"{path}: agent {agent.name!r}: workdir is in a folder of ours; choose another one.")
            wake = CommandAgent(registered, around.source, hidden, kept).wake
            tasks[f"{ROUTED}{agent.name}"] = Waking(wake, agent.served(around.own))
            as_ourselves |= agent.user is None
        elif agent.deliver == "webhook":
            if flaw := webhook.check(agent.url):
                raise BadAgents(f"{path}: agent {agent.name!r}: url: {flaw}")
            wake = WebhookAgent(registered, webhook).wake
            tasks[f"{ROUTED}{agent.name}"] = Waking(wake, agent.served(around.own))
    if as_ourselves:
        warn_of_open_folders()
    return tasks


def _require_success(name: str, status: int, said: str) -> None:
    if status == 0:
        return
    words = f"; it said: {said!r}" if said else ""
    if status == TRY_AGAIN:
        raise AgentBusy(f"Agent {name!r} asked to be tried again{words}.", timedelta(0))
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    raise AgentFailed(f"Agent {name!r} {how}{words}.")


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
            raise Snooze(max(wait, SHORTEST_SNOOZE))
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
        answer = read_json(inner.strip(), None)
        said = cast("dict[str, object]", answer).get("cronty") if isinstance(answer, dict) else None
    return cast("dict[str, object]", said) if isinstance(said, dict) else None
