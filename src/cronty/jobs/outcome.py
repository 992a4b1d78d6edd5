"""How an attempt ended, as a value."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class Done:
    """`result` is JSON text, or None if there is nothing to keep."""

    result: str | None = None


DONE: Final = Done()
"""Nothing to keep, as most successes."""

QUIET: Final = Done('{"quiet":true}')
"""An agent did what it was asked and has nothing to say: said outright, never guessed from its words."""


@dataclass(frozen=True, slots=True)
class Failed:
    """`permanent` means that trying again can't help; `wait` is the least time before it may.

    `gone` says why the job itself should not go on, if what it calls is there no more.
    """

    error: str
    permanent: bool = False
    wait: timedelta = timedelta(0)
    gone: str | None = None


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The attempt asks to be made again later; it counts neither as a success nor as a failure."""

    wait: timedelta


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Somebody asked to stop it."""

    reason: str = "cancelled while running"


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker is leaving; another one makes the next attempt."""

    reason: str = "the worker shut down"


type Outcome = Done | Failed | Snoozed | Cancelled | Interrupted
