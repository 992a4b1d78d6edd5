"""A sense of time for AI agents: durable schedules on PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cronty.actions.tasks import CurrentRun, PermanentError, RetryAfter, Snooze, current_run
    from cronty.app import Cronty, Run, Task, TaskFailed
    from cronty.contract.result import CrontyError
else:
    HOMES = {
        "CrontyError": "cronty.contract.result",
        **dict.fromkeys(
            ("CurrentRun", "PermanentError", "RetryAfter", "Snooze", "current_run"), "cronty.actions.tasks"
        ),
    }

    def __getattr__(name: str) -> object:
        """Brought in when it is asked for, so that `cronty.client` needs neither a database driver nor a server."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = HOMES.get(name, "cronty.app")
        globals()[name] = found = getattr(import_module(home), name)
        return found


__all__ = [
    "Cronty", "CrontyError", "CurrentRun", "PermanentError", "RetryAfter", "Run", "Snooze", "Task", "TaskFailed",
    "current_run",
]  # fmt: skip
