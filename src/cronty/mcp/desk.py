"""What every tool works with: the door, the inbox, and who is calling."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from cronty.jobs.caller import Caller
from cronty.jobs.result import Result
from cronty.scheduler import Scheduler
from cronty.scheduler.agenda import Agenda
from cronty.scheduler.doors import AWAY
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.runs import Runs
from cronty.store.database import StoreUnavailable


class Backend(Protocol):
    """What a server stands on; it may still be closed when the tools are made."""

    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def inbox(self) -> Inbox: ...
    @property
    def runs(self) -> Runs: ...
    async def push(self, owner: str, /, **fields: Any) -> dict[str, object]:
        """Deliver a notification at once, to the owner's channel or to a topic."""
        ...


async def _at_once() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Desk:
    """One per server; `caller` says on whose behalf the current call is made."""

    backend: Backend
    caller: Callable[[], Caller]
    ready: Callable[[], Awaitable[object]] = _at_once
    """Returns when the backend is open: tools can be listed before it is."""

    @property
    def door(self) -> Scheduler:
        return self.backend.scheduler

    @property
    def inbox(self) -> Inbox:
        return self.backend.inbox

    @property
    def owner(self) -> str:
        return self.caller().owner

    @property
    def key_id(self) -> int | None:
        """The key the caller came with."""
        return self.caller().key_id

    @property
    def agenda(self) -> Agenda:
        return Agenda(self.door)

    @property
    def runs(self) -> Runs:
        return self.backend.runs

    async def ask[T](self, call: Awaitable[Result[T]]) -> Result[T]:
        """The door's answer; a database that is away is an answer too, in words for whoever waits for it."""
        try:
            return await call
        except StoreUnavailable:
            return AWAY
