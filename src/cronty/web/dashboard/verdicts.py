"""Labels and meanings of the verdicts, and the mark of each job status."""

from typing import Final

from cronty.jobs.overview import Verdict

ORDER: Final[tuple[Verdict, ...]] = (
    "done", "running", "waiting", "planned", "failed", "quarantined", "missed", "skipped", "coalesced", "cancelled",
)  # fmt: skip
"""From the bottom of a stack to its top."""

LABELS: Final[dict[str, str]] = {
    "planned": "Planned",
    "waiting": "Waiting",
    "running": "Running",
    "done": "Done",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "skipped": "Skipped",
    "coalesced": "Coalesced",
    "missed": "Missed",
    "quarantined": "Quarantined",
    "pending": "Scheduled",
    "completed": "Completed",
    "paused": "Paused",
    "set_aside": "Set aside",
    "failing": "Failing",
    "overdue": "Overdue",
}
MEANINGS: Final[dict[str, str]] = {
    "planned": "Its time has not come yet.",
    "waiting": "It waits to start, or to be tried again.",
    "running": "It is running now.",
    "done": "It succeeded.",
    "failed": "It was tried, and failed for good.",
    "cancelled": "It was cancelled.",
    "skipped": "It was left out on purpose.",
    "coalesced": "A later slot ran in its place.",
    "missed": "Nothing was running when it was due, and then it was too late.",
    "quarantined": "It crashed its worker three times and was set aside.",
}
STATUS_MARK: Final[dict[str, str]] = {
    "pending": "planned",
    "running": "running",
    "completed": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "paused": "paused",
    "set_aside": "quarantined",
    "failing": "failed",
    "overdue": "missed",
}
"""The mark of a job's status, among those of verdicts."""
