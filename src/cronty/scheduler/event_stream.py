"""Delivers run events to listeners, each event once, including events written late.

Each process polls the database once a second for all of its listeners: it asks which of their owners have new events,
then reads the events of those owners only, once per owner, whatever the number of listeners.

An event has the time at which it happened, and a worker that could not reach the database writes it later. So a normal
poll, which reads events after the last one seen, can miss it. Every `LATE_EVERY` seconds a poll also reads the events
that were written since the transaction `mark` and happened before the last one seen: those came late.
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
from cronty.timing.offsets import TICK

EVERY: Final = 1.0

MOST: Final = 500
"""Events read by one statement."""

MAX_HELD: Final = 1000
"""Events held for a slow listener; with more, it reads them from the database later."""

LOOK_BACK: Final = timedelta(minutes=1)
"""Longer than a usual lease: after that, a worker that couldn't reach the database may not settle its runs."""

LATE_EVERY: Final = 10.0
"""Seconds between polls for late events, which read more than the others."""

USUAL_AGE: Final = timedelta(days=8)
"""Events of older slots (a prompt settled days later, a run tried again) are found by the polls for late events, so
that normal polls read only a week or two of history."""

LONGEST_REST: Final = 60.0
"""Seconds until the events of an owner are read again that could not be read many times."""

type Key = tuple[str, str, int, datetime]


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll of one owner's events.

    `quiet`: all events up to this time have been seen. `mark`: also read the late events, which were written since
    that transaction and happened after `late_after`, or up to `back` before; `number` counts such polls.
    """

    quiet: datetime | None
    mark: int | None = None
    back: timedelta = LOOK_BACK
    number: int = 0
    late_after: datetime | None = None

    def after(self, earlier: "Poll | None") -> "Poll":
        """This poll combined with an earlier one that was not made."""
        if earlier is None:
            return self
        mark, number = (self.mark, self.number) if earlier.mark is None else (earlier.mark, earlier.number)
        quiet = min(self.quiet, earlier.quiet) if self.quiet and earlier.quiet else None
        late_after = min((at for at in (self.late_after, earlier.late_after) if at is not None), default=None)
        return Poll(quiet, mark, max(self.back, earlier.back), number, late_after)


class EventStream:
    """One owner's events. `cursor` never goes back: another stream can continue from it."""

    def __init__(self, store: OverviewStore, owner: str, after: datetime) -> None:
        self.cursor = after
        self._store = store
        self._owner = owner
        self.back = LOOK_BACK
        self._shown: dict[Key, None] = {}

    async def poll(self, poll: Poll) -> tuple[list[RunEvent], list[RunEvent]]:
        """The late events, and the new ones."""
        since = self.cursor if poll.quiet is None else max(self.cursor, poll.quiet)
        back = poll.back if poll.late_after is None else max(poll.back, since - poll.late_after)
        late = [] if poll.mark is None else await self._late(since - back, poll.mark)
        slots_after = EVER if poll.quiet is None else _weeks_before(since)
        new: list[RunEvent] = []
        while page := await self._store.events(self._owner, since, MOST, slots_after=slots_after):
            new += page
            since = page[-1].at
            if len(page) < MOST:
                break
        late, new = self._not_shown(late), self._not_shown(new)
        self.cursor = max([since, *(event.at for event in late)])
        if poll.mark is not None:
            self.back = back
        oldest = self.cursor - self.back - LOOK_BACK  # further than any poll goes back
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
    """One listener to an owner's events. A slow one misses nothing, and the others don't wait for it."""

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

    def wake(self) -> None:
        """Let `wait` return now."""
        self._told.set()

    async def wait(self, seconds: float) -> list[RunEvent]:
        """The new events, as soon as there are some; empty after this many seconds.

        Raises StoreUnavailable when a poll has failed; the events come with the next one.
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
        """Read a page of events that the other listeners have had already."""
        self._behind = False  # from here on new events are held, and delivered after this page
        after, through = self._cursor, self._feed.stream.cursor
        more = True
        try:
            page = await self._store.events(self._feed.owner, after, MOST)
            found = [event for event in page if event.at <= through]
            more = len(found) == len(page) >= MOST
        finally:
            if more:  # events held meanwhile are read with the next page
                self._behind = True
                self._held.clear()
                self._told.set()
        if self._cursor == after:  # else a late event moved it back, and reading goes on from there
            self._cursor = found[-1].at if more else max(after, through)
        read = {_key(event) for event in found}
        self._late = deque(event for event in self._late if _key(event) not in read)
        return self._not_read(found)

    def _not_read(self, events: list[RunEvent]) -> list[RunEvent]:
        fresh = [event for event in events if _key(event) not in self._read]
        self._read.update(map(_key, fresh))
        return fresh

    def tell(self, late: Sequence[RunEvent], new: Sequence[RunEvent], number: int) -> None:
        """Hold events for the listener. Late ones from before it connected count if they happened after its start."""
        self._late += [event for event in late if event.at > self._start or number >= self._late_from]
        if not self._behind:
            self._held += [event for event in new if event.at > self._start]
        if len(self._late) > MAX_HELD:
            self._cursor = min(self._cursor, min(event.at for event in self._late) - TICK)
            self._late.clear()
            self._behind = True
        if self._behind or len(self._held) > MAX_HELD:
            self._held.clear()
            self._behind = True
        if self._held or self._late or self._behind:
            self._told.set()

    def fail(self, fault: StoreUnavailable) -> None:
        self._fault = fault
        self._told.set()


class Feed:
    """One owner's stream and its listeners."""

    def __init__(self, store: OverviewStore, owner: str, after: datetime) -> None:
        self.owner = owner
        self.stream = EventStream(store, owner, after)
        self.listeners: set[Listener] = set()
        self.fresh = True
        self._wanted: Poll | None = None
        self._polling: asyncio.Task[None] | None = None
        self._failures = 0
        self._rests_until = float("-inf")

    def poll(self, poll: Poll) -> asyncio.Task[None] | None:
        """Poll in the background; if a poll is under way, one more follows it. After failures it rests for a while."""
        self._wanted = poll.after(self._wanted)
        if monotonic() < self._rests_until:
            return None
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._keep_polling(), name="cronty events")
        return self._polling

    async def _keep_polling(self) -> None:
        while (poll := self._wanted) is not None:
            self._wanted = None
            try:
                late, new = await self.stream.poll(poll)
            except Exception as error:
                self._wanted = poll if self._wanted is None else self._wanted.after(poll)
                if isinstance(error, StoreUnavailable):
                    self.fail(error)
                else:
                    self._rest(error)
                return  # a later step of the board repeats it
            self.fresh = False
            self._failures = 0
            for listener in self.listeners:
                listener.tell(late, new, poll.number)

    def _rest(self, error: Exception) -> None:
        """Log the first of several failures, and wait longer after each."""
        self._failures += 1
        if self._failures == 1:
            telemetry.step_failed(f"events of {self.owner!r}", error, self._failures)
        self._rests_until = monotonic() + min(EVERY * 2**self._failures, LONGEST_REST)

    def fail(self, fault: StoreUnavailable) -> None:
        for listener in self.listeners:
            listener.fail(fault)

    @property
    def waits(self) -> bool:
        """Whether a poll is still to be made."""
        return self.fresh or self._wanted is not None

    def stop(self) -> None:
        if self._polling is not None:
            self._polling.cancel()


class EventBoard:
    """Polls for all listeners of a process; one for each database. With no listener it doesn't poll."""

    def __init__(self, store: OverviewStore, *, every: float = EVERY, late_every: float = LATE_EVERY) -> None:
        self._store = store
        self._every = every
        self._late_every = late_every
        self._feeds: dict[str, Feed] = {}
        self._polling: asyncio.Task[None] | None = None
        self._through: datetime | None = None
        self._mark: int | None = None
        self._late_polls = 0
        self._polled_late = float("-inf")
        self._away = timedelta(0)
        self._away_until = float("-inf")

    @asynccontextmanager
    async def listen(self, owner: str, after: datetime, *, polling: bool = True) -> AsyncGenerator[Listener]:
        """A listener for events after this time. `polling` False: the caller calls `step` itself."""
        feed = self._feeds.setdefault(owner, Feed(self._store, owner, after))
        listener = Listener(self._store, feed, after, self._late_polls + 2)
        # The next poll looks for late events too, which takes a mark after this listener connected.
        self._polled_late = min(self._polled_late, monotonic() - self._late_every)
        feed.listeners.add(listener)
        if polling and (self._polling is None or self._polling.done()):
            self._polling = asyncio.create_task(self._keep_polling(), name="cronty event board")
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
        """Poll once for all owners, without waiting for a slow one."""
        owners = list(self._feeds)
        before = self._through
        since = before or await self._store.now()
        through, stirred = await self._store.stirred(owners, since, slots_after=_weeks_before(since))
        # Last, because it moves the mark: if a later step failed, late events would be lost.
        late = await self._late(owners, through) if monotonic() - self._polled_late >= self._late_every else None
        self._through = through
        polls: list[asyncio.Task[None] | None] = []
        for owner, feed in self._feeds.items():
            quiet = None if feed.fresh else before
            if late is not None and owner in late.owners:
                polls.append(feed.poll(Poll(quiet, late.mark, late.back, late.number, late.after)))
            elif feed.waits or owner in stirred:
                polls.append(feed.poll(Poll(quiet)))
        if started := [poll for poll in polls if poll is not None]:
            await asyncio.wait(started, timeout=self._every)

    async def _late(self, owners: Sequence[str], through: datetime) -> "_Late":
        """The owners with late events, or events of old slots, since the last such poll.

        Nothing is written during a database outage, so for a while after one, polls go back as far as it lasted. They
        also go back as far as the database's clock was set back: until it catches up, every event counts as late.
        """
        now, mark, written_since = monotonic(), await self._store.mark(), self._mark
        found = set[str]()
        after = through - LOOK_BACK - self._away
        if written_since is not None:
            unseen = timedelta(seconds=now - self._polled_late)
            if unseen > LOOK_BACK or now > self._away_until:
                self._away, self._away_until = unseen, now + LOOK_BACK.total_seconds()
            after = through - LOOK_BACK - self._away
            found = (await self._store.stirred(owners, after, written_since))[1]
        self._mark, self._polled_late = mark, now
        self._late_polls += 1
        return _Late(found, written_since, LOOK_BACK + self._away, self._late_polls, after)

    async def _keep_polling(self) -> None:
        failures = 0
        while self._feeds:
            try:
                await self.step()
                failures = 0
            except StoreUnavailable as outage:
                for feed in self._feeds.values():
                    feed.fail(outage)
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
    """The start of the week that lies `USUAL_AGE` back. Whole weeks, because history is partitioned by the week of the
    slot."""
    day = (moment - USUAL_AGE).astimezone(UTC)
    return datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=day.weekday(), microseconds=1)


def _key(event: RunEvent) -> Key:
    return event.run_id, event.verdict, event.attempt, event.at
