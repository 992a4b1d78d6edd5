"""Worker processes that are started, killed, frozen and replaced."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from chaos.load import until

ROOT: Final = Path(__file__).parents[1]
_ALL_HERE: Final = "select count(*) >= array_length($1::text[], 1) from cronty.workers where name like any ($1)"


class Worker:
    """One process, and when it was started and ended by the machine's monotonic clock."""

    def __init__(self, process: subprocess.Popen[bytes], settings: Mapping[str, str]) -> None:
        self.process = process
        self.settings = settings
        self.started_at = time.monotonic()
        self.ended_at = float("inf")
        self.frozen = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        if self.process.poll() is not None:
            self.ended_at = min(self.ended_at, time.monotonic())
        return self.process.returncode is None

    def freeze(self) -> None:
        self.frozen = True
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.frozen = False
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.ended_at = min(self.ended_at, time.monotonic())


class Fleet:
    """Start it from the main thread: a worker dies with the thread that made it."""

    def __init__(
        self, url: str, folder: Path, *, lease: float, concurrency: int = 50, settings: Mapping[str, str] | None = None
    ) -> None:
        self._url = url
        self.folder = folder
        self.workers: list[Worker] = []
        self.past: list[Worker] = []
        self.killed = 0
        self.died = 0
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        self.environment = environment | {
            "CRONTY_DATABASE_URL": url,
            "CRONTY_LEASE": str(lease),
            "CRONTY_CONCURRENCY": str(concurrency),
            "CRONTY_DRAIN": "10",
            **(settings or {}),
            "CHAOS_TRACES": str(folder),
            "CHAOS_PARENT": str(os.getpid()),
            "PYTHONPYCACHEPREFIX": str(folder / "pyc"),  # a worker that needn't compile starts in a third of the time
        }

    def start(self, count: int = 1, settings: Mapping[str, str] | None = None) -> list[Worker]:
        started = [self.spawn("chaos.worker", settings=settings) for _ in range(count)]
        self.workers += started
        return started

    def spawn(self, *program: str, settings: Mapping[str, str] | None = None) -> Worker:
        """Start a module of ours beside the others; what isn't in `workers` is the caller's to replace and to end."""
        own = settings or {}
        with open(self.folder / "workers.log", "ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *program], cwd=ROOT, env={**self.environment, **own}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
            )  # fmt: skip
        return Worker(process, own)

    def kill_one(self, chance: random.Random) -> None:
        """kill -9 a random worker; `replace` starts another in its place."""
        alive = [worker for worker in self.workers if worker.alive]
        if alive:
            chance.choice(alive).kill()
            self.killed += 1

    def replace(self) -> int:
        """Start a new worker for each one that is gone, as any supervisor would."""
        gone = [worker for worker in self.workers if not worker.alive]
        self.workers = [worker for worker in self.workers if worker not in gone]
        self.past += gone
        self.died += sum(worker.process.returncode != -signal.SIGKILL for worker in gone)
        for worker in gone:
            self.start(1, worker.settings)
        return len(gone)

    def retire(self, patience: float = 20) -> int:
        """SIGTERM to all; how many had to be killed after `patience` seconds."""
        for worker in self.workers:
            if worker.alive:
                worker.thaw()
                worker.process.terminate()
        stubborn = 0
        ends = time.monotonic() + patience
        for worker in self.workers:
            try:
                worker.process.wait(max(0.1, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                stubborn += 1
                worker.kill()
        return stubborn

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()

    def note(self, said: bytes) -> None:
        """Put what another program has said beside it."""
        with open(self.folder / "workers.log", "ab") as log:
            log.write(said)

    @property
    def log(self) -> str:
        """What all workers have said."""
        path = self.folder / "workers.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    async def ready(self, patience: float = 120) -> None:
        """Wait until every worker has a lease; one that ended instead is replaced."""
        ends = time.monotonic() + patience
        while not await until(self._url, _ALL_HERE, 1, [f"%:{worker.pid}" for worker in self.workers]):
            if time.monotonic() > ends:
                raise RuntimeError(f"The workers didn't start. Their last words:\n{self.log[-3000:]}")
            self.replace()


@contextmanager
def fleet(
    url: str, folder: Path, *, lease: float, concurrency: int = 50, settings: Mapping[str, str] | None = None
) -> Generator[Fleet]:
    made = Fleet(url, folder, lease=lease, concurrency=concurrency, settings=settings)
    try:
        yield made
    finally:
        made.close()
