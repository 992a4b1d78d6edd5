"""What a sentence about many moments may mean."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from itertools import product
from math import prod
from typing import Final

from cronty.timing.cron import Cron
from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.interval import LONGEST, SHORTEST, Interval
from cronty.timing.once import Once
from cronty.timing.words.clocks import choices, settle, spell, windows
from cronty.timing.words.fields import Days, a_day_later, days_of, left_out, meant, no_day, odd_weeks, ranges
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.said import Amount, Said, Window
from cronty.timing.words.vocabulary import MONTH_NAMES, listed

_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_MINUTE: Final = timedelta(minutes=1)
_MOST: Final = 8
_MOVES: Final = "it counts elapsed hours: after the clocks change it comes an hour earlier or later on the clock"


def at_intervals(said: Said, scene: Scene) -> list[Meaning]:
    """`every 15 minutes`: elapsed time from now, or minutes of the clock if hours or days are named."""
    every = said.every or Amount(days=7 * said.weeks)
    restricted = is_restricted(said) or (said.every is not None and said.weeks > 0)
    if every.months or ((every.days or every.elapsed >= _DAY) and restricted):
        raise _not_yet(every, said)
    if said.clocks:
        raise Unread(
            f'Can\'t read "{said.text}": a period and a time of day',
            'Say "every day at 9:00", or the hours, as in "every 15 minutes between 9:00 and 17:00".',
        )
    if not SHORTEST <= every.elapsed <= LONGEST:
        raise BadTrigger(f'Can\'t repeat "{said.text}"', "A period is from 1 second to 10 years.")
    if not restricted:
        note = _MOVES if every.days and _clocks_change(scene) else None
        return [Meaning(Interval(every.elapsed, scene.now), note)]
    days = days_of(said)
    if every.elapsed % _HOUR:
        found = _every_minutes(every.elapsed, said, days, scene)
    else:
        found = _every_hours(every.elapsed // _HOUR, said, days, scene)
    return [Meaning(each, odd_weeks(each, said, scene)) for each in found]


def is_restricted(said: Said) -> bool:
    """Whether more was said than a length of time."""
    named = said.weekdays or said.month_days or said.nths or said.months or said.date or said.relative is not None
    often = said.window or said.minutes or said.by_clock or said.rhythm or said.clocks
    return bool(named or often or said.counting_from)


def without_doubt(said: Said) -> list[Said]:
    """`every second Monday` and `biweekly`, each way it may be meant."""
    weeks = replace(said, doubt="")
    if said.doubt == "nth":
        return [weeks, replace(weeks, weeks=0, weekdays=(), nths=tuple((said.weeks, day) for day in said.weekdays))]
    if not said.weekdays:
        raise BadTrigger(
            f'"{said.text}" may be every 2 weeks, or twice a week',
            'Say "every 2 weeks on Monday at 9:00", or "every Monday and Thursday at 9:00".',
        )
    return [weeks] if len(said.weekdays) == 1 else [weeks, replace(weeks, weeks=0)]


def _clocks_change(scene: Scene) -> bool:
    """Whether the zone has more than one offset in the year ahead."""
    return len({(scene.now + month * 30 * _DAY).astimezone(scene.zoneinfo).utcoffset() for month in range(13)}) > 1


def _not_yet(every: Amount, said: Said) -> BadTrigger:
    time = spell(choices(said.clocks[0], said.part, names_day=True)[0]) if said.clocks else "9:00"
    elapsed = f'"every {every.days} days", which counts hours from now and so moves when the clocks change'
    if every.months and every.months % 12 == 0:
        what, hint = f"every {every.months // 12} years", f'The nearest is "every year on 3 May at {time}".'
    elif every.months:
        what = f"every {every.months} months"
        names = listed(list(MONTH_NAMES[:: every.months if 12 % every.months == 0 else 3]))
        hint = f'Name the months, as in "on the 1st of every {names} at {time}".'
    else:
        what = f"every {every.days or every.elapsed / _DAY:g} days at a certain time"
        hint = f'The nearest are "every day at {time}", "every Monday, Wednesday and Friday at {time}", and {elapsed}.'
    return BadTrigger(f"Can't keep \"{said.text}\" exactly: {what} isn't possible yet", hint)


def _every_minutes(period: timedelta, said: Said, days: Days, scene: Scene) -> list[Cron]:
    step = period // _MINUTE
    if said.minutes or period % _MINUTE or 60 % step:
        why = "it has no seconds" if period % _MINUTE else "the minutes don't divide an hour evenly"
        raise BadTrigger(
            f'Can\'t keep "{said.text}" by the clock: {why}',
            "Use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30 minutes, or leave out the days and hours.",
        )
    minutes = "*" if step == 1 else f"*/{step}"
    if said.window is None:
        return [days.cron(minutes, "*", scene)]
    return [
        days.cron(minutes, _hour_range(start, final, days, said), scene)
        for start, final in (_full_hours(*each, period, said.window) for each in windows(said.window))
    ]


def _full_hours(start: timedelta, end: timedelta, period: timedelta, window: Window) -> tuple[int, int]:
    """Return the first and the last hour; only whole hours will do."""
    past = (end + period if window.through else end) % _DAY or _DAY
    if start % _HOUR or past % _HOUR or start == past:
        link = "through" if window.through else "to"
        last = max(past // _HOUR, start // _HOUR + 1) * _HOUR - period
        every = f"every {period // _MINUTE} minutes"
        raise BadTrigger(
            f"Can't keep {every} from {spell(start)} {link} {spell(end)} in one schedule",
            f'One schedule covers whole hours, as in "{every} from {spell(start // _HOUR * _HOUR)} '
            f'through {spell(last)}"; for what is left over make a second job.',
        )
    return start // _HOUR, past // _HOUR - 1


def _hour_range(first: int, final: int, days: Days, said: Said, step: int = 1) -> str:
    if first <= final:
        hours = range(first, final + 1, step)
        if hours[0] == 0 and hours[-1] + step > 23 and 24 % step == 0:
            return "*" if step == 1 else f"*/{step}"
        if len(hours) == 1:
            return str(first)
        return f"{first}-{hours[-1]}" + ("" if step == 1 else f"/{step}")
    if days != Days(months=days.months):
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: the hours go on after midnight, into another day',
            "Make two jobs: one up to midnight, one from midnight on.",
        )
    if step == 1 and first == final + 1:
        return "*"
    if step == 1:
        return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ((first, 23), (0, final)))
    return ",".join(str(hour) for hour in sorted(hour % 24 for hour in range(first, final + 25, step)))


def _every_hours(step: int, said: Said, days: Days, scene: Scene) -> list[Cron]:
    if said.window is None:
        if 24 % step:
            raise BadTrigger(
                f"Can't keep \"{said.text}\" by the clock: the hours don't divide a day evenly",
                "Use 1, 2, 3, 4, 6, 8 or 12 hours, or leave out the days.",
            )
        minutes = ranges(said.minutes or (0,))
        return [days.cron(minutes, "*" if step == 1 else f"*/{step}", scene)]
    found: list[Cron] = []
    for start, end in windows(said.window):
        minute = start % _HOUR // _MINUTE
        if said.minutes or start % _MINUTE:
            raise Unread(
                f'Can\'t read "{said.text}": hours and minutes',
                'Say "every hour from 9:15 through 17:15", for example.',
            )
        length = (end - start) % _DAY or _DAY
        # Whether "between 9 and 17" has 17:00 in it is for the one who said it; "through" does say so.
        reaches = not length % (step * _HOUR) and length < _DAY
        count = length // (step * _HOUR) + (0 if reaches else 1)
        for hours in (count + 1,) if said.window.through and reaches else (count, count + 1) if reaches else (count,):
            first = start // _HOUR
            final = first + (hours - 1) * step
            found.append(days.cron(str(minute), _hour_range(first, final % 24, days, said, step), scene))
    return found


def at_times(said: Said, scene: Scene) -> list[Meaning]:
    """`every weekday at 8:30 and 17:30`."""
    if said.by_clock or said.minutes:
        raise Unread(f'Can\'t read "{said.text}": how often?', 'Say it as in "every hour at minute 15".')
    if said.window is not None:
        raise BadTrigger(
            f'"{said.text}" doesn\'t say how often', 'Say it as in "every 15 minutes between 9:00 and 17:00".'
        )
    if not said.clocks:
        raise _no_time(said)
    days = days_of(said)
    options = [choices(each, said.part, names_day=True) for each in settle(said.clocks)]
    if prod(len(each) for each in options) > _MOST:
        raise BadTrigger(f'"{said.text}" leaves too many times open', 'Say "am" or "pm", or write "09:00" and "21:00".')
    found: list[Meaning] = []
    refused: BadTrigger | None = None
    for times in product(*options):
        try:
            cron = _at(times, days, said, scene)
            found.append(Meaning(cron, left_out(said) or odd_weeks(cron, said, scene)))
        except BadTrigger as bad:
            refused = bad
    if refused is not None and (not found or any(each.midnight for each in said.clocks)):
        raise refused
    return found


def _no_time(said: Said) -> BadTrigger:
    day = said.text[:1].lower() + said.text[1:]
    if said.weeks and not said.weekdays:
        return no_day(said)
    if said.rhythm in ("week", "month", "year") and not (said.weekdays or said.month_days or said.nths or said.date):
        return no_day(said)
    more = ' For 24 hours from now on say "every 24 hours".' if said.rhythm == "day" else ""
    return BadTrigger(f'"{said.text}" doesn\'t say at what time', f'Say at what time, as in "{day} at 9:00".{more}')


def _at(times: tuple[timedelta, ...], days: Days, said: Said, scene: Scene) -> Cron:
    tomorrow = [each >= _DAY for each in times]
    if any(tomorrow) and days != Days(months=days.months):
        days = a_day_later(days, said, all(tomorrow))
    hours = sorted({each % _DAY // _HOUR for each in times})
    minutes = sorted({each % _HOUR for each in times})
    named = sorted({each % _DAY for each in times})
    if named != [hour * _HOUR + minute for hour in hours for minute in minutes]:
        raise BadTrigger(
            f"Can't keep {listed([spell(each) for each in named])} in one schedule",
            'One schedule takes times with the same minutes, as in "every day at 9:30 and 17:30"; make a job for each.',
        )
    if any(each % _MINUTE for each in minutes):
        raise BadTrigger(f'"{said.text}" has seconds', "A repeated time has minutes only; leave them out.")
    return days.cron(_comma(each // _MINUTE for each in minutes), _comma(hours), scene)


def _comma(values: Iterable[int]) -> str:
    return ",".join(map(str, values))


def once_or_again(said: Said, scene: Scene) -> list[Meaning]:
    """`on the 15th at 9:00`: the next one, or every one."""
    again = at_times(said, scene)
    once: list[Meaning] = []
    for meaning in again:
        slot = meaning.trigger.after(scene.now)
        if slot is not None:
            assert isinstance(meaning.trigger, Cron)
            once.append(Meaning(Once.at_local(meant(meaning.trigger, slot), scene.zone)))
    return once + again
