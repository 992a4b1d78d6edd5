"""What happens to an owner's runs, each thing once, also what is written down late."""

from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty.jobs.overview import RunEvent
from cronty.store.overview_store import OverviewStore

MOST: Final = 500
"""Events of one statement."""

LOOK_BACK: Final = timedelta(minutes=1)
"""Longer than a usual lease: after that, a worker that couldn't reach the database may not settle what it had."""

LATE_EVERY: Final = 10.0
"""Seconds between two looks for what came late, which read more than the others."""


class EventStream:
    """One listener's place. `cursor` only rises: it is where another stream goes on after this one.

    An event's time is when it happened, and a worker may come to write it down only later. What it wrote is found by
    the transaction that wrote it. While the database was away nothing was written, so for a while after that, looks go
    back as far as it lasted.
    """

    def __init__(self, store: OverviewStore, owner: str, after: datetime, *, late_every: float = LATE_EVERY) -> None:
        self.cursor = after
        self._store = store
        self._owner = owner
        self._late_every = late_every
        self._shown: dict[tuple[str, str, int, datetime], None] = {}
        self._mark: int | None = None
        self._looked_late = monotonic()
        self._away = timedelta(0)
        self._away_until = self._looked_late

    async def look(self) -> list[RunEvent]:
        """What is new; what came late is in front."""
        if self._mark is None:
            self._mark = await self._store.mark()
        late = await self._late() if monotonic() - self._looked_late >= self._late_every else []
        found = late + await self._store.events(self._owner, self.cursor, MOST)
        new = [event for event in found if _key(event) not in self._shown]
        self._shown.update((_key(event), None) for event in new)
        if new:
            self.cursor = max(self.cursor, max(event.at for event in new))
            oldest = self.cursor - LOOK_BACK
            self._shown = {key: None for key in self._shown if key[3] > oldest}
        return new

    async def _late(self) -> list[RunEvent]:
        """What was written since the last such look and happened before the cursor."""
        now, mark = monotonic(), await self._store.mark()
        unseen = timedelta(seconds=now - self._looked_late)
        if unseen > LOOK_BACK or now > self._away_until:
            self._away, self._away_until = unseen, now + LOOK_BACK.total_seconds()
        after = self.cursor - LOOK_BACK - self._away
        late: list[RunEvent] = []
        more = True
        while more:
            page = await self._store.events(self._owner, after, MOST, written_since=self._mark)
            late += [event for event in page if event.at <= self.cursor]
            more = len(page) >= MOST and page[-1].at <= self.cursor
            after = page[-1].at if page else after
        self._mark, self._looked_late = mark, now
        return late


def _key(event: RunEvent) -> tuple[str, str, int, datetime]:
    return event.run_id, event.verdict, event.attempt, event.at
