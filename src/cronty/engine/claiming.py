"""Claims waiting runs: retries, rescued runs, and runs that the engine that fired them couldn't start itself."""

from collections import Counter
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty import tracing
from cronty.actions.tasks import Registry
from cronty.engine.admitting import Admitting
from cronty.engine.attempt import Attempt
from cronty.engine.counting import count_claimed
from cronty.engine.crowd import Crowd
from cronty.engine.fleetwide import Fleetwide
from cronty.engine.limiting import Limiting
from cronty.engine.runs_left import RunsLeft
from cronty.engine.working import PATIENCE, Working
from cronty.jobs.outcome import Cancelled
from cronty.jobs.policy import load_policy
from cronty.store.database import Row
from cronty.store.engine_store import EngineStore

BATCH: Final = 500

FULL_REST: Final = 0.25
"""Seconds until the next look if some owners are at their limit: the waiting runs may be theirs."""

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


def may_have_more(rows: list[Row], runs_left: RunsLeft) -> bool:
    """Whether an owner's limit was used up, so that more of its runs may be waiting."""
    claimed = Counter(row["owner_id"] for row in rows)
    return any(count >= runs_left.of(owner) for owner, count in claimed.items())


class Claiming:
    """The duty of claiming from the queue what is under no limit of tasks."""

    urgent = False
    """Whether it claims for urgent tasks alone, whether or not the worker is full."""

    def __init__(
        self,
        store: EngineStore,
        registry: Registry,
        working: Working,
        limiting: Limiting,
        admitting: Admitting,
        fleetwide: Fleetwide,
    ) -> None:
        self._store = store
        self._fleetwide = fleetwide
        self._limiting = limiting
        self._admitting = admitting
        self._registry = registry
        self._working = working
        self.crowd = Crowd()
        self._full: list[int] = []
        self._bounds = QueueBounds()

    async def step(self, worker: int) -> float:
        """Claim a batch for each number of crashes; 0 if there may be more, else seconds until the next run is due."""
        performable = self._working.performable(self._registry.tasks, urgent=self.urgent)
        tasks = list(self._fleetwide.direct(performable, urgent=self.urgent))
        longest = PATIENCE if self._working.threads_hang else float("inf")
        if not tasks:
            return longest
        if not self.urgent:
            await self._working.wait_for_place(self.crowd)
        if left_out := self.crowd.turn():
            began = monotonic()
            await self._claim(worker, tasks, 0, BATCH, left_out)
            self.crowd.looked(began)
        claimed = 0
        full = False
        for crashes, together in enumerate(TOGETHER):
            limit = together if crashes == 0 else together - self._working.suspects[crashes]
            if limit <= 0:
                full = True
                continue
            count, refused = await self._claim(worker, tasks, crashes, limit)
            claimed += count
            full = full or refused
        if claimed:
            return 0
        if full:
            return SHORTEST_REST
        if self._full:
            return FULL_REST
        seconds = await self._store.seconds_until_queued(tasks)
        return min(max(SHORTEST_REST, seconds), longest) if seconds is not None else longest

    async def _claim(
        self, worker: int, tasks: list[str], crashes: int, limit: int, left_out: frozenset[int] = frozenset()
    ) -> tuple[int, bool]:
        """How many runs were claimed, and whether the worker was full."""
        shares = self._working.shares_beyond(urgent=self.urgent) if left_out else None
        places = self._working.reserve(limit, beyond=bool(left_out), urgent=self.urgent)
        if not places:
            return 0, True
        try:
            runs_left = (await self._runs_left()).within(shares)
            without = left_out.union(runs_left.full())
            now = await self._store.now() if without else None
            low, since = self._bounds.bound(crashes, without), tracing.moment()
            rows = await self._store.claim_runs(
                worker, tasks, crashes, places, without, runs_left.left, runs_left.usual, low
            )
        except BaseException:
            self._working.release(places, urgent=self.urgent)
            raise
        if now is not None and len(rows) < places and not may_have_more(rows, runs_left):
            self._bounds.through(crashes, without, now)
        if len(rows) == places and (not left_out or places == limit):
            self.crowd.saw([row["owner_id"] for row in rows])
        await self._start(worker, rows, places, first=bool(left_out), urgent=self.urgent, since=since)
        return len(rows), False

    async def _runs_left(self) -> RunsLeft:
        """How many runs of each owner may be claimed; notes who is at its limit."""
        runs_left = await self._limiting.runs_left() or RunsLeft({})
        self._full = runs_left.full()
        return runs_left

    async def _start(
        self,
        worker: int,
        rows: list[Row],
        places: int,
        *,
        first: bool,
        urgent: bool,
        since: int,
        limits: tuple[str, ...] = (),
    ) -> None:
        """Perform what was claimed, and give back the places that aren't used."""
        count_claimed(rows)
        self._working.release(places - len(rows), urgent=urgent)
        attempts = [(self._attempt(row, worker, limits, urgent=urgent), row["cancelled"]) for row in rows]
        self._working.drop([attempt for attempt, cancelled in attempts if cancelled], CANCELLED)
        admitted = [attempt for attempt, cancelled in attempts if not cancelled]
        await self._admitting.start(worker, admitted, first=first, since=since)

    def _attempt(self, row: Row, worker: int, limits: tuple[str, ...], *, urgent: bool) -> Attempt:
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
            urgent=urgent,
        )
