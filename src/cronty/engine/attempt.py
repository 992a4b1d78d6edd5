"""One try at a run, from claim to settlement."""

from asyncio import Task as AsyncTask
from dataclasses import dataclass
from datetime import datetime

from cronty.actions.around import OnLoop
from cronty.actions.tasks import CurrentRun, Task
from cronty.jobs.outcome import Outcome
from cronty.jobs.policy import Policy
from cronty.tracing import Fire


@dataclass(slots=True, eq=False)
class Attempt:
    """`worker` is the worker id that claimed it; the settlement needs it even if this process has a new id by then."""

    job_id: int
    slot: datetime
    number: int
    worker: int
    task: Task
    arguments: str
    policy: Policy
    failing: bool
    owner_id: int
    job_number: int
    epoch: int = 0
    failures: int = 0
    crashes: int = 0
    from_queue: bool = False
    limits: tuple[str, ...] = ()
    urgent: bool = False
    started: float = 0.0
    ended: float = 0.0
    outcome: Outcome | None = None
    run: CurrentRun | None = None
    handle: AsyncTask[None] | None = None
    on_loop: OnLoop | None = None
    """What a plain function's thread waits for on the event loop."""
    over: bool = False
    given_up: bool = False
    spans: Fire | None = None
    """None unless somebody collects them."""


def current_run_of(attempt: Attempt) -> CurrentRun:
    """What the attempt's task can see of its run."""
    return CurrentRun(
        attempt.owner_id, attempt.job_id, attempt.job_number, attempt.slot, attempt.number, attempt.epoch,
        attempt.task.name,
    )  # fmt: skip
