"""The application that the workers run: each start of a task leaves a line outside the database."""

import asyncio
import os
import time
from functools import cache

from cronty import Cronty, current_run

cronty = Cronty()


@cache
def _traces() -> int:
    path = os.path.join(os.environ["CHAOS_TRACES"], f"{os.getpid()}.trace")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


@cronty.task
async def tick(seconds: float = 0.0) -> tuple[int, int]:
    """Leave run, attempt, process, time of day and epoch; it never fails."""
    run = current_run()
    os.write(_traces(), f"{run.run_id} {run.attempt} {os.getpid()} {time.time():.6f} {run.epoch}\n".encode())
    if seconds:
        await asyncio.sleep(seconds)
    return run.attempt, os.getpid()
