"""Finds the caller of each HTTP request."""

from collections.abc import Awaitable, Callable
from typing import Final

from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.identity import Identity

type FindCaller = Callable[[str | None], Awaitable[Result[Caller]]]
"""From the token of a request, or None, to its caller."""

NO_TOKEN: Final = Err(
    "unauthorized", "This server requires a token.", "Send `Authorization: Bearer <key>`; `cronty token add` makes one."
)


def single_owner(owner: str) -> FindCaller:
    """For a server that only its own machine can reach: every caller is the owner."""
    caller = local_caller(owner)

    async def find_caller(_token: str | None) -> Result[Caller]:
        return Ok(caller)

    return find_caller


def by_token(identity: Callable[[], Identity]) -> FindCaller:
    """For a server that others can reach: every call needs a key or a token."""

    async def find_caller(token: str | None) -> Result[Caller]:
        return NO_TOKEN if token is None else await identity().identify(token)

    return find_caller
