"""A sense of time for AI agents: durable schedules on PostgreSQL."""

from cronty.actions.tasks import CurrentRun, PermanentError, Snooze, current_run
from cronty.app import Cronty

__all__ = ["Cronty", "CurrentRun", "PermanentError", "Snooze", "current_run"]
