"""Claims waiting runs: retries, rescued runs, runs under a limit, and runs that couldn't start where they fired."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty.actions.tasks import Registry
from cronty.engine.admitting import Admitting
from cronty.engine.attempt import Attempt
from cronty.engine.counting import count_claimed
from cronty.engine.crowd import Crowd
from cronty.engine.fleetwide import Fleetwide
from cronty.engine.limiting import NO_LIMIT, Limiting
from cronty.engine.working import PATIENCE, Working
from cronty.jobs.outcome import Cancelled
from cronty.jobs.policy import load_policy
from cronty.store.database import Row
from cronty.store.engine_store import EngineStore
from cronty.store.task_limit_store import Ask, LimitedClaim, Room, TaskLimitStore

BATCH: Final = 500

FULL_REST: Final = 0.25
"""Seconds until the next look if some owners are at their limit: the waiting runs may be theirs. The same for a
limit of tasks that leaves no room: what another worker has under way may end."""

LOCKED_REST: Final = 0.02
"""Seconds until the next look if another engine claims under the same limit."""

SHORTEST_REST: Final = 0.05

LATEST_COMMIT: Final = timedelta(seconds=5)
"""The longest time between the start of a run's wait and the commit that makes it visible. Later ones are found by the
next look at the whole queue."""

LOOK_AGAIN_EVERY: Final = 10.0
"""How often the whole queue is looked at again, without a lower bound."""

CANCELLED: Final = Cancelled("the job was cancelled")

TOGETHER: Final = (BATCH, 50, 1)
"""How many runs that have crashed their worker 0, 1 or 2 times are performed at once. The groups get smaller, so that
the run that causes the crashes is found and the others aren't quarantined with it."""


class QueueBounds:
    """Where looks at the queue that leave some owners out may start: every older run belongs to those owners.

    Without this bound, each look would walk over all their runs. New runs join the queue at the current time, or a
    little before it, when their transaction commits. The bound is dropped every few seconds, to find runs that another
    process had locked and released, and runs whose task was changed.
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[int, frozenset[int]], tuple[datetime, float]] = {}

    def through(self, crashes: int, left_out: frozenset[int], moment: datetime) -> None:
        """All runs that were due before `moment` belong to the owners `left_out`."""
        now = monotonic()
        self._ends = {look: end for look, end in self._ends.items() if now < end[1]}
        _, good_until = self._ends.get((crashes, left_out), (moment, now + LOOK_AGAIN_EVERY))
        self._ends[crashes, left_out] = (moment - LATEST_COMMIT, good_until)

    def bound(self, crashes: int, left_out: frozenset[int]) -> datetime | None:
        """Where a look that leaves these owners out starts; None means at the beginning."""
        now = monotonic()
        return max(
            (
                moment
                for (level, owners), (moment, good_until) in self._ends.items()
                if level == crashes and owners <= left_out and now < good_until
            ),
            default=None,
        )


def _may_have_more(rows: list[Row], left: Mapping[int, int], usual: int) -> bool:
    """Whether an owner's limit was used up, so that more of its runs may be waiting."""
    claimed = Counter(row["owner_id"] for row in rows)
    return any(count >= left.get(owner, usual) for owner, count in claimed.items())


class Claiming:
    """The duty of claiming from the queue."""

    def __init__(
        self,
        store: EngineStore,
        limits: TaskLimitStore,
        registry: Registry,
        working: Working,
        limiting: Limiting,
        admitting: Admitting,
        fleetwide: Fleetwide,
    ) -> None:
        self._store = store
        self._limits = limits
        self._limiting = limiting
        self._admitting = admitting
        self._registry = registry
        self._working = working
        self._fleetwide = fleetwide
        self.crowd = Crowd()
        self._urgent_crowd = Crowd()
        self._full: list[int] = []
        self._bounds = QueueBounds()
        self._urgent_bounds = QueueBounds()
        self._lines: dict[str, tuple[Crowd, QueueBounds]] = {}

    async def step(self, worker: int) -> float:
        """Claim a batch for each number of crashes; 0 if there may be more, else seconds until the next run is due."""
        performable = self._working.performable(self._registry.tasks)
        tasks = list(self._fleetwide.direct(performable))
        limited = self._fleetwide.limited(performable)
        longest = PATIENCE if self._working.threads_hang else float("inf")
        if not tasks and not limited:
            return longest
        await self._working.wait_for_place(self.crowd)
        rest = await self._claim_limited(worker, limited) if limited else longest
        return min(rest, longest, await self._claim_direct(worker, tasks, self.crowd) if tasks else longest)

    async def step_urgent(self, worker: int) -> float:
        """The same for urgent tasks alone, whether or not the worker is full."""
        performable = self._working.performable(self._registry.tasks, urgent=True)
        tasks = list(self._fleetwide.direct(performable, urgent=True))
        limited = [task for task in self._fleetwide.limited(performable) if self._fleetwide.is_urgent(task)]
        rest = await self._claim_limited(worker, limited, urgent=True) if limited else float("inf")
        return min(rest, await self._claim_direct(worker, tasks, self._urgent_crowd) if tasks else float("inf"))

    async def seconds_until_next(self) -> float | None:
        """In how many seconds a waiting run may be claimed here; None if none will be, as far as is known now."""
        tasks = self._registry.tasks
        direct = [*self._fleetwide.direct(tasks), *self._fleetwide.direct(tasks, urgent=True)]
        waits = [await self._store.seconds_until_queued(direct)]
        for head in await self._limits.heads(self._fleetwide.limited(tasks)):
            waits.append(head.seconds if head.seconds > 0 else await self._seconds_until_room(head.task))
        return min((wait for wait in waits if wait is not None), default=None)

    async def _claim_direct(self, worker: int, tasks: list[str], crowd: Crowd) -> float:
        """Claim runs of tasks that are under no limit; seconds until the next look."""
        if left_out := crowd.turn():
            began = monotonic()
            await self._claim(worker, tasks, 0, BATCH, crowd, left_out)
            crowd.looked(began)
        claimed = 0
        full = False
        for crashes, together in enumerate(TOGETHER):
            limit = together if crashes == 0 else together - self._working.suspects[crashes]
            if limit <= 0:
                full = True
                continue
            count, refused = await self._claim(worker, tasks, crashes, limit, crowd)
            claimed += count
            full = full or refused
        if claimed:
            return 0
        if full:
            return SHORTEST_REST
        if self._full:
            return FULL_REST
        seconds = await self._store.seconds_until_queued(tasks)
        return max(SHORTEST_REST, seconds) if seconds is not None else float("inf")

    async def _claim(
        self,
        worker: int,
        tasks: list[str],
        crashes: int,
        limit: int,
        crowd: Crowd,
        left_out: frozenset[int] = frozenset(),
    ) -> tuple[int, bool]:
        """How many runs were claimed, and whether the worker was full."""
        urgent = crowd is self._urgent_crowd
        bounds = self._urgent_bounds if urgent else self._bounds
        places = self._working.reserve(limit, beyond=bool(left_out), urgent=urgent)
        if not places:
            return 0, True
        try:
            left, usual = await self._runs_left()
            without = left_out.union(self._full)
            now = await self._store.now() if without else None
            low = bounds.bound(crashes, without)
            rows = await self._store.claim_runs(worker, tasks, crashes, places, without, left, usual, low)
        except BaseException:
            self._working.release(places)
            raise
        if now is not None and len(rows) < places and not _may_have_more(rows, left, usual):
            bounds.through(crashes, without, now)
        if len(rows) == places and (not left_out or places == limit):
            crowd.saw([row["owner_id"] for row in rows])
        await self._start(worker, rows, places, first=bool(left_out), urgent=urgent)
        return len(rows), False

    async def _runs_left(self) -> tuple[Mapping[int, int], int]:
        """How many runs may be claimed of single owners, and of each other one; notes who is at its limit."""
        runs_left = await self._limiting.runs_left()
        self._full = [] if runs_left is None else runs_left.full()
        return ({}, NO_LIMIT) if runs_left is None else (runs_left.left, runs_left.usual)

    async def _start(
        self,
        worker: int,
        rows: list[Row],
        places: int,
        *,
        first: bool = False,
        urgent: bool = False,
        limits: tuple[str, ...] = (),
    ) -> None:
        """Perform what was claimed, and give back the places that aren't used."""
        count_claimed(rows)
        self._working.release(places - len(rows))
        self._working.drop([self._attempt(row, worker, limits) for row in rows if row["cancelled"]], CANCELLED)
        alive = [self._attempt(row, worker, limits) for row in rows if not row["cancelled"]]
        await self._admitting.start(worker, alive, first=first, urgent=urgent)

    # -- under a limit of tasks ---------------------------------------------------------------------------------

    async def _claim_limited(self, worker: int, tasks: list[str], *, urgent: bool = False) -> float:
        """Claim runs of tasks under a limit, urgent ones first, then those that have waited longest; seconds until the
        next look."""
        rest = float("inf")
        for head in sorted(await self._limits.heads(tasks), key=lambda head: not self._fleetwide.is_urgent(head.task)):
            if head.seconds > 0:
                rest = min(rest, max(SHORTEST_REST, head.seconds))
                continue
            most = TOGETHER[head.crashes] - (self._working.suspects[head.crashes] if head.crashes else 0)
            places = self._working.reserve(most, urgent=urgent)
            if not places:
                rest = min(rest, SHORTEST_REST)
                continue
            rest = min(rest, await self._claim_of(worker, head.task, head.crashes, places, urgent))
        return rest

    async def _claim_of(self, worker: int, task: str, crashes: int, places: int, urgent: bool) -> float:
        """Claim runs of one task, within the room that its limits leave; seconds until the next look."""
        limits = self._fleetwide.limits_of(task)
        if not limits:  # it has just been said that there are none any more
            self._working.release(places)
            return 0
        rows: list[Row] = []
        room: Room | None = None
        try:
            left, usual = await self._runs_left()
            async with self._limits.locked(limits) as claim:
                if claim is not None:
                    room = await claim.room(self._fleetwide.lows)
                    ask = Ask(worker, task, crashes, min(room.runs, places), dict(left), usual)
                    rows = await self._claim_in_turn(claim, ask, room)
        except BaseException:
            self._working.release(places)
            raise
        await self._start(worker, rows, places, urgent=urgent, limits=limits)
        if rows:
            return 0
        if room is None:
            return LOCKED_REST
        return FULL_REST if room.rest is None or room.runs else max(SHORTEST_REST, room.rest)

    async def _seconds_until_room(self, task: str) -> float | None:
        async with self._limits.locked(self._fleetwide.limits_of(task)) as claim:
            room = None if claim is None else await claim.room(self._fleetwide.lows)
        return 0 if room is None or room.runs else room.rest

    async def _claim_in_turn(self, claim: LimitedClaim, ask: Ask, room: Room) -> list[Row]:
        """Claim runs of owners that would wait behind greedy ones, if it is their turn, and then of all."""
        crowd, bounds = self._lines.setdefault(ask.task, (Crowd(), QueueBounds()))
        rows: list[Row] = []
        if room.owners:
            crowd.saw(room.owners)
        if not ask.most:
            return rows
        if left_out := crowd.turn():
            began, without = monotonic(), left_out.union(self._full)
            rows = await claim.claim(ask, without, bounds.bound(ask.crashes, without))
            if len(rows) < ask.most and not _may_have_more(rows, ask.left, ask.usual):
                bounds.through(ask.crashes, without, room.now)
            crowd.looked(began)
            for row in rows:
                ask.left[row["owner_id"]] = ask.left.get(row["owner_id"], ask.usual) - 1
        if len(rows) < ask.most:
            rows += await claim.claim(ask._replace(most=ask.most - len(rows)), self._full, None)
        if len(rows) == ask.most:
            crowd.saw([row["owner_id"] for row in rows])
        return rows

    def _attempt(self, row: Row, worker: int, limits: tuple[str, ...]) -> Attempt:
        return Attempt(
            row["job_id"],
            row["scheduled_for"],
            row["attempt"],
            worker,
            self._registry.tasks[row["task"]],
            row["arguments"],
            load_policy(row["policy"]),
            row["failing"],
            row["owner_id"],
            row["job_number"],
            row["epoch"],
            row["failures"],
            row["crashes"],
            from_queue=True,
            limits=limits,
        )
