"""What sentences with a start, an end or dates left out may mean, and sentences with several groups of days."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice, product
from typing import Final

from cronty.timing.calendar import MAX_DATES, Calendar
from cronty.timing.cron import Cron
from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.words.again import (
    DAY,
    MAX_READINGS,
    MINUTE,
    by_quarter,
    in_fields,
    is_in_doubt,
    named_times,
    soft_of,
    without_doubt,
)
from cronty.timing.words.calendars import Limits, Times, first_day, merged, never, since_of
from cronty.timing.words.facts import RHYTHM_AND_TIMES, TIMES, check_used
from cronty.timing.words.fields import check_days, left_out, no_day
from cronty.timing.words.lengths import by_the_clock
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.once import dates_of, day_after, ranked, weekday_dates
from cronty.timing.words.periods import hours_of, rules_in_hours
from cronty.timing.words.said import Amount, Bounds, CalendarDate, Point, Said
from cronty.timing.words.sentence import Sentence
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES

_ONE_DAY: Final = timedelta(days=1)
_ALL_DAYS: Final = range(7)
_ALL_MONTHS: Final = range(1, 13)

type Hours = tuple[Said, tuple[Times, Times]]


def leave_out(said: Said, bounds: Bounds) -> Said:
    """The group without the days of the week and the months that are left out; something must be left."""
    if bounds.without_weekdays:
        said = _without_weekdays(said, set(bounds.without_weekdays))
    if bounds.without_days:
        if said.of_month or said.date is not None or said.nths or said.rhythm in ("week", "month", "year"):
            raise _nothing_to_leave_out(said)
        days = tuple(day for day in range(1, 32) if day not in bounds.without_days)
        said = replace(
            said, month_days=_left(said, days), again=True, rhythm="" if said.rhythm == "day" else said.rhythm
        )
    if bounds.without_nths:
        said = _without_nths(said, set(bounds.without_nths))
    if bounds.without_months:
        if said.date is not None:
            raise _nothing_to_leave_out(said)
        if said.rhythm == "year" and not said.months:
            raise no_day(said)
        months = tuple(sorted(set(said.months or _ALL_MONTHS) - set(bounds.without_months)))
        said = replace(said, months=_left(said, months), again=True, rhythm="" if said.rhythm == "day" else said.rhythm)
    return said


def _without_weekdays(said: Said, without: set[int]) -> Said:
    if said.nths:
        nths = tuple((nth, day) for nth, day in said.nths if day not in without)
        return replace(said, nths=nths if nths else _left(said, ()))
    if said.rhythm in ("week", "month", "year") and not (said.weekdays or said.of_month):
        raise no_day(said)
    days = _left(said, tuple(sorted(set(said.weekdays or _ALL_DAYS) - without)))
    if said.weekdays and days == said.weekdays:
        raise _nothing_to_leave_out(said)
    repeats = said.again or said.rhythm or said.weekdays or said.of_month or said.every is not None
    if not repeats or said.date is not None or said.relative is not None:
        raise _once_or_again(said)
    nights = said.part == "night" and said.rhythm == "day"  # of Saturday: the one that begins on it, or ends on it
    left = replace(said, weekdays=days, again=True, rhythm="" if said.rhythm == "day" else said.rhythm)
    return replace(left, doubt="nights") if nights else left


def _without_nths(said: Said, without: set[tuple[int, int]]) -> Said:
    """`every Monday except the first Monday`: the other ones by their rank."""
    kinds = said.of_month or said.nths or said.date is not None or said.weeks or said.every is not None
    if len(said.weekdays) != 1 or kinds or {day for _, day in without} != set(said.weekdays):
        raise _nothing_to_leave_out(said)
    nths = tuple((nth, said.weekdays[0]) for nth in range(1, 6) if (nth, said.weekdays[0]) not in without)
    return replace(said, weekdays=(), nths=nths, again=True, rhythm="" if said.rhythm == "week" else said.rhythm)


def _left(said: Said, days: tuple[int, ...]) -> tuple[int, ...]:
    if not days:
        raise BadTrigger(f'"{said.text}" leaves no day', "Leave fewer days out.")
    return days


def _nothing_to_leave_out(said: Said) -> BadTrigger:
    return Unread(
        f"Can't read \"{said.text}\": it leaves out what isn't in it",
        'Say it as in "every weekday at 9:00 except Friday".',
    )


def _once_or_again(said: Said) -> BadTrigger:
    return Unread(
        f'Can\'t read "{said.text}": once, or again and again?',
        'Say how often, as in "every day at 9:00 until 31 December" or "every Monday at 9:00 starting 3 May".',
    )


def within(sentence: Sentence, groups: list[Said], scene: Scene) -> list[Meaning]:
    """Every calendar that the groups may mean together, within the bounds."""
    bounds, text = sentence.bounds, sentence.text
    options = [list(islice(_hours(repeating(said)), MAX_READINGS + 1)) for said in groups]
    starts: list[date | None] = [None] if bounds.starts is None else [*days_of(bounds.starts, scene, text, start=True)]
    ends: list[date | None] = [None] if bounds.ends is None else [*days_of(bounds.ends, scene, text, start=False)]
    spans = _in_order(bounds, starts, ends, scene)
    every = list(islice(product(product(*options), spans), MAX_READINGS + 1))
    if len(every) > MAX_READINGS:
        raise BadTrigger(f'"{text}" leaves too many times open', 'Say "am" or "pm", or write "09:00" and "21:00".')
    found: list[Meaning] = []
    for chosen, (first, last) in every:
        limits = Limits(first, last, _dates_left_out(bounds, first or scene.today, last, scene, text))
        trigger = _simplest(_calendar(chosen, limits, bounds, scene, text), scene)
        note = next((each for said, _ in chosen if (each := left_out(said) or by_the_clock(said, bounds))), None)
        soft = next((soft_of(said) for said, _ in chosen if soft_of(said)), "")
        found.append(Meaning(trigger, note, soft))
    return found


def _in_order(
    bounds: Bounds, starts: list[date | None], ends: list[date | None], scene: Scene
) -> list[tuple[date | None, date | None]]:
    """`from 1/5 to 3/5`: both are written alike. An end before the start isn't meant if another one may be."""
    alike = all(each and each.date and len(each.date.choices) == 2 for each in (bounds.starts, bounds.ends))
    spans = list(zip(starts, ends, strict=True)) if alike else list(product(starts, ends))
    return [(first, last) for first, last in spans if last is None or last >= (first or scene.today)] or spans


def _calendar(chosen: tuple[Hours, ...], limits: Limits, bounds: Bounds, scene: Scene, text: str) -> Calendar:
    if limits.ends is not None and limits.ends < (limits.starts or scene.today):
        raise never(scene)
    rules = tuple(rule for said, times in chosen for rule in rules_in_hours(said, times, scene, limits))
    calendar = Calendar(merged(rules), scene.zone, limits.starts, limits.ends, limits.without)
    if bounds.lasts is not None:
        if bounds.lasts.rest or limits.ends is not None:
            raise Unread(
                f'Can\'t read "{text}": until when?',
                'Say it as in "every 10 minutes, 6 times", "every day at 9:00 for 2 weeks" or "until 31 December".',
            )
        calendar = replace(calendar, ends=day_after(bounds.lasts, first_day(calendar, scene)) - _ONE_DAY)
    if calendar.after(scene.now) is None:
        raise never(scene)
    return calendar


def _simplest(calendar: Calendar, scene: Scene) -> Calendar | Cron:
    """Several groups may come to one rule that five fields can hold: `every day at 8:30 and daily at 20:30`."""
    rule, *more = calendar.rules
    if not more and calendar.starts is not None and calendar.starts <= scene.local.date():
        calendar = replace(calendar, starts=None)  # its rhythm says from when it counts
    bounded = calendar.starts or calendar.ends or calendar.without
    times = [timedelta(minutes=each) for each in rule.times if isinstance(each, int)]
    weekly = rule.every == 1 or (rule.unit == "week" and rule.weekdays)
    if more or bounded or not weekly or len(times) < len(rule.times):
        return calendar
    said = Said(
        "",
        weeks=rule.every if rule.every > 1 else 0,
        counting_from=since_of(calendar),
        weekdays=rule.weekdays,
        month_days=rule.days,
        nths=rule.nths,
        business_days=rule.business_days,
        months=rule.months,
        again=True,
        either=bool(rule.weekdays and rule.nths),
    )
    return in_fields(said, tuple(times), scene) or calendar


def repeating(said: Said) -> Said:
    """The group as one that repeats; refused if it is about one moment."""
    named = said.weekdays or said.of_month or said.nths or said.date is not None
    once = said.relative is not None or said.which or said.delay is not None or said.second_pass
    repeats = said.again or said.rhythm or said.weeks or said.every is not None
    if once or not (repeats or (named and said.date is None)):
        raise _once_or_again(said)
    return replace(said, again=True, doubt="" if said.doubt == "weekend" else said.doubt)


def _hours(said: Said) -> Iterator[Hours]:
    """Each way the days and hours of a group may be meant."""
    if is_in_doubt(said):
        for each in without_doubt(said):
            yield from _hours(each)
    elif said.quarterly:
        for each in by_quarter(said):
            yield from _hours(each)
    elif said.every is not None and said.every.elapsed < DAY and not said.every.months:
        if (said.clocks and not said.windows) or said.part or (said.first_clock and DAY % said.every.elapsed):
            raise Unread(
                f'Can\'t read "{said.text}": a period and a time of day',
                'Say the hours, as in "every 15 minutes between 9:00 and 17:00 until Friday".',
            )
        check_days(said)
        check_used(said, RHYTHM_AND_TIMES)
        for _, times in hours_of(said.every.elapsed, said):
            yield said, times
    else:
        check_used(said, TIMES)
        if said.every is not None and said.every.rest:
            raise _once_or_again(said)
        for named, times in named_times(said):
            yield named, (tuple(each // MINUTE for each in times), ())


def needs_day(said: Said) -> bool:
    """Whether a rhythm of weeks, months or years has a time but no day: then it has that of its start."""
    months = said.every is not None and said.every.months > 0
    named = said.weekdays or said.of_month or said.nths or said.date is not None or said.months
    rhythm = said.weeks or months or said.rhythm in ("week", "month", "year")
    return bool(rhythm and said.clocks and not named and not said.counting_from and said.doubt != "twice")


def on_day(said: Said, day: date) -> Said:
    """`every 2 weeks starting Friday at 17:00` is on Fridays, `every 6 months starting 1 July` on the 1st."""
    every = 0 if said.every is None else said.every.months
    if said.weeks or said.rhythm == "week":
        return replace(said, weekdays=(day.weekday(),), again=True)
    if said.rhythm == "year" or (every and every % 12 == 0):
        return replace(said, date=CalendarDate(((day.day, day.month),)), again=True)
    return replace(said, month_days=(day.day,), again=True)


def point_at(day: date) -> Point:
    """A day as a bound."""
    return Point(date=CalendarDate(((day.day, day.month),), day.year))


# -- days from which and until which ------------------------------------------------------------------------------


def days_of(point: Point, scene: Scene, text: str, *, start: bool) -> list[date]:
    """The days that a bound may mean."""
    if point.relative is not None:
        return [scene.today + point.relative * _ONE_DAY]
    if point.date is not None:
        return dates_of(point.date, Said(text), scene)
    if point.weekday is not None:
        found = weekday_dates(Said(text, weekdays=(point.weekday,), which=point.which), scene)
        return found if start or point.which else found[-1:]
    if point.after is not None:
        return [day_after(point.after, scene.today)]
    if point.ranked is not None:
        return [_ranked_day(point, point.ranked, scene)]
    first = _first_of(point, scene)
    if start:
        return [first]
    if point.edge == "end of":
        return [_following(point, first) - _ONE_DAY]
    if point.month or point.year:
        # "until June" may have June in it or not, and so may "until 2030".
        return [first - _ONE_DAY, _following(point, first) - _ONE_DAY]
    raise Unread(f'Can\'t read "{text}": until which day?', 'Name the last day, as in "until 31 December".')


def _ranked_day(point: Point, said: tuple[int, tuple[int, ...]], scene: Scene) -> date:
    """`the 1st of next month`; without a month the next such day."""
    nth, weekdays = said
    name = WEEKDAY_NAMES[weekdays[0]] if len(weekdays) == 1 else "day" if len(weekdays) == 7 else "business day"
    if point.month or point.which:
        return ranked(_first_of(replace(point, unit="" if point.month else "month"), scene), nth, weekdays, name)
    for months in range(3):
        with suppress(BadTrigger):
            day = ranked(day_after(Amount(months=months), scene.today.replace(day=1)), nth, weekdays, name)
            if day >= scene.today:
                return day
    raise BadTrigger(f"Not every month has so many {name}s", "Name a day that exists.")


def span_of(point: Point, scene: Scene) -> tuple[date, date]:
    """The first and the last day of a week, month or year; only the last if it is said to be the end."""
    first = _first_of(point, scene)
    last = _following(point, first) - _ONE_DAY
    return (last if point.edge == "end of" else first), last


def _first_of(point: Point, scene: Scene) -> date:
    """The first day of the week, month or year that is meant."""
    today, ahead = scene.today, 1 if point.which == "next" else 0
    if point.month:
        year = point.year or today.year + (date(today.year, point.month, 1) < today.replace(day=1))
        return date(year, point.month, 1)
    if point.unit == "week":
        return today - today.weekday() * _ONE_DAY + ahead * 7 * _ONE_DAY
    if point.unit == "month":
        return day_after(Amount(months=ahead), today.replace(day=1))
    return date(point.year or today.year + ahead, 1, 1)


def _following(point: Point, first: date) -> date:
    if point.unit == "week":
        return first + 7 * _ONE_DAY
    return day_after(Amount(months=12 if point.unit == "year" else 1), first)


def _dates_left_out(bounds: Bounds, first: date, last: date | None, scene: Scene, text: str) -> tuple[date, ...]:
    found: list[date] = []
    if bounds.without_day is not None:
        found += days_of(bounds.without_day, scene, text, start=True)
        if len(found) > 1:
            hint = f'Write it as in "except {found[0].day} {MONTH_NAMES[found[0].month - 1]} {found[0].year}".'
            raise BadTrigger(f'Can\'t tell which date is left out of "{text}"', hint)
    for low, high in bounds.without_dates:
        if len(low.choices) > 1 or len(high.choices) > 1:
            raise BadTrigger(
                f'Can\'t tell which date is left out of "{text}"', 'Write it as in "except 25 December 2027".'
            )
        if low.year is None and low == high:
            found += _each_year(low, first, last, text)
        else:
            found += _span(low, high, scene, text)
    return tuple(found)


def _span(low: CalendarDate, high: CalendarDate, scene: Scene, text: str) -> list[date]:
    """The dates from one through another; both are the next ones, unless they have a year."""
    if low.year is None or high.year is None:
        raise BadTrigger(
            f'Can\'t tell of which years dates are left out of "{text}"',
            'Give their years, as in "except 24 December 2027 through 1 January 2028".',
        )
    (start,), (end,) = dates_of(low, Said(text), scene), dates_of(high, Said(text), scene)
    days = (end - start).days + 1
    if not 0 < days <= MAX_DATES:
        raise BadTrigger(
            f'Can\'t leave {days} days out of "{text}"',
            'Name them as in "except 24 December 2027 through 1 January 2028".',
        )
    return [start + each * _ONE_DAY for each in range(days)]


def _each_year(said: CalendarDate, first: date, last: date | None, text: str) -> list[date]:
    ((day, month),) = said.choices
    if last is None or last.year - first.year > 10:
        shown = f"{day} {MONTH_NAMES[month - 1]} {first.year}"
        raise BadTrigger(
            f'Can\'t tell of which years a date is left out of "{text}"', f'Give its year, as in "except {shown}".'
        )
    years = range(first.year, last.year + 1)
    days = (date(year, month, day) for year in years if (month, day) != (2, 29) or year % 4 == 0)
    return [each for each in days if first <= each <= last]
