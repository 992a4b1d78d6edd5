"""A calendar in words.

The forms. A rule is its times, its rhythm, its days and its months; parts that aren't set are left out.

| part | form |
| --- | --- |
| times | `at 09:00 and 17:30`, `every 45 minutes from 08:00 through 21:30`, `every hour from …`; joined by `and` |
| neither rhythm nor days | `every day`, `every day in March` |
| rhythm | `every 2 days`, `every 2 weeks on Monday and Thursday`, `every 3 months`, `every 2 years` |
| its first day | ` (starting 5 April 2027)`, at the end of the rule; left out if it follows from the start |
| what it counts from | `, counting from 5 April 2027` instead, if the rule doesn't name that day |
| weekdays | `on weekdays`, `on Mondays and Thursdays`, `on Mondays through Thursdays`, `on Mondays in March and June` |
| weekdays of the month | `on the first Monday and last Friday of the month`, `on the last Friday of every March` |
| both of them | `on Mondays and on the first Friday of the month in March` |
| days of the month | `on the 1st, 15th and last day of the month`, `on the 2nd to last day of every March` |
| one day of the year | `on 5 April every year`, `every 2 years on 5 April` |
| business days | `on the first and last business day of the month`, `on the 15th business day and last …` |
| several of these | `on the 13th of the month if that is also a Friday and the last business day of the month` |

Rules are joined by `; and`. What holds for all of them follows, after `; all` if there are several, else after a comma:
`starting 15 March 2027`, `until 31 December 2027` (or `on 15 March 2027 only` if that is one day), `except 24 December
2027 and 27 December 2027 through 30 December 2027`, `except on days off of DE-BE and team`, or `or else on the next
business day by DE-BE` (or `previous`; without `by` if only weekends count). Last are the zone and what isn't usual when
clocks change, as for cron.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.calendar_rule import CalendarRule, Span, clock
from cronty.timing.words.calendars import first_from
from cronty.timing.words.places import place
from cronty.timing.words.runs import runs
from cronty.timing.words.vocabulary import MONTH_NAMES, ORDINAL_NAMES, WEEKDAY_NAMES, listed, ordinal

_MAX_DATES: Final = 12


def describe_calendar(calendar: Calendar) -> str:
    """Return a calendar as a sentence."""
    if calendar.words is None:
        object.__setattr__(calendar, "words", _sentence(calendar))
    assert calendar.words is not None
    return calendar.words


def _sentence(calendar: Calendar) -> str:
    rules = "; and ".join(_rule(calendar, place) for place in range(len(calendar.rules)))
    said = [*_bounds(calendar), *_days_off(calendar)]
    tail = ""
    if said:
        tail = f"{'; all' if len(calendar.rules) > 1 else ','} {', '.join(said)}"
    return f"{rules[0].upper()}{rules[1:]}{tail}, {place(calendar.zone)}{_unusual(calendar)}"


def _rule(calendar: Calendar, place: int) -> str:
    rule = calendar.rules[place]
    rhythm = f"every {rule.every} {rule.unit}s" if rule.every > 1 else ""
    days = _days(rule)
    if not days and not rhythm:
        only = _is_one_day(calendar) and any(isinstance(time, Span) for time in rule.times)
        days = f"{'' if only else 'every day '}{_in_months(rule)}".rstrip()
    elif not days:
        days = _in_months(rule)
    return " ".join(part for part in (_times(rule), rhythm, days) if part) + _since(calendar, place)


def _since(calendar: Calendar, place: int) -> str:
    since = calendar.rules[place].since
    if since is None:
        return ""
    if not calendar.names(place, since):
        return f", counting from {said_date(since)}"
    return "" if _follows_from_start(calendar, since) else f" (starting {said_date(since)})"


def _follows_from_start(calendar: Calendar, since: date) -> bool:
    """Whether the first day of the only rule is the first one after the start of the calendar."""
    rule, *more = calendar.rules
    if more or calendar.starts is None or calendar.starts > since:
        return False
    plain = Calendar((replace(rule, every=1, unit="day", since=None),), calendar.zone, without=calendar.without)
    return first_from(calendar.starts, plain) == since


def _is_one_day(calendar: Calendar) -> bool:
    return len(calendar.rules) == 1 and calendar.starts is not None and calendar.starts == calendar.ends


def _times(rule: CalendarRule) -> str:
    fixed = [clock(time) for time in rule.times if isinstance(time, int)]
    spans = [_span(time) for time in rule.times if isinstance(time, Span)]
    return " and ".join([*([f"at {listed(fixed)}"] if fixed else []), *spans])


def _span(span: Span) -> str:
    hours, minutes = divmod(span.step, 60)
    amount, unit = (span.step, "minute") if minutes else (hours, "hour")
    every = f"every {unit}" if amount == 1 else f"every {amount} {unit}s"
    return f"{every} from {clock(span.start)} through {clock(span.end)}"


# -- days ---------------------------------------------------------------------------------------------------------


def _days(rule: CalendarRule) -> str:
    """Say which days; the first test in a phrase of its own, the others as conditions."""
    tests = [test for test in (_month_days(rule), _business_days(rule), _weekdays(rule)) if test]
    if not tests:
        return ""
    if len(tests) == 1:
        return tests[0]
    also = [_business_days_alone(rule)] if rule.business_days and rule.days else []
    also += [_any_weekday(rule)] if rule.weekdays or rule.nths else []
    return f"{tests[0]} if that is also {' and '.join(also)}"


def _month_days(rule: CalendarRule) -> str:
    if not rule.days:
        return ""
    if len(rule.months) == 1 and len(rule.days) == 1 and rule.days[0] > 0:
        every_year = "" if rule.every > 1 else " every year"
        return f"on {rule.days[0]} {MONTH_NAMES[rule.months[0] - 1]}{every_year}"
    said = [
        ordinal(low) if low == high else f"{ordinal(low)} through {ordinal(high)}"
        for low, high in runs(day for day in rule.days if day > 0)
    ]
    said += [f"{_from_the_end(day)} day" for day in rule.days if day < 0]
    return f"on the {listed(said)} {_of_months(rule)}"


def _business_days(rule: CalendarRule) -> str:
    return f"on {_business_days_alone(rule)}" if rule.business_days else ""


def _business_days_alone(rule: CalendarRule) -> str:
    ranks = [_rank(nth) for nth in rule.business_days]
    if min(rule.business_days) < 0 and max(rule.business_days) > len(ORDINAL_NAMES):
        # In "the 15th and last business day" the 15th might be a day of the month.
        ranks = [f"{rank} business day" for rank in ranks[:-1]] + ranks[-1:]
    return f"the {listed(ranks)} business day {_of_months(rule)}"


def _weekdays(rule: CalendarRule) -> str:
    if not rule.weekdays and not rule.nths:
        return ""
    if not rule.nths:
        return f"on {_weekday_names(rule)} {_in_months(rule)}".rstrip()
    nths = f"on the {_nths(rule)}"
    if not rule.weekdays:
        return f"{nths} {_of_months(rule)}"
    return f"on {_weekday_names(rule)} and {nths} of the month {_in_months(rule)}".rstrip()


def _weekday_names(rule: CalendarRule) -> str:
    if rule.weekdays == (0, 1, 2, 3, 4):
        return "weekdays"
    plural = "" if rule.unit == "week" and rule.every > 1 else "s"
    names = [f"{name}{plural}" for name in WEEKDAY_NAMES]
    return listed(
        [names[low] if low == high else f"{names[low]} through {names[high]}" for low, high in runs(rule.weekdays)]
    )


def _nths(rule: CalendarRule) -> str:
    if len({day for _, day in rule.nths}) == 1:
        return f"{listed([_rank(nth) for nth, _ in rule.nths])} {WEEKDAY_NAMES[rule.nths[0][1]]}"
    return listed([f"{_rank(nth)} {WEEKDAY_NAMES[day]}" for nth, day in rule.nths])


def _any_weekday(rule: CalendarRule) -> str:
    days = rule.weekdays
    names = ["a weekday"] if days == (0, 1, 2, 3, 4) else [f"a {WEEKDAY_NAMES[day]}" for day in days]
    names += [f"the {_rank(nth)} {WEEKDAY_NAMES[day]} of the month" for nth, day in rule.nths]
    return " or ".join(names)


def _rank(nth: int) -> str:
    if nth < 0:
        return _from_the_end(nth)
    return ORDINAL_NAMES[nth - 1] if nth <= len(ORDINAL_NAMES) else ordinal(nth)


def _from_the_end(nth: int) -> str:
    return "last" if nth == -1 else f"{ordinal(-nth)} to last"


def month_spans(months: Iterable[int]) -> str:
    """Return `March`, or `March through May and July`."""
    names = [
        MONTH_NAMES[low - 1] if low == high else f"{MONTH_NAMES[low - 1]} through {MONTH_NAMES[high - 1]}"
        for low, high in runs(months)
    ]
    return listed(names)


def _in_months(rule: CalendarRule) -> str:
    return f"in {month_spans(rule.months)}" if rule.months else ""


def _of_months(rule: CalendarRule) -> str:
    return f"of every {month_spans(rule.months)}" if rule.months else "of the month"


# -- all rules together -------------------------------------------------------------------------------------------


def _bounds(calendar: Calendar) -> list[str]:
    said: list[str] = []
    if calendar.starts is not None and calendar.starts == calendar.ends:
        said.append(f"on {said_date(calendar.starts)} only")
    elif calendar.starts is not None:
        said.append(f"starting {said_date(calendar.starts)}")
    if calendar.ends is not None and calendar.ends != calendar.starts:
        said.append(f"until {said_date(calendar.ends)}")
    if calendar.without:
        said.append(f"except {_dates(calendar.without)}")
    return said


def _days_off(calendar: Calendar) -> list[str]:
    names = listed(list(calendar.calendars)) if calendar.calendars else ""
    if calendar.instead == "skip":
        return [f"except on days off of {names}"] if names else []
    which = "next" if calendar.instead == "next_business_day" else "previous"
    return [f"or else on the {which} business day{f' by {names}' if names else ''}"]


def _dates(days: tuple[date, ...]) -> str:
    spans: list[tuple[date, date]] = []
    for low, high in runs(day.toordinal() for day in days):
        spans.append((date.fromordinal(low), date.fromordinal(high)))
    said = [said_date(low) if low == high else f"{said_date(low)} through {said_date(high)}" for low, high in spans]
    if len(said) > _MAX_DATES:
        said = [*said[:_MAX_DATES], f"{len(said) - _MAX_DATES} more"]
    return listed(said)


def said_date(day: date) -> str:
    """Return a day as `5 April 2027`."""
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"


def _unusual(calendar: Calendar) -> str:
    if all(isinstance(time, Span) and not time.fixed for rule in calendar.rules for time in rule.times):
        return ""
    gap = "; left out if the clocks jump over it" if calendar.gap == "skip" else ""
    return gap + ("; both times if the clocks show it twice" if calendar.overlap == "both" else "")
