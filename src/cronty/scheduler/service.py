"""Answers every operation, for every transport: `(operation, caller, request) -> Result[answer]`."""

from dataclasses import replace
from typing import Any, Final, cast

from cronty import metrics
from cronty.actions.notify import Notify
from cronty.contract.answers import StartedRun
from cronty.contract.caller import Caller
from cronty.contract.codes import status_of
from cronty.contract.operation import Operation
from cronty.contract.operations import Operations
from cronty.contract.requests import ScheduleJob, UndeleteJob
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.backfills import Backfills
from cronty.scheduler.calendars import Calendars
from cronty.scheduler.channels import Channels
from cronty.scheduler.identity import Identity
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.job_calls import JobCalls
from cronty.scheduler.listeners import Listeners
from cronty.scheduler.overview import Overview
from cronty.scheduler.owner_calls import OwnerCalls
from cronty.scheduler.permission import not_permitted
from cronty.scheduler.presses import Presses
from cronty.scheduler.runs import Runs
from cronty.scheduler.scheduler import Scheduler
from cronty.store.audit_store import AuditStore
from cronty.store.database import StoreUnavailable as StoreUnavailable

AWAY: Final = Err(
    "unavailable", "The schedule database can't be used right now.", "Nothing was changed; try again in a minute."
)
"""What every surface answers when the database can't be reached, or a lock isn't released in time."""

_KINDS: Final = {429: "limited", 503: "unavailable"}


class Service:
    """All operations, over one open database."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        inbox: Inbox,
        runs: Runs,
        channels: Channels,
        identity: Identity,
        trail: AuditStore,
        overview: Overview,
        notify: Notify,
        calendars: Calendars,
        listeners: Listeners,
        presses: Presses,
        backfills: Backfills,
    ) -> None:
        self.scheduler = scheduler
        self.inbox = inbox
        self.runs = runs
        self.channels = channels
        self.identity = identity
        self.trail = trail
        self.overview = overview
        self.listeners = listeners
        self.presses = presses
        self._jobs = jobs = JobCalls(scheduler, runs, channels, backfills)
        owners = OwnerCalls(scheduler, inbox, channels, identity, trail, notify, calendars)
        self._handlers = {
            one.name: one for one in (*jobs.handlers(), *owners.handlers(), Operations.list_owners.by(overview.owners))
        }

    async def answer[R, A](self, operation: Operation[..., R, A], caller: Caller, request: R) -> Result[A]:
        try:
            result = await self._answer(operation, caller, request)
        except Exception:
            metrics.REQUESTS.add(1, "fault")
            raise
        metrics.REQUESTS.add(1, "ok" if isinstance(result, Ok) else _KINDS.get(status_of(result.code), "refused"))
        return result

    async def _answer[R, A](self, operation: Operation[..., R, A], caller: Caller, request: R) -> Result[A]:
        if refused := not_permitted(operation, caller):
            return refused
        if wrong := operation.out_of_bounds(request):
            return wrong
        try:
            named = await self._named(caller, request)
            if isinstance(named, Err):
                return named
            return await self._handlers[operation.name].answer(replace(caller, operation=operation.name), named.value)
        except StoreUnavailable:
            return AWAY

    async def enqueue(
        self, caller: Caller, request: ScheduleJob, unique: bool | str = False, connection: object | None = None
    ) -> Result[StartedRun]:
        """`schedule_job` for what can't be sent over a wire: a job made in the caller's own transaction."""
        operation = Operations.schedule_job
        if refused := not_permitted(operation, caller):
            return refused
        try:
            return await self._jobs.enqueue(replace(caller, operation=operation.name), request, unique, connection)
        except StoreUnavailable:
            return AWAY

    async def _named[R](self, caller: Caller, request: R) -> Result[R]:
        """The request with the id of its job, which may be given by its name."""
        given = getattr(request, "job_id", None)
        if not isinstance(given, str):
            return Ok(request)
        job_id = await self.scheduler.named(caller, given, deleted=isinstance(request, UndeleteJob))
        if isinstance(job_id, Err):
            return job_id
        return Ok(request if job_id.value == given else replace(cast("Any", request), job_id=job_id.value))
