"""Many MCP clients on one local PostgreSQL, begun at once on an empty folder and killed: all fires, nothing twice."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TextIO

import psutil
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from chaos.fleet import ROOT
from chaos.load import ask, until
from chaos.verdict import Figures
from cronty.store.local import PASSWORD

APP: Final = '''
import os
import time
from pathlib import Path
from cronty import Cronty, current_run

Path(os.environ["SEAT"]).write_text(str(os.getpid()))
cronty = Cronty()

@cronty.task
def note(file: str, word: str) -> None:
    """Write a word down."""
    with open(file, "a") as opened:
        opened.write(f"{word} {current_run().attempt}\\n")
    time.sleep(1)  # long enough to be killed in
'''
BUSY: Final = "select w.name from cronty.runs r join cronty.workers w on w.id = r.worker where r.state = 'running'"
MUST_BE_ZERO: Final = (
    "strangers", "lost", "unlabelled_repeats", "prompts_lost", "prompts_repeated", "failed_calls", "unaccounted",
    "late_unsaid", "postgres_left", "memory_left", "restart_failed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """`seconds` is how long slots fall due while clients are killed, `patience` how long they may take after that."""

    clients: int = 8
    jobs: int = 10
    kills: int = 6
    seconds: float = 12.0
    patience: float = 60.0
    lease: float = 2.0
    seed: int = 1


@dataclass(slots=True)
class Seat:
    """One client with a `cronty mcp` of its own; `pid` is that of the server."""

    number: int
    folder: Path
    began: float = field(default_factory=time.monotonic)
    client: Client | None = None
    listed_after: float = 0.0
    answered_after: float = 0.0
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return int((self.folder / f"seat-{self.number}").read_text())

    def written_down(self) -> TextIO:
        return open(self.folder / f"seat-{self.number}.log", "a")

    @property
    def log(self) -> str:
        return (self.folder / f"seat-{self.number}.log").read_text(errors="replace")

    async def sit(self, parameters: StdioServerParameters, ready: asyncio.Event) -> None:
        """Hold the connection until told to leave; a server that was killed ends it too."""
        with self.written_down() as log, suppress(MCPError, OSError, ExceptionGroup):
            async with Client(stdio_client(parameters, errlog=log), cache=None) as self.client:
                await self.client.list_tools()
                self.listed_after = time.monotonic() - self.began
                await self.call("get_current_time")
                self.answered_after = time.monotonic() - self.began
                ready.set()
                await self.leave.wait()

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        assert self.client is not None
        result = await self.client.call_tool(tool, arguments)
        said = result.structured_content
        if result.is_error or said is None or said.get("error"):
            raise RuntimeError(f"{tool}: {result.content}")
        return dict(said)

    async def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        await self.stand_up()

    async def stand_up(self) -> None:
        """Hang up, as a client does that is closed."""
        self.leave.set()
        if self.task is not None:
            await self.task


class Room:
    """A data folder and everybody who uses it."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan = folder, plan
        folder.chmod(0o711)  # if we are root, PostgreSQL's user has to get through
        self.data = folder / "data"
        self.words = folder / "words"
        self.seats: list[Seat] = []
        self._numbers = iter(range(1000))
        (folder / "backup.py").write_text(APP)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRONTY_", "PYTHONDONT"))}
        self._environment = kept | {
            "CRONTY_DATA_DIR": str(self.data), "CRONTY_LEASE": str(plan.lease), "PYTHONPATH": str(ROOT / "src"),
            "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX", str(folder / "pyc")),
        }  # fmt: skip

    def compile(self) -> None:
        """So that the figures are those of an installed Cronty, whose modules are compiled."""
        subprocess.run(
            [sys.executable, "-c", "import cronty.cli.main, cronty.cli.serve"], env=self._environment, check=True
        )

    async def seat(self, count: int) -> list[Seat]:
        """Begin so many clients at once; all must be answered."""
        begun: list[tuple[Seat, asyncio.Event]] = []
        for _ in range(count):
            seat, ready = Seat(next(self._numbers), self.folder), asyncio.Event()
            environment = self._environment | {"SEAT": str(self.folder / f"seat-{seat.number}")}
            arguments = ["-m", "cronty.cli.main", "mcp", "--app", "backup:cronty", "--no-service"]
            parameters = StdioServerParameters(
                command=sys.executable, args=arguments, env=environment, cwd=str(self.folder)
            )
            seat.task = asyncio.create_task(seat.sit(parameters, ready))
            begun.append((seat, ready))
        async with asyncio.timeout(self.plan.patience):
            for seat, ready in begun:
                assert seat.task is not None
                waiting = asyncio.create_task(ready.wait())
                await asyncio.wait({waiting, seat.task}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if not ready.is_set():
                    raise RuntimeError(f"Client {seat.number} wasn't answered. Its server's last words:\n{seat.log}")
        self.seats += [seat for seat, _ in begun]
        return [seat for seat, _ in begun]

    def remove(self, seat: Seat) -> Seat:
        self.seats.remove(seat)
        return seat

    @property
    def url(self) -> str:
        password = (self.data / PASSWORD).read_text().strip()
        return f"postgresql://cronty:{password}@/postgres?host={self.data / 'postgres'}"

    def postmaster(self) -> list[str]:
        path = self.data / "postgres/postmaster.pid"
        return path.read_text().splitlines() if path.exists() else []

    def postgres_processes(self) -> list[int]:
        """Living servers on this folder, whoever started them."""
        found: list[int] = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.name() == "postgres" and str(self.data / "postgres") in process.cmdline():
                    found.append(process.pid)
        return found

    def starter(self) -> int:
        """Whose PostgreSQL it is, by the environment that it got."""
        return int(psutil.Process(int(self.postmaster()[0])).environ()["SEAT"].rsplit("-", 1)[1])

    async def busy_one(self, patience: float) -> Seat | None:
        """A client whose server is in the middle of a run, if there is one soon."""
        if await until(self.url, f"select exists ({BUSY})", patience):
            names = [str(row[0]) for row in await ask(self.url, BUSY)]
            return next((seat for seat in self.seats if any(name.endswith(f":{seat.pid}") for name in names)), None)
        return None

    async def close(self) -> None:
        for seat in self.seats:
            with suppress(ProcessLookupError, FileNotFoundError):
                os.kill(seat.pid, signal.SIGKILL)
            await seat.stand_up()
        for pid in self.postgres_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def room(plan: Plan) -> AsyncGenerator[Room]:
    async with AsyncExitStack() as stack:
        made = Room(Path(stack.enter_context(TemporaryDirectory(prefix="cronty-clients-"))), plan)
        stack.push_async_callback(made.close)
        made.compile()
        yield made


async def schedule(seats: Iterable[Seat], plan: Plan, words: Path) -> Counter[str]:
    """Each client makes its jobs: half write a word down, half are prompts; what wasn't accepted is counted."""
    accepted: Counter[str] = Counter()

    async def make(seat: Seat) -> None:
        for number in range(plan.jobs):
            word = f"{seat.number}.{number}"
            when = f"in {2 + round(plan.seconds * number / plan.jobs)} seconds"
            try:
                if number % 2:
                    await seat.call("schedule", at=when, prompt=word)
                else:
                    await seat.call(
                        "schedule_job", name=word, task="note", args=[str(words), word], trigger_type="words",
                        trigger_config={"text": when},
                    )  # fmt: skip
                accepted["prompts" if number % 2 else "words"] += 1
            except RuntimeError:
                accepted["failed"] += 1

    await asyncio.gather(*(make(seat) for seat in seats))
    return accepted


async def kill_some(room: Room, plan: Plan, chance: random.Random) -> bool:
    """kill -9 one after the other, first the one that started PostgreSQL; whether there was such a one."""
    starters = [seat for seat in room.seats if seat.number == room.starter()]
    for number in range(plan.kills):
        seat = (
            starters[0] if number == 0 and starters else await room.busy_one(plan.seconds) or chance.choice(room.seats)
        )
        await room.remove(seat).kill()
        if len(room.seats) < 2:
            await room.seat(2)
        await asyncio.sleep(plan.seconds / max(1, plan.kills))
    return bool(starters)


async def read_all(seat: Seat, expected: int, patience: float) -> Counter[str]:
    """Read and acknowledge what comes into the inbox; how often each prompt was handed out."""
    seen: Counter[str] = Counter()
    ends = time.monotonic() + patience
    while len(seen) < expected and time.monotonic() < ends:
        items = (await seat.call("read_inbox", wait_seconds=2, limit=100))["items"]
        seen.update(item["prompt"] for item in items)
        if items:
            await seat.call("acknowledge_inbox", receipts=[item["receipt"] for item in items])
    return seen


async def sleep_and_wake(room: Room) -> Figures:
    """Everybody is killed, slots pass, somebody comes back: each late slot says that it was."""
    seat = room.seats[0]
    word = await seat.call(
        "schedule_job", name="late", task="note", args=[str(room.words), "late"], trigger_type="words",
        trigger_config={"text": "in 1 hour"},
    )  # fmt: skip
    beat = await seat.call(
        "schedule_job", name="beat", task="note", args=[str(room.words), "beat"], trigger_type="interval",
        trigger_config={"minutes": 10},
    )  # fmt: skip
    await seat.call("schedule", at="in 1 hour", prompt="late")
    for seat in list(room.seats):
        await room.remove(seat).kill()
    # Two hours asleep, without waiting for them: PostgreSQL is still there.
    await ask(room.url, "update cronty.due set next_at = next_at - interval '2 hours'")
    began = time.monotonic()
    [seat] = await room.seat(1)
    woke = time.monotonic() - began
    await until(room.url, "select count(*) >= 2 from cronty.runs where state = 'done' and finished_at > now() - "
                "interval '1 minute' and scheduled_for < now() - interval '30 minutes'", 20)  # fmt: skip
    [late] = (await seat.call("list_runs", job_id=word["job_id"]))["runs"]
    runs = (await seat.call("list_runs", job_id=beat["job_id"]))["runs"]
    [item] = (await seat.call("read_inbox", wait_seconds=10))["items"]
    said = {
        "task": late["verdict"] == "done" and late["started_at"] > late["scheduled_for"],
        "interval": any(run["verdict"] == "coalesced" and run["reason"] for run in runs),
        "prompt": "late by" in item["why"],
    }
    return {
        "woke_s": round(woke, 2), "late_said": said, "late_unsaid": sum(not good for good in said.values()),
        "late_reason": late["reason"], "coalesced_reason": next((run["reason"] for run in runs if run["reason"]), None),
        "why": item["why"],
    }  # fmt: skip


async def crash_and_leave(room: Room) -> Figures:
    """PostgreSQL dies with everybody else, comes back, and goes with its last client."""
    for pid in [room.remove(seat).pid for seat in list(room.seats)] + room.postgres_processes():
        os.kill(pid, signal.SIGKILL)
    failed = 0
    try:
        began = time.monotonic()
        first, second = await room.seat(2)
        recovered = time.monotonic() - began
        await first.stand_up()
        await second.call("get_current_time")
    except RuntimeError as error:
        return {"restart_failed": 1, "said": str(error)}
    memory = room.postmaster()[6].split()[-1]
    room.remove(first)
    await room.remove(second).stand_up()
    await until_gone(room)
    left = len(room.postgres_processes()) + len(room.postmaster())
    return {
        "restart_failed": failed, "recovered_s": round(recovered, 2), "postgres_left": left,
        "memory_left": int(memory in shared_memory()),
    }  # fmt: skip


def shared_memory() -> set[str]:
    """The segments that the kernel keeps."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


async def until_gone(room: Room, patience: float = 20) -> None:
    ends = time.monotonic() + patience
    while room.postgres_processes() and time.monotonic() < ends:
        await asyncio.sleep(0.05)


async def drive(plan: Plan) -> Figures:
    async with room(plan) as here:
        seats = await here.seat(plan.clients)
        servers = here.postgres_processes()
        accepted = await schedule(seats, plan, here.words)
        starter_killed = await kill_some(here, plan, random.Random(plan.seed))
        prompts = await read_all(here.seats[0], accepted["prompts"], plan.patience)
        await until(
            here.url, "select count(*) >= $1 from cronty.runs r join cronty.jobs j on j.id = r.job_id"
            " where j.task = 'note' and r.finished_at is not null", plan.patience, accepted["words"],
        )  # fmt: skip
        repeated = count_words(here.words)
        unaccounted = (await ask(here.url, "select count(*) from cronty.slots_unaccounted"))[0][0]
        return {
            "scenario": "clients", "clients": plan.clients, "kills": plan.kills, "starter_killed": starter_killed,
            "cold_listed_max_s": round(max(seat.listed_after for seat in seats), 2),
            "cold_answered_max_s": round(max(seat.answered_after for seat in seats), 2),
            "strangers": len(servers) - 1, "failed_calls": accepted["failed"], "words": accepted["words"],
            "lost": accepted["words"] - len(repeated), "repeats": sum(len(each) - 1 for each in repeated.values()),
            "unlabelled_repeats": sum(len(each) - len(set(each)) for each in repeated.values()),
            "prompts": accepted["prompts"], "prompts_lost": accepted["prompts"] - len(prompts),
            "prompts_repeated": sum(prompts.values()) - len(prompts), "unaccounted": unaccounted,
            **await sleep_and_wake(here), **await crash_and_leave(here),
        }  # fmt: skip


def count_words(path: Path) -> dict[str, list[str]]:
    """The attempts under which each word was written down."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        word, attempt = line.split()
        found.setdefault(word, []).append(attempt)
    return found


def run(plan: Plan) -> Figures:
    """The whole scenario; `broken` in the figures names the promises that don't hold."""
    figures = asyncio.run(drive(plan))
    return figures | {"broken": [name for name in MUST_BE_ZERO if figures.get(name)]}
