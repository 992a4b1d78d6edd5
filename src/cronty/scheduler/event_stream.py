"""What happens to owners' runs, told to each listener once, also what is written down late.

One look a second serves a whole process: it asks whose runs anything happened to, of all owners that somebody listens
for, and only those owners' events are read, once for all their listeners, on behalf of that owner.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

from cronty import telemetry
from cronty.jobs.overview import RunEvent
from cronty.store.database import StoreUnavailable
from cronty.store.overview_store import EVER, OverviewStore

EVERY: Final = 1.0

MOST: Final = 500
"""Events of one statement."""

MOST_HELD: Final = 1000
"""Events that wait for a slow listener; beyond that it reads them from the database when it comes back."""

LOOK_BACK: Final = timedelta(minutes=1)
"""Longer than a usual lease: after that, a worker that couldn't reach the database may not settle what it had."""

LATE_EVERY: Final = 10.0
"""Seconds between two looks for what came late, which read more than the others."""

USUAL_AGE: Final = timedelta(days=8)
"""What happens to older slots (a prompt answered at last, a run tried again) is found by the looks for what came late,
so that the others read a week or two of history, however much there is."""

type Key = tuple[str, str, int, datetime]


@dataclass(frozen=True, slots=True)
class Look:
    """`quiet`: nothing happened up to then but what was seen. `mark`: what was written since that transaction, and
    happened after `late_after` or up to `back` before, came late; `number` counts such looks."""

    quiet: datetime | None
    mark: int | None = None
    back: timedelta = LOOK_BACK
    number: int = 0
    late_after: datetime | None = None

    def after(self, earlier: "Look | None") -> "Look":
        """Both in one: the earlier one was asked for and not made."""
        if earlier is None:
            return self
        mark, number = (self.mark, self.number) if earlier.mark is None else (earlier.mark, earlier.number)
        quiet = min(self.quiet, earlier.quiet) if self.quiet and earlier.quiet else None
        late_after = min((at for at in (self.late_after, earlier.late_after) if at is not None), default=None)
        return Look(quiet, mark, max(self.back, earlier.back), number, late_after)


class EventStream:
    """One owner's events. `cursor` only rises: it is where another stream goes on after this one.

    An event's time is when it happened, and a worker may come to write it down only later. What it wrote is found by
    the transaction that wrote it.
    """

    def __init__(self, store: OverviewStore, owner: str, after: datetime) -> None:
        self.cursor = after
        self._store = store
        self._owner = owner
        self.back = LOOK_BACK
        self._shown: dict[Key, None] = {}

    async def look(self, look: Look) -> tuple[list[RunEvent], list[RunEvent]]:
        """What came late, and what is new."""
        since = self.cursor if look.quiet is None else max(self.cursor, look.quiet)
        back = look.back if look.late_after is None else max(look.back, since - look.late_after)
        late = [] if look.mark is None else await self._late(since - back, look.mark)
        slots_after = EVER if look.quiet is None else _weeks_before(since)
        new: list[RunEvent] = []
        while page := await self._store.events(self._owner, since, MOST, slots_after=slots_after):
            new += page
            since = page[-1].at
            if len(page) < MOST:
                break
        late, new = self._not_shown(late), self._not_shown(new)
        self.cursor = max([since, *(event.at for event in late)])
        if look.mark is not None:
            self.back = back
        oldest = self.cursor - self.back - LOOK_BACK  # longer than any look goes back
        self._shown = {key: None for key in self._shown if key[3] > oldest}
        return late, new

    async def _late(self, after: datetime, mark: int) -> list[RunEvent]:
        late: list[RunEvent] = []
        while page := await self._store.events(self._owner, after, MOST, written_since=mark):
            late += page
            after = page[-1].at
            if len(page) < MOST:
                break
        return late

    def _not_shown(self, events: list[RunEvent]) -> list[RunEvent]:
        fresh = [event for event in events if _key(event) not in self._shown]
        self._shown.update((_key(event), None) for event in fresh)
        return fresh


class Listener:
    """One who listens for an owner. It may be as slow as it likes: others don't wait for it, and it misses nothing."""

    def __init__(self, store: OverviewStore, feed: "Feed", after: datetime, late_from: int) -> None:
        self._store = store
        self._feed = feed
        self._start = self._cursor = after
        self._late_from = late_from
        self._behind = after < feed.stream.cursor
        self._held: deque[RunEvent] = deque()
        self._late: deque[RunEvent] = deque()
        self._read: set[Key] = set()
        self._told = asyncio.Event()
        self._fault: StoreUnavailable | None = None
        if self._behind:
            self._told.set()

    async def wait(self, seconds: float) -> list[RunEvent]:
        """What is new, as soon as there is something; nothing after so many seconds.

        Raises StoreUnavailable when a look has failed; what there is comes with the next one.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._told.wait()
        except TimeoutError:
            return []
        self._told.clear()
        if self._fault is not None:
            fault, self._fault = self._fault, None
            if self._behind or self._held or self._late:
                self._told.set()
            raise fault
        found = await self._catch_up() if self._behind else []
        if not self._behind:
            found += self._not_read([*self._late, *self._held])
            self._late.clear()
            self._held.clear()
            self._cursor = max([self._cursor, *(event.at for event in found)])
        oldest = self._cursor - self._feed.stream.back - LOOK_BACK
        self._read = {key for key in self._read if key[3] > oldest}
        return found

    async def _catch_up(self) -> list[RunEvent]:
        """Read a page of what others have been told already."""
        self._behind = False  # from here on what is told is held, and comes after that
        after, through = self._cursor, self._feed.stream.cursor
        more = True
        try:
            page = await self._store.events(self._feed.owner, after, MOST)
            found = [event for event in page if event.at <= through]
            more = len(found) == len(page) >= MOST
        finally:
            if more:  # what was held meanwhile is read with the next page
                self._behind = True
                self._held.clear()
                self._told.set()
        if self._cursor == after:  # else what came late meanwhile is read too, from before this page
            self._cursor = found[-1].at if more else max(after, through)
        read = {_key(event) for event in found}
        self._late = deque(event for event in self._late if _key(event) not in read)
        return self._not_read(found)

    def _not_read(self, events: list[RunEvent]) -> list[RunEvent]:
        fresh = [event for event in events if _key(event) not in self._read]
        self._read.update(map(_key, fresh))
        return fresh

    def tell(self, late: Sequence[RunEvent], new: Sequence[RunEvent], number: int) -> None:
        """What came late may have been written before the listener came: then only what happened after its start."""
        self._late += [event for event in late if event.at > self._start or number >= self._late_from]
        if not self._behind:
            self._held += [event for event in new if event.at > self._start]
        if len(self._late) > MOST_HELD:
            self._cursor = min(self._cursor, min(event.at for event in self._late) - timedelta(microseconds=1))
            self._late.clear()
            self._behind = True
        if self._behind or len(self._held) > MOST_HELD:
            self._held.clear()
            self._behind = True
        if self._held or self._late or self._behind:
            self._told.set()

    def fail(self, fault: StoreUnavailable) -> None:
        self._fault = fault
        self._told.set()


class Feed:
    """One owner's stream and everybody who listens to it."""

    def __init__(self, store: OverviewStore, owner: str, after: datetime) -> None:
        self.owner = owner
        self.stream = EventStream(store, owner, after)
        self.listeners: set[Listener] = set()
        self.fresh = True
        self._wanted: Look | None = None
        self._looking: asyncio.Task[None] | None = None

    def look(self, look: Look) -> asyncio.Task[None]:
        """Look beside whatever else is done; a look that is still under way is followed by one more."""
        self._wanted = look.after(self._wanted)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._keep_looking(), name="cronty events")
        return self._looking

    async def _keep_looking(self) -> None:
        while (look := self._wanted) is not None:
            self._wanted = None
            try:
                late, new = await self.stream.look(look)
            except Exception as error:
                self._wanted = look if self._wanted is None else self._wanted.after(look)
                if isinstance(error, StoreUnavailable):
                    self.fail(error)
                else:
                    telemetry.step_failed(f"events of {self.owner!r}", error, 1)
                return  # the next look of all makes it again
            self.fresh = False
            for listener in self.listeners:
                listener.tell(late, new, look.number)

    def fail(self, fault: StoreUnavailable) -> None:
        for listener in self.listeners:
            listener.fail(fault)

    @property
    def waits(self) -> bool:
        """Whether a look was asked for that hasn't been made."""
        return self.fresh or self._wanted is not None

    def stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()


class EventBoard:
    """One for each process and database. Nothing is asked of the database while nobody listens."""

    def __init__(self, store: OverviewStore, *, every: float = EVERY, late_every: float = LATE_EVERY) -> None:
        self._store = store
        self._every = every
        self._late_every = late_every
        self._feeds: dict[str, Feed] = {}
        self._looking: asyncio.Task[None] | None = None
        self._through: datetime | None = None
        self._mark: int | None = None
        self._late_looks = 0
        self._looked_late = float("-inf")
        self._away = timedelta(0)
        self._away_until = float("-inf")

    @asynccontextmanager
    async def listen(self, owner: str, after: datetime, *, looking: bool = True) -> AsyncGenerator[Listener]:
        """A listener for what happens after a moment. `looking` False: somebody else calls `step`."""
        feed = self._feeds.setdefault(owner, Feed(self._store, owner, after))
        listener = Listener(self._store, feed, after, self._late_looks + 2)
        self._looked_late = min(self._looked_late, monotonic() - self._late_every)  # for a mark after it has come
        feed.listeners.add(listener)
        if looking and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._keep_looking(), name="cronty event board")
        try:
            yield listener
        finally:
            feed.listeners.discard(listener)
            if not feed.listeners:
                feed.stop()
                self._feeds.pop(owner, None)
            if not self._feeds:
                self._through = self._mark = None

    async def step(self) -> None:
        """Look once for everybody; a slow answer for one owner isn't waited for."""
        owners = list(self._feeds)
        before = self._through
        since = before or await self._store.now()
        through, stirred = await self._store.stirred(owners, since, slots_after=_weeks_before(since))
        # Last, for it moves the mark: nothing may fail after it.
        late = await self._late(owners, through) if monotonic() - self._looked_late >= self._late_every else None
        self._through = through
        looks: list[asyncio.Task[None]] = []
        for owner, feed in self._feeds.items():
            quiet = None if feed.fresh else before
            if late is not None and owner in late.owners:
                looks.append(feed.look(Look(quiet, late.mark, late.back, late.number, late.after)))
            elif feed.waits or owner in stirred:
                looks.append(feed.look(Look(quiet)))
        if looks:
            await asyncio.wait(looks, timeout=self._every)

    async def _late(self, owners: Sequence[str], through: datetime) -> "_Late":
        """Whose events were written down late, or are of old slots, since the last such look.

        While the database was away nothing was written, so for a while after that, looks go back as far as it lasted.
        They also go back as far as its clock was set back: until it has caught up, all that happens came late.
        """
        now, mark, written_since = monotonic(), await self._store.mark(), self._mark
        found = set[str]()
        after = through - LOOK_BACK - self._away
        if written_since is not None:
            unseen = timedelta(seconds=now - self._looked_late)
            if unseen > LOOK_BACK or now > self._away_until:
                self._away, self._away_until = unseen, now + LOOK_BACK.total_seconds()
            after = through - LOOK_BACK - self._away
            found = (await self._store.stirred(owners, after, written_since))[1]
        self._mark, self._looked_late = mark, now
        self._late_looks += 1
        return _Late(found, written_since, LOOK_BACK + self._away, self._late_looks, after)

    async def _keep_looking(self) -> None:
        failures = 0
        while self._feeds:
            try:
                await self.step()
                failures = 0
            except StoreUnavailable as away:
                for feed in self._feeds.values():
                    feed.fail(away)
            except Exception as error:
                failures += 1
                telemetry.step_failed("events", error, failures)
            await asyncio.sleep(self._every)


@dataclass(frozen=True, slots=True)
class _Late:
    owners: set[str]
    mark: int | None
    back: timedelta
    number: int
    after: datetime


def _weeks_before(moment: datetime) -> datetime:
    """Where the week begins that lies `USUAL_AGE` back. Whole weeks, as history is kept: the slot says which of them to
    read, and the time of what happened says which part."""
    day = (moment - USUAL_AGE).astimezone(UTC)
    return datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=day.weekday(), microseconds=1)


def _key(event: RunEvent) -> Key:
    return event.run_id, event.verdict, event.attempt, event.at
