"""The run that is being performed, as its task sees it."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast, override

from cronty.jobs.run import message_id, run_id


@dataclass(slots=True)
class CurrentRun:
    """What a task may know about the run it performs. `job_number` is what the job's owner calls it; ids are global.

    A repeat has the same `run_id` and a higher `attempt`. Only where the database lost its latest history, by a
    failover to a server that lagged behind or by a restore, may an attempt come again: then with a higher `epoch`.
    """

    owner_id: int
    job_id: int
    job_number: int
    scheduled_for: datetime
    attempt: int
    epoch: int = 0
    task: str = ""
    stop_requested: bool = False

    @property
    def run_id(self) -> str:
        """What its owner calls the run; the same for every attempt."""
        return run_id(self.job_number, self.scheduled_for)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt, and no other run of any owner has it: hand it to the outside."""
        return message_id(self.job_id, self.scheduled_for)


_current: ContextVar[CurrentRun] = ContextVar("cronty_current_run")


def current_run() -> CurrentRun:
    """The run being performed; raises LookupError outside of one."""
    return _current.get()


def running() -> CurrentRun | None:
    """The run being performed; None outside of one."""
    return _current.get(None)


def run_in(context: Context) -> CurrentRun | None:
    """The run that is performed in a context."""
    return context.get(_current)


class _Current:
    """Stands for whatever run is being performed when it is looked at."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_current.get(), name)


def current() -> CurrentRun:
    """The default of a task's parameter for its run: `async def report(day: date, run: CurrentRun = current())`."""
    return cast("CurrentRun", _Current())


class RunInLogs(logging.Filter):
    """Gives log records `run_id`, `job`, `task` and `attempt` of the run that wrote them; "-" if none did."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        run = running()
        known = ("-",) * 4 if run is None else (run.run_id, run.job_number, run.task or "-", run.attempt)
        record.run_id, record.job, record.task, record.attempt = known
        return True


def begin(run: CurrentRun) -> None:
    """From here on, `current_run` returns this run: in this thread, or in this asyncio task."""
    _current.set(run)


@contextmanager
def performing(run: CurrentRun) -> Generator[None]:
    """Inside, `current_run` returns this run."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)


def running_in() -> str | None:
    """The run being performed, by its idempotency key; None outside of one.

    Not by its run id: whoever asks next may do so as another owner, who has such a run too.
    """
    run = running()
    return None if run is None else run.idempotency_key
