"""Performs a task without a database."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from inspect import isawaitable
from typing import Final, cast

from cronty.actions.around import through
from cronty.actions.hints import to_json
from cronty.actions.tasks import CurrentRun, current_run, performing
from cronty.app.tasks import Task

FIRST: Final = CurrentRun(owner_id=1, job_id=1, job_number=1, scheduled_for=datetime(2027, 1, 1, tzinfo=UTC), attempt=1)
"""The run that `perform` pretends to perform; `current_run()` returns it."""


@contextmanager
def fake_run(attempt: int = 1, scheduled_for: datetime = FIRST.scheduled_for) -> Generator[CurrentRun]:
    """Inside, `perform` pretends to perform this run: `with fake_run(attempt=3): await perform(pay, order)`."""
    run = replace(FIRST, attempt=attempt, scheduled_for=scheduled_for)
    with performing(run):
        yield run


async def perform[**P, R](task: Task[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Perform a task as a worker would, with its middleware: arguments and result go through JSON and back.

    No database is needed.
    """
    hints = task.registered.hints
    given, named = hints.restored(*task.stored(args, kwargs))
    run = _run()
    run.task = task.name

    async def call() -> object:
        value: object = task.function(*given, **named)  # pyright: ignore[reportCallIssue]
        return await value if isawaitable(value) else value

    with performing(run):
        value = await through(task.registered.around or (), run, call)
    return cast("R", hints.result(to_json(value)))


def _run() -> CurrentRun:
    try:
        return current_run()
    except LookupError:
        return replace(FIRST)
