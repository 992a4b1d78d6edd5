"""A replica to look at, as long as it is known to have what its looker has a right to see.

From time to time a process asks the primary how far its log goes, and the replica how far it has come. A replica that
has come as far as the primary was at some moment has all that was written before that moment. That must be no longer
ago than `FURTHEST_BEHIND`, and not before the looker's owner last wrote something through this process.
"""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

from cronty.store.connecting import ATTRIBUTE, wanted_of
from cronty.store.faults import StoreUnavailable

if TYPE_CHECKING:
    from cronty.store.database import Database

FURTHEST_BEHIND: Final = 5.0
"""Seconds by which a replica may be behind."""

ASK_AGAIN: Final = 0.5
LEFT_ALONE: Final = 10.0
"""Seconds until it is asked again how far it is, and until one that failed is tried again."""

WITHIN: Final = 2.0
ANSWER_WITHIN: Final = 10.0
"""Seconds in which it must say how far it is, and answer what is asked; then the primary is asked instead."""

_LOOKS: Final = 3
_CATCH_UP: Final = 0.02


class Replica:
    """What decides whether a statement that only reads may be made at the replica."""

    def __init__(self, database: "Database", primary: "Database", clock: Callable[[], float] = monotonic) -> None:
        self.database = database
        self._primary = primary
        self._clock = clock
        self._marks: list[tuple[float, int]] = []
        self._has_until = float("-inf")
        self._wrote: dict[str, float] = {}
        self._next_look = float("-inf")
        self._looking = asyncio.Lock()

    async def will_do(self, owner: str | None) -> bool:
        """Whether it has what `owner` wrote through this process, and isn't too far behind."""
        if not self._has_what(owner):
            async with self._looking:
                if not self._has_what(owner) and self._clock() >= self._next_look:
                    await self._look()
        return self._has_what(owner)

    def wrote(self, owner: str) -> None:
        """What an owner has just written must be there before the owner looks."""
        now = self._clock()
        self._wrote.pop(owner, None)  # the latest stands last
        self._wrote[owner] = now
        while self._wrote[first := next(iter(self._wrote))] < now - FURTHEST_BEHIND:
            del self._wrote[first]  # a replica that may be looked at has that

    def leave_alone(self, error: BaseException) -> None:
        """It failed: look at the primary for a while."""
        self.database.outage.fault(error)
        self._has_until = float("-inf")
        self._next_look = self._clock() + LEFT_ALONE

    async def close(self) -> None:
        await self.database.close()

    def _has_what(self, owner: str | None) -> bool:
        wrote = None if owner is None else self._wrote.get(owner)
        return self._has_until >= self._clock() - FURTHEST_BEHIND and (wrote is None or self._has_until > wrote)

    async def _look(self) -> None:
        self._next_look = self._clock() + ASK_AGAIN
        moment = self._clock()
        self._marks = [mark for mark in self._marks if mark[0] > moment - FURTHEST_BEHIND]
        self._marks.append((moment, await self._primary.for_the_operator().value("written_through")))
        try:
            async with asyncio.timeout(WITHIN):
                await self._see_how_far()
        except (StoreUnavailable, TimeoutError) as away:
            self.leave_alone(away)

    async def _see_how_far(self) -> None:
        if not self.database.is_open:
            await self.database.open()
        for _ in range(_LOOKS):
            came: int | None = await self.database.for_the_operator().value("replayed_through")
            if came is None:
                raise StoreUnavailable("CRONTY_REPLICA_URL names no replica")
            reached = [moment for moment, through in self._marks if through <= came]
            if reached:
                self._has_until = max(reached)
            if reached and self._has_until == self._marks[-1][0]:
                break
            await asyncio.sleep(_CATCH_UP)


def replica_url(url: str) -> str:
    """The URL, for a server that is a standby unless it says something else itself."""
    return url if wanted_of(url) else f"{url}{'&' if '?' in url else '?'}{ATTRIBUTE}=standby"
