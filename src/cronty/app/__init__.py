"""Puts everything together; the public class `Cronty`."""

from cronty.app.cronty import Cronty
from cronty.app.lifespan import Lifespan
from cronty.app.tasks import ResultNotKept, Run, Task, TaskFailed

__all__ = ["Cronty", "Lifespan", "ResultNotKept", "Run", "Task", "TaskFailed"]
