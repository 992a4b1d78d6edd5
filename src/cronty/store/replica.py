"""Decides whether a read may go to the replica: it must be recent, and have the owner's own latest writes.

Now and then a process asks the primary for its position in the write-ahead log, and the replica for the position it
has replayed. If the replica has reached the position that the primary had at some time, it has everything written
before that time. That time must be at most `FURTHEST_BEHIND` seconds ago, and after the owner's last write through this
process.
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
"""Seconds that a replica may be behind."""

ASK_AGAIN: Final = 0.5
LEFT_ALONE: Final = 10.0
"""Seconds until its position is asked for again, and until a replica that failed is tried again."""

WITHIN: Final = 2.0
ANSWER_WITHIN: Final = 10.0
"""Seconds in which it must return its position, and answer a statement; after that the primary is used."""

_LOOKS: Final = 3
_CATCH_UP: Final = 0.02


class Replica:
    """The replica's database, and whether it is recent enough."""

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
        """Whether it isn't too far behind and has what `owner` wrote through this process."""
        if not self._has_what(owner):
            async with self._looking:
                if not self._has_what(owner) and self._clock() >= self._next_look:
                    await self._look()
        return self._has_what(owner)

    def wrote(self, owner: str) -> None:
        """Remember when an owner last wrote."""
        now = self._clock()
        self._wrote.pop(owner, None)  # keep the latest last
        self._wrote[owner] = now
        while self._wrote[first := next(iter(self._wrote))] < now - FURTHEST_BEHIND:
            del self._wrote[first]  # any replica that may be used has it

    def leave_alone(self, error: BaseException) -> None:
        """It failed: use the primary for a while."""
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
    """The URL with `target_session_attrs=standby`, unless it has that parameter already."""
    return url if wanted_of(url) else f"{url}{'&' if '?' in url else '?'}{ATTRIBUTE}=standby"
