"""What a sentence about many moments may mean."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from math import prod
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.cron import Cron
from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.localtime import instant_of
from cronty.timing.words.calendars import first_day, rules_of
from cronty.timing.words.clocks import choices, resolve, usual
from cronty.timing.words.fields import (
    a_day_later,
    check_days,
    fields_of,
    left_out,
    meant,
    no_day,
    odd_weeks,
)
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.once import at_moment
from cronty.timing.words.said import Clock, Said

DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)
MAX_READINGS: Final = 8
_LONG: Final = 128  # what is longer isn't repeated in a hint
_QUARTERS: Final = ((1, 4, 7, 10), (2, 5, 8, 11), (3, 6, 9, 12))


def is_restricted(said: Said) -> bool:
    """Whether more was said than a length of time."""
    named = said.weekdays or said.of_month or said.nths or said.months or said.date or said.relative is not None
    often = said.windows or said.minutes or said.by_clock or said.rhythm or said.clocks or said.first_clock
    return bool(named or often or said.counting_from or said.part or said.cycle)


def is_in_doubt(said: Said) -> bool:
    """Whether days may be meant in several ways; `17h30` is another matter."""
    return said.bare_month or said.doubt in ("nth", "twice", "ranks", "weekend", "nights")


def without_doubt(said: Said) -> list[Said]:
    """`every second Monday`, `biweekly` or `every June`, each way it may be meant."""
    if said.bare_month:
        return _in_month(replace(said, bare_month=False))
    weeks = replace(said, doubt="")
    if said.doubt == "weekend":
        once = weeks == Said(said.text, said.clocks, part=said.part, weekdays=said.weekdays, again=True)
        return [replace(weeks, again=False, which="this"), weeks] if once else [weeks]
    if said.doubt == "nights":
        return [weeks, _on_the_day(weeks)]
    if said.doubt == "ranks" and (said.weekdays or said.nths):
        raise Unread(f'Can\'t read "{said.text}": too many kinds of day', "Make a job for each.")
    if said.doubt == "ranks":
        # "The 15th and last business day": the 15th may be a day of the month.
        days = tuple(nth for nth in said.business_days if nth > 0)
        rest = tuple(nth for nth in said.business_days if nth < 0)
        weeks = replace(weeks, months_of_day=bool(said.months))
        both = replace(weeks, month_days=(*said.month_days, *days), business_days=rest, either=True, again=True)
        return [weeks, both]
    if said.doubt == "nth":
        return [weeks, replace(weeks, weeks=0, weekdays=(), nths=tuple((said.weeks, day) for day in said.weekdays))]
    if not said.weekdays:
        raise BadTrigger(
            f'"{said.text}" may be every 2 weeks, or twice a week',
            'Say "every 2 weeks on Monday at 9:00", or "every Monday and Thursday at 9:00".',
        )
    return [weeks] if len(said.weekdays) == 1 else [weeks, replace(weeks, weeks=0)]


def _on_the_day(said: Said) -> Said:
    """The same hours, not of the night that begins on a day but of the day itself."""
    clocks: list[Clock] = []
    for each in said.clocks:
        time, *others = choices(each, said.part, names_day=True)
        clocks += [each] if others else [Clock(time % DAY)]
    return replace(said, clocks=clocks, part="")


def _in_month(said: Said) -> list[Said]:
    """`every June at 9` is every day of it or its first one; with any other day it is that day of June."""
    days = said.weekdays or said.of_month or said.nths or said.date is not None or said.rhythm
    if days or said.every is not None or said.weeks or said.windows or not said.clocks:
        return [said]
    return [replace(said, rhythm="day"), replace(said, month_days=(1,), months_of_day=True)]


def with_usual_time(said: Said) -> Said:
    """`every Saturday morning`: a part of the day alone is offered as its usual time."""
    if not said.part or said.clocks or said.windows or said.minutes or said.first_clock:
        return said
    shown = "tonight" if said.part == "night" and said.relative == 0 else said.part
    return replace(said, clocks=[usual(said.part, shown)], part="")


def at_times(said: Said, scene: Scene) -> list[Meaning]:
    """`every weekday at 8:30 and 17:30`."""
    found: list[Meaning] = []
    for each, times in named_times(said):
        named = by_months(each, times, scene)
        trigger = in_fields(named, times, scene)
        if trigger is None:
            rules = rules_of(named, tuple(each // MINUTE for each in times), scene)
            trigger = Calendar(rules, scene.zone)
        note = left_out(named)
        if isinstance(trigger, Cron):
            note = note or odd_weeks(trigger, said, scene)
        found.append(Meaning(trigger, note, soft=soft_of(said)))
    return found


def soft_of(said: Said) -> str:
    """What was said instead of a time, if that was soft."""
    return next((each.soft for each in said.clocks if each.soft), "")


def named_times(said: Said) -> list[tuple[Said, tuple[timedelta, ...]]]:
    """The days with the times that may be meant; a night that ends on the next day moves the days."""
    if said.by_clock or said.minutes:
        example = "every hour from 9:00 through 17:00" if said.windows else "every hour at minute 15"
        raise Unread(f'Can\'t read "{said.text}": how often?', f'Say it as in "{example}".')
    if said.windows:
        raise BadTrigger(
            f'"{said.text}" doesn\'t say how often', 'Say it as in "every 15 minutes between 9:00 and 17:00".'
        )
    if not said.clocks:
        raise _no_time(said)
    check_days(said)
    if said.weeks and not said.weekdays and not (said.counting_from and (said.of_month or said.nths)):
        raise no_day(said)
    if said.every is not None and said.every.months and not said.counting_from:
        yearly = said.every.months % 12 == 0
        if not (said.of_month or said.nths or said.date) or (yearly and not (said.date or said.months)):
            raise no_day(said)
    options = [choices(each, said.part, names_day=True) for each in resolve(said.clocks)]
    if prod(len(each) for each in options) > MAX_READINGS:
        raise BadTrigger(f'"{said.text}" leaves too many times open', 'Say "am" or "pm", or write "09:00" and "21:00".')
    found: list[tuple[Said, tuple[timedelta, ...]]] = []
    refused: BadTrigger | None = None
    every = list(product(*options))
    # Nobody says the same time twice: "8 and 8" is in the morning and in the evening.
    distinct = [each for each in every if len(set(each)) == len(each)]
    if not distinct and any(each.open for each in said.clocks):
        raise Unread(
            f'Can\'t read "{said.text}": it names the same time twice', 'Say it as in "every day at 8:00 and 20:00".'
        )
    for times in distinct or every:
        try:
            found.append(_on_their_days(times, said))
        except BadTrigger as bad:
            refused = bad
    if refused is not None and (not found or any(each.midnight for each in said.clocks)):
        raise refused
    return found


def _on_their_days(times: tuple[timedelta, ...], said: Said) -> tuple[Said, tuple[timedelta, ...]]:
    tomorrow = [each >= DAY for each in times]
    weekly = bool(said.weeks) or 0 < len(said.weekdays) < 7
    if any(tomorrow) and (weekly or said.of_month or said.nths or said.date or said.every is not None):
        said = a_day_later(said, all(tomorrow))
    if any(each % MINUTE for each in times):
        raise BadTrigger(f'"{said.text}" has seconds', "A repeated time has minutes only; leave them out.")
    return said, tuple(sorted({each % DAY for each in times}))


def _no_time(said: Said) -> BadTrigger:
    day = said.text[:1].lower() + said.text[1:] if len(said.text) <= _LONG else "every Monday"
    if said.weeks and not said.weekdays:
        return no_day(said)
    named = said.weekdays or said.of_month or said.nths or said.date
    if (said.rhythm in ("week", "month", "year") or (said.months and not said.again)) and not named:
        return no_day(said)
    if said.first_clock is not None:
        return BadTrigger(f'"{said.text}" doesn\'t say at what time', 'Say it as in "every day at 9:00".')
    more = ' For 24 hours from now on say "every 24 hours".' if said.rhythm == "day" else ""
    return BadTrigger(f'"{said.text}" doesn\'t say at what time', f'Say at what time, as in "{day} at 9:00".{more}')


def in_fields(said: Said, times: tuple[timedelta, ...], scene: Scene) -> Cron | None:
    """The rule in five fields, if they can hold it."""
    hours = sorted({each // HOUR for each in times})
    minutes = sorted({each % HOUR for each in times})
    days = fields_of(said)
    if (
        days is None
        or said.every is not None
        or list(times) != [hour * HOUR + minute for hour in hours for minute in minutes]
    ):
        return None
    return days.cron(_comma(each // MINUTE for each in minutes), _comma(hours), scene)


def by_months(said: Said, times: tuple[timedelta, ...], scene: Scene) -> Said:
    """Every 3 months are four months by name, wherever they divide a year; which four, the first day to come says."""
    every = said.every
    if every is None or not every.months or 12 % every.months or said.months or said.date or said.counting_from:
        return said
    plain = Calendar(rules_of(replace(said, every=None), tuple(each // MINUTE for each in times), scene), scene.zone)
    first = first_day(plain, scene).month - 1
    months = tuple(sorted((first + step) % 12 + 1 for step in range(0, 12, every.months)))
    return replace(said, every=None, months=months, months_of_day=True, again=True)


def _comma(values: Iterable[int]) -> str:
    return ",".join(map(str, values))


def by_quarter(said: Said) -> list[Said]:
    """`every quarter on the 15th`: of its first month, or of every third month from now on."""
    by_calendar = replace(said, every=None, quarterly=False, months=_QUARTERS[0], months_of_day=True, again=True)
    if any(day < 0 for day in (*said.month_days, *said.business_days)) or any(nth < 0 for nth, _ in said.nths):
        by_calendar = replace(by_calendar, months=_QUARTERS[2])
    return [replace(said, quarterly=False), by_calendar]


def once_or_again(said: Said, scene: Scene) -> list[Meaning]:
    """`on the 15th at 9:00`: the next one, or every one."""
    again = at_times(said, scene)
    once: list[Meaning] = []
    for meaning in again:
        slot = meaning.trigger.after(scene.now)
        if slot is not None:
            assert isinstance(meaning.trigger, Cron | Calendar)
            local = meant(meaning.trigger, slot)
            once.append(at_moment(instant_of(local, scene.zone), local, scene, meaning.soft))
    return once + again
