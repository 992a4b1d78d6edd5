"""What a caller may ask: `Service` answers every operation, `Scheduler` those about jobs."""

from cronty.scheduler.door import JobPage, Preview, Scheduler
from cronty.scheduler.service import Service

__all__ = ["JobPage", "Preview", "Scheduler", "Service"]
