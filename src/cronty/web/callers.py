"""Finds the caller of each HTTP request."""

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Final

from cronty.contract.caller import Caller, local_caller
from cronty.contract.local_key import end_of_code
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.identity import Identity

type FindCaller = Callable[[str | None], Awaitable[Result[Caller]]]
"""From the token of a request, or None, to its caller."""

NO_TOKEN: Final = Err(
    "no_token", "This server requires a token.", "Send `Authorization: Bearer <key>`; `cronty token add` makes one."
)


class LocalKey:
    """The key of the user who runs the server at `url` on their own machine: whoever has it is `owner`."""

    def __init__(self, key: str, owner: str, url: str) -> None:
        self.key = key
        self._url = url
        self._since = time.monotonic_ns()
        self.caller = local_caller(owner)
        self._used: dict[str, int] = {}

    def begin(self) -> None:
        """From now on we have the address. Codes from before may have been sent to somebody else."""
        self._since = time.monotonic_ns()

    def knows(self, token: str) -> bool:
        """Whether a token is the key, or a code made from it."""
        is_key = hmac.compare_digest(token.encode(), self.key.encode())
        return is_key or end_of_code(self.key, "call", self._url, token, self._since) is not None

    def redeem(self, code: str) -> bool:
        """Whether a code opens the dashboard; each does so once."""
        self._used = {one: end for one, end in self._used.items() if end > time.time()}
        end = end_of_code(self.key, "open", self._url, code, self._since)
        if end is None or code in self._used:
            return False
        self._used[code] = end
        return True


def by_token(identity: Callable[[], Identity], local: LocalKey | None = None) -> FindCaller:
    """Every call needs a key or a token; `local` is accepted too if only this machine can reach the server."""

    async def find_caller(token: str | None) -> Result[Caller]:
        if token is None:
            return NO_TOKEN
        if local is not None and local.knows(token):
            return Ok(local.caller)
        return await identity().identify(token)

    return find_caller
