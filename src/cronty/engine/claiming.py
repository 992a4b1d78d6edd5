"""Claims runs that wait: retries, rescued ones, those that fired where there was no room or no such task."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from time import monotonic
from typing import Final

from cronty.actions.tasks import Registry
from cronty.engine.attempt import Attempt
from cronty.engine.crowd import Crowd
from cronty.engine.limiting import NO_END, Limiting
from cronty.engine.working import PATIENCE, Working
from cronty.jobs.policy import load_policy
from cronty.store.database import Row
from cronty.store.engine_store import EngineStore

BATCH: Final = 500

FULL_REST: Final = 0.25

LATEST_COMMIT: Final = timedelta(seconds=5)
"""How long after a run began to wait it can be seen; what takes longer is found at the next look at everything."""

LOOK_AGAIN_EVERY: Final = 10.0
"""How often runs are looked for that were passed over because they wait behind those of owners left out."""

TOGETHER: Final = (BATCH, 50, 1)
"""How many runs that have crashed 0, 1, 2 times a worker performs at once: a run that takes its worker down is found
by ever smaller groups, so that the others aren't quarantined with it."""


class Passed:
    """How far looks have come that left some owners out: what waits longer is theirs, however much that is.

    What begins to wait does so now, by the clock of a transaction that may be seen a little later. Everything is looked
    at again every few seconds, for what another process had locked and let go of, and for runs that got another task.
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[int, frozenset[int]], tuple[datetime, float]] = {}

    def through(self, crashes: int, left_out: frozenset[int], moment: datetime) -> None:
        """Nothing that waits since before `moment` is anybody else's."""
        now = monotonic()
        self._ends = {look: end for look, end in self._ends.items() if now < end[1]}
        _, good_until = self._ends.get((crashes, left_out), (moment, now + LOOK_AGAIN_EVERY))
        self._ends[crashes, left_out] = (moment - LATEST_COMMIT, good_until)

    def bound(self, crashes: int, left_out: frozenset[int]) -> datetime | None:
        """Where a look that leaves these owners out starts; None means everywhere."""
        now = monotonic()
        return max(
            (
                moment
                for (level, owners), (moment, good_until) in self._ends.items()
                if level == crashes and owners <= left_out and now < good_until
            ),
            default=None,
        )


def _some_stay(rows: list[Row], left: Mapping[int, int], usual: int) -> bool:
    """Whether an owner got as many as there was room for, so that more of theirs may wait."""
    claimed = Counter(row["owner_id"] for row in rows)
    return any(count >= left.get(owner, usual) for owner, count in claimed.items())


class Claiming:
    """The duty of claiming from the queue."""

    def __init__(self, store: EngineStore, registry: Registry, working: Working, limiting: Limiting) -> None:
        self._store = store
        self._limiting = limiting
        self._registry = registry
        self._working = working
        self.crowd = Crowd()
        self._full: list[int] = []
        self._passed = Passed()

    async def step(self, worker: int) -> float:
        """Claim a batch of each kind as `worker`; 0 if there may be more, else seconds until the next one is due."""
        tasks = list(self._registry.tasks)
        if not tasks:
            return float("inf")
        await self._working.wait_for_room(self.crowd.patience(PATIENCE))
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
            return 0.05
        if self._full:
            return FULL_REST  # what waits may be theirs, who have as many runs as they may
        seconds = await self._store.seconds_until_queued(tasks)
        return max(0.05, seconds) if seconds is not None else float("inf")

    async def _claim(
        self, worker: int, tasks: list[str], crashes: int, limit: int, left_out: frozenset[int] = frozenset()
    ) -> tuple[int, bool]:
        """How many were claimed, and whether there was no room to try."""
        places = self._working.reserve(limit, beyond=bool(left_out))
        if not places:
            return 0, True
        try:
            room = await self._limiting.room()
            self._full = [] if room is None else room.full()
            left, usual = ({}, NO_END) if room is None else (room.left, room.usual)
            without = left_out.union(self._full)
            now = await self._store.now() if without else None
            low = self._passed.bound(crashes, without)
            rows = await self._store.claim_runs(worker, tasks, crashes, places, without, left, usual, low)
        except BaseException:
            self._working.release(places)
            raise
        if now is not None and len(rows) < places and not _some_stay(rows, left, usual):
            self._passed.through(crashes, without, now)
        if len(rows) == places and (not left_out or places == limit):
            self.crowd.saw([row["owner_id"] for row in rows])
        self._working.release(places - len(rows))
        alive = [self._attempt(row, worker) for row in rows if not row["cancelled"]]
        self._working.take(alive, first=bool(left_out))
        self._working.drop([self._attempt(row, worker) for row in rows if row["cancelled"]])
        return len(rows), False

    def _attempt(self, row: Row, worker: int) -> Attempt:
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
        )
