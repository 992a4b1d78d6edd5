"""A trigger in words, and back again."""

from datetime import UTC, datetime, timedelta

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from cronty.timing import (
    Ambiguous,
    BadTrigger,
    Broken,
    Calendar,
    Cron,
    Interval,
    Once,
    Reading,
    Trigger,
    describe,
    read_words,
)
from cronty.timing.grammar import normalize
from cronty.timing.weeks import split_weeks
from tests.timing.phrases import AMBIGUOUS, PHRASES, PLACES, SAID, ZONED, now_in, same
from tests.timing.strategies import CRONS, MOMENTS, ZONES

HOURS = st.integers(1, 3653 * 24).map(lambda hours: timedelta(hours=hours))
CRON_WORDS = [
    ("30 8 * * MON-FRI", "At 08:30 on weekdays"),
    ("0 9 * * *", "At 09:00 every day"),
    ("@daily", "At 00:00 every day"),
    ("@weekly", "At 00:00 on Sundays"),
    ("@yearly", "At 00:00 on 1 January every year"),
    ("@hourly", "Every hour on the hour"),
    ("0 9,17 * * *", "At 09:00 and 17:00 every day"),
    ("0,30 9,17 * * 1,4", "At 09:00, 09:30, 17:00 and 17:30 on Mondays and Thursdays"),
    ("* * * * *", "Every minute by the clock"),
    ("*/15 * * * *", "Every 15 minutes by the clock"),
    ("*/15 * * * 1-5", "Every 15 minutes on weekdays"),
    ("*/15 9-16 * * 1-5", "Every 15 minutes from 09:00 through 16:45 on weekdays"),
    ("*/15 9 * * *", "Every 15 minutes from 09:00 through 09:45"),
    ("*/20 22-23,0-5 * * *", "Every 20 minutes from 22:00 through 05:40"),
    ("0 9-17 * * *", "Every hour from 09:00 through 17:00"),
    ("30 9-17/2 * * *", "Every 2 hours from 09:30 through 17:30"),
    ("0 */6 * * *", "Every 6 hours from 00:00 through 18:00"),
    ("15 * * * *", "Every hour at minute 15"),
    ("5,35 * * * 0", "Every hour at minutes 5 and 35 on Sundays"),
    ("5,35 */2 * * *", "Every 2 hours at minutes 5 and 35"),
    ("0 17 L * *", "At 17:00 on the last day of the month"),
    ("0 17 LW * *", "At 17:00 on the last weekday of the month"),
    ("0 9 1,15,L * *", "At 09:00 on the 1st, 15th and last day of the month"),
    ("0 9 1-7 * *", "At 09:00 on the 1st through 7th of the month"),
    ("0 9 * * MON#1", "At 09:00 on the first Monday of the month"),
    ("0 9 * * 1#1,1#3", "At 09:00 on the first and third Monday of the month"),
    ("0 9 * * 1#1,5L", "At 09:00 on the first Monday and last Friday of the month"),
    ("0 9 * 5 7#2", "At 09:00 on the second Sunday of every May"),
    ("0 9 3 5 *", "At 09:00 on 3 May every year"),
    ("0 8 1 1,7 *", "At 08:00 on the 1st of every January and July"),
    ("0 8 * 6-8 2-4", "At 08:00 on Tuesdays through Thursdays in June through August"),
    ("0 8 * 12 *", "At 08:00 every day in December"),
    ("*/5 * * 12 *", "Every 5 minutes in December"),
    ("0 9 1 * MON", "At 09:00 on the 1st of the month, or on Mondays"),
    ("0 9 1 5 MON", "At 09:00 on the 1st of the month, or on Mondays, in May"),
    ("0 9 13 * FRI#2", "At 09:00 on the 13th of the month, or on the second Friday of the month"),
    ("0 10 * * MON%2", "At 10:00 every 2 weeks on Monday, as on 12 January 2026"),
    ("0 10 * * 1%2+1", "At 10:00 every 2 weeks on Monday, as on 5 January 2026"),
    ("30 8 * * MON,THU%3+1", "At 08:30 every 3 weeks on Monday and Thursday, as on 5 January 2026"),
    ("0 9 * * 2-4%52", "At 09:00 every 52 weeks on Tuesday through Thursday, as on 20 October 2026"),
    ("0 9 * * 1-5%2", "At 09:00 every 2 weeks on weekdays, as on 12 January 2026"),
    ("0 9 * * *%2", "At 09:00 every 2 weeks on Monday through Sunday, as on 12 January 2026"),
    ("*/15 * * * MON%2", "Every 15 minutes on Monday every 2 weeks, as on 12 January 2026"),
    ("0 9 1 * 0-6", "At 09:00 every day"),
    ("0 9 */10 * MON", "At 09:00 on the 1st, 11th, 21st and 31st of the month if that is also a Monday"),
    ("0 9 * * MON,FRI#1", "At 09:00 on Mondays and on the first Friday of the month"),
    ("0 9 * * 0-4", "At 09:00 on Sundays through Thursdays"),
    ("0 9 * * 0-5", "At 09:00 on Sundays through Fridays"),
    ("0 9 * * SUN,MON", "At 09:00 on Sundays and Mondays"),
    ("0 9 * * SAT,SUN,MON", "At 09:00 on Saturdays through Mondays"),
    ("0 9 * * MON,WED,SUN", "At 09:00 on Wednesdays, Sundays and Mondays"),
    ("0 9 * * 0-4%2", "At 09:00 every 2 weeks on Monday through Thursday and Sunday, as on 12 January 2026"),
    ("*/7 * * * *", "Every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56"),
    ("0-29 * * * *", "Every hour at minutes 0 through 29"),
    ("0-59 * * * *", "Every minute by the clock"),
    ("*/15 9,12 * * *", "Every 15 minutes from 09:00 through 09:45 and from 12:00 through 12:45"),
    ("0-29 9-17 * * *", "At minutes 0 through 29 of the hours 9 through 17 every day"),
]


@pytest.mark.parametrize(("expression", "words"), CRON_WORDS)
def test_a_cron_in_words(expression: str, words: str) -> None:
    assert describe(Cron(expression, "Europe/Berlin")) == f"{words}, Berlin time"


def test_what_is_unusual_when_clocks_change_is_said() -> None:
    skips = Cron("30 2 * * *", "Europe/Berlin", gap="skip")
    assert describe(skips) == "At 02:30 every day, Berlin time; left out if the clocks jump over it"
    doubled = Cron("30 2 * * *", "Europe/Berlin", overlap="both")
    assert describe(doubled) == "At 02:30 every day, Berlin time; both times if the clocks show it twice"
    assert describe(Cron("*/5 * * * *", gap="skip")) == "Every 5 minutes by the clock, UTC"
    for cron in (skips, doubled):
        with pytest.raises(BadTrigger):
            read_words(describe(cron), now_in("Europe/Berlin"), "UTC")


def test_times_that_follow_real_minutes_are_not_said_like_fixed_ones() -> None:
    assert describe(Cron("0 */5 * * *", "Europe/Berlin")) == (
        "At 00:00, 05:00, 10:00, 15:00 and 20:00 every day, Berlin time; left out if the clocks jump over it; "
        "both times if the clocks show it twice"
    )


@pytest.mark.parametrize(
    ("zone_name", "place"),
    [
        ("UTC", "UTC"),
        ("Europe/Berlin", "Berlin time"),
        ("America/New_York", "New York time"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
        ("America/Port-au-Prince", "Port-au-Prince time"),
        ("Asia/Calcutta", "Kolkata time"),
    ],
)
def test_a_zone_is_said_as_people_say_it(zone_name: str, place: str) -> None:
    assert describe(Cron("0 9 * * *", zone_name)) == f"At 09:00 every day, {place}"
    assert describe(Once(datetime(2027, 1, 31, 8, tzinfo=UTC)), zone_name).endswith(f", {place}")


@pytest.mark.parametrize(
    ("period", "words"),
    [
        (timedelta(seconds=1), "Every second"),
        (timedelta(minutes=15), "Every 15 minutes"),
        (timedelta(hours=1), "Every hour"),
        (timedelta(minutes=90), "Every 90 minutes"),
        (timedelta(minutes=150), "Every 2 hours 30 minutes"),
        (timedelta(hours=24), "Every 24 hours"),
        (timedelta(days=14), "Every 14 days (336 hours)"),
        (timedelta(days=1, hours=2, seconds=3), "Every 1 day 2 hours 3 seconds"),
        (timedelta(seconds=1.5), "Every 1.5 seconds"),
    ],
)
def test_a_period_in_words(period: timedelta, words: str) -> None:
    assert describe(Interval(period, datetime(2027, 1, 1, tzinfo=UTC))) == words


def test_a_moment_in_words() -> None:
    nine = Once(datetime(2027, 1, 31, 8, tzinfo=UTC))
    assert describe(nine, "Europe/Berlin") == "On Sunday 31 January 2027 at 09:00, Berlin time"
    assert describe(nine) == "On Sunday 31 January 2027 at 08:00, UTC"
    assert describe(Once(datetime(2027, 1, 31, 8, 0, 5, tzinfo=UTC))) == "On Sunday 31 January 2027 at 08:00:05, UTC"
    again = Once(datetime(2027, 10, 31, 1, 30, tzinfo=UTC))
    assert describe(again, "Europe/Berlin") == "On Sunday 31 October 2027 at 02:30 (second pass), Berlin time"


def test_what_is_broken_says_why() -> None:
    assert describe(Broken({}, "Unknown time zone: Mars")) == "Can't be read any more: Unknown time zone: Mars"


@pytest.mark.parametrize("zone_name", PLACES)
def test_whatever_the_grammar_reads_is_said_so_that_it_reads_the_same(zone_name: str) -> None:
    now = now_in(zone_name)
    texts = [row[0] for row in (*PHRASES, *ZONED, *AMBIGUOUS, *SAID)]
    for text in texts:
        found = read_words(text, now, zone_name)
        for reading in found.readings if isinstance(found, Ambiguous) else (found,):
            if len(reading.words) > 500:
                continue
            again = read_words(reading.words, now, "Asia/Tokyo")
            assert isinstance(again, Reading), (text, reading.words)
            assert again.max_runs == reading.max_runs
            if isinstance(reading.trigger, Cron) and ("*" in text or "@" in text or text == "0 9 1 1 1"):
                assert same_rule(reading.trigger, again.trigger), (text, reading.words)
            else:
                assert same(again.trigger, reading.trigger), (text, reading.words)


@settings(max_examples=300, deadline=None)
@given(MOMENTS, st.timedeltas(timedelta(seconds=1), timedelta(days=4000)), st.sampled_from(ZONES))
def test_a_moment_to_come_reads_back(now: datetime, ahead: timedelta, zone_name: str) -> None:
    once = Once(now + ahead)
    found = read_words(describe(once, zone_name), now, "Asia/Tokyo")
    assert isinstance(found, Reading)
    assert same(found.trigger, once)
    assert found.zone == zone_name


@settings(max_examples=300, deadline=None)
@given(MOMENTS, st.one_of(st.timedeltas(timedelta(seconds=1), timedelta(days=3653)), HOURS))
def test_a_period_reads_back_at_its_anchor(now: datetime, period: timedelta) -> None:
    interval = Interval(period, now)
    found = read_words(describe(interval), now, "Europe/Berlin")
    assert isinstance(found, Reading)
    assert found.trigger == interval


@settings(max_examples=750, deadline=None)
@given(CRONS)
def test_no_cron_is_said_in_words_that_read_as_something_else(cron: Cron) -> None:
    words = describe(cron)
    try:
        found = read_words(words, datetime(2027, 3, 10, tzinfo=UTC), "Asia/Tokyo")
    except BadTrigger:
        return
    assert isinstance(found, Reading), words
    assert same_slots(cron, found.trigger) if isinstance(found.trigger, Calendar) else same_rule(cron, found.trigger), (
        words
    )


@settings(max_examples=300, deadline=None)
@given(st.sets(st.integers(0, 6), min_size=1, max_size=7), st.integers(2, 52), st.integers(0, 51), st.integers(0, 23))
def test_every_so_many_weeks_reads_back_as_the_same_expression(
    weekdays: set[int], every: int, week: int, hour: int
) -> None:
    names = ",".join(
        name for day, name in enumerate(["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]) if day in weekdays
    )
    text = {"MON,TUE,WED,THU,FRI": "MON-FRI", "MON,TUE,WED,THU,FRI,SAT,SUN": "*"}.get(names, names)
    cron = Cron(f"0 {hour} * * {text}%{every}" + (f"+{week % every}" if week % every else ""), "UTC")
    words = describe(cron)
    if len(words) <= 128:
        found = read_words(words, datetime(2027, 3, 10, tzinfo=UTC), "Asia/Tokyo")
        assert isinstance(found, Reading)
        assert found.trigger == cron, words


def same_slots(one: Trigger, other: Trigger) -> bool:
    """Whether two triggers have the same slots, around changes of the clocks too."""
    for moment in (
        datetime(2026, 10, 24, tzinfo=UTC),
        datetime(2027, 3, 12, tzinfo=UTC),
        datetime(2028, 2, 27, tzinfo=UTC),
    ):
        slot: datetime | None = moment
        for _ in range(60):
            assert slot is not None
            following = one.after(slot)
            if following != other.after(slot):
                return False
            if following is None:
                break
            slot = following
    return True


def same_rule(one: object, other: object) -> bool:
    """Whether two crons have the same slots forever: the same values, and the same rule when clocks change."""
    assert isinstance(one, Cron)
    assert isinstance(other, Cron)
    return one.zone == other.zone and rule(one) == rule(other)


def rule(cron: Cron) -> tuple[object, ...]:
    text, weeks = split_weeks(normalize(cron.expression))
    fields = CronSim(text, datetime(2024, 1, 1, tzinfo=UTC))
    minute, hour, _, _, _ = text.split()
    days: object = (frozenset(fields.days), frozenset(weekday(each) for each in fields.weekdays), fields.day_and)
    every_day, every_weekday = (
        len(fields.days) == 31,
        len({weekday(each) for each in fields.weekdays} & set(range(7))) == 7,
    )
    if (every_day and every_weekday) or ((every_day or every_weekday) and not fields.day_and):
        days = "every day"
    elif every_day or every_weekday:
        days = days[:2]
    fixed = not minute.startswith("*") and not hour.startswith("*")
    return frozenset(fields.minutes), frozenset(fields.hours), days, frozenset(fields.months), fixed, weeks


def weekday(each: int | tuple[int, int]) -> int | tuple[int, int]:
    return each % 7 if isinstance(each, int) else (each[0] % 7, each[1])
