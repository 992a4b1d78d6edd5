"""Bounds how many requests of one owner are under way at once, so that one who waits for many locks nobody else out.

The protocol cuts connections that ask for nothing (`connections.py`); one that waits for its answer is never cut.
"""

from collections import Counter
from contextvars import ContextVar
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from cronty.contract.caller import Caller
from cronty.contract.result import Ok, Result
from cronty.web.callers import FindCaller

TOO_MANY: Final = 429

_owners: ContextVar[set[str] | None] = ContextVar("cronty_request_counts_for", default=None)
"""The owners that the current request counts for; there is one at most, unless it signs in as somebody else."""


class UnderWay:
    """`most` requests of one owner in this process, of all surfaces together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of = Counter[str]()

    def counted(self, find_caller: FindCaller) -> FindCaller:
        """The same, counting the request for its caller's owner; raises a 429 if that one has too many."""

        async def find_and_count(token: str | None) -> Result[Caller]:
            known = await find_caller(token)
            if isinstance(known, Ok):
                self.count(known.value.owner)
            return known

        return find_and_count

    def count(self, owner: str) -> None:
        """Count the request for this owner; raises a 429 if it has too many."""
        owners = _owners.get()
        if owners is None or owner in owners:
            return
        if self._of[owner] >= self._most:
            raise HTTPException(TOO_MANY)
        self._of[owner] += 1
        owners.add(owner)

    def until_answered(self, app: ASGIApp) -> ASGIApp:
        """Middleware: a request counts until its answer has ended."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            owners = set[str]()
            before = _owners.set(owners)
            try:
                await app(scope, receive, send)
            finally:
                _owners.reset(before)
                self._of.subtract(owners)
                self._of += Counter()  # drops owners that have none

        return answer
