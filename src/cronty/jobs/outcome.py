"""How an attempt ended, as a value."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class Done:
    """`result` is JSON text, or None if there is nothing to keep."""

    result: str | None = None


DONE: Final = Done()
"""A success without a result, the usual case."""

SHORTEST_SNOOZE: Final = timedelta(minutes=1)
"""The least time for which an agent may put off a prompt: it is woken again afterwards."""

QUIET: Final = Done('{"quiet":true}')
"""An agent succeeded and says that it has nothing to report. This is never inferred from its text."""


@dataclass(frozen=True, slots=True)
class Failed:
    """`permanent` means that a retry can't help; `wait` is the shortest time before a retry.

    `gone` is set if what the job calls no longer exists, and is the reason for which the job is paused. `traceback` is
    for the program that the task is of; nobody else sees it.
    """

    error: str
    permanent: bool = False
    wait: timedelta = timedelta(0)
    gone: str | None = None
    traceback: str | None = None


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The attempt asks to run again later; it counts neither as a success nor as a failure."""

    wait: timedelta


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A stop was requested."""

    reason: str = "cancelled while running"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker is shutting down; another worker makes the next attempt."""

    reason: str = "the worker shut down"


type Outcome = Done | Failed | Snoozed | Cancelled | Interrupted


def name_of(outcome: Outcome) -> str:
    """What an outcome is called in spans, as in metrics."""
    return type(outcome).__name__.lower()
