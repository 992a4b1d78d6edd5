"""Decides whether claimed attempts may start: only for owners that their task serves, within the owner's limits, and
when the attempt before has really ended."""

from collections.abc import Mapping, Sequence
from typing import Final

from cronty import tracing
from cronty.engine.attempt import Attempt
from cronty.engine.limiting import Limiting
from cronty.engine.working import Working
from cronty.jobs.action import kind_of
from cronty.jobs.outcome import Failed
from cronty.jobs.run import run_id
from cronty.store.database import StoreUnavailable
from cronty.store.engine_store import EngineStore, PutOff
from cronty.store.owner_store import OwnerStore

NOT_SERVED: Final = Failed(
    "This task isn't available to its owner; whoever runs this service can allow it.", permanent=True
)

ENDING: Final = "the attempt before is still ending"
ENDING_REST: Final = 5.0
"""Seconds until an attempt is tried again whose run has an earlier one that is still ending."""


class Admitting:
    """Every attempt passes here, whether it was fired, retried, rescued, redriven or asked for."""

    def __init__(self, store: EngineStore, owners: OwnerStore, limiting: Limiting, working: Working) -> None:
        self._store = store
        self._owners = owners
        self._limiting = limiting
        self._working = working

    async def start(self, worker: int, attempts: Sequence[Attempt], *, first: bool, since: int = 0) -> None:
        """Perform attempts whose places are reserved, and give back the places of those that may not start yet.

        `since` is when planning or claiming them began, if somebody collects spans.
        """
        started: Sequence[Attempt] = ()
        refused: list[Attempt] = []
        try:
            made_in = await self._made_in(attempts) if since and attempts else None
            refused = [one for one in attempts if one.task.owners is not None and not await self._serves(one)]
            served = [one for one in attempts if one not in refused] if refused else attempts
            started = await self._limiting.put_off(worker, await self._without_ending(worker, served))
            if made_in is not None:
                for one in (*started, *refused):
                    one.spans = spans_of(one, since, made_in.get(one.job_id))
        finally:
            unused = len(attempts) - len(started) - len(refused)
            self._working.release(unused, urgent=bool(attempts) and attempts[0].urgent)
            self._working.drop(refused, NOT_SERVED)
        self._working.take(started, first=first)

    async def _without_ending(self, worker: int, attempts: Sequence[Attempt]) -> Sequence[Attempt]:
        """Queue attempts again whose run has an earlier one here that is still cleaning up; returns the others."""
        ending = self._working.still_ending(attempts)
        if not ending:
            return attempts
        late = [PutOff(one.job_id, one.slot, one.number, ENDING_REST, ENDING) for one in ending]
        await self._store.queue_again(worker, await self._store.now(), late)
        return [one for one in attempts if one not in ending]

    async def _made_in(self, attempts: Sequence[Attempt]) -> Mapping[int, str]:
        """The spans in which their jobs were made."""
        try:
            return await self._store.made_in([one.job_id for one in attempts])
        except StoreUnavailable:  # they are performed all the same, without a link
            return {}

    async def _serves(self, attempt: Attempt) -> bool:
        name = await self._owners.name_of(attempt.owner_id)
        return name is not None and attempt.task.serves(name)


def spans_of(attempt: Attempt, since: int, made_in: str | None) -> tracing.Fire | None:
    return tracing.fire(
        "cronty.claim" if attempt.from_queue else "cronty.plan",
        since,
        made_in,
        job=attempt.job_number,
        run_id=run_id(attempt.job_number, attempt.slot),
        attempt=attempt.number,
        action=kind_of(attempt.task.name),
    )
