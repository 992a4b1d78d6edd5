"""What a caller may ask: the one door, for every surface."""

from cronty.scheduler.door import Scheduler
from cronty.scheduler.requests import JobChanges, JobPage, JobRequest, Preview

__all__ = ["JobChanges", "JobPage", "JobRequest", "Preview", "Scheduler"]
