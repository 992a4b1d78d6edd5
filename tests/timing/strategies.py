"""Random triggers and moments for the property tests."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from cronty.timing import (
    BadTrigger,
    Calendar,
    CalendarRule,
    CatchUp,
    Cron,
    DayOff,
    Interval,
    Once,
    Span,
    Trigger,
    zone,
)
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.zoned import Gap, Overlap
from tests.timing.calendars import days_off
from tests.timing.oracle import transitions

thorough = settings(max_examples=300, deadline=None)
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "America/Santiago",
    "Pacific/Apia",
]


def field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    step = st.integers(1, high)
    span = st.tuples(value, value).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    item = st.one_of(
        value.map(str), span, st.builds("{}/{}".format, span, step), st.builds("{}/{}".format, value, step)
    )
    return st.one_of(st.just("*"), step.map("*/{}".format), item, st.lists(item, min_size=2, max_size=3).map(",".join))


WEEKDAYS = st.one_of(field(0, 7), st.sampled_from(["MON-FRI", "SUN", "5L", "TUE#2", "1#5,0"]))
MONTH_DAYS = st.one_of(field(1, 31), st.sampled_from(["L", "LW", "1,L"]))
WEEKS = st.integers(2, 52).flatmap(lambda every: st.integers(0, every - 1).map(lambda week: f"%{every}+{week}"))
IN_WEEKS = st.builds("{}{}".format, st.one_of(field(0, 7), st.sampled_from(["MON-FRI", "SUN", "MON,THU"])), WEEKS)
EXPRESSIONS = st.one_of(
    st.builds("{} {} * * {}".format, field(0, 59), field(0, 23), IN_WEEKS),
    st.builds("{} {} * * *".format, field(0, 59), field(0, 23)),
    st.builds("{} {} {} {} {}".format, field(0, 59), field(0, 23), MONTH_DAYS, field(1, 12), WEEKDAYS),
)


def possible(expression: str) -> bool:
    try:
        Cron(expression)
    except BadTrigger:
        return False
    return True


MOMENTS = st.datetimes(datetime(2015, 1, 1), datetime(2035, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(tzinfo=UTC)
)
CHANGES = [
    (name, instant)
    for name in ZONES
    for instant, _, _ in transitions(zone(name), datetime(2024, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))
]


def moved_by(change: tuple[str, datetime], away: timedelta) -> tuple[str, datetime]:
    return change[0], change[1] + away


NEAR_CHANGES = st.builds(moved_by, st.sampled_from(CHANGES), st.timedeltas(timedelta(hours=-12), timedelta(hours=6)))
GAPS: st.SearchStrategy[Gap] = st.sampled_from(["run_after", "skip"])
OVERLAPS: st.SearchStrategy[Overlap] = st.sampled_from(["first", "both"])
POLICIES = st.tuples(GAPS, OVERLAPS)
CRONS = st.builds(Cron, EXPRESSIONS.filter(possible), st.sampled_from(ZONES), GAPS, OVERLAPS)
INTERVALS = st.builds(
    Interval,
    st.one_of(
        st.timedeltas(timedelta(seconds=1), timedelta(days=3653)),
        st.timedeltas(timedelta(seconds=1), timedelta(hours=3)),
    ),
    MOMENTS,
)
SPANS = (
    st.tuples(st.integers(0, 1439), st.integers(0, 1439), st.integers(1, 600))
    .map(lambda three: (min(three[:2]), max(three[:2]), three[2]))
    .filter(lambda three: three[2] <= three[1] - three[0])
    .map(lambda three: Span(*three))
)
TIMES = st.lists(st.one_of(st.integers(0, 1439), SPANS), min_size=1, max_size=3).map(tuple)


def some[Value](values: st.SearchStrategy[Value], most: int = 3) -> st.SearchStrategy[tuple[Value, ...]]:
    return st.one_of(st.just(()), st.lists(values, max_size=most).map(tuple))


FROM_EITHER_END = st.integers(1, 31) | st.integers(-31, -1)
DATES = st.dates(date(2015, 1, 1), date(2035, 1, 1))
DAYS = st.fixed_dictionaries(
    {
        "months": some(st.integers(1, 12), 5),
        "days": some(FROM_EITHER_END, 5),
        "weekdays": some(st.integers(0, 6), 5),
        "nths": some(st.tuples(st.sampled_from([1, 2, 3, 4, 5, -1, -2]), st.integers(0, 6))),
        "business_days": some(st.sampled_from([1, 2, 10, 20, -1, -5])),
    }
)
RHYTHMS = st.one_of(
    st.just((1, "day", None)),
    st.tuples(st.integers(2, 40), st.just("day"), DATES),
    st.tuples(st.integers(2, 9), st.sampled_from(["week", "month", "year"]), DATES),
)


def rule_of(times: Any, rhythm: Any, days: Any) -> CalendarRule | None:
    """A rule, unless it would rest for more than 10 years."""
    try:
        rule = CalendarRule(times, *rhythm, **days)
        Calendar((rule,))
    except BadTrigger:
        return None
    return rule


def list_of(off: tuple[date, ...], on: tuple[date, ...]) -> tuple[NamedCalendar, ...]:
    return days_off(*(DayOff(day, "a day off") for day in off), on=on)


RULES = st.builds(rule_of, TIMES, RHYTHMS, DAYS).filter(lambda rule: rule is not None)
CALENDARS = st.builds(
    Calendar,
    st.lists(RULES, min_size=1, max_size=3).map(tuple),
    st.sampled_from(ZONES),
    starts=st.none() | st.just(date(2020, 6, 1)),
    ends=st.none() | st.just(date(2030, 6, 30)),
    without=some(DATES),
    calendars=some(st.sampled_from(["DE-BE", "team"])),
    instead=st.sampled_from(["skip", "next_business_day", "previous_business_day"]),
    lists=st.builds(list_of, some(DATES), some(DATES)),
    gap=GAPS,
    overlap=OVERLAPS,
)
TRIGGERS: st.SearchStrategy[Trigger] = st.one_of(CRONS, CALENDARS, INTERVALS, st.builds(Once, MOMENTS))
CATCH_UPS = st.builds(
    CatchUp,
    st.sampled_from(["latest", "all", "none"]),
    st.timedeltas(timedelta(0), timedelta(days=3)),
    st.integers(1, 40),
)
