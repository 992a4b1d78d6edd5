"""Holds back what goes over an owner's limits: wakes of an agent and runs by the hour, and runs at once.

Wakes are counted for everybody, one statement for all of a batch; a batch without prompts pays nothing. Runs are
counted only for owners that have such a limit, and far from it only in memory: what a process has counted is written
every few seconds, so that a limit nobody reaches costs no row for each run. What is over gets its verdict like any
other slot that isn't run; what would be too much at once waits in the queue.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from time import monotonic
from typing import Final, NamedTuple

from cronty import telemetry
from cronty.engine.batch import Batch
from cronty.jobs.action import ROUTED
from cronty.jobs.limits import Limits, excess, held_runs, held_wakes, hour_of, read_limits, wakes_of
from cronty.store.alerts import Held
from cronty.store.engine_store import DueJobs, EngineStore

REFRESH_EVERY: Final = 10.0
"""How soon an owner's new limits are heard of, and how long a run may go uncounted."""

RUNS: Final = "runs"
NO_END: Final = 2**31 - 1


class Use(NamedTuple):
    """A slot that is to be run."""

    owner_id: int
    job_id: int
    slot: datetime
    agent: str | None


class RunCounts:
    """Runs of an hour by owner: what the database knows of, and what it will be told."""

    def __init__(self) -> None:
        self._hour: datetime | None = None
        self._known: Counter[int] = Counter()
        self._unwritten: Counter[tuple[int, datetime]] = Counter()

    def add(self, owner_id: int, hour: datetime, runs: int, limit: int) -> int:
        """How many have to be written now, those from before included; none as long as the limit is far."""
        if hour != self._hour:
            self._known.clear()
            self._hour = hour
        mine = self._unwritten.pop((owner_id, hour), 0) + runs
        if 2 * (self._known[owner_id] + mine) > limit:
            return mine
        self._unwritten[owner_id, hour] = mine
        return 0

    def know(self, owner_id: int, used: int) -> None:
        self._known[owner_id] = used

    def take(self) -> list[tuple[int, str, datetime, int]]:
        """What is to be written, once."""
        unwritten, self._unwritten = self._unwritten, Counter()
        return [(owner_id, RUNS, hour, runs) for (owner_id, hour), runs in unwritten.items()]


class Room:
    """How many more of an owner's runs may be performed at once."""

    def __init__(self, usual: int, own: Mapping[int, int], running: Mapping[int, int]) -> None:
        """`usual` and `own` are limits, 0 for none; `running` is how many there are."""
        self.usual = usual or NO_END
        limits = {owner: own.get(owner, usual) or NO_END for owner in {*own, *running}}
        self.left = {owner: most - running.get(owner, 0) for owner, most in limits.items()}

    def take(self, owner_id: int) -> bool:
        """Whether there is room for one more, which is then taken."""
        left = self.left.get(owner_id, self.usual)
        self.left[owner_id] = left - 1
        return left > 0

    def full(self) -> list[int]:
        return [owner for owner, left in self.left.items() if left <= 0]


class Limiting:
    """`defaults` hold for owners without limits of their own."""

    def __init__(self, store: EngineStore, defaults: Limits) -> None:
        self._store = store
        self._defaults = defaults
        self._own: dict[int, Limits] = {}
        self._fresh_until = 0.0
        self._runs_are_limited = False
        self._at_once_is_limited = False
        self._runs = RunCounts()

    async def refresh(self) -> None:
        """Hear of limits that have changed, and write what was counted, every few seconds."""
        if monotonic() < self._fresh_until:
            return
        found = await self._store.limited_owners()
        self._own = {owner: read_limits(self._defaults, given) for owner, given in found.items()}
        everybody = (self._defaults, *self._own.values())
        self._runs_are_limited = any(one.runs_per_hour for one in everybody)
        self._at_once_is_limited = any(one.concurrent_runs for one in everybody)
        await self.write()
        self._fresh_until = monotonic() + REFRESH_EVERY

    async def write(self) -> None:
        """Tell the database of runs that were only counted here."""
        if unwritten := self._runs.take():
            for (owner_id, _), used in (await self._store.count_uses(unwritten)).items():
                self._runs.know(owner_id, used)

    async def room(self) -> Room | None:
        """What may be run at once; None if nobody has such a limit."""
        if not self._at_once_is_limited:
            return None
        own = {owner: limits.concurrent_runs for owner, limits in self._own.items()}
        usual = self._defaults.concurrent_runs
        limited = None if usual else [owner for owner, most in own.items() if most]
        return Room(usual, own, await self._store.running_by_owner(limited))

    async def room_for(self, due: DueJobs) -> Room | None:
        """What the owners of a batch may run at once; None if none of them has such a limit. Only theirs is counted."""
        if not self._at_once_is_limited:
            return None
        limits = {owner: self._of(owner).concurrent_runs for owner in {row["owner_id"] for row in due.rows}}
        limited = [owner for owner, most in limits.items() if most]
        return Room(0, limits, await due.running_by_owner(limited)) if limited else None

    async def hold(self, due: DueJobs, batch: Batch, now: datetime) -> None:
        """Turn what is over a limit into verdicts, and say so the first time in an hour."""
        hour = hour_of(now)
        wakes = self._wakes(batch)
        asked = {key: len(uses) for key, uses in wakes.items()}
        if self._runs_are_limited:
            asked |= {(owner_id, RUNS): runs for owner_id, runs in self._near(batch, hour).items()}
        if not asked:
            return
        used = await due.count_uses([(*key, hour, count) for key, count in asked.items()])
        over: dict[tuple[int, datetime], str] = {}
        told: list[Held] = []
        for (owner_id, what), count in used.items():
            limits = self._of(owner_id)
            if what == RUNS:
                self._runs.know(owner_id, count)
                most, uses = limits.runs_per_hour, _runs_of(batch, owner_id) if count > limits.runs_per_hour else []
                reason = held_runs(limits)
            else:
                most, uses = limits.wakes_per_hour, wakes[owner_id, what]
                reason = held_wakes(limits, uses[0].agent or "")
            held = uses[len(uses) - excess(len(uses), count, most) :]
            over |= {(use.job_id, use.slot): reason for use in held}
            if held and count - len(uses) <= most:
                telemetry.limit_reached(owner_id, reason)
                said = f"Slots are skipped until the hour is over: {reason}."
                told.append(Held(owner_id, held[0].job_id, said, limits.alert))
        if over:
            batch.skip(over)
        if told:
            await due.tell_held(now, told)

    def _wakes(self, batch: Batch) -> dict[tuple[int, str], list[Use]]:
        """The prompts of a batch, by whose they are and for which agent, as far as they are limited."""
        found: dict[tuple[int, str], list[Use]] = defaultdict(list)
        for use in _uses(batch, with_tasks=False):
            if use.agent is not None and self._of(use.owner_id).wakes_per_hour:
                found[use.owner_id, wakes_of(use.agent)].append(use)
        return found

    def _near(self, batch: Batch, hour: datetime) -> dict[int, int]:
        """Owners that come near their limit with this batch, and how many runs of theirs have to be counted."""
        runs = Counter(attempt.owner_id for attempt in batch.attempts)
        for moved in batch.moved:
            runs[moved.owner_id] += sum(row.state == "waiting" for row in moved.rows)
        near: dict[int, int] = {}
        for owner_id, count in runs.items():
            limit = self._of(owner_id).runs_per_hour
            if limit and (more := self._runs.add(owner_id, hour, count, limit)):
                near[owner_id] = more
        return near

    def topic_of(self, owner_id: int) -> str:
        """Where an owner hears of what isn't about one job's policy; "" for nowhere."""
        return self._of(owner_id).alert

    def _of(self, owner_id: int) -> Limits:
        return self._own.get(owner_id, self._defaults)


def _runs_of(batch: Batch, owner_id: int) -> list[Use]:
    return [use for use in _uses(batch, with_tasks=True) if use.owner_id == owner_id]


def _uses(batch: Batch, *, with_tasks: bool) -> Iterable[Use]:
    """What of a batch is to be run: every prompt, and tasks if they count."""
    for attempt in batch.attempts:
        name = attempt.task.name
        agent = name.removeprefix(ROUTED) if name.startswith(ROUTED) else None
        if with_tasks or agent is not None:
            yield Use(attempt.owner_id, attempt.job_id, attempt.slot, agent)
    for moved in batch.moved:
        if with_tasks or moved.agent is not None:
            for row in moved.rows:
                if row.state == "waiting":
                    yield Use(moved.owner_id, moved.job_id, row.slot, moved.agent)
