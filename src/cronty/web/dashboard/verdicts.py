"""Words for the verdicts, the kinds and the rules of a job, and the mark of each status."""

from collections.abc import Mapping
from typing import Final

from cronty.jobs.action import COMMAND, Action
from cronty.jobs.overview import Verdict
from cronty.jobs.policy import Policy
from cronty.web.dashboard.formats import rough, span

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
    "cancelled": "Stopped",
    "skipped": "Skipped",
    "coalesced": "Caught up",
    "missed": "Missed",
    "quarantined": "Held back",
    "pending": "Scheduled",
    "completed": "Finished",
    "paused": "Paused",
    "set_aside": "Held back",
    "failing": "Failing",
    "overdue": "Late",
}
MEANINGS: Final[dict[str, str]] = {
    "planned": "Its time has not come yet.",
    "waiting": "It waits to start, or to be tried again.",
    "running": "It is running now.",
    "done": "It succeeded.",
    "failed": "It was tried, and failed for good.",
    "cancelled": "It was stopped.",
    "skipped": "It was left out on purpose.",
    "coalesced": "A later run stands for this one too.",
    "missed": "Cronty was off when it was due, and then it was too late.",
    "quarantined": "It took its worker down three times and is held back.",
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

KINDS: Final[Mapping[str, str]] = {
    "notify": "Reminder",
    "prompt": "Prompt",
    "command": "Command",
    "webhook": "Webhook",
    "task": "Task",
}
"""What a job does, by the name of its icon."""


def kind_of(task: str) -> str:
    """The kind of a job in `KINDS`, by its task."""
    return COMMAND if task == COMMAND else Action(task).kind


def what_of(action: Action) -> str:
    """What a job does, in a few words: `A reminder to phone`."""
    match kind_of(action.task):
        case "notify":
            return f"A reminder to {action.kwargs.get('topic', '')}"
        case "prompt":
            return f"A prompt for {action.agent or 'any agent'}"
        case "webhook":
            return "A call to a web address"
        case "command":
            return "A command on this machine"
        case _:
            return f"The task {action.task}"


OVERLAPS: Final[Mapping[str, str]] = {
    "skip": "skip the new one",
    "queue": "let the new one wait",
    "allow": "run both",
    "cancel_previous": "stop the old one",
}
CATCH_UPS: Final[Mapping[str, str]] = {
    "latest": "run once for all that it missed",
    "all": "run each one that it missed",
    "none": "run none of them",
}


def sentences(policy: Policy) -> list[tuple[str, list[str]]]:
    """A policy in plain sentences, each with its icon; every second part is the one that matters."""
    overlap = {"skip": "is skipped", "queue": "waits", "allow": "runs too", "cancel_previous": "stops it"}
    late = span(policy.catch_up_window)
    after = {
        "latest": ["After Cronty was off, it runs ", "once", " for all that it missed, if at most ", f"{late} late"],
        "all": ["After Cronty was off, ", "each time that it missed", " is run, if at most ", f"{late} late"],
        "none": ["What was due while Cronty was off ", "is not run"],
    }
    if policy.attempts == 1:
        tries = ["Tried ", "once", ""]
    else:
        tries = ["Tried up to ", f"{policy.attempts} times", f", {rough(policy.backoff)} apart at first"]
    said = [
        ("repeat", [*tries, "", "."]),
        ("timer", ["Given up after ", span(policy.timeout), "."]),
        ("layers", ["If the last one is still going, the new one ", overlap[policy.overlap], "."]),
        ("power", [*after[policy.catch_up], "."]),
    ]
    if policy.pause_after:
        said.append(("warn", ["Paused after ", f"{policy.pause_after} failures", " in a row."]))
    return said
