"""Performs claimed attempts, many at a time, outside any transaction."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from time import monotonic
from typing import Final

from cronty.actions.tasks import outcome_of_async, outcome_of_sync
from cronty.actions.threads import Threads
from cronty.engine.attempt import Attempt, current_run_of
from cronty.jobs.outcome import Cancelled, Failed, Interrupted, Outcome

MOST_AHEAD: Final = 4000
"""How many attempts may be claimed beyond what is being performed, if they end fast enough to deserve it."""

PATIENCE: Final = 1.0
"""How long a full worker waits for room before it leaves what is due to others."""

PACE_WINDOW: Final = 0.25
"""Attempts that ended within the last so many seconds say how far ahead to claim."""


class Working:
    """What this process has claimed and not yet settled.

    `concurrency` bounds how many coroutines and how many threads are busy. Beyond that only as much is claimed
    as ended lately: a process with slow tasks leaves the rest to others, one with fast tasks never runs dry.
    """

    def __init__(self, concurrency: int, ended: Callable[[], None]) -> None:
        self.concurrency = concurrency
        self._tell_ended = ended
        self._line: deque[Attempt] = deque()
        self._performing: dict[Attempt, None] = {}  # a set that keeps its order
        self._coroutines = 0
        self._threads = Threads(concurrency, _in_thread, self._returned)
        self._ended: list[Attempt] = []
        self._unsettled: dict[tuple[int, datetime], Attempt] = {}  # by job and slot
        self._room = asyncio.Event()
        self._pace: deque[tuple[float, int]] = deque()
        self._paced = 0
        self.in_flight = 0
        self.suspects = Counter[int]()
        """How many of what is claimed have taken so many workers down."""

    # -- room ---------------------------------------------------------------------------------------------------

    def room(self) -> int:
        return self.concurrency + min(MOST_AHEAD, self._ended_lately()) - self.in_flight

    def reserve(self, most: int, *, beyond: bool = False) -> int:
        """Take up to `most` places before claiming; give back what isn't used with `release`.

        `beyond` is for those who would have to wait behind somebody's crowd: as many again as are performed at once.
        """
        places = max(0, min(most, self.room() + (self.concurrency if beyond else 0)))
        self.in_flight += places
        return places

    def release(self, places: int) -> None:
        self.in_flight -= places
        self._room.set()

    async def wait_for_room(self, patience: float) -> None:
        """Return once there is room, or after `patience` seconds without any."""
        try:
            async with asyncio.timeout(patience):
                while self.room() <= 0:
                    self._room.clear()
                    await self._room.wait()
        except TimeoutError:
            pass

    async def wait_until_empty(self, patience: float) -> bool:
        """Whether everything was settled within `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                while self.in_flight:
                    self._room.clear()
                    await self._room.wait()
        except TimeoutError:
            return False
        return True

    def _ended_lately(self) -> int:
        horizon = monotonic() - PACE_WINDOW
        while self._pace and self._pace[0][0] < horizon:
            self._paced -= self._pace.popleft()[1]
        return self._paced

    # -- performing ---------------------------------------------------------------------------------------------

    def take(self, attempts: Sequence[Attempt], *, first: bool = False) -> None:
        """Perform attempts whose places are reserved; `first` before all that wait in line."""
        calls: list[Attempt] = []
        for attempt in attempts:
            if attempt.crashes:
                self.suspects[attempt.crashes] += 1
            run = (attempt.job_id, attempt.slot)
            older = self._unsettled.get(run)
            if older is not None and _in_each_others_way(older, attempt):
                self._put_back(older, attempt)
                continue
            self._unsettled[run] = attempt
            if not attempt.task.is_async:
                self._performing[attempt] = None
                calls.append(attempt)
            elif first or attempt.crashes:  # a suspect in line would be blamed for a crash that is somebody else's
                self._line.appendleft(attempt)
            else:
                self._line.append(attempt)
        if calls:
            self._threads.submit(calls, first=first or attempts[0].crashes > 0)
        self._start_coroutines()

    def _put_back(self, older: Attempt, attempt: Attempt) -> None:
        """What is under way here could be claimed again: the database has gone back to before the first claim."""
        self._abandon(older, Interrupted("the database went back to before its claim"))
        self._end(attempt, Interrupted("an attempt that the database has forgotten was under way"))

    def drop(self, attempts: Sequence[Attempt]) -> None:
        """Claimed, but their job was cancelled before anybody could know."""
        for attempt in attempts:
            if attempt.crashes:
                self.suspects[attempt.crashes] += 1
            self._end(attempt, Cancelled("the job was cancelled"))

    def _start_coroutines(self) -> None:
        loop = asyncio.get_running_loop()
        while self._line and self._coroutines < self.concurrency:
            attempt = self._line.popleft()
            attempt.started = monotonic()
            attempt.run = current_run_of(attempt)
            self._coroutines += 1
            # An eager task that never waits is over before this line ends, at the price of a function call.
            handle = asyncio.Task(self._perform(attempt), loop=loop, eager_start=True)
            if not handle.done():
                attempt.handle = handle
                self._performing[attempt] = None

    async def _perform(self, attempt: Attempt) -> None:
        assert attempt.run is not None
        outcome: Outcome = Cancelled()
        try:
            outcome = await outcome_of_async(attempt.task, attempt.run, attempt.arguments)
        except asyncio.CancelledError:
            pass
        except BaseException as raised:  # SystemExit and the like: the worker isn't the task's to end
            outcome = Failed(f"{type(raised).__name__}: the task tried to end its worker")
        self._coroutines -= 1
        self._end(attempt, outcome)
        if self._line and attempt.handle is not None:
            self._start_coroutines()

    def _returned(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            if attempt.given_up:
                self._threads.take_back_one()
            self._end(attempt, attempt.outcome or Cancelled())

    def _end(self, attempt: Attempt, outcome: Outcome) -> None:
        if attempt.over:
            return
        attempt.over = True
        attempt.outcome = outcome
        attempt.ended = attempt.ended or monotonic()
        attempt.started = attempt.started or attempt.ended
        self._performing.pop(attempt, None)
        self._ended.append(attempt)
        if len(self._ended) == 1:
            self._tell_ended()

    # -- settling and stopping ----------------------------------------------------------------------------------

    def known(self) -> list[Attempt]:
        """Everything claimed and not yet handed out for settlement."""
        return [*self._line, *self._performing, *self._ended]

    def take_ended(self, most: int) -> list[Attempt]:
        """Attempts that are over and wait to be settled."""
        taken, self._ended = self._ended[:most], self._ended[most:]
        return taken

    def settled(self, attempts: Sequence[Attempt]) -> None:
        self._pace.append((monotonic(), len(attempts)))
        self._paced += len(attempts)
        for attempt in attempts:
            if attempt.crashes:
                self.suspects[attempt.crashes] -= 1
            run = (attempt.job_id, attempt.slot)
            if self._unsettled.get(run) is attempt:
                del self._unsettled[run]
        self.release(len(attempts))

    def stop(self, job_id: int, slot: datetime) -> bool:
        """Cancel this run; False if it isn't known here (yet)."""
        for attempt in self.known():
            if attempt.job_id == job_id and attempt.slot == slot:
                self._abandon(attempt, Cancelled())
                return True
        return False

    def expire(self) -> None:
        """End the attempts that have used up their time."""
        now = monotonic()
        for attempt in list(self._performing):
            if attempt.started and now - attempt.started > attempt.policy.timeout:
                self._abandon(attempt, Failed(f"Timeout: it ran longer than {attempt.policy.timeout:g} s"))

    def interrupt(self, attempts: Iterable[Attempt]) -> None:
        """What isn't over of these goes to another worker."""
        for attempt in attempts:
            self._abandon(attempt, Interrupted())

    def close(self) -> None:
        self._threads.close()

    def _abandon(self, attempt: Attempt, outcome: Outcome) -> None:
        """A coroutine is cancelled; a thread can only be told, and what it returns later is ignored."""
        if attempt.over:
            return
        if attempt in self._line:
            self._line.remove(attempt)
        if attempt.run is not None:
            attempt.run.stop_requested = True
        if attempt.started and not attempt.task.is_async:
            attempt.given_up = True
            self._threads.give_up_one()
        self._end(attempt, outcome)
        if attempt.handle is not None:
            attempt.handle.cancel()


def _in_each_others_way(older: Attempt, attempt: Attempt) -> bool:
    """Whether two attempts of a run would be performed at once, or one's outcome be taken for the other's."""
    under_way = not older.over or (older.handle is not None and not older.handle.done())
    return under_way or (older.number, older.worker) == (attempt.number, attempt.worker)


def _in_thread(attempt: Attempt) -> None:
    if not attempt.over:
        attempt.started = monotonic()
        attempt.run = current_run_of(attempt)
        outcome = outcome_of_sync(attempt.task, attempt.run, attempt.arguments)
        if not attempt.over:
            attempt.ended = monotonic()
            attempt.outcome = outcome
