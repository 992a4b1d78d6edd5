"""Notices an event loop that is blocked: names who blocks it, keeps the leases alive meanwhile, and gives up in time.

A coroutine that calls `time.sleep`, or computes for a minute, keeps the heartbeat from being sent. Other workers would
rescue its run and perform it a second time, while the first still goes on. So a thread watches whether the loop turns.
While it doesn't, the thread sends the heartbeats, with an event loop and a connection of its own.

It must not hold what nobody works on. A process that is killed or frozen has no thread that could. An engine that has
ended, or whose loop is closed, isn't watched. A loop that is blocked for more than `MOST_LEASES` leases gets no more
heartbeats: a worker process ends then, which counts as a crash of its runs. Time is counted in looks, so that a process
that was frozen, or a machine that was suspended, isn't taken for blocked. A worker that was struck off isn't one again:
the heartbeat of a thread finds no row to renew, just as that of the loop.

Code that holds the interpreter's lock, such as a regular expression that takes minutes, stops this thread as well.
"""

import asyncio
import faulthandler
import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Final

from cronty import telemetry
from cronty.actions.current import run_in
from cronty.engine.lease import Lease, since_boot
from cronty.store.database import Database, StoreUnavailable
from cronty.store.engine_store import EngineStore

CHECK_EVERY: Final = 0.5
NOTICE: Final = 5.0
"""Seconds after which a loop that doesn't turn is taken for blocked; a third of a lease, if that is less."""

MOST_LEASES: Final = 4
STUCK: Final = 70
"""The exit code, EX_SOFTWARE in sysexits.h."""

_OURS: Final = str(Path(__file__).parents[1])
_ASYNCIO: Final = str(Path(asyncio.__file__).parent)


class Watchdog:
    """Watches the loop of the thread that makes it. `turns` is a number that changes while the loop turns."""

    def __init__(self, turns: Callable[[], int], lease: Lease, database: Database, lasts: float, *, die: bool) -> None:
        self._turns = turns
        self._lease = lease
        self._database = database
        self._lasts = lasts
        self._die = die
        self._every = min(CHECK_EVERY, lasts / 20)
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._ended = threading.Event()
        self._outage = telemetry.Outage()

    def start(self) -> None:
        threading.Thread(target=self._watch, name="cronty-watchdog", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        seen, blocked, told, beat_at = self._turns(), 0.0, False, 0.0
        while not self._ended.wait(self._every) and not self._loop.is_closed():
            now = self._turns()
            if now != seen:
                if told:
                    telemetry.loop_turns_again(blocked)
                seen, blocked, told, beat_at = now, 0.0, False, 0.0
                continue
            blocked += self._every
            if blocked < min(NOTICE, self._lasts / 3):
                continue
            if not told:
                told = True
                telemetry.loop_blocked(blocked, self._blocker())
            if blocked > MOST_LEASES * self._lasts:
                self._give_up(blocked)
                return
            if blocked >= beat_at:
                began = monotonic()
                rest = self._lasts / 3 if self._beat() else self._lasts / 15
                blocked += min(monotonic() - began, self._lasts / 3)
                beat_at = blocked + rest

    def _beat(self) -> bool:
        """Whether the leases are renewed."""
        try:
            asyncio.run(self._renew())
        except StoreUnavailable:  # logged, once
            return False
        except Exception as error:
            telemetry.lease_not_kept(error)
            return False
        return True

    async def _renew(self) -> None:
        async with asyncio.timeout(self._lasts / 3):
            database = await self._database.alone(self._outage).open()
            try:
                store = EngineStore(database)
                for worker in self._lease.names():
                    asked_at = since_boot()
                    if (beaten := await store.beat(worker, self._lasts)) is not None:
                        self._lease.beaten_elsewhere(worker, asked_at, before=beaten[1])
            finally:
                await database.close()

    def _blocker(self) -> str:
        try:
            return blocker(self._loop, self._thread)
        except Exception as error:  # to name it is a help; to go on watching matters more
            return f"something that can't be named ({error})"

    def _give_up(self, blocked: float) -> None:
        telemetry.loop_given_up(blocked, self._blocker(), ends=self._die)
        if self._die:
            faulthandler.dump_traceback()
            os._exit(STUCK)


def blocker(loop: asyncio.AbstractEventLoop, thread: int) -> str:
    """Who keeps the loop from turning, and the lines it is at."""
    task = asyncio.current_task(loop)
    run = None if task is None else run_in(task.get_context())
    if run is not None:
        who = f"task {run.task} ({run.run_id}, attempt {run.attempt})"
    elif task is not None:
        who = f"{getattr(task.get_coro(), '__qualname__', task.get_name())}"
    else:
        who = "a callback"
    return f"{who} at {_lines(sys._current_frames().get(thread))}"  # pyright: ignore[reportPrivateUsage]


def _lines(innermost: FrameType | None) -> str:
    """The first line that is neither ours nor asyncio's, and the last one, if that is another."""
    places: list[str] = []
    for frame, line in traceback.walk_stack(innermost):
        file = frame.f_code.co_filename
        if places and file.startswith((_OURS, _ASYNCIO)):
            break
        places.append(f"{file}:{line} in {frame.f_code.co_qualname}")
    return ", in ".join(dict.fromkeys([places[-1], places[0]])) if places else "an unknown line"
