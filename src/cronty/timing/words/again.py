"""What a sentence about many moments may mean."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import product
from math import prod
from typing import Final

from cronty.timing.cron import Cron, nominal
from cronty.timing.errors import BadTrigger
from cronty.timing.interval import LONGEST, SHORTEST, Interval
from cronty.timing.once import Once
from cronty.timing.weeks import MOST_WEEKS, Weeks, week_of
from cronty.timing.words.clocks import choices, settle, spell, windows
from cronty.timing.words.dates import is_date
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.runs import runs
from cronty.timing.words.said import LAST, LAST_WEEKDAY, Amount, CalendarDate, Said, Window
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES, listed, ordinal
from cronty.timing.zones import zone

_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_MINUTE: Final = timedelta(minutes=1)
_MOST: Final = 8
_COMMON_YEAR: Final = 2027
_MOVES: Final = "it counts elapsed hours: after the clocks change it comes an hour earlier or later on the clock"


@dataclass(frozen=True, slots=True)
class _Days:
    """The three day fields of a cron expression; if it isn't every week, every how many, counting from when."""

    of_month: str = "*"
    months: str = "*"
    of_week: str = "*"
    weeks: int = 1
    counting_from: date | None = None

    def cron(self, minutes: str, hours: str, scene: Scene) -> Cron:
        cron = Cron(f"{minutes} {hours} {self.of_month} {self.months} {self.of_week}", scene.zone)
        if self.weeks == 1:
            return cron
        week = week_of(self.counting_from or _first_day(cron, scene))
        return Cron(f"{cron.expression}{Weeks(self.weeks, week % self.weeks)}", scene.zone)


def _first_day(cron: Cron, scene: Scene) -> date:
    """The day on which it comes next."""
    slot = cron.after(scene.now)
    assert slot is not None
    return _meant(cron, slot).date()


def _meant(cron: Cron, slot: datetime) -> datetime:
    """What clocks were to show, without an offset: not where a change of the clocks moves it."""
    return (nominal(cron, slot) or slot.astimezone(zone(cron.zone))).replace(tzinfo=None, fold=0)


def at_intervals(said: Said, scene: Scene) -> list[Meaning]:
    """`every 15 minutes`: elapsed time from now, or minutes of the clock if hours or days are named."""
    every = said.every or Amount(days=7 * said.weeks)
    restricted = is_restricted(said) or (said.every is not None and said.weeks > 0)
    if every.months or ((every.days or every.elapsed >= _DAY) and restricted):
        raise _not_yet(every, said)
    if said.clocks:
        raise BadTrigger(
            f'Can\'t read "{said.text}": a period and a time of day',
            'Say "every day at 9:00", or the hours, as in "every 15 minutes between 9:00 and 17:00".',
        )
    if not SHORTEST <= every.elapsed <= LONGEST:
        raise BadTrigger(f'Can\'t repeat "{said.text}"', "A period is from 1 second to 10 years.")
    if not restricted:
        note = _MOVES if every.days and _clocks_change(scene) else None
        return [Meaning(Interval(every.elapsed, scene.now), note)]
    days = _days(said)
    if every.elapsed % _HOUR:
        found = _every_minutes(every.elapsed, said, days, scene)
    else:
        found = _every_hours(every.elapsed // _HOUR, said, days, scene)
    return [Meaning(each, _odd_weeks(each, said, scene)) for each in found]


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


def _odd_weeks(cron: Cron, said: Said, scene: Scene) -> str | None:
    """Say what somebody may not expect of weeks."""
    if said.counting_from is not None and _first_day(cron, scene) < _day(said.counting_from):
        return "the date only says which weeks are meant: the first slot is before it"
    if said.weeks and 6 in said.weekdays and len(said.weekdays) > 1 and set(said.weekdays) != {5, 6}:
        return "weeks run from Monday to Sunday"
    return None


def _day(said: CalendarDate) -> date:
    ((day, month),) = said.choices
    assert said.year is not None
    return date(said.year, month, day)


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


def _every_minutes(period: timedelta, said: Said, days: _Days, scene: Scene) -> list[Cron]:
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


def _hour_range(first: int, final: int, days: _Days, said: Said, step: int = 1) -> str:
    if first <= final:
        hours = range(first, final + 1, step)
        if hours[0] == 0 and hours[-1] + step > 23 and 24 % step == 0:
            return "*" if step == 1 else f"*/{step}"
        if len(hours) == 1:
            return str(first)
        return f"{first}-{hours[-1]}" + ("" if step == 1 else f"/{step}")
    if days != _Days(months=days.months):
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: the hours go on after midnight, into another day',
            "Make two jobs: one up to midnight, one from midnight on.",
        )
    if step == 1 and first == final + 1:
        return "*"
    if step == 1:
        return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ((first, 23), (0, final)))
    return ",".join(str(hour) for hour in sorted(hour % 24 for hour in range(first, final + 25, step)))


def _every_hours(step: int, said: Said, days: _Days, scene: Scene) -> list[Cron]:
    if said.window is None:
        if 24 % step:
            raise BadTrigger(
                f"Can't keep \"{said.text}\" by the clock: the hours don't divide a day evenly",
                "Use 1, 2, 3, 4, 6, 8 or 12 hours, or leave out the days.",
            )
        minutes = _ranges(said.minutes or (0,))
        return [days.cron(minutes, "*" if step == 1 else f"*/{step}", scene)]
    found: list[Cron] = []
    for start, end in windows(said.window):
        minute = start % _HOUR // _MINUTE
        if said.minutes or start % _MINUTE:
            raise BadTrigger(
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
        raise BadTrigger(f'Can\'t read "{said.text}": how often?', 'Say it as in "every hour at minute 15".')
    if said.window is not None:
        raise BadTrigger(
            f'"{said.text}" doesn\'t say how often', 'Say it as in "every 15 minutes between 9:00 and 17:00".'
        )
    if not said.clocks:
        raise _no_time(said)
    days = _days(said)
    options = [choices(each, said.part, names_day=True) for each in settle(said.clocks)]
    if prod(len(each) for each in options) > _MOST:
        raise BadTrigger(f'"{said.text}" leaves too many times open', 'Say "am" or "pm", or write "09:00" and "21:00".')
    found: list[Meaning] = []
    refused: BadTrigger | None = None
    for times in product(*options):
        try:
            cron = _at(times, days, said, scene)
            found.append(Meaning(cron, _left_out(said) or _odd_weeks(cron, said, scene)))
        except BadTrigger as bad:
            refused = bad
    if refused is not None and (not found or any(each.midnight for each in said.clocks)):
        raise refused
    return found


def _left_out(said: Said) -> str | None:
    """Say so if some months have no such day."""
    if said.date is not None:
        return "only in leap years" if said.date.choices[0] == (29, 2) else None
    day = max(said.month_days, default=0)
    months = said.months or range(1, 13)
    if day > 28 and _of_month(said.month_days) != "*" and any(not is_date(day, each, _COMMON_YEAR) for each in months):
        only = len(said.month_days) == 1
        return f"months without a {ordinal(day)} are left out" if only else f"some months have no {ordinal(day)}"
    return "months without a fifth one are left out" if any(nth == 5 for nth, _ in said.nths) else None


def _no_time(said: Said) -> BadTrigger:
    day = said.text[:1].lower() + said.text[1:]
    if said.weeks and not said.weekdays:
        return _no_day(said)
    if said.rhythm in ("week", "month", "year") and not (said.weekdays or said.month_days or said.nths or said.date):
        return _no_day(said)
    more = ' For 24 hours from now on say "every 24 hours".' if said.rhythm == "day" else ""
    return BadTrigger(f'"{said.text}" doesn\'t say at what time', f'Say at what time, as in "{day} at 9:00".{more}')


def _no_day(said: Said) -> BadTrigger:
    example = {
        "": f'"every {said.weeks or 2} weeks on Monday at 9:00"' if said.weeks else "",
        "week": '"every Monday at 9:00"',
        "month": '"on the 1st of every month at 9:00" or "last day of the month at 17:00"',
        "year": '"every year on 3 May at 9:00"',
    }
    return BadTrigger(
        f'"{said.text}" doesn\'t say on which day',
        f"Say on which day, as in {example[said.rhythm] or example['month']}.",
    )


def _at(times: tuple[timedelta, ...], days: _Days, said: Said, scene: Scene) -> Cron:
    tomorrow = [each >= _DAY for each in times]
    if any(tomorrow) and days != _Days(months=days.months):
        days = _day_later(days, said, all(tomorrow))
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


def _day_later(days: _Days, said: Said, every_time: bool) -> _Days:
    """The night of Friday ends on Saturday; only days of the week can be moved that way."""
    # The night of Sunday ends in another week, which is another rule if it isn't every week.
    torn = said.weeks and 6 in said.weekdays and (len(said.weekdays) > 1 or said.counting_from)
    if not every_time or not said.weekdays or days.of_month != "*" or days.months != "*" or torn:
        raise BadTrigger(
            f'Can\'t tell which night is meant by "{said.text}"',
            'Say "at 00:00" for the beginning of the day, or "at 23:59" for its end.',
        )
    return replace(days, of_week=_weekdays((day + 1) % 7 for day in said.weekdays))


def once_or_again(said: Said, scene: Scene) -> list[Meaning]:
    """`on the 15th at 9:00`: the next one, or every one."""
    again = at_times(said, scene)
    once: list[Meaning] = []
    for meaning in again:
        slot = meaning.trigger.after(scene.now)
        if slot is not None:
            assert isinstance(meaning.trigger, Cron)
            once.append(Meaning(Once.at_local(_meant(meaning.trigger, slot), scene.zone)))
    return once + again


def _days(said: Said) -> _Days:
    """Put the days that were said into fields; two kinds of day only with "or" between them."""
    if said.relative is not None or said.which or (said.date and not said.date.comes_every_year):
        raise BadTrigger(f'Can\'t read "{said.text}": one day, and again and again', "Leave out one of the two.")
    dated = said.month_days or said.date
    weekly = said.weekdays or said.nths
    if said.weeks or said.counting_from:
        return _in_weeks(said)
    if bool(said.weekdays) + bool(said.nths) + bool(said.month_days) + bool(said.date) > 1 and not said.either:
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: two kinds of day that would both have to match',
            'Name one kind of day; "on the 1st, or on Mondays" is either of them.',
        )
    if said.either and not (dated and weekly):
        raise BadTrigger(f'Can\'t read "or" in "{said.text}"', 'Say "and" between times or days.')
    if said.rhythm in ("week", "month", "year") and not dated and not weekly:
        raise _no_day(said)
    if said.rhythm == "year" and not said.date and not said.months:
        raise _no_day(said)
    if (said.rhythm == "week" and not said.weekdays) or (said.rhythm == "day" and (dated or weekly)):
        raise BadTrigger(f'Can\'t read "{said.text}": two different rhythms', "Leave out one of the two.")
    if said.either and (said.date or said.months_of_day):
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: the month would hold for both kinds of day',
            "Make two jobs: one for the dates, one for the days of the week.",
        )
    if said.either and "*" in (_of_month(said.month_days), _of_week(said)):
        return _Days(months=_months(said.months))
    if said.date:
        day, month = said.date.choices[0]
        if said.months:
            raise BadTrigger(f'Can\'t read "{said.text}": it names the month twice', "Name it once.")
        return _Days(str(day), MONTH_NAMES[month - 1][:3].upper(), _of_week(said))
    if not said.again and said.months and not said.every and not said.rhythm and not dated and not weekly:
        raise _no_day(said)
    return _Days(_of_month(said.month_days), _months(said.months), _of_week(said))


def _in_weeks(said: Said) -> _Days:
    """Put days of every so many weeks into fields."""
    example = f'"every {min(max(said.weeks, 2), MOST_WEEKS)} weeks on Monday and Thursday at 9:00"'
    if not said.weeks:
        raise BadTrigger(
            f'Can\'t read "counting from" in "{said.text}"',
            'It says which weeks are meant, as in "every 2 weeks on Monday at 9:00, counting from 5 January 2026".',
        )
    if said.each_day or said.rhythm:
        raise BadTrigger(f'Can\'t read "{said.text}": two different rhythms', "Make a job for each.")
    if said.month_days or said.nths or said.date or said.months or said.either:
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: weeks go with days of the week only',
            f"Leave the others out, as in {example}.",
        )
    if not said.weekdays:
        raise _no_day(said)
    if said.weeks > MOST_WEEKS:
        raise BadTrigger(
            f'Can\'t keep "{said.text}": more than {MOST_WEEKS} weeks', f"Use 2 to {MOST_WEEKS}, as in {example}."
        )
    since = None if said.counting_from is None else _day(said.counting_from)
    return _Days(of_week=_weekdays(said.weekdays), weeks=said.weeks, counting_from=since)


def _of_month(days: tuple[int, ...]) -> str:
    if set(days) >= set(range(1, 32)):
        return "*"
    numbers = [_ranges(day for day in days if day > 0)] if max(days, default=0) > 0 else []
    return ",".join(numbers + ["L"] * (LAST in days) + ["LW"] * (LAST_WEEKDAY in days)) or "*"


def _ranges(values: Iterable[int]) -> str:
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs(values))


def _months(months: tuple[int, ...]) -> str:
    names = [name[:3].upper() for name in MONTH_NAMES]
    found = [names[low - 1] + (f"-{names[high - 1]}" if low != high else "") for low, high in runs(months)]
    return ",".join(found) if 0 < len(months) < 12 else "*"


def _of_week(said: Said) -> str:
    names = [name[:3].upper() for name in WEEKDAY_NAMES]
    nths = [f"{names[day]}{'L' if nth == LAST else f'#{nth}'}" for nth, day in sorted(said.nths, key=last_last)]
    return ",".join(([_weekdays(said.weekdays)] if said.weekdays else []) + nths) or "*"


def last_last(nth: tuple[int, int]) -> tuple[int, int]:
    """The order in which `first Monday`, `third Monday`, `last Friday` are said."""
    return (9, nth[1]) if nth[0] == LAST else nth


def _weekdays(days: Iterable[int]) -> str:
    found = sorted(set(days))
    if found == list(range(5)):
        return "MON-FRI"
    return ",".join(WEEKDAY_NAMES[day][:3].upper() for day in found) if len(found) < 7 else "*"
