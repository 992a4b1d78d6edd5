"""A trigger of the calendar: a union of rules, its first and last day, and the days that are left out."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from cronty.timing.calendar_clock import CalendarClock, MixedSlots, minutes_of
from cronty.timing.calendar_days import DaySet, Outer, RuleDays
from cronty.timing.calendar_rule import CalendarRule, check_year
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.localtime import instant_of
from cronty.timing.offsets import TICK
from cronty.timing.zoned import Gap, Overlap, Slots, Zoned, ZonedClock, check_policy, nominal
from cronty.timing.zones import zone

type Instead = Literal["skip", "next_business_day", "previous_business_day"]

MAX_RULES: Final = 8
MAX_DATES: Final = 400
MAX_CALENDARS: Final = 8
MAX_CALENDAR_NAME: Final = 64
_DAY: Final = timedelta(days=1)


class DayOff(NamedTuple):
    """A day of a named calendar, and what it is, as in `holiday (Christmas Day)`."""

    day: date
    reason: str


class Taken(NamedTuple):
    """A contiguous range of slots that don't run, and why."""

    reason: str
    first: datetime
    through: datetime
    slots: int


class OpenSlots(Zoned):
    """The slots of a calendar without those that its days off take."""

    __slots__ = ("slots", "zone")

    def __init__(self, slots: Slots, zone_name: str) -> None:
        self.slots = slots
        self.zone = zone_name


@dataclass(frozen=True, slots=True)
class Calendar(Zoned):
    """Fires on the days and at the times that any of `rules` names, on the clocks of `zone`.

    From `starts` through `ends`; never on a day of `without`. `calendars` are names of lists of days off that are kept
    elsewhere; `off` and `on` are what they say: days off, and make-up days, which win. `instead` says what becomes of a
    slot on a day off: it is skipped, which is its verdict; or it is moved to a business day, and from weekends too. A
    business day is Monday to Friday and not a day off, or a make-up day.

    A slot that is skipped is a slot like the others to `after`, `last` and `count`; `open` leaves it out.
    """

    rules: tuple[CalendarRule, ...]
    zone: str = "UTC"
    starts: date | None = None
    ends: date | None = None
    without: tuple[date, ...] = ()
    calendars: tuple[str, ...] = ()
    instead: Instead = "skip"
    off: tuple[DayOff, ...] = ()
    on: tuple[date, ...] = ()
    gap: Gap = "run_after"
    overlap: Overlap = "first"
    slots: Slots = field(init=False, repr=False, compare=False)
    _open: OpenSlots | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if not 1 <= len(self.rules) <= MAX_RULES:
            raise BadTrigger(
                f"Invalid calendar: it has {len(self.rules)} rules", f"Name 1 to {MAX_RULES}; any of them may fire."
            )
        self._check_choices()
        self._check_days()
        object.__setattr__(self, "zone", zone(self.zone).key)
        object.__setattr__(self, "rules", tuple(dict.fromkeys(self.rules)))
        object.__setattr__(self, "without", tuple(sorted(set(self.without))))
        object.__setattr__(self, "calendars", tuple(dict.fromkeys(self.calendars)))
        on = set(self.on)
        object.__setattr__(self, "on", tuple(sorted(on)))
        off = {each.day: each for each in self.off if each.day not in on}
        object.__setattr__(self, "off", tuple(sorted(off.values())))
        days = self._days(self.without)
        object.__setattr__(
            self, "slots", _compiled(self.rules, days, self.starts, self.ends, self.zone, self.gap, self.overlap)
        )

    @property
    def takes_slots(self) -> bool:
        """Whether there are days off on which slots are skipped."""
        return bool(self.off) and self.instead == "skip"

    @property
    def open(self) -> Zoned:
        """The slots that run."""
        if not self.takes_slots:
            return self
        if self._open is None:
            days = self._days(without=(*self.without, *(each.day for each in self.off)))
            slots = _compiled(self.rules, days, self.starts, self.ends, self.zone, self.gap, self.overlap)
            object.__setattr__(self, "_open", OpenSlots(slots, self.zone))
        assert self._open is not None
        return self._open

    def day_off(self, day: date) -> str | None:
        """Return what a day is, if it is off."""
        place = bisect_left(self.off, (day,))
        return self.off[place].reason if place < len(self.off) and self.off[place].day == day else None

    def taken(self, slot: datetime) -> str | None:
        """Return why a slot doesn't run, if a day off takes it."""
        if not self.takes_slots or self.open.count(slot, slot) or not self.count(slot, slot):
            return None
        return self.day_off((nominal(self, slot) or slot.astimezone(zone(self.zone))).date())

    def ranges(self, since: datetime, until: datetime) -> Iterator[Taken]:
        """Yield a range for each day off: the slots of the day, and what a clock change moved out of it."""
        if not self.takes_slots:
            return
        first_day = since.astimezone(zone(self.zone)).date() - 2 * _DAY
        final_day = until.astimezone(zone(self.zone)).date() + 2 * _DAY
        near = self.off[bisect_left(self.off, (first_day,)) : bisect_left(self.off, (final_day,))]
        if not near:
            return
        opened = self.open
        for day, reason in near:
            start, end = (self._midnight(each) for each in (day, day + _DAY))
            if end < since or start > until:
                continue
            start += TICK if opened.count(start, start) else timedelta(0)
            end -= TICK if self.day_off(day + _DAY) is not None or opened.count(end, end) else timedelta(0)
            low, high = max(start, since), min(end, until)
            first, through = self.after(low - TICK), self.last(low, high)
            if first is not None and through is not None:
                yield Taken(reason, first, through, self.count(first, through))

    def _midnight(self, day: date) -> datetime:
        return instant_of(datetime(day.year, day.month, day.day), self.zone).at  # noqa: DTZ001

    def moved_from(self, slot: datetime) -> date | None:
        """Return the day from which a slot was moved to a business day, if it was."""
        local = nominal(self, slot) or slot.astimezone(zone(self.zone))
        sources: list[date] = []
        for rule, days in zip(self.rules, self._days(self.without), strict=True):
            if minutes_of(rule.times) >> local.hour * 60 + local.minute & 1:
                if days.names(local.date()):
                    return None
                sources += days.moved_from(local.date())
        return min(sources, default=None)

    def _days(self, without: tuple[date, ...]) -> tuple[RuleDays, ...]:
        return _compiled_days(self.rules, self.starts, self.ends, without, self.instead, self.off, self.on)

    def _check_choices(self) -> None:
        check_policy(self.gap, self.overlap)
        if self.instead not in ("skip", "next_business_day", "previous_business_day"):
            raise BadTrigger(
                f'Invalid "instead" of a calendar: {shown(self.instead)}',
                'Use "skip", "next_business_day" or "previous_business_day".',
            )
        if len(self.calendars) > MAX_CALENDARS:
            raise BadTrigger(f"Too many calendars: {len(self.calendars)}", f"At most {MAX_CALENDARS}.")
        for name in self.calendars:
            if not 1 <= len(name) <= MAX_CALENDAR_NAME:
                raise BadTrigger(f"Invalid name of a calendar: {shown(name)}", f"1 to {MAX_CALENDAR_NAME} characters.")

    def _check_days(self) -> None:
        if len(self.without) > MAX_DATES:
            raise BadTrigger(f'Invalid "without" of a calendar: {len(self.without)} days', f"At most {MAX_DATES}.")
        for what, day in (("starts", self.starts), ("ends", self.ends)):
            if day is not None:
                check_year(day, what)
        if self.starts is not None and self.ends is not None and self.ends < self.starts:
            raise BadTrigger(
                f"A calendar can't end on {self.ends} and start on {self.starts}", "Name an end after its start."
            )


@lru_cache(maxsize=256)
def _day_set(days: tuple[date, ...] | tuple[DayOff, ...]) -> DaySet:
    """Many calendars go by one list."""
    return DaySet(each.day if isinstance(each, DayOff) else each for each in days)


@lru_cache(maxsize=4096)
def _compiled_days(
    rules: tuple[CalendarRule, ...],
    starts: date | None,
    ends: date | None,
    without: tuple[date, ...],
    instead: Instead,
    off: tuple[DayOff, ...],
    on: tuple[date, ...],
) -> tuple[RuleDays, ...]:
    outer = Outer(starts, ends, _day_set(without), _day_set(off), _day_set(on), instead)
    return tuple(RuleDays(rule, outer) for rule in rules)


@lru_cache(maxsize=4096)
def _compiled(
    rules: tuple[CalendarRule, ...],
    days: tuple[RuleDays, ...],
    starts: date | None,
    ends: date | None,
    zone_name: str,
    gap: Gap,
    overlap: Overlap,
) -> Slots:
    def clock(*, fixed: bool | None) -> CalendarClock:
        timed = [(each, minutes_of(rule.times, fixed=fixed)) for each, rule in zip(days, rules, strict=True)]
        return CalendarClock([one for one in timed if one[1]], starts, ends, fixed=fixed is True)

    fixed, real = clock(fixed=True), clock(fixed=False)
    if not real:
        return ZonedClock(fixed, zone_name, gap, overlap)
    if not fixed:
        return ZonedClock(real, zone_name, gap, overlap)
    return MixedSlots(fixed, real, clock(fixed=None), zone_name, gap, overlap)
