"""A pool of threads for plain functions that hands work over in batches.

A hop to a thread and back costs more than a small task does. Here threads take calls from one shared line: an idle
thread is woken only when there is a call nobody is about to take, and the event loop is woken once for all results
that are ready. A slow call holds up nobody, because each thread wakes the next one before it starts.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable


class Threads[Call]:
    """`perform` must not raise; what it has performed goes to `deliver` on the event loop, many at a time."""

    def __init__(self, size: int, perform: Callable[[Call], None], deliver: Callable[[list[Call]], None]) -> None:
        self._size = size
        self._perform = perform
        self._deliver = deliver
        self.loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._calls: deque[Call] = deque()
        self._performed: list[Call] = []
        self._idle: list[threading.Lock] = []
        self._started = 0
        self._given_up = 0
        self._waking = False
        self._closed = False

    def submit(self, calls: Iterable[Call], *, first: bool = False) -> None:
        """Put calls at the end of the line, or before everybody else."""
        with self._lock:
            if first:
                self._calls.extendleft(calls)
            else:
                self._calls.extend(calls)
            self._call_one_more()

    def mark_stuck(self) -> None:
        """A call doesn't return: start another thread in place of the one it holds, up to twice as many."""
        with self._lock:
            self._given_up += 1
            self._call_one_more()

    def unmark_stuck(self) -> None:
        """It has returned after all."""
        with self._lock:
            self._given_up -= 1

    @property
    def all_hang(self) -> bool:
        """Whether every thread there may be holds a call that was given up."""
        return self._given_up >= 2 * self._size

    def withdraw(self) -> list[Call]:
        """Take all calls out of the line; none of them has begun."""
        with self._lock:
            calls = list(self._calls)
            self._calls.clear()
        return calls

    def close(self) -> None:
        """Let the threads end after what they are doing."""
        with self._lock:
            self._closed = True
            self._calls.clear()
            for wakeup in self._idle:
                wakeup.release()
            self._idle.clear()

    @property
    def _most(self) -> int:
        return self._size + min(self._given_up, self._size)

    def _call_one_more(self) -> None:
        if self._waking or not self._calls:
            return
        if self._idle:
            self._waking = True
            self._idle.pop().release()
        elif self._started < self._most:
            self._waking = True
            self._started += 1
            threading.Thread(target=self._work, name=f"cronty-task-{self._started}", daemon=True).start()

    def _work(self) -> None:
        wakeup = threading.Lock()
        wakeup.acquire()
        first = True
        performed: Call | None = None
        while True:
            ring = False
            with self._lock:
                if performed is not None:
                    self._performed.append(performed)
                    ring = len(self._performed) == 1
                if first:
                    self._waking = first = False
                ending = self._closed or self._started > self._most
                call = None if ending or not self._calls else self._calls.popleft()
                if ending:
                    self._started -= 1
                elif call is None:
                    self._idle.append(wakeup)
                self._call_one_more()
            if ring:
                self._wake_loop()
            if ending:
                return
            if call is None:
                wakeup.acquire()
                first = True
            else:
                self._perform(call)
            performed = call

    def _wake_loop(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self._hand_over)
        except RuntimeError:  # the loop has closed; nobody waits for results any more
            self._closed = True

    def _hand_over(self) -> None:
        with self._lock:
            performed, self._performed = self._performed, []
        self._deliver(performed)
