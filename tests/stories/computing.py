"""A program whose tasks compute in processes of their own; run as a script, it is a worker."""

import asyncio
import ctypes
import functools
import inspect
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel

from cronty import Cronty, PermanentError, current_run
from cronty.actions.child import packed
from cronty.jobs.outcome import Done

cronty = Cronty()
log = logging.getLogger("computing")


@cronty.task(process=True)
def compute(order: UUID, copies: int = 1) -> tuple[UUID, int, int]:
    log.info("computing %d", copies)
    return order, copies * current_run().attempt, os.getpid()


@cronty.task(process=True)
def refuse(word: str) -> None:
    raise PermanentError(word)


@cronty.task(process=True, retries=0)
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@cronty.task(process=True)
def fork(sleeps: bool) -> str:
    """Leaves a fork, which falls out of the function."""
    if os.fork() == 0:
        if sleeps:
            time.sleep(600)
        return "of the fork"
    if sleeps:
        os._exit(7)
    os.wait()
    return "of the process"


@cronty.task(process=True)
def fork_behind_our_back() -> None:
    """As a library may that isn't Python: the fork keeps the pipe."""
    if ctypes.CDLL(None).fork() == 0:
        time.sleep(600)
    os._exit(7)


@cronty.task(process=True)
def answer_twice(word: str) -> str:
    [serving] = [one.frame.f_locals for one in inspect.stack(0) if one.function == "serve"]
    serving["pipe"].send_bytes(packed((serving["call"].number, Done(f'"{word} too early"'))))
    return word


@cronty.task(process=True)
def pooled() -> list[int]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(abs, [-1, -2])


class Large(BaseModel):
    text: str


@cronty.task(process=True, retries=0)
def enlarge(size: int) -> Large:
    return Large(text="x" * size)


def decorated[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return inner


@cronty.task(process=True)
@decorated
async def coroutine() -> str:
    await asyncio.sleep(0)
    return "awaited"


class TwoWords(Exception):
    """Its text is made of two, so that pickle, which has the text, couldn't make it again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


class Trap:
    """Whoever unpickles it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return os.mkdir, (self.folder,)


@cronty.task(process=True, retries=0)
def set_a_trap(folder: Path) -> str:
    [serving] = [one.frame.f_locals for one in inspect.stack(0) if one.function == "serve"]
    serving["pipe"].send(Trap(folder))
    return "never seen"


@cronty.task(process=True)
def can_be_looked_into() -> bool:
    """By another process of the same user, such as one that the function starts."""
    return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) != 0  # PR_GET_DUMPABLE


@cronty.task(process=True, retries=0)
def mumble() -> None:
    log.warning("mumbling", extra={"why": TwoWords("not", "now")})


@cronty.task(process=True)
def spin(folder: Path) -> None:
    """Never ends, and has a child of its own, and one in a session of its own."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    sleeper, apart = subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)
    (folder / "new").write_text(f"{os.getpid()} {sleeper.pid} {apart.pid}")
    (folder / "new").rename(folder / "pids")
    while True:
        time.sleep(0.01)


async def main() -> None:
    async with cronty:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
