"""From what was said to a calendar: rules of days and times, a first and a last day, dates that are left out."""

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.calendar_rule import CalendarRule, Span, Unit
from cronty.timing.errors import BadTrigger
from cronty.timing.trigger import Trigger
from cronty.timing.words.fields import day_of
from cronty.timing.words.meaning import Scene
from cronty.timing.words.said import CalendarDate, Said
from cronty.timing.zones import zone

_DAY: Final = timedelta(days=1)

type Times = tuple[int | Span, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a calendar, each a day or none."""

    starts: date | None = None
    ends: date | None = None
    without: tuple[date, ...] = ()


NO_LIMITS: Final = Limits()


def rhythm_of(said: Said) -> tuple[int, Unit]:
    """Every how many of which unit."""
    if said.weeks:
        return said.weeks, "week"
    every = said.cycle or said.every
    if every is None or every.within_day:
        return 1, "day"
    if every.months:
        return (every.months // 12, "year") if every.months % 12 == 0 else (every.months, "month")
    return every.days, "day"


def rules_of(said: Said, times: Times, scene: Scene, limits: Limits = NO_LIMITS) -> tuple[CalendarRule, ...]:
    """The rules that some days and times come to; kinds of day that are alternatives get a rule each."""
    every, unit = rhythm_of(said)
    plain = _day_rules(said, times)
    if every == 1:
        return plain
    since = _since(said, plain, scene, limits)
    if said.lent and said.counting_from is not None:
        # It has the rhythm of other days, and a first day of its own.
        since = first_from(
            since, Calendar(tuple(replace(each, every=every, unit=unit, since=since) for each in plain), scene.zone)
        )
    # A plain rule says all weekdays or months with none; every so many weeks or years none are filled in by `since`.
    weekdays = said.weekdays if unit == "week" and len(said.weekdays) == 7 else None
    months = said.months if unit == "year" and len(said.months) == 12 else None
    return tuple(
        replace(
            rule,
            every=every,
            unit=unit,
            since=since,
            weekdays=rule.weekdays if weekdays is None else weekdays,
            months=rule.months if months is None else months,
        )
        for rule in plain
    )


def _day_rules(said: Said, times: Times) -> tuple[CalendarRule, ...]:
    days, months = said.month_days, said.months
    if said.date is not None:
        ((day, month),) = said.date.choices
        days, months = (day,), (month,)
    of_month = CalendarRule(times, months=months, days=days)
    if not said.either:
        named = replace(of_month, weekdays=said.weekdays, nths=said.nths, business_days=said.business_days)
        return (named,)
    others = months if not said.months_of_day and said.date is None else ()
    if len(said.weekdays) == 7:
        # Some days or every day is every day.
        return (CalendarRule(times, months=others),)
    ranked = CalendarRule(times, months=months, nths=said.nths)
    weekly = CalendarRule(times, months=others, weekdays=said.weekdays)
    if others == months:
        ranked, weekly = replace(weekly, weekdays=()), replace(weekly, nths=said.nths)
    business = CalendarRule(times, months=months, business_days=said.business_days)
    return tuple(rule for rule in (of_month, business, ranked, weekly) if rule.names_days)


def _since(said: Said, plain: tuple[CalendarRule, ...], scene: Scene, limits: Limits) -> date:
    """The first day that comes is the first of its rhythm, unless it is said from when to count."""
    if said.counting_from is not None:
        since = day_of(said.counting_from)
        if said.first_day is not None and first_from(since, Calendar(plain, scene.zone)) != since:
            raise BadTrigger(f"{since:%Y-%m-%d} is none of its days", "Name the first of them.")
        return since
    calendar = Calendar(plain, scene.zone, limits.starts, limits.ends, limits.without)
    if limits.starts is None:
        return first_day(calendar, scene)
    # What began in the past goes on as it began.
    return first_from(limits.starts, calendar)


def first_from(day: date, calendar: Calendar) -> date:
    """The first day that a calendar names, from a day on that may be in the past."""
    midnight = datetime.combine(day, time(), zone(calendar.zone))
    return first_day(replace(calendar, starts=day), Scene(midnight - timedelta(days=1), calendar.zone))


def merged(rules: tuple[CalendarRule, ...]) -> tuple[CalendarRule, ...]:
    """Rules with the same days as one rule with all their times."""
    found: dict[CalendarRule, Times] = {}
    for rule in rules:
        days = replace(rule, times=(0,))
        found[days] = (*found.get(days, ()), *rule.times)
    return tuple(replace(days, times=times) for days, times in found.items())


def since_of(trigger: Trigger, *, first: bool = False) -> CalendarDate | None:
    """The day from which a calendar counts, if it is one; or only its first rule."""
    rules = trigger.rules[: 1 if first else None] if isinstance(trigger, Calendar) else ()
    days = {rule.since for rule in rules} or {None}
    since = days.pop() if len(days) == 1 else None
    return None if since is None else CalendarDate(((since.day, since.month),), since.year)


def first_day(calendar: Calendar, scene: Scene) -> date:
    """The day of the first slot to come."""
    slot = calendar.after(scene.now)
    if slot is None:
        raise never(scene)
    return slot.astimezone(scene.zoneinfo).date()


def never(scene: Scene) -> BadTrigger:
    """What to say if bounds leave nothing."""
    return BadTrigger(
        f"It never comes after {scene.local:%Y-%m-%d %H:%M}", "Name a later end, or leave out fewer days."
    )
