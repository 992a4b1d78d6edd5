"""A real worker, run as a program of its own, whose every start of a task leaves a trace outside the database."""

import asyncio
import ctypes
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache

from cronty import Cronty, Snooze, current_run
from cronty.store.database import Clock, StoreUnavailable

_PR_SET_PDEATHSIG = 1


def _clock() -> Clock | None:
    """A clock that is CHAOS_AHEAD seconds fast, so that a week ends when a scenario needs it; usually PostgreSQL's."""
    ahead = timedelta(seconds=float(os.environ.get("CHAOS_AHEAD", "0")))
    return (lambda: datetime.now(UTC) + ahead) if ahead else None


cronty = Cronty(clock=_clock())
cronty.die_when_stuck = True


@cache
def _file() -> int:
    """One file per process; what is written to it survives the process, because the kernel has it."""
    return os.open(
        os.path.join(os.environ["CHAOS_TRACES"], f"{os.getpid()}.trace"), os.O_WRONLY | os.O_CREAT | os.O_APPEND
    )


def mark() -> tuple[int, int]:
    """Leave a trace of this start; the attempt and the process, which a task returns as its result."""
    run = current_run()
    name = run.idempotency_key.replace("msg_", "run_", 1)  # by the job's id: two owners may both have a job 7
    os.write(_file(), f"{name} {run.attempt} {os.getpid()} {time.monotonic():.6f}\n".encode())
    return run.attempt, os.getpid()


@cronty.task
def plain(seconds: float = 0.0) -> tuple[int, int]:
    marked = mark()
    time.sleep(seconds)
    return marked


@cronty.task
async def patient(seconds: float = 0.0) -> tuple[int, int]:
    marked = mark()
    await asyncio.sleep(seconds)
    return marked


@cronty.task
def flaky(seconds: float = 0.0) -> tuple[int, int]:
    """Fails at first and succeeds when it is tried again."""
    marked = mark()
    time.sleep(seconds)
    if marked[0] == 1:
        raise RuntimeError("no luck the first time")
    return marked


@cronty.task
def hold(first: float, then: float) -> tuple[int, int]:
    """Takes `first` seconds at the first attempt and `then` at any later one."""
    marked = mark()
    time.sleep(first if marked[0] == 1 else then)
    return marked


@cronty.task
async def ahold(first: float, then: float) -> tuple[int, int]:
    marked = mark()
    await asyncio.sleep(first if marked[0] == 1 else then)
    return marked


# -- under limits ---------------------------------------------------------------------------------------------------

cronty.limit("model", per_minute=int(os.environ.get("CHAOS_PER_MINUTE", "100")))


def left(marked: tuple[int, int]) -> tuple[int, int]:
    """Leave a trace of this end, beside that of the start."""
    run = current_run()
    name = run.idempotency_key.replace("msg_", "run_", 1)
    with open(os.path.join(os.environ["CHAOS_TRACES"], f"{os.getpid()}.ends"), "a", encoding="utf-8") as file:
        file.write(f"{name} {run.attempt} {os.getpid()} {time.monotonic():.6f}\n")
    return marked


@cronty.task(concurrency=5)
async def narrow(seconds: float = 0.0) -> tuple[int, int]:
    """Five at once across all workers."""
    marked = mark()
    await asyncio.sleep(seconds)
    return left(marked)


@cronty.task(limit="model")
async def asking(seconds: float = 0.0) -> tuple[int, int]:
    """So many a minute across all workers."""
    marked = mark()
    await asyncio.sleep(seconds)
    return left(marked)


# -- poison ---------------------------------------------------------------------------------------------------------


@cronty.task
def suicide() -> None:
    mark()
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@cronty.task
def endless() -> None:
    mark()
    while True:
        pass


@cronty.task
def stuck() -> None:
    """Never returns, and costs nothing meanwhile: a socket that nobody answers."""
    mark()
    time.sleep(3600)


@cronty.task
async def blocking() -> None:
    """Holds the event loop, and with it everything else the worker does."""
    mark()
    time.sleep(3600)  # noqa: ASYNC251 -- that is the poison


@cronty.task
def huge() -> str:
    mark()
    return "x" * 100_000_000


class _Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("nobody may read this")

    __repr__ = __str__


class _Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


@cronty.task
def unreadable() -> None:
    mark()
    raise _Silent


@cronty.task
def leaving() -> None:
    """Whoever reads its error is told to exit."""
    mark()
    raise _Leaving


@cronty.task
def surrogate() -> None:
    """Its error can't be written as UTF-8."""
    mark()
    raise ValueError("half a character: \ud800")


@cronty.task
def forever() -> None:
    """Asks for a moment that no calendar has."""
    mark()
    raise Snooze(timedelta.max)


# -- the program ----------------------------------------------------------------------------------------------------


async def work() -> None:
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    async with cronty:
        while not told.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), _prune_every())
            prune_now()


def _prune_every() -> float | None:
    """Seconds, for a scenario that can't wait for the engine to make and drop weeks by itself."""
    return float(os.environ.get("CHAOS_PRUNE_EVERY", "0")) or None


def prune_now() -> None:
    if (engine := cronty._engine) is not None:  # pyright: ignore[reportPrivateUsage]
        engine._wake("prune")  # pyright: ignore[reportPrivateUsage]


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(os.environ["CHAOS_PARENT"]):
        sys.exit("the harness is gone")


def main() -> None:
    die_with_parent()
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(work())
    except StoreUnavailable as error:  # whoever keeps workers running starts another one
        sys.exit(str(error))


if __name__ == "__main__":
    main()
