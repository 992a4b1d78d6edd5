"""Enforces an owner's limits: wakes of an agent per hour, calls out per minute, runs per hour, and concurrent runs.

Wakes are counted for all owners, with one statement for a whole batch; a batch without prompts costs nothing. Runs are
counted only for owners that have such a limit. Far from the limit they are counted in memory and written every few
seconds, so that they don't cost a write each. Slots over an hourly limit are skipped, with the reason. Runs over the
concurrency limit wait in the queue.

A slot's first attempt at waking an agent is counted when it is fired, each further one when it is about to start, and
so is every call out. Those over a limit have not started: they go back to the queue, with the reason, until the next
hour or minute has room for them.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from time import monotonic
from typing import Final, NamedTuple

from cronty import metrics, telemetry
from cronty.engine.attempt import Attempt
from cronty.engine.batch import Batch
from cronty.engine.runs_left import RunsLeft, left_by_limits
from cronty.jobs.action import CALLS_OUT, ROUTED
from cronty.jobs.limits import (
    CALLS,
    RUNS,
    Limits,
    excess,
    held_calls,
    held_runs,
    held_wakes,
    hour_of,
    load_limits,
    minute_of,
    next_turn,
    wakes_of,
)
from cronty.store.alerts import Held
from cronty.store.engine_store import DueJobs, EngineStore, PutOff

REFRESH_EVERY: Final = 10.0
"""Seconds until an owner's new limits apply, and until counts in memory are written."""


class Use(NamedTuple):
    """A slot that will be run."""

    owner_id: int
    job_id: int
    slot: datetime
    agent: str | None


class RunCounts:
    """Runs of this hour by owner: the database's count, and what isn't written yet."""

    def __init__(self) -> None:
        self._hour: datetime | None = None
        self._known: Counter[int] = Counter()
        self._unwritten: Counter[tuple[int, datetime]] = Counter()

    @contextmanager
    def batch(self) -> Generator["BatchCounts"]:
        """Count the runs of a batch; if an exception undoes the batch, they aren't counted."""
        batch = BatchCounts(self)
        try:
            yield batch
        except BaseException:
            self._unwritten.update(+batch.taken)
            raise
        self._unwritten.update(batch.later)
        for owner_id, used in batch.used.items():
            self.know(owner_id, used)

    def known(self, owner_id: int, hour: datetime) -> int:
        if hour != self._hour:
            self._known.clear()
            self._hour = hour
        return self._known[owner_id]

    def know(self, owner_id: int, used: int) -> None:
        self._known[owner_id] = used

    def unwritten(self, owner_id: int, hour: datetime) -> int:
        return self._unwritten[owner_id, hour]

    def take_of(self, owner_id: int, hour: datetime) -> None:
        """They are written with a batch."""
        self._unwritten.pop((owner_id, hour), None)

    def take(self) -> list[tuple[int, str, datetime, int]]:
        """Take what isn't written yet, to write it."""
        unwritten, self._unwritten = self._unwritten, Counter()
        return [(owner_id, RUNS, hour, runs) for (owner_id, hour), runs in unwritten.items()]

    def give_back(self, taken: Iterable[tuple[int, str, datetime, int]]) -> None:
        """It could not be written."""
        for owner_id, _, hour, runs in taken:
            self._unwritten[owner_id, hour] += runs


class BatchCounts:
    """The runs of one batch, and those of earlier batches that are written with it."""

    def __init__(self, counts: RunCounts) -> None:
        self._counts = counts
        self.taken: Counter[tuple[int, datetime]] = Counter()
        self.later: Counter[tuple[int, datetime]] = Counter()
        self.used: dict[int, int] = {}

    def add(self, owner_id: int, hour: datetime, runs: int, limit: int) -> int:
        """How many runs have to be written now, earlier ones included; 0 while the owner is below half of its limit."""
        earlier = self._counts.unwritten(owner_id, hour)
        if 2 * (self._counts.known(owner_id, hour) + earlier + runs) > limit:
            self._counts.take_of(owner_id, hour)
            self.taken[owner_id, hour] += earlier
            return earlier + runs
        self.later[owner_id, hour] += runs
        return 0


class Limiting:
    """`defaults` apply to owners without limits of their own."""

    def __init__(self, store: EngineStore, defaults: Limits) -> None:
        self._store = store
        self._defaults = defaults
        self._own: dict[int, Limits] = {}
        self._fresh_until = 0.0
        self._runs_are_limited = False
        self._at_once_is_limited = False
        self._runs = RunCounts()

    async def refresh(self) -> None:
        """Every few seconds, read the owners' limits and write the counts."""
        if monotonic() < self._fresh_until:
            return
        found = await self._store.limited_owners()
        self._own = {owner: load_limits(self._defaults, given) for owner, given in found.items()}
        limits = (self._defaults, *self._own.values())
        self._runs_are_limited = any(one.runs_per_hour for one in limits)
        self._at_once_is_limited = any(one.concurrent_runs for one in limits)
        await self.write()
        self._fresh_until = monotonic() + REFRESH_EVERY

    async def write(self) -> None:
        """Write the runs that were only counted in memory."""
        if unwritten := self._runs.take():
            try:
                counts = await self._store.count_uses(unwritten)
            except BaseException:
                self._runs.give_back(unwritten)
                raise
            for (owner_id, _), used in counts.items():
                self._runs.know(owner_id, used)

    @asynccontextmanager
    async def counting(self) -> AsyncGenerator[BatchCounts]:
        """Around the transaction of a batch: what `hold` counts in memory holds only if it is committed."""
        with self._runs.batch() as counts:
            yield counts

    async def runs_left(self) -> RunsLeft | None:
        """How many more runs each owner may start; None if no owner has such a limit."""
        if not self._at_once_is_limited:
            return None
        own = {owner: limits.concurrent_runs for owner, limits in self._own.items()}
        usual = self._defaults.concurrent_runs
        limited = None if usual else [owner for owner, most in own.items() if most]
        return left_by_limits(usual, own, await self._store.running_by_owner(limited))

    async def runs_left_for(self, due: DueJobs) -> RunsLeft | None:
        """The same for the owners of a batch; only their runs are counted."""
        if not self._at_once_is_limited:
            return None
        limits = {owner: self._of(owner).concurrent_runs for owner in {row["owner_id"] for row in due.rows}}
        limited = [owner for owner, most in limits.items() if most]
        return left_by_limits(0, limits, await due.running_by_owner(limited)) if limited else None

    async def hold(self, due: DueJobs, batch: Batch, counts: BatchCounts, now: datetime) -> None:
        """Skip the slots of a batch that are over an hourly limit; tell the owner the first time in the hour."""
        hour = hour_of(now)
        wakes = self._wakes(batch)
        asked = {key: len(uses) for key, uses in wakes.items()}
        if self._runs_are_limited:
            asked |= {(owner_id, RUNS): runs for owner_id, runs in self._near(batch, counts, hour).items()}
        if not asked:
            return
        used = await due.count_uses([(*key, hour, count) for key, count in asked.items()])
        over: dict[tuple[int, datetime], str] = {}
        told: list[Held] = []
        for (owner_id, what), count in used.items():
            limits = self._of(owner_id)
            if what == RUNS:
                counts.used[owner_id] = count
                most, uses = limits.runs_per_hour, _runs_of(batch, owner_id) if count > limits.runs_per_hour else []
                reason = held_runs(limits)
            else:
                most, uses = limits.wakes_per_hour, wakes[owner_id, what]
                reason = held_wakes(limits, uses[0].agent or "")
            held = uses[len(uses) - excess(len(uses), count, most) :]
            over |= {(use.job_id, use.slot): reason for use in held}
            metrics.HELD.add(len(held), "runs_per_hour" if what == RUNS else "wakes_per_hour")
            if held and count - len(uses) <= most:
                telemetry.limit_reached(owner_id, reason)
                said = f"Slots are skipped until the hour is over: {reason}."
                told.append(Held(owner_id, held[0].job_id, said, limits.alert))
        if over:
            batch.skip(over)
        if told:
            await due.tell_held(now, told)

    async def put_off(self, worker: int, attempts: Sequence[Attempt]) -> Sequence[Attempt]:
        """Queue claimed attempts again that are over a limit of calls or wakes; returns those that may start."""
        counted: dict[tuple[int, str], list[Attempt]] = defaultdict(list)
        for one in attempts:
            # Looked at here first, because most attempts are neither, and all pass here.
            if (one.number > 1 or one.task.name in CALLS_OUT) and (what := self._counted_at_start(one)):
                counted[one.owner_id, what].append(one)
        if not counted:
            return attempts
        now = await self._store.now()
        windows = {
            what: (minute_of(now), timedelta(minutes=1)) if what == CALLS else (hour_of(now), timedelta(hours=1))
            for _, what in counted
        }

        def over(used: Mapping[tuple[int, str], int]) -> tuple[list[PutOff], list[Held]]:
            return self._over(counted, used, windows, now)

        uses = [(owner_id, what, windows[what][0], len(those)) for (owner_id, what), those in counted.items()]
        late = {(one.job_id, one.slot) for one in await self._store.put_off(worker, now, uses, over)}
        return [one for one in attempts if (one.job_id, one.slot) not in late]

    def _over(
        self,
        counted: Mapping[tuple[int, str], Sequence[Attempt]],
        used: Mapping[tuple[int, str], int],
        windows: Mapping[str, tuple[datetime, timedelta]],
        now: datetime,
    ) -> tuple[list[PutOff], list[Held]]:
        """Which attempts are over a limit with these counts, and what to tell their owners."""
        late: list[PutOff] = []
        told: list[Held] = []
        for (owner_id, what), those in counted.items():
            limits, count = self._of(owner_id), used.get((owner_id, what), 0)
            most = limits.calls_per_minute if what == CALLS else limits.wakes_per_hour
            over = excess(len(those), count, most)
            ahead = count - over - most
            metrics.HELD.add(over, "calls_per_minute" if what == CALLS else "wakes_per_hour")
            for place, one in enumerate(those[len(those) - over :], ahead):
                reason = held_calls(limits) if what == CALLS else held_wakes(limits, _agent_of(one) or "")
                wait = (next_turn(*windows[what], place, most) - now).total_seconds()
                late.append(PutOff(one.job_id, one.slot, one.number, wait, reason))
                if place == 0 and what != CALLS:
                    telemetry.limit_reached(owner_id, reason)
                    said = f"Wakes wait until the hour is over: {reason}."
                    told.append(Held(owner_id, one.job_id, said, limits.alert))
        return late, told

    def _counted_at_start(self, one: Attempt) -> str | None:
        """As what an attempt is counted when it starts: a call, a wake that isn't the first of its run, or None."""
        if one.task.name in CALLS_OUT:
            return CALLS if self._of(one.owner_id).calls_per_minute else None
        if one.number == 1 or (agent := _agent_of(one)) is None:
            return None
        return wakes_of(agent) if self._of(one.owner_id).wakes_per_hour else None

    def _wakes(self, batch: Batch) -> dict[tuple[int, str], list[Use]]:
        """The prompts of a batch whose wakes are limited, by owner and agent."""
        found: dict[tuple[int, str], list[Use]] = defaultdict(list)
        for use in _uses(batch, with_tasks=False):
            if use.agent is not None and self._of(use.owner_id).wakes_per_hour:
                found[use.owner_id, wakes_of(use.agent)].append(use)
        return found

    def _near(self, batch: Batch, counts: BatchCounts, hour: datetime) -> dict[int, int]:
        """Owners that are near their hourly limit with this batch, and how many runs to count for each."""
        runs = Counter(attempt.owner_id for attempt in batch.attempts)
        for moved in batch.moved:
            runs[moved.owner_id] += sum(row.state == "waiting" for row in moved.rows)
        near: dict[int, int] = {}
        for owner_id, count in runs.items():
            limit = self._of(owner_id).runs_per_hour
            if limit and (more := counts.add(owner_id, hour, count, limit)):
                near[owner_id] = more
        return near

    async def calls_over(self, calls: Mapping[int, int], now: datetime) -> dict[int, int]:
        """Count calls out that are about to be made, by owner; how many of them are over a limit of this minute."""
        limits = {owner_id: self._of(owner_id).calls_per_minute for owner_id in calls}
        limited = [(one, CALLS, minute_of(now), calls[one]) for one, limit in limits.items() if limit]
        used = await self._store.count_uses(limited) if limited else {}
        return {one: excess(calls[one], used.get((one, CALLS), 0), limits[one]) for one in calls}

    async def calls_over_half(self, calls: Mapping[int, int], now: datetime) -> dict[int, int]:
        """The same for calls that can wait: they get no more than half of a minute, and those over that aren't counted.
        The other half is left to runs."""
        over = dict.fromkeys(calls, 0)
        limits = {one: limit for one in calls if (limit := self._of(one).calls_per_minute)}
        if limits:
            minute = minute_of(now)
            used = await self._store.count_uses([(one, CALLS, minute, calls[one]) for one in limits])
            for one, limit in limits.items():
                over[one] = min(calls[one], excess(calls[one], used.get((one, CALLS), 0), max(1, limit // 2)))
            if back := [(one, CALLS, minute, -over[one]) for one in limits if over[one]]:
                await self._store.count_uses(back)
        return over

    @property
    def usual_runs_per_hour(self) -> int:
        """The limit of owners that have none of their own; 0 for none."""
        return self._defaults.runs_per_hour

    def topic_of(self, owner_id: int) -> str:
        """The topic for alerts that no job's policy covers; "" for none."""
        return self._of(owner_id).alert

    def _of(self, owner_id: int) -> Limits:
        return self._own.get(owner_id, self._defaults)


def _runs_of(batch: Batch, owner_id: int) -> list[Use]:
    return [use for use in _uses(batch, with_tasks=True) if use.owner_id == owner_id]


def _uses(batch: Batch, *, with_tasks: bool) -> Iterable[Use]:
    """The slots of a batch that will be run: prompts, and tasks too if `with_tasks`."""
    for attempt in batch.attempts:
        if with_tasks or attempt.task.name.startswith(ROUTED):
            yield Use(attempt.owner_id, attempt.job_id, attempt.slot, _agent_of(attempt))
    for moved in batch.moved:
        if with_tasks or moved.agent is not None:
            for row in moved.rows:
                if row.state == "waiting":
                    yield Use(moved.owner_id, moved.job_id, row.slot, moved.agent)


def _agent_of(attempt: Attempt) -> str | None:
    """Which agent an attempt wakes; None if it wakes none."""
    name = attempt.task.name
    return name.removeprefix(ROUTED) if name.startswith(ROUTED) else None
