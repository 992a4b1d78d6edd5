"""A trigger of the calendar: a union of rules, its first and last day, and the days that are left out."""

from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Final, Literal

from cronty.timing.calendar_clock import CalendarClock, MixedSlots, minutes_of
from cronty.timing.calendar_days import DaySet, Outer, RuleDays
from cronty.timing.calendar_rule import CalendarRule, check_year
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.zoned import Gap, Overlap, Slots, Zoned, ZonedClock, check_policy, nominal
from cronty.timing.zones import zone

type Instead = Literal["skip", "next_business_day", "previous_business_day"]

MOST_RULES: Final = 8
MOST_DATES: Final = 400
MOST_CALENDARS: Final = 8
LONGEST_NAME: Final = 64


@dataclass(frozen=True, slots=True, order=True)
class DayOff:
    """A day of a named calendar, and what it is, as in `holiday (Christmas Day)`."""

    day: date
    reason: str


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
    elsewhere; `off` and `on` are what they said when the trigger was last made: days off, and make-up days, which
    win. `instead` says what becomes of a slot on a day off: it is skipped, which is its verdict; or it is moved to a
    business day, and from weekends too. A business day is Monday to Friday and not a day off, or a make-up day.

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

    def __post_init__(self) -> None:
        if not 1 <= len(self.rules) <= MOST_RULES:
            raise BadTrigger(
                f"Invalid calendar: it has {len(self.rules)} rules", f"Name 1 to {MOST_RULES}; any of them may fire."
            )
        self._check_choices()
        self._check_days()
        object.__setattr__(self, "zone", zone(self.zone).key)
        object.__setattr__(self, "rules", tuple(dict.fromkeys(self.rules)))
        object.__setattr__(self, "without", tuple(sorted(set(self.without))))
        object.__setattr__(self, "calendars", tuple(dict.fromkeys(self.calendars)))
        object.__setattr__(self, "off", tuple(sorted({each.day: each for each in self.off}.values())))
        object.__setattr__(self, "on", tuple(sorted(set(self.on))))
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
        days = self._days(without=(*self.without, *self.days_off()))
        slots = _compiled(self.rules, days, self.starts, self.ends, self.zone, self.gap, self.overlap)
        return OpenSlots(slots, self.zone)

    def days_off(self) -> dict[date, str]:
        """The days off and their reasons; make-up days aren't any."""
        return {each.day: each.reason for each in self.off if each.day not in self.on}

    def taken(self, slot: datetime) -> str | None:
        """Return why a slot doesn't run, if a day off takes it."""
        if not self.takes_slots or self.open.count(slot, slot) or not self.count(slot, slot):
            return None
        return self.days_off().get((nominal(self, slot) or slot.astimezone(zone(self.zone))).date())

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
        if len(self.calendars) > MOST_CALENDARS:
            raise BadTrigger(f"Too many calendars: {len(self.calendars)}", f"At most {MOST_CALENDARS}.")
        for name in self.calendars:
            if not 1 <= len(name) <= LONGEST_NAME:
                raise BadTrigger(f"Invalid name of a calendar: {shown(name)}", f"1 to {LONGEST_NAME} characters.")

    def _check_days(self) -> None:
        for what, days in (("without", self.without), ("off", self.off), ("on", self.on)):
            if len(days) > MOST_DATES:
                raise BadTrigger(f'Invalid "{what}" of a calendar: {len(days)} days', f"At most {MOST_DATES}.")
        for what, day in (("starts", self.starts), ("ends", self.ends)):
            if day is not None:
                check_year(day, what)
        if self.starts is not None and self.ends is not None and self.ends < self.starts:
            raise BadTrigger(
                f"A calendar can't end on {self.ends} and start on {self.starts}", "Name an end after its start."
            )


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
    outer = Outer(starts, ends, DaySet(without), DaySet(each.day for each in off), DaySet(on), instead)
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
