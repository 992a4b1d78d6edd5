"""Random triggers and moments for the property tests."""

from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st

from cronty.timing import BadTrigger, CatchUp, Cron, Interval, Once, Trigger, zone
from cronty.timing.cron import Gap, Overlap
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
TRIGGERS: st.SearchStrategy[Trigger] = st.one_of(CRONS, INTERVALS, st.builds(Once, MOMENTS))
CATCH_UPS = st.builds(
    CatchUp,
    st.sampled_from(["latest", "all", "none"]),
    st.timedeltas(timedelta(0), timedelta(days=3)),
    st.integers(1, 40),
)
