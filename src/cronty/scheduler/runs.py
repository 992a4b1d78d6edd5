"""Single runs: show one, list the failed ones, stop one, try them again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cronty.contract.caller import Caller
from cronty.contract.requests import MAX_LISTED
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.run import LIVE, Absence, AttemptRecord, FailedPlace, FailedRun, Run, read_receipt
from cronty.jobs.telling import Told
from cronty.scheduler.decisions import USE_CURSOR
from cronty.scheduler.permission import not_to_change
from cronty.scheduler.scheduler import Scheduler
from cronty.store.run_store import RunStore
from cronty.timing import BadTrigger
from cronty.timing.offsets import TICK
from cronty.timing.reading import read_moment


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run, its job, the attempts before its last, and how the telling of its result stands."""

    run: Run
    job: Job
    attempts: list[AttemptRecord]
    told: Told | None = None


class Runs:
    """Operations on runs; those on jobs are in `Scheduler`."""

    def __init__(self, store: RunStore, scheduler: Scheduler) -> None:
        self._store = store
        self._scheduler = scheduler

    async def show(self, caller: Caller, run_id: str) -> Result[FoundRun]:
        found = read_receipt(run_id)
        job = await self._scheduler.show(caller, found[0] if found else 0)
        if found is None or isinstance(job, Err):
            return _no_run(run_id)
        runs = await self._scheduler.list_runs(caller, found[0], limit=1, before=found[1] + TICK)
        if isinstance(runs, Err) or not runs.value or runs.value[0].scheduled_for != found[1]:
            return _no_run(run_id)
        run = runs.value[0]
        attempts = await self._store.attempts(caller.owner, run)
        told = await self._store.told(caller.owner, run) if job.value.policy.tell else None
        return Ok(FoundRun(run, job.value, attempts, told))

    async def traceback(self, caller: Caller, run_id: str) -> str | None:
        """Where a run's task failed, for the program it is of; no operation says it."""
        found = read_receipt(run_id)
        return None if found is None else await self._store.traceback(caller.owner, found[0], found[1])

    async def failed(
        self, caller: Caller, limit: int = 20, before: str | datetime | None = None
    ) -> Result[list[FailedRun]]:
        """Runs of all jobs that failed for good, the latest first; `before` is a cursor, or a time."""
        place = None
        if before is not None and isinstance(place := read_failed_cursor(before), Err):
            return place
        return Ok(await self._store.failed(caller.owner, limit, place, caller.agent))

    async def absences(self, caller: Caller, since: datetime, limit: int = 5) -> list[Absence]:
        """Times when nothing was running and slots passed, the latest first; only those caught up on after `since`."""
        return await self._store.absences(caller.owner, since, limit)

    async def tally(self, caller: Caller, since: datetime) -> dict[str, int]:
        """How many slots got each verdict, or started, since this time; the most frequent first."""
        return await self._store.tally(caller.owner, since)

    async def stop(self, caller: Caller, run_id: str) -> Result[None]:
        """Cancel a run that waits, or ask a running one to stop."""
        shown = await self.show(caller, run_id)
        if isinstance(shown, Err):
            return shown
        if wrong := not_to_change(caller, shown.value.job):
            return wrong
        state = await self._store.stop(caller, shown.value.run.job_number, shown.value.run.scheduled_for)
        if state is None:
            return _no_run(run_id)
        if state not in LIVE:
            return Err("not_editable", f"Run {run_id} is {state}; there is nothing to stop.")
        return Ok(None)

    async def redrive(self, caller: Caller, run_ids: Sequence[str]) -> Result[dict[str, bool]]:
        """Try failed runs again, under the same id with a higher attempt; for each, whether it was accepted.

        Not if that would wake an agent beyond its hour's limit; and an agent tries what reaches outside no sooner again
        than it could have it repeated.
        """
        if not run_ids or len(run_ids) > MAX_LISTED:
            return Err("bad_runs", f"{len(run_ids)} runs were named.", f"Name 1 to {MAX_LISTED} of them.")
        named = {text: read_receipt(text) for text in run_ids}
        wanted = sorted({found[:2] for found in named.values() if found is not None})
        if not wanted:
            return Ok(dict.fromkeys(named, False))
        allowance = self._scheduler.allowance
        agents = await self._store.agents(caller.owner, wanted) if caller.may("prompts") else []
        if agents and (wrong := await allowance.for_redrive(caller, agents)):
            return wrong
        again = await self._store.redrive(caller, wanted, await allowance.interval_of(caller))
        return Ok({text: found is not None and found[:2] in again for text, found in named.items()})


def failed_cursor(last: Run) -> str | None:
    """The cursor of a page that ends with this run, such as `2027-03-01T08:00:00+00:00/run_7_1803888000`."""
    return None if last.finished_at is None else f"{last.finished_at.isoformat()}/{last.run_id}"


def read_failed_cursor(before: str | datetime) -> FailedPlace | Err:
    """Where the previous page ended; a time alone stands for all runs that ended before it."""
    if isinstance(before, datetime):
        return FailedPlace(before)
    moment, _, last = before.strip().partition("/")
    run = read_receipt(last) if last else (0, None)
    try:
        finished_at = read_moment(moment, "UTC")
    except BadTrigger as bad:
        return Err("bad_cursor", f"Invalid before: {bad.message}", USE_CURSOR, "before")
    if run is None:
        return Err("bad_cursor", f"Invalid before: {before[:80]}", USE_CURSOR, "before")
    return FailedPlace(finished_at, run[0], run[1])


def _no_run(run_id: str) -> Err:
    return Err("not_found", f"Run not found: {run_id}", "list_runs shows the runs of a job.")
