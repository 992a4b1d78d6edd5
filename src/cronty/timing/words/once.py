"""What a sentence about one moment may mean."""

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import product

from cronty.timing.errors import BadTrigger, Unread
from cronty.timing.localtime import Instant, as_utc, instant_of
from cronty.timing.once import Once
from cronty.timing.words.clocks import choices, spell
from cronty.timing.words.dates import is_date
from cronty.timing.words.meaning import Meaning, Scene
from cronty.timing.words.places import place
from cronty.timing.words.said import Amount, CalendarDate, Clock, Said
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES

_DAY = timedelta(days=1)
_MORNING = 6
_SAY_TIME = 'Say at what time, as in "tomorrow at 9:00" or "on 3 May at 17:30".'


def after_delay(said: Said, scene: Scene) -> list[Meaning]:
    """`in 2h30m`; days are kept both ways, by the calendar and by the stopwatch, where that differs."""
    delay = said.delay
    assert delay is not None
    if said.delay_from:
        return _after_day(delay, said, scene)
    if said.weekdays or said.date or said.relative is not None or said.again:
        hint = "Give one of the two" + ("." if said.again else ', or say it as in "2 weeks from Monday at 9:00".')
        raise Unread(f'Can\'t read "{said.text}": a delay and a day', hint)
    if said.clocks:
        return on_days([_day_after(delay, said, scene)], said, scene)
    try:
        by_stopwatch = None if delay.months else scene.now + delay.elapsed
        by_calendar = by_stopwatch
        if delay.months or delay.days:
            local = datetime.combine(
                day_after(delay, scene.local.date()), scene.local.replace(microsecond=0, fold=0, tzinfo=None).time()
            )
            by_calendar = instant_of(local, scene.zone).at + timedelta(microseconds=scene.now.microsecond) + delay.rest
    except OverflowError:
        raise _too_far() from None
    found = dict.fromkeys(_whole(each) for each in (by_calendar, by_stopwatch) if each is not None)
    if any(each <= scene.now for each in found):
        raise BadTrigger(f'Can\'t schedule "{said.text}": no time at all', 'Say how long, as in "in 5 minutes".')
    return [Meaning(Once(each)) for each in found]


def _after_day(delay: Amount, said: Said, scene: Scene) -> list[Meaning]:
    """`a week from Monday at 9`."""
    if delay.rest:
        raise Unread(f'Can\'t read "{said.text}": how many days?', 'Say it as in "2 days from Monday at 9:00".')
    if said.date is not None:
        days = dates_of(said.date, replace(said, weekdays=(), which=""), scene)
    elif said.relative is not None:
        days = [scene.today + said.relative * _DAY]
    else:
        days = weekday_dates(said, scene)
    return on_days([day_after(delay, day) for day in days], said, scene)


def _whole(moment: datetime) -> datetime:
    """Rounded up to the second: never early, and it can be said."""
    return moment + timedelta(microseconds=-moment.microsecond % 1_000_000)


def _day_after(delay: Amount, said: Said, scene: Scene) -> date:
    if delay.rest:
        raise Unread(
            f'Can\'t read "{said.text}": a delay and a time of day', 'Give one of the two, or "in 2 days at 9:00".'
        )
    return day_after(delay, scene.today)


def day_after(delay: Amount, today: date) -> date:
    """A day plus months and days of the calendar."""
    year, month = divmod(today.year * 12 + today.month - 1 + delay.months, 12)
    if year > 9998:
        raise _too_far()
    if not is_date(today.day, month + 1, year):
        name = f"{MONTH_NAMES[month]} {year}"
        last = next(day for day in (30, 29, 28) if is_date(day, month + 1, year))
        raise BadTrigger(f"{name} has no day {today.day}", f'Name the date, as in "{last} {name} at 9:00".')
    try:
        return date(year, month + 1, today.day) + timedelta(days=delay.days)
    except OverflowError:
        raise _too_far() from None


def at_time(said: Said, scene: Scene) -> list[Meaning]:
    """`at 17:00` without a day: the next time clocks show it."""
    found: list[Meaning] = []
    for since_midnight in choices(_only_clock(said), said.part, names_day=False):
        for days in (0, 1):
            local = local_time(scene.today + days * _DAY, since_midnight % _DAY)
            moment = instant_of(local, scene.zone)
            if moment.at > scene.now:
                found.append(at_moment(moment, local, scene, said.clocks[0].soft))
                break
    return found


def on_date(said: Said, scene: Scene) -> list[Meaning]:
    """`on 3 May at 9:00`; without a year the next such day."""
    assert said.date is not None
    days = dates_of(said.date, said, scene)
    return on_days(days, said, scene) if len(days) == 1 else _on_either(days, said, scene)


def _on_either(days: list[date], said: Said, scene: Scene) -> list[Meaning]:
    """`3/9 at 9`: one that has just passed may be that of next year; one that has passed for good is no answer."""
    found: list[Meaning] = []
    refused: BadTrigger | None = None
    for day in days:
        try:
            found += on_days([day], said, scene)
        except BadTrigger as bad:
            refused = bad
            if said.date is not None and said.date.year is None and said.relative is None and not said.which:
                found += on_days([day.replace(year=day.year + 1)], said, scene)
    if refused is not None and not found:
        raise refused
    return found if refused is None else [replace(meaning, choice=True) for meaning in found]


def on_relative_day(said: Said, scene: Scene) -> list[Meaning]:
    """`tomorrow at 9:00`, `the next business day at 9:00`."""
    if said.business_ahead:
        return on_days([_business_day(said.business_ahead, scene)], said, scene)
    assert said.relative is not None
    if said.weekdays and scene.today + said.relative * _DAY not in weekday_dates(said, scene):
        raise Unread(f'Can\'t read "{said.text}": the two days differ', "Name one day.")
    day = scene.today + said.relative * _DAY
    return on_days([*_night_before(said, scene), day] if said.relative == 0 else [day], said, scene)


def _business_day(ahead: int, scene: Scene) -> date:
    """So many days from Monday to Friday after today."""
    day = scene.today
    while ahead:
        day += _DAY
        ahead -= day.weekday() < 5
    return day


def on_weekday(said: Said, scene: Scene) -> list[Meaning]:
    """`on Friday at 9:00`, `next Friday at 9:00`."""
    days = {day for each in said.weekdays for day in weekday_dates(replace(said, weekdays=(each,)), scene)}
    began = [day for day in _night_before(said, scene) if day.weekday() in said.weekdays and not said.which]
    return on_days(sorted(days.union(began)), said, scene)


def _night_before(said: Said, scene: Scene) -> list[date]:
    """Before the morning, `tonight` and `Friday night` may be the night that began yesterday and goes on."""
    at_night = "night" in (said.part, *(each.part for each in said.clocks))
    return [scene.today - _DAY] if at_night and scene.local.hour < _MORNING else []


def in_month(said: Said, scene: Scene) -> list[Meaning]:
    """`on the 3rd of next month at 9`, `first Monday of May 2028 at 9`."""
    first = day_after(Amount(months=said.months_ahead or 0), scene.today.replace(day=1))
    if said.month_of_year is not None:
        first = date(*said.month_of_year, 1)
    if len(said.month_days) + len(said.nths) + len(said.business_days) != 1:
        raise BadTrigger(f'"{said.text}" doesn\'t say on which day', 'Say which day, as in "on 3 May at 9:00".')
    for nth, weekday in said.nths:
        return on_days([ranked(first, nth, (weekday,), WEEKDAY_NAMES[weekday])], said, scene)
    for nth in said.business_days:
        return on_days([ranked(first, nth, tuple(range(5)), "weekday")], said, scene)
    (day,) = said.month_days
    last = (day_after(Amount(months=1), first) - _DAY).day
    number = day if day > 0 else last + 1 + day
    if not 1 <= number <= last:
        raise BadTrigger(f"{MONTH_NAMES[first.month - 1]} {first.year} has no day {number}", "Name a day that exists.")
    return on_days([first.replace(day=number)], said, scene)


def ranked(first: date, nth: int, weekdays: tuple[int, ...], name: str) -> date:
    """The second Monday, or business day, of the month that begins with a day; -1 is the last one."""
    month = [first + each * _DAY for each in range((day_after(Amount(months=1), first) - first).days)]
    days = [day for day in month if day.weekday() in weekdays]
    if not 0 < abs(nth) <= len(days):
        shown = f"{MONTH_NAMES[first.month - 1]} {first.year}"
        raise BadTrigger(f"{shown} has {len(days)} {name}s", "Name a day that exists.")
    return days[nth - 1 if nth > 0 else nth]


def on_days(days: list[date], said: Said, scene: Scene) -> list[Meaning]:
    """Each of the days at each of the times that may be meant, unless it has passed."""
    times = choices(_only_clock(said), said.part, names_day=True)
    found: list[Meaning] = []
    for day, since_midnight in product(days, times):
        local = local_time(day, since_midnight)
        moment = instant_of(local, scene.zone, second_pass=said.second_pass)
        if said.second_pass and not moment.twice:
            raise BadTrigger(f"{spell(since_midnight)} comes only once on {date_text(day)}", 'Leave out "second pass".')
        if moment.at > scene.now:
            found.append(
                Meaning(Once(moment.at)) if said.second_pass else at_moment(moment, local, scene, said.clocks[0].soft)
            )
    if not found:
        raise _passed(days[0], times[0], scene)
    return found


def date_text(day: date) -> str:
    """`Sunday 31 January 2027`."""
    return f"{WEEKDAY_NAMES[day.weekday()]} {day.day} {MONTH_NAMES[day.month - 1]} {day.year}"


def _only_clock(said: Said) -> Clock:
    if not said.clocks:
        year = 0 if said.date is None else said.date.year or 0
        hint = f"If it is {year // 100}:{year % 100}, write it so." if 2110 <= year < 2160 else _SAY_TIME
        raise BadTrigger(f'"{said.text}" doesn\'t say at what time', hint)
    if len(said.clocks) > 1:
        raise BadTrigger(
            f'"{said.text}" names several times for one day',
            'Make a job for each, or say "every day at 9:00 and 17:00".',
        )
    return said.clocks[0]


def local_time(day: date, since_midnight: timedelta) -> datetime:
    """What clocks show so long after the beginning of a day."""
    try:
        return datetime.combine(day, time()) + since_midnight
    except OverflowError:
        raise _too_far() from None


def _too_far() -> BadTrigger:
    return BadTrigger("Can't schedule beyond the year 9999", "Name a nearer date.")


def at_moment(moment: Instant, local: datetime, scene: Scene, soft: str = "") -> Meaning:
    """A local time that was said, kept as one."""
    note = None
    when = f"on {date_text(local.date())}, {place(scene.zone)}"
    if moment.gap:
        shown = spell(_since_midnight(moment.at.astimezone(scene.zoneinfo)))
        note = f"{spell(_since_midnight(local))} doesn't exist {when}: clocks go forward; moved to {shown}"
    elif moment.twice:
        note = f"{spell(_since_midnight(local))} comes twice {when}: the first is meant"
    return Meaning(Once.at_local(local, scene.zone), note, soft)


def _since_midnight(local: datetime) -> timedelta:
    return timedelta(hours=local.hour, minutes=local.minute, seconds=local.second, microseconds=local.microsecond)


def dates_of(said_date: CalendarDate, said: Said, scene: Scene) -> list[date]:
    """Return the days that a date may mean; the next one if it has no year."""
    found: list[date] = []
    for day, month in said_date.choices:
        years = [said_date.year] if said_date.year else range(scene.today.year, scene.today.year + 9)
        for year in years:
            if is_date(day, month, year) and (said_date.year or date(year, month, day) >= scene.today):
                found.append(date(year, month, day))
                break
    if said.relative is not None and scene.today + said.relative * _DAY not in found:
        raise Unread(f'Can\'t read "{said.text}": the two days differ', "Name one day.")
    if said.which and not set(found).intersection(weekday_dates(said, scene)):
        raise Unread(f'Can\'t read "{said.text}": the two days differ', "Name one day.")
    if said.weekdays:
        matching = [day for day in found if day.weekday() in said.weekdays]
        if not matching:
            named = WEEKDAY_NAMES[said.weekdays[0]]
            raise BadTrigger(
                f"{date_text(found[0])} is not a {named}", "Correct one of the two, or leave out the name."
            )
        return matching
    return found


def weekday_dates(said: Said, scene: Scene) -> list[date]:
    """Return the days a name may mean; weeks begin on Monday for some and on Sunday for others."""
    (weekday,) = said.weekdays[:1]
    today = scene.today
    coming = today + (weekday - today.weekday()) % 7 * _DAY
    monday = today - today.weekday() * _DAY
    sunday = today - (today.weekday() + 1) % 7 * _DAY
    in_week = [monday + weekday * _DAY, sunday + (weekday + 1) % 7 * _DAY]
    match said.which:
        case "this":
            return [coming]
        case "this week":
            return sorted(set(in_week))
        case "next":
            strictly_later = coming if coming > today else coming + 7 * _DAY
            return sorted({strictly_later, *(day + 7 * _DAY for day in in_week)})
        case "next week":
            return sorted({day + 7 * _DAY for day in in_week})
        case "":
            return [coming, coming + 7 * _DAY] if coming == today else [coming]


def _passed(day: date, since_midnight: timedelta, scene: Scene) -> BadTrigger:
    said = spell(since_midnight)
    now = f"{scene.local:%H:%M}" if day == scene.today else f"{date_text(scene.today)}"
    hint = "Name a later time."
    if day == scene.today:
        later = since_midnight + timedelta(hours=12)
        evening = later < _DAY and instant_of(local_time(day, later), scene.zone).at > scene.now
        hint = f'Say "tomorrow at {said}"' + (f' or "today at {spell(later)}".' if evening else ".")
    return BadTrigger(f"{date_text(day)} at {said} has passed: it is already {now}, {place(scene.zone)}", hint)


def on_instant(moment: datetime, scene: Scene) -> list[Meaning]:
    """`2027-01-31T09:00`; without an offset it is what clocks show."""
    if moment.utcoffset() is not None:
        found = Meaning(Once(moment))
        if as_utc(moment) <= scene.now:
            raise BadTrigger(
                f"{moment.isoformat()} has passed: it is {scene.local.isoformat('T', 'seconds')}", "Name a later time."
            )
        return [found]
    there = instant_of(moment, scene.zone)
    if there.at <= scene.now:
        raise _passed(moment.date(), _since_midnight(moment), scene)
    return [at_moment(there, moment, scene)]
