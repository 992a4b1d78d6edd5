"""Turns due slots into runs: lock a batch of jobs, plan each, write all changes with a few statements, commit."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Final

from cronty import telemetry, tracing
from cronty.actions.tasks import Registry
from cronty.engine.absence import Absence
from cronty.engine.admitting import Admitting
from cronty.engine.attempt import Attempt
from cronty.engine.batch import Batch
from cronty.engine.counting import count_fired
from cronty.engine.crowd import Crowd
from cronty.engine.fleetwide import Fleetwide
from cronty.engine.limiting import Limiting
from cronty.engine.planning import agent_of, is_whole, policy_of, slot_after, trigger_of
from cronty.engine.runs_left import RunsLeft
from cronty.engine.working import Working
from cronty.jobs.ahead import plan_around
from cronty.jobs.firing import rows_of
from cronty.jobs.policy import Policy
from cronty.store.database import NoPartition, Row, StoreUnavailable, UniqueConflict
from cronty.store.engine_store import DueJobs, EngineStore, Moved
from cronty.timing import Due, Plan, Trigger, is_due_alone, plan

BATCH: Final = 500
LOCKED_REST: Final = 0.02
"""Seconds until the next look if due jobs are locked: another engine is firing them."""

FROZEN_REST: Final = 1.0
"""Seconds until the next look while the installation is frozen."""

LOOK_BACK: Final = timedelta(seconds=60)
LOOK_BACK_EVERY: Final = 5.0
"""How far and how often to look below the low-water mark, for jobs that another process had locked and released. No
transaction of an engine lasts that long."""

LOOK_EVERYWHERE_EVERY: Final = 300.0
"""How often to look at all slots, as a safety net. While a reader holds a snapshot, such a look walks over every slot
fired since, so firing doesn't wait for it."""

LOOK_AGAIN: Final = 30.0
"""How soon to look at all slots again after that ran into the statement timeout."""


class LowWater:
    """Nothing is due before this mark: a poll that starts here skips the dead index entries of slots already fired."""

    def __init__(self) -> None:
        self._mark: datetime | None = None
        self._others: tuple[frozenset[int], datetime] | None = None
        self._looked_back = monotonic()
        self.lowered = 0
        """How often it was lowered. A look raises the mark only if this is unchanged: else a new job is missed."""
        self.forgotten = 0
        """How often it was forgotten. A look that began before that must not set the mark."""

    @property
    def known(self) -> bool:
        return self._mark is not None

    def bound(self) -> datetime | None:
        """Where the next poll starts; None means at the beginning."""
        now = monotonic()
        if self._mark is not None and now - self._looked_back > LOOK_BACK_EVERY:
            self._looked_back = now
            return self._mark - LOOK_BACK
        return self._mark

    def bound_without(self, left_out: frozenset[int]) -> datetime | None:
        """Where a look that leaves these owners out starts: where the last one ended that left out no other owners."""
        return self._others[1] if self._others is not None and self._others[0] <= left_out else self._mark

    def found(self, latest: datetime, forgotten: int) -> None:
        """Everything due before `latest` is fired or locked. `forgotten` is the counter from when the look began."""
        if self.forgotten == forgotten:
            self._mark = latest

    def found_without(self, left_out: frozenset[int], through: datetime, forgotten: int) -> None:
        """Everything due before `through` is fired, locked, or belongs to the owners left out."""
        if self.forgotten == forgotten:
            self._others = (left_out, through)

    def lower(self, moment: datetime) -> None:
        """A job is due at `moment`."""
        self.lowered += 1
        if self._mark is not None and moment < self._mark:
            self._mark = moment
        if self._others is not None and moment < self._others[1]:
            self._others = (self._others[0], moment)

    def forget_others(self) -> None:
        self._others = None

    def forget(self) -> None:
        self.forgotten += 1
        self._mark = self._others = None


class Firing:
    """The duty of firing. Any number may run at once, in this process and in others."""

    urgent = False
    """Whether it fires for urgent tasks alone."""

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
        self._tasks = registry.tasks
        self._working = working
        self.low = LowWater()
        self.crowd = Crowd()
        self._absence = Absence()
        self.crowded = False
        self._others_had_theirs = False
        self.left_zones: list[str] = []
        self._check_slots = False
        self._frozen = False
        self.more: Callable[[], None] = lambda: None
        self.look_soon: Callable[[], None] = lambda: None

    async def step(self, worker: int) -> float:
        """Fire one batch as `worker`; 0 if there may be more, else seconds until the next slot."""
        await self._limiting.refresh()
        await self.write_absence()
        has_place = await self._working.wait_for_place(self.crowd)
        if not self.low.known:
            await self._begin()
        # A full worker fires for the greedy owners too, in turn: their slots wait in the queue, and none is lost.
        if (has_place or not self._others_had_theirs) and (left_out := self.crowd.turn()):
            self._others_had_theirs = True
            return await self._fire_others(worker, left_out)
        self._others_had_theirs = False
        return await self._fire_next(worker, self._working.reserve(BATCH))

    async def _fire_next(self, worker: int, places: int) -> float:
        """Fire one batch, whoever it is for; 0 if there may be more, else seconds until the next slot."""
        limit = places or BATCH
        forgotten, low = self.low.forgotten, self.low.bound()
        count = await self._fire(worker, places, low, limit)
        if count is None or count == limit:
            return 0
        lowered = self.low.lowered
        now, next_at, frozen = await self._store.next_due(low, self.left_zones, urgent=self.urgent)
        if self._note_frozen(frozen):
            return FROZEN_REST
        if next_at is not None and next_at <= now:
            self.low.lower(next_at)  # locked by another process, which may release it
            return LOCKED_REST
        self._absence.end(now)
        await self.write_absence()
        if self.low.lowered == lowered:
            self.low.found(now, forgotten)
        rest = float("inf") if next_at is None else (next_at - now).total_seconds()
        return min(rest, LOOK_BACK_EVERY)

    async def write_absence(self) -> None:
        """Write what was caught up on and isn't noted yet, if it is time."""
        if taken := self._absence.take():
            try:
                await self._store.note_absence(taken)
            except BaseException:
                self._absence.give_back(taken)
                raise

    def _note_frozen(self, frozen: bool) -> bool:
        """What is due stays so, and the marks stay below it."""
        if frozen:
            self.low.forget_others()
        if frozen != self._frozen:
            self._frozen = frozen
            telemetry.frozen(over=not frozen)
        return frozen

    async def _begin(self) -> None:
        """Set the first mark: a minute ago, or the earliest slot if that can be found in time."""
        now = await self._store.now()
        self.low.found(now - LOOK_BACK, self.low.forgotten)
        if await self.look_everywhere() == LOOK_AGAIN:
            self.look_soon()

    async def look_everywhere(self) -> float:
        """Lower the mark to the earliest slot; seconds until the next such look."""
        if not self.low.known:
            return LOOK_EVERYWHERE_EVERY  # the next step does it
        try:
            _, earliest, _ = await self._store.next_due(None, self.left_zones, urgent=self.urgent)
        except StoreUnavailable:
            return LOOK_AGAIN
        if earliest is not None:
            self.low.lower(earliest)
        return LOOK_EVERYWHERE_EVERY

    async def _fire_others(self, worker: int, left_out: frozenset[int]) -> float:
        """Fire a batch for the owners that would otherwise wait behind the greedy ones."""
        began = monotonic()
        now = await self._store.now()
        shares = self._working.shares_beyond(urgent=self.urgent)
        places = self._working.reserve(BATCH, beyond=True, urgent=self.urgent)
        limit = places or BATCH
        lowered, forgotten = self.low.lowered, self.low.forgotten
        count = await self._fire(worker, places, self.low.bound_without(left_out), limit, left_out, now, shares)
        if count is not None and count < limit and self.low.lowered == lowered:
            self.low.found_without(left_out, now, forgotten)
        self.crowd.looked(began)
        return 0

    async def _fire(
        self,
        worker: int,
        places: int,
        low: datetime | None,
        limit: int,
        left_out: frozenset[int] = frozenset(),
        now: datetime | None = None,
        shares: RunsLeft | None = None,
    ) -> int | None:
        """How many due jobs there were; None if the batch was undone and must be tried again."""
        batch = Batch()
        earliest: datetime | None = None
        forgotten, since = self.low.forgotten, tracing.moment()
        try:
            async with (
                self._limiting.counting() as counts,
                self._store.due_jobs(low, limit, left_out, self.left_zones, now, urgent=self.urgent) as due,
            ):
                count = len(due.rows)
                self._note_crowd(due, full=count == limit, others=bool(left_out))
                if count:
                    earliest = due.rows[0]["next_at"]
                    moment, runs_left = due.moment, await self._limiting.runs_left_for(due)
                    runs_left = runs_left.within(shares) if runs_left else shares
                    self._absence.look(moment)
                    by_lists, batch.delivered = await due.triggers_by_lists(), await due.delivered()
                    latest = self._plan_all(due.rows, batch, places, runs_left, worker, moment, by_lists)
                    if latest is not None and left_out:
                        self.low.found_without(left_out, latest, forgotten)
                    elif latest is not None:
                        self.low.found(latest, forgotten)
                    if self._check_slots:
                        batch.leave_out(await due.taken_slots(batch.slots()))
                    await self._limiting.hold(due, batch, counts, moment)
                    self._absence.passed(batch, moment)
                    await self._write(due, batch, worker, moment)
        except BaseException as error:
            if earliest is not None:
                self.low.lower(earliest)  # the jobs are still due, and are below the mark
            self._working.release(places, urgent=self.urgent)
            if isinstance(error, NoPartition):
                await self._store.make_partitions([slot for _, slot in batch.slots()])
                return None
            if isinstance(error, UniqueConflict) and not self._check_slots:
                self._check_slots = True
                return None
            raise
        self._check_slots = False
        self._absence.committed(batch)
        count_fired(due, batch)
        self._working.release(places - len(batch.attempts), urgent=self.urgent)
        if self.urgent:
            for attempt in batch.attempts:
                attempt.urgent = True
        await self._admitting.start(worker, batch.attempts, first=bool(left_out), since=since)
        return count

    def _note_crowd(self, due: DueJobs, *, full: bool, others: bool) -> None:
        if full and (not others or len(due.rows) == BATCH):
            self.crowd.saw([row["owner_id"] for row in due.rows])
        if not others:
            self.crowded = full
            if full:
                self.more()

    async def _write(self, due: DueJobs, batch: Batch, worker: int, now: datetime) -> None:
        if batch.attempts:
            await due.fire([one.job_id for one in batch.attempts], batch.next_slots, worker, now)
        if batch.replaced:  # before the runs that replace them are queued: their line may be empty then
            await due.stop_runs(batch.replaced, now, "a later one replaced it")
        if batch.moved:
            await due.move(batch.moved, now)
        if batch.missed:
            await due.note_missed(batch.missed, now)
        if batch.first_passed:
            await due.note_absence(batch.first_passed, now)
        if batch.broken:
            await due.set_aside(batch.broken, now, self._limiting.topic_of)
            for job_id, reason in batch.broken:
                telemetry.job_set_aside(job_id, reason)

    def _plan_all(
        self,
        rows: list[Row],
        batch: Batch,
        places: int,
        runs_left: RunsLeft | None,
        worker: int,
        moment: datetime,
        by_lists: Mapping[int, Trigger],
    ) -> datetime | None:
        """Fill the batch; the latest time at which one of the jobs was due."""
        tasks = self._fleetwide.direct(self._working.performable(self._tasks, urgent=self.urgent), urgent=self.urgent)
        latest: datetime | None = None
        for row in rows:
            # Unpacked at once, because reading each column by its name makes planning a job a third slower.
            (
                job_id,
                owner_id,
                next_at,
                delay,
                period,
                expression,
                zone,
                dst_gap,
                dst_overlap,
                executed,
                max_runs,
                ends_at,
                task,
                arguments,
                stored_policy,
                failing,
                in_flight,
                number,
                epoch,
                _,
            ) = row
            if latest is None or next_at > latest:
                latest = next_at
            slot, now = next_at, moment
            if delay:
                spread = timedelta(seconds=delay)
                slot, now = slot - spread, now - spread
            planned: Plan | None = None  # None is the usual plan: this slot runs, and the following one is next
            try:
                policy, catch_up, latest_start = policy_of(stored_policy)
                usual = in_flight is None and ends_at is None and max_runs is None and not is_whole(expression)
                following = slot_after(slot, period, expression, zone, dst_gap, dst_overlap) if usual else None
                sent = batch.delivered.get(job_id) if batch.delivered else None
                if sent or not usual or not is_due_alone(slot, following, now, latest_start):
                    remaining = None if max_runs is None else max_runs - executed
                    if in_flight is not None and policy.overlap == "skip":
                        remaining = None  # a skipped slot isn't an execution
                    trigger = trigger_of(slot, period, expression, zone, dst_gap, dst_overlap, by_lists.get(job_id))
                    how = partial(plan_around, sent) if sent else plan
                    planned = how(trigger, slot, now, catch_up, ends_at=ends_at, remaining=remaining)
                    following = planned.next_at
                agent = agent_of(task, arguments)
            except Exception as broken:  # pure code, so nothing is half done and the batch can go on
                batch.broken.append((job_id, f"{type(broken).__name__}: {broken}"))
                continue
            known = tasks.get(task)
            if (
                known is not None
                and in_flight is None
                and (planned is None or (len(planned.runs) == 1 and not planned.passed))
                and len(batch.attempts) < places
                and (runs_left is None or runs_left.take(owner_id))
            ):
                batch.fire(
                    Attempt(job_id, slot, 1, worker, known, arguments, policy, failing, owner_id, number, epoch),
                    following,
                )
            else:
                planned = planned or Plan((Due(slot, following),), (), following)
                self._add_move(batch, job_id, owner_id, task, agent, policy, planned, in_flight is not None)
        return latest

    def _add_move(
        self,
        batch: Batch,
        job_id: int,
        owner_id: int,
        task: str,
        agent: str | None,
        policy: Policy,
        planned: Plan,
        in_flight: bool,
    ) -> None:
        """Add a job whose plan isn't an ordinary fire."""
        rows = rows_of(planned, policy.overlap, in_flight=in_flight, sent=batch.delivered.get(job_id, frozenset()))
        batch.moved.append(Moved(job_id, owner_id, task, rows, planned.next_at, policy.serial, agent))
        if in_flight and policy.overlap == "cancel_previous" and planned.runs:
            batch.replaced.append(job_id)
        # What ends with a day off has ended as it should.
        if planned.next_at is None and not planned.runs and rows and not in_flight and rows[-1].state != "skipped":
            batch.missed.append((job_id, f"{rows[-1].state}: {rows[-1].reason}"))
