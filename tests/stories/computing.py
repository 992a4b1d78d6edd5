"""A program whose tasks compute in processes of their own; run as a script, it is a worker."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

from cronty import Cronty, PermanentError, current_run

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


class TwoWords(Exception):
    """Its text is made of two, so that pickle, which has the text, can't make it again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


@cronty.task(process=True, retries=0)
def mumble() -> None:
    log.warning("mumbling", extra={"why": TwoWords("not", "now")})


@cronty.task(process=True)
def spin(folder: Path) -> None:
    """Never ends, and has a child of its own."""
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (folder / "new").write_text(f"{os.getpid()} {sleeper.pid}")
    (folder / "new").rename(folder / "pids")
    while True:
        time.sleep(0.01)


async def main() -> None:
    async with cronty:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
