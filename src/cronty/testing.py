"""What tests of your own tasks need."""

from datetime import UTC, datetime
from inspect import isawaitable
from typing import Any, cast

from cronty.actions.hints import to_json
from cronty.actions.tasks import CurrentRun, performing
from cronty.app.tasks import Task

FIRST = CurrentRun(owner_id=1, job_id=1, job_number=1, scheduled_for=datetime(2027, 1, 1, tzinfo=UTC), attempt=1)
"""The run that `perform` pretends to perform; `current_run()` returns it."""


async def perform[**P, R](task: Task[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Perform a task as a worker would: arguments and result go through JSON and back. No database is needed."""
    hints = task.registered.hints
    given, named = hints.restored(*task.stored(args, kwargs))
    with performing(FIRST):
        value: Any = task.function(*given, **named)  # pyright: ignore[reportCallIssue]
        if isawaitable(value):
            value = await value
    return cast("R", hints.result(to_json(value)))
