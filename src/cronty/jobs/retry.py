"""What happens after an attempt: the whole retry policy in one function."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, assert_never

from cronty.jobs.outcome import Cancelled, Done, Failed, Interrupted, Outcome, Snoozed
from cronty.jobs.policy import SHORTEST_PAUSE, Policy
from cronty.jobs.run import RunState

MAX_CRASHES: Final = 3
"""A run that has crashed its worker this often is quarantined instead of being retried."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """`wait` is set if and only if the run goes back to waiting for another attempt."""

    state: RunState
    wait: timedelta | None = None
    error: str | None = None
    reason: str | None = None
    result: str | None = None


def after_attempt(outcome: Outcome, failures: int, policy: Policy, luck: float) -> Settlement:
    """The run's next state. `failures` is how many attempts failed before; `luck` is a random number from 0 to 1."""
    match outcome:
        case Done(result):
            return Settlement("done", result=result)
        case Failed(error, permanent, least):
            if permanent or failures + 1 >= policy.attempts:
                return Settlement("failed", error=error)
            # Jitter only lengthens a requested wait, so that callers told "in a minute" don't all come back at once.
            pause = max(pause_before_retry(failures, policy, luck), least * (1 + policy.jitter * luck))
            return Settlement("waiting", wait=pause, error=error)
        case Snoozed(wait):
            return Settlement("waiting", wait=wait)
        case Cancelled(reason):
            return Settlement("cancelled", reason=reason)
        case Interrupted(reason):
            return Settlement("waiting", wait=timedelta(0), reason=reason)
        case _:  # pragma: no cover
            assert_never(outcome)


def pause_before_retry(failures: int, policy: Policy, luck: float) -> timedelta:
    """Exponential backoff with jitter. The cap is applied before the jitter, so that pauses at the cap still vary.
    Jitter never makes a pause shorter than `SHORTEST_PAUSE`."""
    try:
        pause = min(policy.backoff * policy.backoff_factor**failures, policy.backoff_max)
    except OverflowError:
        pause = policy.backoff_max
    return timedelta(seconds=max(SHORTEST_PAUSE, pause * (1 + policy.jitter * (2 * luck - 1))))
