"""What to do, now, about the slots of a job that are due.

Pure and bounded: the work grows with the number of runs planned, not with the time that was slept through.
Slots that don't run are told in ranges, so a year asleep is one or two rows. Runs and ranges together form a
chain without holes: each one's `followed_by` is where the next one begins, and the last one's is the plan's
`next_at`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from cronty.timing.calendar import Calendar
from cronty.timing.errors import BadTrigger
from cronty.timing.offsets import TICK
from cronty.timing.once import Once
from cronty.timing.slot_changes import Changed
from cronty.timing.trigger import Trigger

type CatchUpMode = Literal["latest", "all", "none"]
type Verdict = Literal["coalesced", "missed", "skipped"]

# With catch-up off a slot still runs if it is this late: a busy or restarting worker is not an outage.
GRACE = timedelta(seconds=60)
USUAL_WINDOW = timedelta(hours=24)
_OFF = "late, and catch-up is off"


class Slots(Protocol):
    """What names the slots of a job: a trigger, or a part of one."""

    def after(self, moment: datetime) -> datetime | None: ...
    def last(self, since: datetime, until: datetime) -> datetime | None: ...
    def count(self, since: datetime, until: datetime) -> int: ...


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What happens to slots that passed while nothing was running.

    Slots older than `window` are missed; None means a day for what repeats, and that a one-off is never too late. Of
    the others, `latest` runs the last one, `all` runs the newest `limit`, `none` runs the last one only if it is less
    than a minute late.
    """

    mode: CatchUpMode = "latest"
    window: timedelta | None = None
    limit: int = 100

    def __post_init__(self) -> None:
        if self.mode not in ("latest", "all", "none"):
            raise BadTrigger(f"Unknown catch-up mode: {self.mode}", 'Use "latest", "all" or "none".')
        if self.window is not None and self.window < timedelta(0):
            raise BadTrigger(f"Invalid catch-up window: {self.window}", "It can't be negative; 24 hours is usual.")
        if self.limit < 1:
            raise BadTrigger(f"Invalid catch-up limit: {self.limit}", "It must be 1 or more; 100 is usual.")

    @property
    def latest_start(self) -> timedelta:
        """How late a slot may be and still run, if it isn't a one-off."""
        return min(self.oldest, GRACE) if self.mode == "none" else self.oldest

    @property
    def oldest(self) -> timedelta:
        """How old a slot may be that isn't missed."""
        return USUAL_WINDOW if self.window is None else self.window


@dataclass(frozen=True, slots=True)
class Passed:
    """A contiguous range of slots that don't run, and why."""

    verdict: Verdict
    reason: str
    first: datetime
    through: datetime
    slots: int
    followed_by: datetime | None


class Due(NamedTuple):
    """A slot to run now."""

    slot: datetime
    followed_by: datetime | None


class Plan(NamedTuple):
    """What to do about the due slots; `next_at` is None when the schedule has ended."""

    runs: tuple[Due, ...]
    passed: tuple[Passed, ...]
    next_at: datetime | None


_USUAL = CatchUp()


def is_due_alone(slot: datetime, following: datetime | None, now: datetime, latest_start: timedelta) -> bool:
    """Whether `slot` is all that is due and may still run, as nearly always: then there is nothing more to plan."""
    return slot <= now and (following is None or following > now) and now - slot <= latest_start


def plan(
    trigger: Trigger | Changed | Slots,
    next_at: datetime,
    now: datetime,
    catch_up: CatchUp = _USUAL,
    *,
    ends_at: datetime | None = None,
    remaining: int | None = None,
) -> Plan:
    """Decide about every slot from `next_at` through `now`.

    `next_at` counts as a slot even if the trigger would no longer name it, as after a change of the zone
    database. `remaining` is how many more times the job may run, at least 1; when the plan uses it up, the
    schedule ends.
    """
    if ends_at is not None and next_at > ends_at:
        return Plan((), (), None)
    if next_at > now:
        return Plan((), (), next_at)
    if catch_up.window is None and _is_once(trigger):
        catch_up = replace(catch_up, window=timedelta.max)
    if isinstance(trigger, Calendar | Changed) and _takes_some(trigger, next_at, now):
        return _AroundTaken(trigger, next_at, now, catch_up, ends_at).plan(remaining)
    following = trigger.after(next_at)
    if following is not None and ends_at is not None and following > ends_at:
        following = None
    if is_due_alone(next_at, following, now, catch_up.latest_start):
        if remaining == 1:
            following = None
        return Plan((Due(next_at, following),), (), following)
    if following is not None and following <= now:
        return _Backlog(trigger, next_at, now, catch_up, ends_at).plan(remaining)
    reason = _too_late(catch_up.oldest) if now - next_at > catch_up.oldest else _OFF
    return _one_missed(reason, next_at, following)


def _is_once(trigger: Trigger | Changed | Slots) -> bool:
    return isinstance(trigger.rule if isinstance(trigger, Changed) else trigger, Once)


def _takes_some(trigger: Calendar | Changed, first: datetime, until: datetime) -> bool:
    return next(trigger.ranges(first, until), None) is not None


def _one_missed(reason: str, slot: datetime, following: datetime | None) -> Plan:
    return Plan((), (Passed("missed", reason, slot, slot, 1, following),), following)


@dataclass(frozen=True, slots=True)
class _Backlog:
    """Two or more due slots. Every range in here begins at a slot."""

    trigger: Slots
    first: datetime
    now: datetime
    catch_up: CatchUp
    ends_at: datetime | None

    def plan(self, remaining: int | None) -> Plan:
        passed: list[Passed] = []
        fresh = self._first_fresh()
        if fresh != self.first:
            through = self._last(self.first, self._until if fresh is None else fresh - TICK)
            passed.append(self._range("missed", _too_late(self.catch_up.oldest), self.first, through))
        if fresh is None:
            return Plan((), tuple(passed), passed[-1].followed_by)
        slots = self._to_run(fresh)
        if not slots:
            passed.append(self._skipped(fresh, self._last(fresh, self._until)))
            return Plan((), tuple(passed), passed[-1].followed_by)
        if slots[0] != fresh:
            passed.append(self._skipped(fresh, self._last(fresh, slots[0] - TICK)))
        runs = self._runs(slots, remaining)
        return Plan(runs, tuple(passed), runs[-1].followed_by)

    @property
    def _until(self) -> datetime:
        return self.now if self.ends_at is None else min(self.now, self.ends_at)

    def _first_fresh(self) -> datetime | None:
        """Return the first slot inside the catch-up window."""
        try:
            oldest = self.now - self.catch_up.oldest
        except OverflowError:
            return self.first
        if self.first >= oldest:
            return self.first
        found = self.trigger.after(oldest - TICK)
        return found if found is not None and found <= self._until else None

    def _to_run(self, fresh: datetime) -> list[datetime]:
        """Return the slots that catch-up allows to run, earliest first."""
        slot = self._last(fresh, self._until)
        if self.catch_up.mode == "none" and self.now - slot > GRACE:
            return []
        slots = [slot]
        wanted = self.catch_up.limit if self.catch_up.mode == "all" else 1
        while len(slots) < wanted and slot != fresh:
            slot = self._last(fresh, slot - TICK)
            slots.append(slot)
        slots.reverse()
        return slots

    def _runs(self, slots: list[datetime], remaining: int | None) -> tuple[Due, ...]:
        ended = remaining is not None and len(slots) >= remaining
        if ended:
            slots = slots[:remaining]
        followers = [*slots[1:], None if ended else self._after(slots[-1])]
        return tuple(map(Due, slots, followers))

    def _skipped(self, first: datetime, through: datetime) -> Passed:
        match self.catch_up.mode:
            case "latest":
                return self._range("coalesced", "a later one ran instead", first, through)
            case "all":
                return self._range("coalesced", f"more than {self.catch_up.limit} to catch up", first, through)
            case "none":
                return self._range("missed", _OFF, first, through)

    def _range(self, verdict: Verdict, reason: str, first: datetime, through: datetime) -> Passed:
        slots = 1 + self.trigger.count(first + TICK, through)
        return Passed(verdict, reason, first, through, slots, self._after(through))

    def _last(self, first: datetime, until: datetime) -> datetime:
        # The plan's own first slot need not be one that the trigger still names.
        return self.trigger.last(first, until) or first

    def _after(self, slot: datetime) -> datetime | None:
        found = self.trigger.after(slot)
        return None if found is None or (self.ends_at is not None and found > self.ends_at) else found


@dataclass(frozen=True, slots=True)
class _AroundTaken:
    """Due slots of which days off or changes take some: those are skipped, and the others planned as if alone."""

    trigger: Calendar | Changed
    first: datetime
    now: datetime
    catch_up: CatchUp
    ends_at: datetime | None

    def plan(self, remaining: int | None) -> Plan:
        opened: Slots = self.trigger.open
        first = self.first if self.trigger.taken(self.first) is None else opened.after(self.first)
        others = Plan((), (), None)
        if first is not None and first <= self._until:
            others = plan(opened, first, self.now, self.catch_up, ends_at=self.ends_at, remaining=remaining)
        ended = remaining is not None and len(others.runs) >= remaining
        until = others.runs[-1].slot if ended else self._until
        taken = [
            Passed("skipped", each.reason, each.first, each.through, each.slots, None)
            for each in self.trigger.ranges(self.first, until)
        ]
        passed = [*taken, *(part for each in others.passed for part in self._parts(opened, each, taken))]
        return self._linked(others.runs, passed, ended=ended)

    @property
    def _until(self) -> datetime:
        return self.now if self.ends_at is None else min(self.now, self.ends_at)

    def _parts(self, opened: Slots, passed: Passed, taken: list[Passed]) -> Iterator[Passed]:
        """Yield a range in parts that have no day off inside."""
        first = passed.first
        for gap in sorted(taken, key=lambda each: each.first):
            if first < gap.first <= passed.through:
                yield self._part(opened, passed, first, opened.last(first, gap.first) or first)
                first = opened.after(gap.through) or passed.through
        yield self._part(opened, passed, first, passed.through)

    def _part(self, opened: Slots, passed: Passed, first: datetime, through: datetime) -> Passed:
        slots = 1 + opened.count(first + TICK, through)
        return Passed(passed.verdict, passed.reason, first, through, slots, None)

    def _linked(self, runs: tuple[Due, ...], passed: list[Passed], *, ended: bool) -> Plan:
        """Make one chain of them."""
        passed.sort(key=lambda each: each.first)
        starts = sorted((*(each.slot for each in runs), *(each.first for each in passed)))
        follower: dict[datetime, datetime | None] = dict(zip(starts, (*starts[1:], None), strict=True))
        final = max((*(each.slot for each in runs), *(each.through for each in passed)))
        next_at = None if ended else self.trigger.after(final)
        if next_at is not None and self.ends_at is not None and next_at > self.ends_at:
            next_at = None
        follower[starts[-1]] = next_at
        return Plan(
            tuple(Due(each.slot, follower[each.slot]) for each in runs),
            tuple(replace(each, followed_by=follower[each.first]) for each in passed),
            next_at,
        )


def _too_late(window: timedelta) -> str:
    minutes, seconds = divmod(window // timedelta(seconds=1), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{amount} {unit}" for amount, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if amount]
    return f"more than {' '.join(parts) or '0 s'} late"
