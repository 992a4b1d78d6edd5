"""What every tool needs: the service and the caller."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from cronty.contract.caller import Caller
from cronty.contract.operation import Operation
from cronty.contract.result import Result
from cronty.mcp.client_info import client_gone, client_info
from cronty.scheduler.service import AWAY, Service, StoreUnavailable


class Backend(Protocol):
    """What a server uses; it may still be closed when the tools are made."""

    @property
    def service(self) -> Service: ...


async def _at_once() -> None:
    pass


async def _nothing() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One per server; `who` returns the caller of the current call."""

    backend: Backend
    who: Callable[[], Caller]
    ready: Callable[[], Awaitable[object]] = _at_once
    """Returns when the backend is open: tools can be listed before it is."""
    warning: Callable[[], Awaitable[str | None]] = _nothing
    """What to say beside a plan that was made: that nothing will come of it, and how to change that."""

    @property
    def service(self) -> Service:
        return self.backend.service

    def caller(self) -> Caller:
        """The caller, with its client."""
        return replace(self.who(), surface="mcp", client=client_info(), gone=client_gone())

    async def answer[R, A](self, operation: Operation[..., R, A], request: R) -> Result[A]:
        return await self.service.answer(operation, self.caller(), request)

    async def ask[T](self, call: Awaitable[Result[T]]) -> Result[T]:
        """The result of a call; an unreachable database is an `Err` too."""
        try:
            return await call
        except StoreUnavailable:
            return AWAY
