"""Performs claimed attempts, many at a time, outside any transaction."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Final

from cronty import telemetry, tracing
from cronty.actions.around import OnLoop
from cronty.actions.children import Children, cpus
from cronty.actions.tasks import Elsewhere, Task, outcome_of_async, outcome_of_error, outcome_of_sync
from cronty.actions.threads import Threads
from cronty.engine.attempt import Attempt, current_run_of
from cronty.engine.crowd import Crowd
from cronty.engine.runs_left import RunsLeft, left_by_shares
from cronty.jobs.outcome import Cancelled, Failed, Interrupted, Outcome, name_of

MAX_AHEAD: Final = 4000
"""The most attempts that are claimed ahead of those being performed, if attempts end fast enough."""

PATIENCE: Final = 1.0
"""Seconds that a full worker waits for a free place before it leaves due runs to other workers."""

PACE_WINDOW: Final = 0.25
"""As many attempts are claimed ahead as ended within this many seconds."""

_ALL_HANG: Final = Interrupted("all threads of its worker hang")
_NOT_STARTED: Final = Interrupted("its worker's lease had passed before it began")


class Working:
    """What this process has claimed and not yet settled.

    `concurrency` limits the busy coroutines and, separately, the busy threads. Attempts are claimed ahead of that only
    as fast as they end: a process with slow tasks leaves runs to other workers, one with fast tasks never runs dry.
    Coroutines of owners that would wait behind greedy ones start beyond that limit, up to as many again; none of these
    owners gets more than half of what the others leave of that, so that the next one finds a place too. Urgent tasks
    have as many places and threads of their own: they don't wait for the others, nor the others for them.
    """

    def __init__(self, concurrency: int, ended: Callable[[], None]) -> None:
        self.concurrency = concurrency
        self._tell_ended = ended
        self._line: deque[Attempt] = deque()
        self._before_line: deque[Attempt] = deque()  # of owners that would wait behind greedy ones
        self._urgent_line: deque[Attempt] = deque()
        self._performing: dict[Attempt, None] = {}  # a set that keeps its order
        self._coroutines = 0
        self._urgent_coroutines = 0
        self._threads = Threads(concurrency, self._in_thread, self._returned)
        self._urgent_threads = Threads(concurrency, self._in_thread, self._returned)  # none starts before it is used
        self._children = Children()
        self._for_children = Threads(min(concurrency, cpus()), self._in_thread, self._returned)
        self._told_that_all_hang = False
        self._ended: list[Attempt] = []
        self._unsettled: dict[tuple[int, datetime], Attempt] = {}  # by job and slot
        self._ending: dict[tuple[int, datetime], Attempt] = {}  # cancelled coroutines that haven't ended yet
        self._to_stop: dict[int, Mapping[tuple[int, datetime], str]] = {}  # by worker: by job and slot, and why
        self._freed = asyncio.Event()
        self._pace: deque[tuple[float, int]] = deque()
        self._paced = 0
        self.in_flight = 0
        self._urgent_in_flight = 0
        self.still_ours: Callable[[int], bool] = lambda _worker: True
        """Whether what was claimed under this name may be started here. Another worker may have it by now, or the run
        that comes after it, if this process was frozen or hasn't reached the database for a lease."""
        self.suspects = Counter[int]()
        """How many claimed attempts are of runs that have crashed their worker, by the number of crashes."""

    # -- places -------------------------------------------------------------------------------------------------

    def free_places(self) -> int:
        return self._places() - self.in_flight + self._urgent_in_flight

    def _free(self, *, urgent: bool) -> int:
        return self._places() - self._urgent_in_flight if urgent else self.free_places()

    def _places(self) -> int:
        return self.concurrency + min(MAX_AHEAD, self._ended_lately())

    def reserve(self, most: int, *, beyond: bool = False, urgent: bool = False) -> int:
        """Reserve up to `most` places before claiming; `release` those that aren't used.

        `beyond` adds `concurrency` more places, for owners that would have to wait behind greedy ones. `urgent` ones
        are counted apart.
        """
        free = self._free(urgent=urgent)
        places = max(0, min(most, free + self.concurrency if beyond else free))
        self.in_flight += places
        if urgent:
            self._urgent_in_flight += places
        return places

    def shares_beyond(self, *, urgent: bool = False) -> RunsLeft:
        """What each owner may take of the places that `reserve` has with `beyond`."""
        held = Counter(one.owner_id for one in self._unsettled.values() if one.urgent == urgent)
        return left_by_shares(self._free(urgent=urgent) + self.concurrency, held)

    def release(self, places: int, *, urgent: bool = False) -> None:
        self.in_flight -= places
        if urgent:
            self._urgent_in_flight -= places
        self._freed.set()

    async def wait_for_place(self, crowd: Crowd) -> bool:
        """Whether a place is free within `PATIENCE` seconds, or until the next turn of owners that aren't greedy.

        If none is free by then, who holds the places is a crowd: slow tasks of a few owners keep the others waiting.
        """
        try:
            async with asyncio.timeout(crowd.patience(PATIENCE)):
                while self.free_places() <= 0:
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            crowd.saw([attempt.owner_id for attempt in self._performing])
            self._let_others_through(crowd.greedy)
            return False
        return True

    async def wait_until_empty(self, patience: float) -> bool:
        """Whether everything was settled within `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                while self.in_flight:
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            return False
        return True

    def _ended_lately(self) -> int:
        horizon = monotonic() - PACE_WINDOW
        while self._pace and self._pace[0][0] < horizon:
            self._paced -= self._pace.popleft()[1]
        return self._paced

    @property
    def threads_hang(self) -> bool:
        """Whether no thread is left for plain functions: twice `concurrency` of them run past their time limits."""
        return self._threads.all_hang

    def performable(self, tasks: Mapping[str, Task], *, urgent: bool = False) -> Mapping[str, Task]:
        """Those of these tasks that this worker can perform now."""
        hang = self._urgent_threads.all_hang if urgent else self.threads_hang
        return {name: task for name, task in tasks.items() if task.is_async} if hang else tasks

    # -- performing ---------------------------------------------------------------------------------------------

    def take(self, attempts: Sequence[Attempt], *, first: bool = False) -> None:
        """Perform attempts whose places are reserved; `first` puts them before those that wait."""
        calls: list[Attempt] = []
        for attempt in attempts:
            if attempt.crashes:
                self.suspects[attempt.crashes] += 1
            run = (attempt.job_id, attempt.slot)
            if self._to_stop and (reason := self._to_stop.get(attempt.worker, {}).get(run)) is not None:
                self._end(attempt, Cancelled(reason))
                continue
            older = self._unsettled.get(run)
            if older is not None and _conflict(older, attempt):
                self._put_back(older, attempt)
                continue
            self._unsettled[run] = attempt
            if not attempt.task.is_async:
                self._performing[attempt] = None
                calls.append(attempt)
            elif attempt.urgent:
                self._urgent_line.append(attempt)
            elif first:
                self._before_line.append(attempt)
            elif attempt.crashes:  # while it waits, it would be blamed for another run's crash
                self._line.appendleft(attempt)
            else:
                self._line.append(attempt)
        if calls:
            self._submit(calls, first=first or attempts[0].urgent or attempts[0].crashes > 0)
        self._start_coroutines()

    def _submit(self, calls: Sequence[Attempt], *, first: bool) -> None:
        by_pool: dict[Threads[Attempt], list[Attempt]] = defaultdict(list)
        for one in calls:
            by_pool[self._threads_of(one)].append(one)
        for threads, theirs in by_pool.items():
            threads.submit(theirs, first=first)

    def still_ending(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Those of these attempts whose run has an earlier one that was cancelled or timed out, and is cleaning up."""
        return [one for one in attempts if (one.job_id, one.slot) in self._ending] if self._ending else []

    def _put_back(self, older: Attempt, attempt: Attempt) -> None:
        """End both attempts at a run that was claimed twice: the database lost the first claim in a failover."""
        self._abandon(older, Interrupted("the database went back to before its claim"))
        self._end(attempt, Interrupted("an attempt that the database has forgotten was under way"))

    def drop(self, attempts: Sequence[Attempt], outcome: Outcome) -> None:
        """End attempts that were claimed and must not start."""
        for attempt in attempts:
            if attempt.crashes:
                self.suspects[attempt.crashes] += 1
            self._end(attempt, outcome)

    def _start_coroutines(self) -> None:
        loop = asyncio.get_running_loop()
        while (attempt := self._next()) is not None:
            if not self.still_ours(attempt.worker):
                self._end(attempt, _NOT_STARTED)
                continue
            attempt.started = monotonic()
            attempt.run = current_run_of(attempt)
            self._count_coroutine(attempt, 1)
            # An eager task that never awaits ends within this line, and costs no more than a function call.
            handle = asyncio.Task(self._perform(attempt), loop=loop, eager_start=True)
            if not handle.done():
                attempt.handle = handle
                self._performing[attempt] = None

    def _let_others_through(self, greedy: frozenset[int]) -> None:
        """Start what was claimed for other owners and stands in line behind greedy ones, each owner's share of it."""
        if not greedy or all(one.owner_id in greedy for one in self._line):
            return
        busy = [*(one for one in self._performing if one.task.is_async and not one.urgent), *self._before_line]
        shares = left_by_shares(2 * self.concurrency - len(busy), Counter(one.owner_id for one in busy))
        line, self._line = self._line, deque[Attempt]()
        for one in line:
            through = one.owner_id not in greedy and shares.take(one.owner_id)
            (self._before_line if through else self._line).append(one)
        self._start_coroutines()

    def _next(self) -> Attempt | None:
        """The next coroutine to start, if there is a place for it."""
        if self._urgent_line and self._urgent_coroutines < self.concurrency:
            return self._urgent_line.popleft()
        if self._before_line and self._coroutines < 2 * self.concurrency:
            return self._before_line.popleft()
        return self._line.popleft() if self._line and self._coroutines < self.concurrency else None

    def _count_coroutine(self, attempt: Attempt, more: int) -> None:
        if attempt.urgent:
            self._urgent_coroutines += more
        else:
            self._coroutines += more

    async def _perform(self, attempt: Attempt) -> None:
        assert attempt.run is not None
        outcome: Outcome = Cancelled()
        if attempt.spans is not None:
            attempt.spans.perform()
        try:
            outcome = await outcome_of_async(attempt.task, attempt.run, attempt.arguments)
        except asyncio.CancelledError as cancelled:
            if not attempt.over:  # nobody asked for that: something that it awaited was cancelled
                outcome = outcome_of_error(cancelled, attempt.task, attempt.run)
        except BaseException as raised:  # such as SystemExit: a task must not end its worker
            outcome = Failed(f"{type(raised).__name__}: the task tried to end its worker")
        self._count_coroutine(attempt, -1)
        if self._ending and self._ending.get(run := (attempt.job_id, attempt.slot)) is attempt:
            del self._ending[run]
        self._end(attempt, outcome)
        if (self._line or self._before_line or self._urgent_line) and attempt.handle is not None:
            self._start_coroutines()

    def _threads_of(self, attempt: Attempt) -> Threads[Attempt]:
        if attempt.task.process:
            return self._for_children
        return self._urgent_threads if attempt.urgent else self._threads

    def _in_thread(self, attempt: Attempt) -> None:
        if attempt.over:
            return
        if attempt.task.process:
            outcome = self._perform_in_process(attempt)
        else:
            outcome = self._perform_here(attempt)
        if not attempt.over:
            attempt.ended = monotonic()
            attempt.outcome = outcome

    def _perform_in_process(self, attempt: Attempt) -> Outcome:
        try:
            with self._children.one(attempt.task) as child:  # its start doesn't count for the timeout
                return self._perform_here(attempt, partial(self._children.perform, child))
        except OSError as error:
            return Failed(f"No process could be started: {error}")

    def _perform_here(self, attempt: Attempt, elsewhere: Elsewhere | None = None) -> Outcome:
        if not self.still_ours(attempt.worker):
            return _NOT_STARTED
        attempt.started = monotonic()
        attempt.run = current_run_of(attempt)
        attempt.on_loop = OnLoop(self._threads.loop)
        if attempt.over:
            return _NOT_STARTED
        entered = None if attempt.spans is None else attempt.spans.perform()
        try:
            return outcome_of_sync(attempt.task, attempt.run, attempt.arguments, attempt.on_loop, elsewhere)
        finally:
            if entered is not None:
                tracing.leave(entered)

    def _returned(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            if attempt.given_up:
                self._threads_of(attempt).unmark_stuck()
            self._end(attempt, attempt.outcome or Cancelled())

    def _end(self, attempt: Attempt, outcome: Outcome) -> None:
        if attempt.over:
            return
        attempt.over = True
        attempt.outcome = outcome
        attempt.ended = attempt.ended or monotonic()
        attempt.started = attempt.started or attempt.ended
        if attempt.spans is not None:
            attempt.spans.ended(name_of(outcome))
        self._performing.pop(attempt, None)
        self._ended.append(attempt)
        if len(self._ended) == 1:
            self._tell_ended()

    # -- settling and stopping ----------------------------------------------------------------------------------

    def known(self) -> list[Attempt]:
        """Everything claimed and not yet taken for settlement."""
        return [*self._urgent_line, *self._before_line, *self._line, *self._performing, *self._ended]

    def take_ended(self, most: int) -> list[Attempt]:
        """Take attempts that have ended, to settle them."""
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
        urgent = sum(attempt.urgent for attempt in attempts) if self._urgent_in_flight else 0
        self.release(urgent, urgent=True)
        self.release(len(attempts) - urgent)

    def stop(self, worker: int, runs: Mapping[tuple[int, datetime], str]) -> None:
        """Cancel these runs of a worker, by job and slot, for these reasons; one that was just claimed and isn't known
        here yet never starts. They are all that this worker is asked to stop."""
        self._to_stop.pop(worker, None)
        if runs:
            self._to_stop[worker] = runs
            for attempt in self.known():
                if attempt.worker == worker and (reason := runs.get((attempt.job_id, attempt.slot))) is not None:
                    self._abandon(attempt, Cancelled(reason))

    def expire(self) -> None:
        """End attempts that have exceeded their timeout."""
        now = monotonic()
        for attempt in list(self._performing):
            if attempt.started and now - attempt.started > attempt.policy.timeout:
                self._abandon(attempt, Failed(f"Timeout: it ran longer than {attempt.policy.timeout:g} s"))
        self._leave_functions_to_others()

    def _leave_functions_to_others(self) -> None:
        """If no thread is left, hand back the functions in line: their timeout begins only when they do."""
        for threads in (self._threads, self._urgent_threads):
            if threads.all_hang:
                for attempt in threads.withdraw():
                    self._end(attempt, _ALL_HANG)
        if self.threads_hang != self._told_that_all_hang:
            self._told_that_all_hang = self.threads_hang
            telemetry.threads_hang(2 * self.concurrency, over=not self.threads_hang)

    def interrupt(self, attempts: Iterable[Attempt]) -> None:
        """Stop those of these attempts that haven't ended; other workers will run them."""
        for attempt in attempts:
            self._abandon(attempt, Interrupted())

    def close(self) -> None:
        self._threads.close()
        self._urgent_threads.close()
        self._for_children.close()
        self._children.close()

    def _abandon(self, attempt: Attempt, outcome: Outcome) -> None:
        """End an attempt. A coroutine is cancelled and a process killed; a thread can only be asked to stop, and its
        result is ignored."""
        if attempt.over:
            return
        for line in (self._urgent_line, self._before_line, self._line):
            if attempt in line:
                line.remove(attempt)
        if attempt.run is not None:
            attempt.run.stop_requested = True
        if attempt.started and not attempt.task.is_async:
            attempt.given_up = True
            self._threads_of(attempt).mark_stuck()
        self._end(attempt, outcome)
        if attempt.task.process and attempt.run is not None:  # it looks at `over` after it has a run
            attempt.run.stop_requested = True
            self._children.kill(attempt.run)
        if attempt.on_loop is not None:
            attempt.on_loop.cancel()
        if attempt.handle is not None and not attempt.handle.done():
            self._ending[attempt.job_id, attempt.slot] = attempt
            attempt.handle.cancel()


def _conflict(older: Attempt, attempt: Attempt) -> bool:
    """Whether two attempts at a run would be performed at once, or can't be told apart when they are settled."""
    under_way = not older.over or (older.handle is not None and not older.handle.done())
    return under_way or (older.number, older.worker) == (attempt.number, attempt.worker)
