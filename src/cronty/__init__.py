"""A sense of time for AI agents: durable schedules on PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cronty.actions.around import CallNext, Middleware
    from cronty.actions.current import CurrentRun, RunInLogs, current, current_run
    from cronty.actions.tasks import PermanentError, RetryAfter, Snooze
    from cronty.app import Cronty, Lifespan, ResultNotKept, Run, Task, TaskFailed
    from cronty.contract.result import CrontyError
else:
    HOMES = {
        "CrontyError": "cronty.contract.result",
        **dict.fromkeys(("CallNext", "Middleware"), "cronty.actions.around"),
        **dict.fromkeys(("CurrentRun", "RunInLogs", "current", "current_run"), "cronty.actions.current"),
        **dict.fromkeys(("PermanentError", "RetryAfter", "Snooze"), "cronty.actions.tasks"),
    }

    def __getattr__(name: str) -> object:
        """Brought in when it is asked for, so that `cronty.client` needs neither a database driver nor a server."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = HOMES.get(name, "cronty.app")
        globals()[name] = found = getattr(import_module(home), name)
        return found


__all__ = [
    "CallNext", "Cronty", "CrontyError", "CurrentRun", "Lifespan", "Middleware", "PermanentError", "ResultNotKept",
    "RetryAfter", "Run",
    "RunInLogs", "Snooze", "Task", "TaskFailed", "current", "current_run",
]  # fmt: skip
