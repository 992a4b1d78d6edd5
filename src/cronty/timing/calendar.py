"""A trigger of the calendar: a union of rules, its first and last day, and the days that are left out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from cronty.timing.calendar_clock import CalendarClock, MixedSlots, minutes_of
from cronty.timing.calendar_days import DaySet, Outer, RuleDays
from cronty.timing.calendar_rule import CalendarRule, check_year
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.localtime import midnight
from cronty.timing.named_calendar import NamedCalendar
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

    def after(self, moment: datetime) -> datetime | None:
        return self._first_after(moment)


@dataclass(frozen=True, slots=True)
class Calendar(Zoned):
    """Fires on the days and at the times that any of `rules` names, on the clocks of `zone`.

    From `starts` through `ends`; never on a day of `without`. `calendars` are names of lists of days off that are kept
    elsewhere, and `lists` those lists; what one of them makes a make-up day is one, whatever the others say, and of two
    reasons for a day off the first counts. `instead` says what becomes of a slot on a day off: it is skipped, which is
    its verdict; or it is moved to a business day, and from weekends too. A business day is Monday to Friday and not a
    day off, or a make-up day.

    A slot that is skipped is a slot like the others to `after`, `last` and `count`; `open` leaves it out.
    """

    rules: tuple[CalendarRule, ...]
    zone: str = "UTC"
    starts: date | None = None
    ends: date | None = None
    without: tuple[date, ...] = ()
    calendars: tuple[str, ...] = ()
    instead: Instead = "skip"
    lists: tuple[NamedCalendar, ...] = field(default=(), repr=False)
    gap: Gap = "run_after"
    overlap: Overlap = "first"
    slots: Slots = field(init=False, repr=False, compare=False)
    words: str | None = field(init=False, repr=False, compare=False, default=None)
    """The calendar in words, once they were looked for: with the most rules that takes milliseconds."""
    _named: tuple[RuleDays, ...] = field(init=False, repr=False, compare=False)
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
        object.__setattr__(self, "_named", self._days())
        object.__setattr__(self, "slots", self._compiled(self._named))

    def names(self, place: int, day: date) -> bool:
        """Whether the rule at this place names a day, before anything is moved."""
        return self._named[place].names(day)

    @property
    def off(self) -> tuple[DayOff, ...]:
        """The days off of all lists together; there may be very many."""
        found: dict[date, str] = {}
        for each in reversed(self.lists):
            found |= each.off
        return tuple(DayOff(day, found[day]) for day in sorted(found.keys() - set(self.on)))

    @property
    def on(self) -> tuple[date, ...]:
        """The make-up days of all lists together."""
        return tuple(sorted(frozenset[date]().union(*(each.on for each in self.lists))))

    @property
    def has_lists(self) -> bool:
        """Whether a list says anything."""
        return any(each.off or each.on for each in self.lists)

    @property
    def takes_slots(self) -> bool:
        """Whether there are days off on which slots are skipped."""
        return self.instead == "skip" and any(each.off for each in self.lists)

    def after(self, moment: datetime) -> datetime | None:
        # What is remembered would hold on to lists that were replaced long ago.
        return self._first_after(moment) if self.lists else Zoned.after(self, moment)

    @property
    def open(self) -> Zoned:
        """The slots that run."""
        if not self.takes_slots:
            return self
        if self._open is None:
            object.__setattr__(self, "_open", OpenSlots(self._compiled(self._days(closed=True)), self.zone))
        assert self._open is not None
        return self._open

    def day_off(self, day: date) -> str | None:
        """Return what a day is, if it is off."""
        if any(day in each.on for each in self.lists):
            return None
        return next((each.off[day] for each in self.lists if day in each.off), None)

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
        near = {day for each in self.lists for day in each.between(first_day, final_day)}
        opened = self.open if near else self
        for day in sorted(near):
            if (reason := self.day_off(day)) is None:
                continue
            start, end = (midnight(each, self.zone) for each in (day, day + _DAY))
            if end < since or start > until:
                continue
            start += TICK if opened.count(start, start) else timedelta(0)
            end -= TICK if self.day_off(day + _DAY) is not None or opened.count(end, end) else timedelta(0)
            low, high = max(start, since), min(end, until)
            first, through = self.after(low - TICK), self.last(low, high)
            if first is not None and through is not None:
                yield Taken(reason, first, through, self.count(first, through))

    def moved_from(self, slot: datetime) -> date | None:
        """Return the day from which a slot was moved to a business day, if it was."""
        local = nominal(self, slot) or slot.astimezone(zone(self.zone))
        sources: list[date] = []
        for rule, days in zip(self.rules, self._named, strict=True):
            if minutes_of(rule.times) >> local.hour * 60 + local.minute & 1:
                if days.names(local.date()):
                    return None
                sources += days.moved_from(local.date())
        return min(sources, default=None)

    def _days(self, *, closed: bool = False) -> tuple[RuleDays, ...]:
        days = _kept_days if not self.lists else _rule_days
        return days(self.rules, self.starts, self.ends, self.without, self.instead, self.lists, closed)

    def _compiled(self, days: tuple[RuleDays, ...]) -> Slots:
        slots = _kept_slots if not self.lists else _slots
        return slots(self.rules, days, self.starts, self.ends, self.zone, self.gap, self.overlap)

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


def _rule_days(
    rules: tuple[CalendarRule, ...],
    starts: date | None,
    ends: date | None,
    without: tuple[date, ...],
    instead: Instead,
    lists: tuple[NamedCalendar, ...],
    closed: bool,
) -> tuple[RuleDays, ...]:
    days = tuple((each.off_days, each.on_days) for each in lists)
    outer = Outer(starts, ends, DaySet(without), days, instead, closed=closed)
    return tuple(RuleDays(rule, outer, checked=closed) for rule in rules)


def _slots(
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


# Without lists, which change: those that were replaced aren't held on to.
_kept_days = lru_cache(maxsize=4096)(_rule_days)
_kept_slots = lru_cache(maxsize=4096)(_slots)
