"""Webhooks to a receiver that misbehaves and prompts to agents that die, by workers that are killed: all arrive."""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from standardwebhooks import Webhook, WebhookVerificationError

from chaos.fleet import Fleet, Worker, fleet
from chaos.load import EVERY_SLOT, OWNER, Spec, expected_runs, insert, until
from chaos.postgres import Postgres, own_postgres
from chaos.verdict import Figures, Trace, broken, examine, read_traces
from cronty.actions.signatures import secrets_of
from cronty.store.migrate import migrate
from cronty.store.sealing import new_key, read_keys

KEY: Final = new_key()
[SECRET] = secrets_of(read_keys(KEY), "webhook", OWNER)
AGENTS: Final = ("ann", "bob")
POLICY: Final = {**EVERY_SLOT, "attempts": 30, "backoff": 1, "backoff_factor": 1.2, "backoff_max": 5}
RETRY_AFTER: Final = 1
MISBEHAVIOUR: Final = {"500": 0.06, "429": 0.06, "dropped": 0.04, "slow": 0.02, "silent": 0.02}
"""Which share of calls meets which fate; `slow` ones are accepted in the end, `silent` ones outlast our patience."""

MUST_BE_ZERO: Final = (
    "never_arrived", "not_strictly_higher", "forged", "called_too_soon", "settled_twice", "quarantined_without_start",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """`duration` is how long slots fall due, `patience` how long after that they may take; all in seconds.

    `dies` is how often an agent dies instead of acknowledging what it has read.
    """

    runs: int = 20_000
    workers: int = 4
    kill_every: float = 1.0
    duration: float = 120.0
    patience: float = 180.0
    lease: float = 5.0
    inbox_lease: float = 4.0
    dies: float = 0.06
    silence: float = 11.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it arrived, and what became of it."""

    run_id: str
    attempt: int
    at: float
    fate: str


@dataclass(slots=True)
class Receiver:
    """Anybody's HTTP server on a bad day: verifies what arrives, notes it, and then may not answer as it should."""

    chance: random.Random
    silence: float
    port: int = 0
    forged: int = 0
    calls: list[Call] = field(default_factory=list[Call])
    _verifier: Webhook = field(default_factory=lambda: Webhook(SECRET))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, _, rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").partition("\r\n")
            headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest.split("\r\n"))}
            body = await reader.readexactly(int(headers["content-length"]))
            await self._answer(writer, self._noted(head, headers, body))
        except (ConnectionError, asyncio.IncompleteReadError):  # a caller that was killed
            pass
        finally:
            writer.close()

    def _noted(self, head: str, headers: dict[str, str], body: bytes) -> Call:
        try:
            data: dict[str, Any] = self._verifier.verify(body, headers)["data"]
        except WebhookVerificationError:
            data = {"run_id": "", "attempt": 0}
        run_id = headers["webhook-id"].replace("msg_", "run_")  # these jobs' ids are their numbers
        self.forged += data["run_id"] != run_id or not head.startswith("POST ")
        [fate] = self.chance.choices(["202", *MISBEHAVIOUR], [1 - sum(MISBEHAVIOUR.values()), *MISBEHAVIOUR.values()])
        call = Call(run_id, data["attempt"], time.monotonic(), fate)
        self.calls.append(call)
        return call

    async def _answer(self, writer: asyncio.StreamWriter, call: Call) -> None:
        if call.fate == "dropped":
            writer.transport.abort()
            return
        if call.fate in ("slow", "silent"):
            await asyncio.sleep(self.silence if call.fate == "silent" else self.chance.uniform(0.5, 2.5))
        status = call.fate if call.fate.isdigit() else "202"
        said = str(call.attempt) if status == "202" else "not now"
        wait = f"retry-after: {RETRY_AFTER}\r\n" if status == "429" else ""
        writer.write(f"HTTP/1.1 {status} So\r\n{wait}content-length: {len(said)}\r\n\r\n{said}".encode())
        await writer.drain()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[str]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1000)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield f"127.0.0.1:{self.port}"
        finally:
            server.close()


class Agents:
    """Two agents, each replaced when it has died."""

    def __init__(self, workers: Fleet, lease: float, dies: float) -> None:
        self._workers = workers
        self._how = str(lease), str(dies)
        self._alive: dict[str, Worker] = {}
        self.died = 0

    def replace(self) -> None:
        for name in AGENTS:
            if name in self._alive and self._alive[name].alive:
                continue
            self.died += name in self._alive
            self._alive[name] = self._workers.spawn("chaos.agent", name, *self._how)

    def close(self) -> None:
        for agent in self._alive.values():
            agent.kill()


def make_load(plan: Plan, host: str, start: datetime, chance: random.Random) -> list[Spec]:
    """As many webhooks as prompts, a tenth of them at once, the others spread over the time there is."""
    specs: list[Spec] = []
    for number in range(plan.runs):
        late = 0.0 if number < plan.runs // 10 else chance.random() * plan.duration
        at = start + timedelta(microseconds=int(late * 1e6))
        if number % 2:
            arguments: dict[str, object] = {"prompt": f"Do number {number}.", "data": {"number": number}}
            if (agent := chance.choice((*AGENTS, None))) is not None:
                arguments["agent"] = agent
            specs.append(Spec("prompt", at, policy=POLICY, arguments=arguments))
        else:
            arguments = {"url": f"http://{host}/hook?number={number}", "body": {"number": number}}
            specs.append(Spec("webhook", at, policy=POLICY, arguments=arguments))
    return specs


async def torment(workers: Fleet, agents: Agents, plan: Plan, chance: random.Random, ends: float) -> None:
    """kill -9 a worker every so often; whatever is gone is replaced, agents too."""
    next_kill = time.monotonic() + plan.kill_every
    while time.monotonic() < ends:
        await asyncio.sleep(0.1)
        if plan.kill_every > 0 and time.monotonic() >= next_kill:
            workers.kill_one(chance)
            next_kill += plan.kill_every
        workers.replace()
        agents.replace()


async def keep_agents(agents: Agents) -> None:
    while True:
        agents.replace()
        await asyncio.sleep(0.2)


def in_order(traces: Iterable[Trace]) -> int:
    """How many repeats came without a higher attempt than the arrival before them had."""
    highest: dict[str, int] = {}
    wrong = 0
    for one in sorted(traces, key=lambda trace: trace.at):
        wrong += one.attempt <= highest.get(one.run_id, 0)
        highest[one.run_id] = max(one.attempt, highest.get(one.run_id, 0))
    return wrong


def too_soon(calls: Sequence[Call]) -> int:
    """How many calls came earlier than the answer to the call before them had asked for."""
    by_run: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_run[call.run_id].append(call)
    pairs = [pair for one in by_run.values() for pair in pairwise(one)]
    return sum(before.fate == "429" and after.at - before.at < RETRY_AFTER for before, after in pairs)


def acknowledged(folder: Path) -> tuple[Counter[str], int]:
    """How often each prompt was settled by its agents' own account, and how many words came too late."""
    lines = [line.split() for path in folder.glob("*.accepted") for line in path.read_text().splitlines()]
    return Counter(run for run, accepted in lines if accepted == "1"), sum(accepted == "0" for _, accepted in lines)


def attempt_said(result: Any) -> int:
    """By which attempt a result came: an agent's is a list, a webhook's has the receiver's words."""
    return int(result["response"] if "response" in result else result[0])


async def weigh(url: str, folder: Path, expected: set[str], receiver: Receiver, begins: float) -> Figures:
    calls = [Trace(call.run_id, call.attempt, 0, call.at) for call in receiver.calls]
    acts = read_traces(folder)
    fates = Counter(call.fate for call in receiver.calls)
    settled, late = acknowledged(folder)
    return {
        "calls": len(calls), "fates": dict(sorted(fates.items())),
        "misbehaved": round(1 - fates["202"] / max(1, len(calls)), 3),
        "called_again": len(calls) - len({one.run_id for one in calls}),
        "read": len(acts), "read_again": len(acts) - len({one.run_id for one in acts}),
        "last_call": round(max(one.at for one in calls) - begins, 1),
        "last_read": round(max(one.at for one in acts) - begins, 1), "acknowledged_late": late,
        "settled_twice": sum(count - 1 for count in settled.values()),
        "never_arrived": len(expected - {one.run_id for one in (*calls, *acts)}),
        "not_strictly_higher": in_order([*calls, *acts]), "called_too_soon": too_soon(receiver.calls),
        "forged": receiver.forged, **await examine(url, folder, expected, calls, attempt_said),
    }  # fmt: skip


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    chance = random.Random(plan.seed)
    receiver = Receiver(random.Random(plan.seed), plan.silence)
    await migrate(postgres.url)
    async with receiver.open() as host:
        settings = {
            "CRONTY_ALLOWED_HOSTS": f"{host}@{OWNER}", "CRONTY_SECRET_KEY": KEY,
            "CRONTY_LIMITS": '{"wakes_per_hour": 0, "calls_per_minute": 0}',
        }  # fmt: skip
        with fleet(postgres.url, folder, lease=plan.lease, settings=settings) as workers:
            workers.start(plan.workers)
            await workers.ready()
            agents = Agents(workers, plan.inbox_lease, plan.dies)
            try:
                return await _deliver(postgres.url, plan, workers, agents, receiver, chance)
            finally:
                agents.close()


async def _deliver(
    url: str, plan: Plan, workers: Fleet, agents: Agents, receiver: Receiver, chance: random.Random
) -> Figures:
    specs = make_load(plan, f"127.0.0.1:{receiver.port}", datetime.now(UTC) + timedelta(seconds=2), chance)
    expected = expected_runs(specs)
    await insert(url, specs)
    begins = time.monotonic() + 2
    await torment(workers, agents, plan, chance, begins + plan.duration)
    keeping = asyncio.create_task(keep_agents(agents))
    settled = await until(
        url, "select count(*) >= $1 from cronty.runs where finished_at is not null", plan.patience, len(expected)
    )
    took = time.monotonic() - begins
    keeping.cancel()
    return {
        "scenario": "deliver", "webhooks": len(specs) - len(specs) // 2, "prompts": len(specs) // 2,
        "settled_in_time": settled, "took": round(took, 1), "kills": workers.killed, "workers_died": workers.died,
        "agents_died": agents.died, "stubborn": workers.retire(),
        **await weigh(url, workers.folder, expected, receiver, begins),
    }  # fmt: skip


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    return figures | {"broken": broken(figures, *MUST_BE_ZERO)}
