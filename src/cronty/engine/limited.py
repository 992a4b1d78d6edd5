"""Claims runs of tasks under a limit, in a duty of its own: whoever is under none pays for none of its statements.

Tasks that share a limit stand in one line. Its limits are locked together, so that one count holds for all its claims.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, NamedTuple, override

from cronty import tracing
from cronty.actions.tasks import Registry
from cronty.engine.admitting import Admitting
from cronty.engine.claiming import FULL_REST, SHORTEST_REST, TOGETHER, Claiming, QueueBounds, may_have_more
from cronty.engine.crowd import Crowd
from cronty.engine.fleetwide import Fleetwide
from cronty.engine.limiting import Limiting
from cronty.engine.runs_left import NO_LIMIT, RunsLeft
from cronty.engine.working import PATIENCE, Working
from cronty.store.database import Row
from cronty.store.engine_store import EngineStore
from cronty.store.task_limit_store import Ask, LimitedClaim, Room, TaskLimitStore

LOCKED_REST: Final = 0.02
"""Seconds until the next look if another engine claims under the same limit."""

ONE_IN: Final = 5
"""At least 1 in ONE_IN starts goes to a non-urgent run that waits."""


class Waiting(NamedTuple):
    """Due runs of a task that have crashed their worker so often, and what was said of the task."""

    task: str
    crashes: int
    limits: tuple[str, ...]
    urgent: bool


class Taken(NamedTuple):
    """Rows that were claimed, and how many places are reserved for them; `first` if they go before others here."""

    rows: list[Row]
    places: int
    of: Waiting
    first: bool


@dataclass(slots=True)
class Line:
    """Who fills the limit that these tasks share; and how many urgent runs went before others that wait."""

    crowd: Crowd = field(default_factory=Crowd)
    went_before: int = 0


@dataclass(slots=True)
class Look:
    """One look at a line: what its limits leave, and what was claimed. `left` and `usual` are as in `Ask`."""

    claim: LimitedClaim
    rooms: dict[str, Room]
    worker: int
    runs_left: RunsLeft
    taken: list[Taken] = field(default_factory=list[Taken])

    def room(self, waiting: Waiting) -> int:
        return min(self.rooms[name].runs for name in waiting.limits)

    def rest(self, waiting: Waiting) -> float:
        """Seconds until there may be room; when a run ends isn't known."""
        rests = [self.rooms[name].rest for name in waiting.limits if not self.rooms[name].runs]
        return max((FULL_REST if rest is None else max(SHORTEST_REST, rest) for rest in rests), default=FULL_REST)

    def count(self, *, urgent: bool) -> int:
        return sum(len(one.rows) for one in self.taken if one.of.urgent == urgent)


class LimitedClaiming(Claiming):
    """The duty of claiming what is under a limit of tasks."""

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
        super().__init__(store, registry, working, limiting, admitting, fleetwide)
        self._limits = limits
        self._lines: defaultdict[str, Line] = defaultdict(Line)
        self._bounds_of: defaultdict[str, QueueBounds] = defaultdict(QueueBounds)

    @override
    async def step(self, worker: int) -> float:
        """Claim what there is room for; 0 if there may be more, else seconds until the next look."""
        tasks = self._performable()
        rest = PATIENCE if self._working.threads_hang else float("inf")
        if not tasks:
            return rest
        left_out: frozenset[int] = frozenset()
        if not any(map(self._fleetwide.is_urgent, tasks)) and not await self._working.wait_for_place(self.crowd):
            left_out = self.crowd.turn()
        lines: defaultdict[str, list[Waiting]] = defaultdict(list)
        for head in await self._limits.heads(tasks):
            if head.seconds > 0:
                rest = min(rest, max(SHORTEST_REST, head.seconds))
            elif limits := self._fleetwide.limits_of(head.task):  # else it was just said that there is none any more
                one = Waiting(head.task, head.crashes, limits, self._fleetwide.is_urgent(head.task))
                lines[self._fleetwide.line_of(head.task)].append(one)
        for name, waiting in lines.items():
            rest = min(rest, await self._claim_line(worker, self._lines[name], waiting, left_out))
        return rest

    def _performable(self) -> list[str]:
        """The limited tasks that this worker can perform now."""
        if not (limited := self._fleetwide.limited(self._registry.tasks)):
            return limited
        can = {kind: self._working.performable(self._registry.tasks, urgent=kind) for kind in (False, True)}
        return [task for task in limited if task in can[self._fleetwide.is_urgent(task)]]

    async def seconds_until_next(self) -> float | None:
        """In how many seconds a waiting run may be claimed; None if none will be, as far as is known now."""
        tasks = self._fleetwide.limited(self._registry.tasks)
        waits: list[float] = []
        for head in await self._limits.heads(tasks) if tasks else ():
            async with self._limits.locked(self._fleetwide.limits_of(head.task)) as claim:
                rooms = {} if claim is None else await claim.rooms(self._fleetwide.lows)
            rests = [room.rest for room in rooms.values() if not room.runs]
            if None not in rests:
                waits.append(max(0.0, head.seconds, *(rest for rest in rests if rest is not None)))
        return min(waits, default=None)

    async def _claim_line(self, worker: int, line: Line, waiting: list[Waiting], left_out: frozenset[int]) -> float:
        """Claim runs of one line, within the room that its limits leave; seconds until the next look."""
        taken: list[Taken] = []
        runs_left = await self._runs_left()
        since = tracing.moment()
        try:
            async with self._limits.locked(sorted({name for one in waiting for name in one.limits})) as claim:
                if claim is None:
                    return LOCKED_REST
                look = Look(claim, await claim.rooms(self._fleetwide.lows), worker, runs_left, taken)
                await self._claim_in_turn(look, line, waiting, left_out)
            rest = 0.0 if any(one.rows for one in taken) else min(look.rest(one) for one in waiting)
            while taken:
                rows, places, of, first = taken.pop(0)
                await self._start(worker, rows, places, first=first, urgent=of.urgent, since=since, limits=of.limits)
        except BaseException:
            for one in taken:
                self._working.release(one.places, urgent=one.of.urgent)
            raise
        return rest

    async def _claim_in_turn(self, look: Look, line: Line, waiting: list[Waiting], left_out: frozenset[int]) -> None:
        """Claim of owners that would wait behind greedy ones, if it is their turn; then urgent runs, and then the
        others, each in the order in which they became due. But the others have their part while they wait."""
        if owners := min(look.rooms.values(), key=lambda room: room.runs).owners:
            line.crowd.saw(owners)
        if not any(map(look.room, waiting)):
            return
        if left_out := left_out | line.crowd.turn():
            began = monotonic()
            for one in waiting:
                await self._claim_of(look, line, one, NO_LIMIT, left_out)
            line.crowd.looked(began)
        urgent, others = [one for one in waiting if one.urgent], [one for one in waiting if not one.urgent]
        if urgent and others:
            part = (line.went_before + look.room(others[0])) // ONE_IN
            for one in others:
                await self._claim_of(look, line, one, part - look.count(urgent=False))
        for one in (*urgent, *others):
            await self._claim_of(look, line, one)
        went_before = line.went_before + look.count(urgent=True) - (ONE_IN - 1) * look.count(urgent=False)
        line.went_before = max(0, went_before) if urgent and others else 0

    async def _claim_of(
        self, look: Look, line: Line, one: Waiting, most: int = NO_LIMIT, left_out: frozenset[int] = frozenset()
    ) -> None:
        """Claim runs of one task."""
        alike = sum(len(taken.rows) for taken in look.taken if taken.of.crashes == one.crashes)
        together = TOGETHER[one.crashes] - ((self._working.suspects[one.crashes] + alike) if one.crashes else 0)
        wanted = min(look.room(one), together, most)
        runs_left = look.runs_left.within(self._working.shares_beyond(urgent=one.urgent) if left_out else None)
        places = self._working.reserve(wanted, beyond=bool(left_out), urgent=one.urgent) if wanted > 0 else 0
        if not places:
            return
        look.taken.append(Taken(rows := [], places, one, bool(left_out)))
        without, bounds = left_out.union(runs_left.full()), self._bounds_of[one.task]
        ask = Ask(look.worker, one.task, one.crashes, places, runs_left.left, runs_left.usual)
        low = bounds.bound(one.crashes, without) if left_out else None
        rows += await look.claim.claim(ask, one.limits, without, low)
        if left_out and len(rows) < places and not may_have_more(rows, runs_left):
            bounds.through(one.crashes, without, look.rooms[one.limits[0]].now)
        for row in rows:
            look.runs_left.take(row["owner_id"])
        for name in one.limits:
            look.rooms[name] = look.rooms[name]._replace(runs=look.rooms[name].runs - len(rows))
        if len(rows) == wanted:
            line.crowd.saw([row["owner_id"] for row in rows])
