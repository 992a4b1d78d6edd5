"""Puts everything together; the public class `Cronty`."""

from cronty.app.cronty import Cronty
from cronty.app.lifespan import Lifespan
from cronty.app.tasks import Run, Task, TaskFailed

__all__ = ["Cronty", "Lifespan", "Run", "Task", "TaskFailed"]
