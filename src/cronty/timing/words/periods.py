"""What a length of time may mean: by the stopwatch from now on, or by the clock within hours and days."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import product
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.calendar_rule import MINUTES, CalendarRule, Span
from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.interval import LONGEST, SHORTEST, Interval
from cronty.timing.localtime import instant_of
from cronty.timing.trigger import Trigger
from cronty.timing.words.again import DAY, MAX_READINGS, MINUTE, at_times, by_months, by_quarter, is_restricted
from cronty.timing.words.calendars import NO_LIMITS, Limits, Times, merged, rules_of
from cronty.timing.words.clocks import choices, resolve, windows
from cronty.timing.words.fields import Days, check_days, fields_of, no_day, odd_weeks, ranges
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.once import dates_of, local_time, weekday_dates
from cronty.timing.words.said import Amount, CalendarDate, Clock, Said, Window

_MOVES: Final = "it counts elapsed hours: after the clocks change it comes an hour earlier or later on the clock"
_EVEN: Final = "Use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30 minutes, or leave out the days and hours."

# As two fields of a cron, if they can hold it; and as times of this day and of the next.
type Hours = tuple[tuple[str, str] | None, tuple[Times, Times]]


def at_intervals(said: Said, scene: Scene) -> list[Meaning]:
    """`every 15 minutes`: elapsed time from now, or minutes of the clock if hours or days are named."""
    every = said.every or Amount(days=7 * said.weeks)
    restricted = is_restricted(said) or (said.every is not None and said.weeks > 0)
    if every.months or (every.elapsed >= DAY and restricted):
        return _of_the_calendar(every, said, scene)
    _check_period(every, said)
    if not restricted:
        note = _MOVES if every.days and _clocks_change(scene) else None
        return [Meaning(Interval(every.elapsed, scene.now), note)]
    if (said.relative is not None or said.which) and (one_day := _on_one_day(said, every.elapsed, scene)):
        return one_day
    check_days(said)
    if said.first_clock is not None and DAY % every.elapsed:
        return _from_clock(every.elapsed, said, scene)
    if said.first_run and not is_restricted(replace(said, first_clock=None)):
        return _from_first_run(every.elapsed, said, scene)
    found = [_in_hours(said, hours, scene) for hours in hours_of(every.elapsed, said)]
    return [*found, *_on_one_day(said, every.elapsed, scene)]


def _on_one_day(said: Said, period: timedelta, scene: Scene) -> list[Meaning]:
    """`every hour on Friday` may be the coming one alone, unlike `every hour on Fridays`; `every hour tomorrow` is."""
    others = said.of_month or said.nths or said.months or said.rhythm or said.cycle or said.weeks or said.either
    if said.again or others or len(said.weekdays) + (said.date is not None) + (said.relative is not None) != 1:
        return []
    if said.relative is not None:
        days = [scene.today + said.relative * DAY]
    else:
        days = weekday_dates(said, scene) if said.date is None else dates_of(said.date, said, scene)
    plain = replace(said, weekdays=(), which="", relative=None, date=None, again=True)
    found: list[Meaning] = []
    for day, (_, times) in product(days, hours_of(period, said)):
        if not times[1]:  # what goes on after midnight is on two days
            starts = day if day > scene.local.date() else None  # a start that has passed is nothing to keep
            calendar = Calendar(merged(rules_in_hours(plain, times, scene)), scene.zone, starts, day)
            found += [Meaning(calendar)] if calendar.after(scene.now) is not None else []
    return found


def _in_hours(said: Said, hours: Hours, scene: Scene) -> Meaning:
    """Hours of the days that were said: five fields if they can hold them, else a calendar."""
    days, (fields, times) = fields_of(said), hours
    after_midnight = times[1] and days != Days(months=days.months if days else "*")
    if days is None or fields is None or after_midnight:
        return Meaning(Calendar(merged(rules_in_hours(said, times, scene)), scene.zone))
    cron = days.cron(*fields, scene)
    return Meaning(cron, odd_weeks(cron, said, scene))


def _check_period(every: Amount, said: Said) -> None:
    if not SHORTEST <= every.elapsed <= LONGEST:
        raise BadTrigger(f'Can\'t repeat "{said.text}"', "A period is from 1 second to 10 years.")
    if said.clocks and not said.windows:
        raise Unread(
            f'Can\'t read "{said.text}": a period and a time of day',
            'Say "every day at 9:00", or the hours, as in "every 15 minutes between 9:00 and 17:00".',
        )
    if said.part:
        raise Unread(
            f"Can't read \"{said.text}\": the part of the day doesn't say which hours",
            'Say the hours, as in "every 15 minutes between 9:00 and 12:00".',
        )


def _clocks_change(scene: Scene) -> bool:
    """Whether the zone has more than one offset in the year ahead."""
    return len({(scene.now + month * 30 * DAY).astimezone(scene.zoneinfo).utcoffset() for month in range(13)}) > 1


# -- days, months and years of the calendar -----------------------------------------------------------------------


def _of_the_calendar(every: Amount, said: Said, scene: Scene) -> list[Meaning]:
    """`every 2 days at 9`, `every 3 months on the 1st at 9`, `every 3 months`."""
    if every.rest or (every.months and every.days):
        days = every.elapsed // DAY
        hint = f'Say "every {f"{days} days" if days > 1 else "day"} at 9:00", or leave out the time.'
        raise Unread(f'Can\'t read "{said.text}": a period of hours and a time of day', hint)
    if not 0 < every.months <= 120 and every.months:
        raise BadTrigger(f'Can\'t repeat "{said.text}"', "A period is from 1 second to 10 years.")
    if every.elapsed > LONGEST:
        raise BadTrigger(f'Can\'t repeat "{said.text}"', "A period is from 1 second to 10 years.")
    if said.quarterly and not is_restricted(said):
        raise no_day(said)
    if every.months and not is_restricted(said):
        return [_from_today(every.months, scene)]
    if said.quarterly:
        return [each for one in by_quarter(said) for each in at_times(one, scene)]
    if said.weekdays and every.days and every.days % 7 == 0:
        return at_times(replace(said, every=None, weeks=every.days // 7, again=True), scene)
    if said.weekdays and not every.months and not said.counting_from:
        raise Unread(
            f'Can\'t read "{said.text}": two different rhythms',
            'Say "every 2 weeks on Monday at 9:00", or "every 2 days at 9:00".',
        )
    if said.weekdays and not said.of_month and not said.counting_from:
        raise no_day(replace(said, rhythm="month"))
    return at_times(said, scene)


def _from_today(months: int, scene: Scene) -> Meaning:
    """The same day and time as now, every so many months."""
    today, now = scene.local.date(), scene.local
    if today.day > 28:
        raise BadTrigger(
            f"Not every month has a day {today.day}",
            f'Say on which day, as in "every {months} months on the 1st at 9:00".',
        )
    clock = Clock(timedelta(hours=now.hour, minutes=now.minute))
    day = Said("", clocks=[clock], every=Amount(months=months), month_days=(today.day,), again=True)
    if months % 12 == 0:
        day = replace(day, month_days=(), date=CalendarDate(((today.day, today.month),)))
    # Counted from today even if it isn't on today any more.
    since = CalendarDate(((today.day, today.month),), today.year)
    counted = by_months(day, (clock.since_midnight,), Scene(scene.now - DAY, scene.zone)) if 12 % months == 0 else day
    (found,) = at_times(counted if counted.every is None else replace(day, counting_from=since), scene)
    note = f"counted from now: on day {today.day} of the month at {now:%H:%M}"
    return replace(found, note=note)


# -- hours of the day ---------------------------------------------------------------------------------------------


def rules_in_hours(
    said: Said, times: tuple[Times, Times], scene: Scene, limits: Limits = NO_LIMITS
) -> tuple[CalendarRule, ...]:
    """The rules for times of a day, and for those after midnight, which are on the next day."""
    today, tomorrow = times
    rules = rules_of(said, today, scene, limits) if today else ()
    if not tomorrow:
        return rules
    weekly = said.weekdays and not (said.of_month or said.nths or said.date or said.months or said.weeks)
    every_day = not (said.weekdays or said.of_month or said.nths or said.date or said.months or said.weeks)
    if not weekly and not every_day:
        raise BadTrigger(
            f'Can\'t keep "{said.text}" in one schedule: the hours go on after midnight, into another day',
            "Make two jobs: one up to midnight, one from midnight on.",
        )
    later = replace(said, weekdays=tuple(sorted((day + 1) % 7 for day in said.weekdays)))
    return rules + rules_of(later, tomorrow, scene, limits)


def hours_of(period: timedelta, said: Said) -> list[Hours]:
    """Each way the hours may be meant: as fields of a cron if they can hold it; as times of this day and the next."""
    step = period // MINUTE
    if not period:
        raise BadTrigger(f'Can\'t repeat "{said.text}"', "A period is from 1 second to 10 years.")
    if period % MINUTE:
        raise BadTrigger(f'Can\'t keep "{said.text}" by the clock: it has no seconds', _EVEN)
    if said.minutes and (step % 60 or said.windows):
        raise Unread(
            f'Can\'t read "{said.text}": hours and minutes', 'Say "every hour from 9:15 through 17:15", for example.'
        )
    if said.first_clock is not None:
        if said.windows or said.minutes or said.clocks:
            raise Unread(
                f'Can\'t read "{said.text}": hours and a first hour',
                'Say "every hour from 9:15 through 17:15", for example.',
            )
        return _round_the_clock(step, said)
    if not said.windows:
        return [_all_day(step, said)]
    if len(said.windows) > 1 or said.clocks:
        return [_several(step, said)]
    (window,) = said.windows
    return [_in_window(step, *each) for each in _stretches(step, window)]


def _all_day(step: int, said: Said) -> Hours:
    if step % 60 == 0:
        if MINUTES % step:
            raise BadTrigger(
                f"Can't keep \"{said.text}\" by the clock: the hours don't divide a day evenly",
                "Use 1, 2, 3, 4, 6, 8 or 12 hours, or leave out the days.",
            )
        minutes = said.minutes or (0,)
        hours = range(0, 24, step // 60)
        times = tuple(hour * 60 + minute for hour in hours for minute in minutes)
        return (ranges(minutes), _stepped("*", step // 60)), (_spans(times, step, minutes), ())
    if MINUTES % step:
        raise BadTrigger(f"Can't keep \"{said.text}\" by the clock: the minutes don't divide an hour evenly", _EVEN)
    fields = None if 60 % step else (_stepped("*", step), "*")
    return fields, ((Span(0, MINUTES - step, step),), ())


def _spans(times: tuple[int, ...], step: int, minutes: tuple[int, ...]) -> Times:
    """A span for each minute past the hour: they follow real minutes, as `*` does in a cron."""
    if step == MINUTES:
        return times
    return tuple(Span(minute, minute + MINUTES - step, step) for minute in minutes)


def _stepped(text: str, step: int) -> str:
    return text if step == 1 else f"{text}/{step}"


def _stretches(step: int, window: Window) -> list[tuple[int, int]]:
    """First and last minute of each stretch that may be meant; the last may be on the next day."""
    found: list[tuple[int, int]] = []
    for start, end in windows(window):
        first, length = start // MINUTE, (end - start) % DAY // MINUTE or MINUTES
        reaches = not length % step and length < MINUTES
        last = first + length // step * step - (0 if length % step else step)
        if window.through and reaches:
            found.append((first, last + step))
        elif step % 60 or not reaches:
            found.append((first, last))
        else:
            # Whether "between 9 and 17" has 17:00 in it is for the one who said it; "through" does say so.
            found += [(first, last), (first, last + step)]
    return found


def _in_window(step: int, first: int, last: int) -> Hours:
    slots, fields = range(first, last + 1, step), _window_fields(step, first, last)
    if len(slots) == 1 and fields is None:
        raise _too_few_hours(step)
    today = _run([each for each in slots if each < MINUTES], step)
    tomorrow = _run([each - MINUTES for each in slots if each >= MINUTES], step)
    return fields, (today, tomorrow)


def _too_few_hours(step: int) -> BadTrigger:
    return BadTrigger(
        f"Can't repeat every {step} minutes within these hours",
        'Give more hours, as in "every 45 minutes from 8:00 to 22:00".',
    )


def _run(minutes: list[int], step: int) -> Times:
    return (Span(minutes[0], minutes[-1], step),) if len(minutes) > 1 else tuple(minutes)


def _window_fields(step: int, first: int, last: int) -> tuple[str, str] | None:
    """Whole hours of `*/15`, or the same minute of every second hour; None for anything else."""
    if step < 60:
        if 60 % step or first % 60 or (last + step) % 60:
            return None
        return _stepped("*", step), _hour_range(first // 60, (last + step) // 60 - 1, 1)
    if step % 60:
        return None
    return str(first % 60), _hour_range(first // 60, last // 60, step // 60)


def _hour_range(first: int, final: int, step: int) -> str:
    hours = range(first, final + 1, step)
    if len(hours) * step == 24 and (first == 0 or step == 1):
        return _stepped("*", step)
    if final < 24:
        return str(first) if len(hours) == 1 else _stepped(f"{first}-{hours[-1]}", step)
    if step > 1:
        return ",".join(str(hour) for hour in sorted(hour % 24 for hour in hours))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ((first, 23), (0, final - 24)))


def _several(step: int, said: Said) -> Hours:
    """`from 9:00 through 9:45 and from 12:00 through 12:45`: each of them must be sure."""
    stretches: list[tuple[int, int]] = []
    for window in said.windows:
        found = _stretches(step, window)
        if len(found) > 1 or found[0][1] >= MINUTES:
            raise BadTrigger(
                f'Can\'t tell which hours are meant by "{said.text}"',
                'Say "through", as in "every hour from 09:00 through 12:00 and from 14:00 through 17:00".',
            )
        if found[0][0] == found[0][1]:
            raise _too_few_hours(step)
        stretches += found
    if len(set(stretches)) == 1 and not said.clocks:
        return _in_window(step, *stretches[0])  # "9-17 9 to 5": the same hours twice
    today: Times = ()
    for first, last in dict.fromkeys(stretches):
        today += _run(list(range(first, last + 1, step)), step)
    for each in resolve(said.clocks):
        time, *others = choices(each, said.part, names_day=True)
        if others or time % MINUTE:
            raise BadTrigger(
                f'Can\'t tell which time is meant by "{said.text}"', 'Say it as in "at 09:00" or "at 9pm".'
            )
        today += (time // MINUTE,)
    return None, (today, ())


def _round_the_clock(step: int, said: Said) -> list[Hours]:
    """`every 8 hours from 6am`, all day long: the step divides a day."""
    assert said.first_clock is not None
    found: list[Hours] = []
    for start in choices(said.first_clock, said.part, names_day=True):
        first = start % DAY // MINUTE
        times = tuple(sorted((first + each) % MINUTES for each in range(0, MINUTES, step)))
        if step % 60 == 0:
            hours = ",".join(str(each // 60) for each in times) if step > 60 else "*"
            found.append(((str(first % 60), hours), (times, ())))
        else:
            even = 60 % step == 0 and times[0] == 0
            found.append(((_stepped("*", step), "*") if even else None, ((Span(times[0], times[-1], step),), ())))
        if times[0] < first:
            # Or only until midnight, every day anew.
            last = first + (MINUTES - 1 - first) // step * step
            found.append(_in_window(step, first, last))
    return list(dict.fromkeys(found))[:MAX_READINGS]


def _from_clock(period: timedelta, said: Said, scene: Scene) -> list[Meaning]:
    """`every 5 hours from 6am`: elapsed time from the next 6 in the morning on."""
    assert said.first_clock is not None
    if said.weekdays or said.of_month or said.nths or said.months or said.date or said.windows or said.minutes:
        raise BadTrigger(
            f"Can't keep \"{said.text}\" by the clock: the hours don't divide a day evenly",
            'Say until when, as in "every 5 hours from 6:00 through 21:00".',
        )
    found: list[Meaning] = []
    step = period // MINUTE
    for start in choices(said.first_clock, said.part, names_day=True):
        first = start % DAY // MINUTE
        found.append(_in_hours(said, _in_window(step, first, first + (MINUTES - 1 - first) // step * step), scene))
    return found + [Meaning(Interval(period, each)) for each in _anchors(said, scene)]


def _from_first_run(period: timedelta, said: Said, scene: Scene) -> list[Meaning]:
    """`every hour starting at 9am`: elapsed time from the next 9 in the morning on, or from 9 on every day."""
    firsts = _anchors(said, scene)
    found = [Meaning(Interval(period, each)) for each in firsts]
    hours = {each.astimezone(scene.zoneinfo).hour * 60 + each.astimezone(scene.zoneinfo).minute for each in firsts}
    for fields, times in hours_of(period, said):
        first = times[0][0]
        if (first.start if isinstance(first, Span) else first) in hours:
            daily = _in_hours(said, (fields, times), scene).trigger
            found = [each for each in found if not _alike(each.trigger, daily, period, scene)] + [Meaning(daily)]
    return found


def _anchors(said: Said, scene: Scene) -> list[datetime]:
    """The next moments at which clocks show the first hour."""
    assert said.first_clock is not None
    found: list[datetime] = []
    for start in choices(said.first_clock, said.part, names_day=True):
        days = (instant_of(local_time(scene.today + days * DAY, start), scene.zone).at for days in (0, 1))
        found += [each for each in days if each > scene.now][:1]
    return found


def _alike(one: Trigger, other: Trigger, period: timedelta, scene: Scene) -> bool:
    """Whether both begin at the same slot, and have the same one a day later."""
    first = one.after(scene.now)
    if first is None or first != other.after(scene.now):
        return False
    before_last = first + DAY - period - MINUTE
    return one.after(before_last) == other.after(before_last)


def from_moment(said: Said, days: list[date], scene: Scene) -> list[Meaning]:
    """`every 5 hours starting tomorrow at 6`: elapsed time from that moment on."""
    assert said.every is not None
    if is_restricted(replace(said, clocks=[])) or len(said.clocks) != 1:
        raise Unread(
            f'Can\'t read "{said.text}": a period and a time of day',
            'Say it as in "every 5 hours starting tomorrow at 6:00".',
        )
    times = choices(said.clocks[0], "", names_day=True)
    anchors = [instant_of(local_time(day, each), scene.zone).at for day in days for each in times]
    found = [Meaning(Interval(said.every.elapsed, each)) for each in anchors if each > scene.now]
    if not found:
        raise BadTrigger(f'The start of "{said.text}" has passed', "Name a later time.")
    return found
