"""Who is calling over HTTP: what a request brings along becomes a caller, for every request anew."""

from collections.abc import Awaitable, Callable
from typing import Final

from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.identity import Identity

type WhoCalls = Callable[[str | None], Awaitable[Result[Caller]]]
"""From the token of a request, or None, to its caller."""

NO_TOKEN: Final = Err(
    "unauthorized", "This server asks for a token.", "Send `Authorization: Bearer <key>`; `cronty token add` makes one."
)


def anybody(owner: str) -> WhoCalls:
    """For a server that only its own machine can reach: whoever calls is the owner."""
    caller = local_caller(owner)

    async def who(_token: str | None) -> Result[Caller]:
        return Ok(caller)

    return who


def by_token(identity: Callable[[], Identity]) -> WhoCalls:
    """For a server that others can reach: nobody without a key or a token."""

    async def who(token: str | None) -> Result[Caller]:
        return NO_TOKEN if token is None else await identity().identify(token)

    return who
