"""Everything a caller may ask: `Service` answers every operation, `Scheduler` the ones about jobs."""

from cronty.scheduler.previewing import Preview
from cronty.scheduler.scheduler import JobPage, Scheduler
from cronty.scheduler.service import Service

__all__ = ["JobPage", "Preview", "Scheduler", "Service"]
