"""Processes for functions that compute: each thread that performs one has a process do it, and waits.

A process is started when it is needed and kept for the next call. One that must stop is killed, with all it has
started; the others never notice. If the worker dies, its processes see that and end.
"""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, Final, cast

from cronty.actions.child import Answer, Call, serve, unpacked
from cronty.actions.current import CurrentRun
from cronty.actions.descendants import end_descendants
from cronty.actions.tasks import Task, describe_error
from cronty.jobs.outcome import Cancelled, Failed, Outcome

LOOK: Final = 1.0
"""Seconds between looks whether a process that says nothing is still there."""


LONGEST_START: Final = 600.0
"""Seconds that a process may take to start and to import; what it takes longer counts for the timeout of its call."""


class Child:
    """One process, ready to perform what is in a module. Only one thread at a time speaks to it; any may kill it."""

    def __init__(self, module: str) -> None:
        spawning = multiprocessing.get_context("spawn")
        ours, theirs = spawning.Pipe()
        self._pipe = cast("Connection[Call, Any]", ours)
        level = logging.getLogger().getEffectiveLevel()
        self._process = spawning.Process(target=serve, args=(theirs, level, module), name="cronty-task", daemon=True)
        self._process.start()
        theirs.close()
        self._calls = 0
        self.usable = True
        with suppress(EOFError, OSError):  # if it has ended, the first call will tell
            if self._pipe.poll(LONGEST_START):
                self._pipe.recv_bytes()

    @property
    def is_alive(self) -> bool:
        return self._process.exitcode is None

    def perform(self, call: Call) -> Outcome:
        self._calls += 1
        try:
            self._pipe.send(call._replace(number=self._calls))
            while True:
                answer = self._next()
                if isinstance(answer, logging.LogRecord):
                    logging.getLogger(answer.name).handle(answer)
                elif answer is not None and answer[0] == self._calls:  # not one too many to an earlier call
                    return answer[1]
        except (EOFError, OSError):
            self.kill()  # what it has started is left
            self._process.join(1)
            return Failed(f"Its process ended with exit code {self._process.exitcode}.")
        except Exception as error:  # what is left in the pipe would be taken for the answer to the next call
            self.kill()
            return Failed(f"What its process answered can't be read: {describe_error(error)}")

    def _next(self) -> Answer:
        """What it sends next. What it has started may keep the pipe open when it is gone."""
        while not self._pipe.poll(LOOK):
            if not self.is_alive and not self._pipe.poll():
                raise EOFError
        return unpacked(self._pipe.recv_bytes())

    def kill(self) -> None:
        self.usable = False
        if (pid := self._process.pid) is not None and self.is_alive:
            with suppress(OSError):
                os.kill(pid, signal.SIGSTOP)  # it starts nothing more
            end_descendants(pid)
        with suppress(OSError):
            os.killpg(pid or 0, signal.SIGKILL)  # with what its function has started, also if it is gone itself
        self._process.kill()

    def end(self) -> None:
        """It must be doing nothing: there is nothing it could lose."""
        if self._process.exitcode is None:
            self.kill()
            self._process.join(1)
        self._pipe.close()


class Children:
    """As many processes as threads ask for one at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._busy: dict[int, Child] = {}  # by the id of the run's object, which lives as long as the call
        self._closed = False

    @contextmanager
    def one(self, task: Task) -> Generator[Child]:
        """A process for one call."""
        child = self._take() or Child(task.function.__module__)
        try:
            yield child
        finally:
            with self._lock:
                keep = child.usable and not self._closed
                if keep:
                    self._idle.append(child)
            if not keep:
                child.end()

    def _take(self) -> Child | None:
        """One that does nothing. If somebody has killed it, that isn't the fault of the next run."""
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None or child.is_alive:
                return child
            child.end()

    def perform(self, child: Child, task: Task, run: CurrentRun, arguments: str) -> Outcome:
        """Have it perform a run, and wait."""
        with self._lock:
            if run.stop_requested:
                return Cancelled()
            self._busy[id(run)] = child
        where = task.function
        call = Call(where.__module__, where.__qualname__, task.name, run, arguments, whole=bool(task.around))
        outcome = child.perform(call)
        with self._lock:
            del self._busy[id(run)]
        return outcome

    def kill(self, run: CurrentRun) -> None:
        """End the process that performs this run. `run.stop_requested` must be set: it may not have begun yet."""
        with self._lock:
            if (child := self._busy.get(id(run))) is not None:
                child.kill()

    def close(self) -> None:
        """End those that do nothing, and kill those that do something."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for child in self._busy.values():
                child.kill()
        for child in idle:
            child.end()


def cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
