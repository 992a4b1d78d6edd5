"""What people say, and how it is read."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronty.timing import Ambiguous, BadTrigger, Cron, Interval, Once, Reading, read_words
from tests.timing.phrases import (
    AMBIGUOUS,
    AMBIGUOUS_SOMEWHERE,
    PHRASES,
    PLACES,
    REFUSED,
    REFUSED_TOO,
    SAID,
    ZONED,
    now_in,
    shown,
)

BERLIN = "Europe/Berlin"
PAGE = Path(__file__).parents[2] / "docs/reference/words.md"


def readings(text: str, zone_name: str, now: datetime | None = None) -> tuple[Reading, ...]:
    found = read_words(text, now or now_in(zone_name), zone_name)
    return found.readings if isinstance(found, Ambiguous) else (found,)


def one(text: str, zone_name: str = BERLIN, now: datetime | None = None) -> Reading:
    found = read_words(text, now or now_in(zone_name), zone_name)
    assert isinstance(found, Reading), found
    return found


@pytest.mark.parametrize("zone_name", PLACES)
@pytest.mark.parametrize(("text", "meaning"), PHRASES)
def test_a_phrase_means_the_same_everywhere(text: str, meaning: str, zone_name: str) -> None:
    found = one(text, zone_name)
    assert (shown(found.trigger, zone_name), found.zone) == (meaning, zone_name)
    assert found.next_at == found.trigger.after(now_in(zone_name))
    assert found.next_at is not None


@pytest.mark.parametrize("zone_name", PLACES)
@pytest.mark.parametrize(("text", "meaning", "named"), ZONED)
def test_a_zone_said_at_the_end_counts(text: str, meaning: str, named: str, zone_name: str) -> None:
    found = one(text, zone_name)
    assert (shown(found.trigger, named), found.zone) == (meaning, named)
    if isinstance(found.trigger, Cron):
        assert found.trigger.zone == named


@pytest.mark.parametrize("zone_name", PLACES)
@pytest.mark.parametrize(("text", "meanings"), AMBIGUOUS)
def test_what_may_mean_several_things_is_not_guessed(text: str, meanings: list[str], zone_name: str) -> None:
    found = readings(text, zone_name)
    assert [shown(each.trigger, zone_name) for each in found] == meanings
    assert len({each.words for each in found}) == len(found)
    assert [each.next_at for each in found] == sorted(each.next_at for each in found if each.next_at)


@pytest.mark.parametrize(("text", "zone_name", "meanings"), AMBIGUOUS_SOMEWHERE)
def test_a_change_of_the_clocks_can_make_it_unclear(text: str, zone_name: str, meanings: list[str]) -> None:
    assert [shown(each.trigger, zone_name) for each in readings(text, zone_name)] == meanings


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED)
def test_what_cannot_be_kept_is_refused_with_a_way_out(text: str, message: str, hint: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        read_words(text, now_in(BERLIN), BERLIN)
    assert (refused.value.message, refused.value.hint) == (message, hint)


@pytest.mark.parametrize("zone_name", PLACES)
@pytest.mark.parametrize(("text", "expected"), SAID)
def test_what_people_say_is_read_as_the_table_has_it(text: str, expected: list[str], zone_name: str) -> None:
    read = read_words(text, now_in(zone_name), zone_name)
    found = read.readings if isinstance(read, Ambiguous) else (read,)
    soft = isinstance(read, Ambiguous) and len(found) == 1
    assert [as_in_the_table(each, zone_name, soft=soft) for each in found] == expected
    assert soft == any("no exact time" in (each.note or "") for each in found)
    assert all(each.next_at is not None for each in found)


def as_in_the_table(reading: Reading, zone_name: str, *, soft: bool) -> str:
    times = "" if reading.max_runs is None else f" times {reading.max_runs}"
    where = "" if reading.zone == zone_name else f" [{reading.zone}]"
    return f"{'~ ' if soft else ''}{shown(reading.trigger, reading.zone)}{times}{where}"


def test_the_tables_are_as_large_as_promised() -> None:
    clear = [text for text, readings in SAID if len(readings) == 1]
    assert len({*clear, *(text for text, _ in PHRASES)}) >= 600
    assert len(SAID) - len(clear) + len(AMBIGUOUS) + len(AMBIGUOUS_SOMEWHERE) >= 50
    assert len(REFUSED) + len(REFUSED_TOO) >= 180


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED_TOO)
def test_what_people_say_and_cannot_be_read_is_refused_with_a_fitting_example(
    text: str, message: str, hint: str
) -> None:
    with pytest.raises(BadTrigger) as refused:
        read_words(text, now_in(BERLIN), BERLIN)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_every_suggestion_in_a_hint_can_be_read() -> None:
    suggestions = {each for _, _, hint in (*REFUSED, *REFUSED_TOO) for each in re.findall(r'"([^"]+)"', hint)}
    unreadable = {each for each in suggestions if not is_readable(each)}
    # Parts of a sentence, and zones.
    assert unreadable == {
        *("am", "pm", "once", "every", "day", "friday", "wednesday", "0", "1st", "31st", "first", "fourth", "last"),
        *("last day of the month", "last Friday of the month", "last Monday of the month", "on Friday", "on Monday"),
        *("3 May 2027", "until 31 December", "except 25 December 2027", "except 12 March 2027"),
        *("except holidays in Germany", "except holidays in DE-BY", "except days off of team"),
        "except 24 December 2027 through 1 January 2028",
        *("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "*/15", "the"),
    }


def is_readable(text: str) -> bool:
    try:
        read_words(text, now_in(BERLIN), BERLIN)
    except BadTrigger:
        return False
    return True


def test_some_days_or_every_day_is_every_day() -> None:
    assert shown(one("on April 1st, or Monday through Sunday, at 9:00").trigger, BERLIN) == "cron 0 9 * * *"


def test_the_month_of_one_kind_of_day_is_not_that_of_the_other() -> None:
    found = one("first Friday of every May, or on Mondays, at 9")
    assert shown(found.trigger, BERLIN) == "calendar 09:00 1FR months 5 + 09:00 MO"


def test_every_day_at_nine_is_never_every_24_hours() -> None:
    assert isinstance(one("every day at 9").trigger, Cron)
    assert isinstance(one("every 24 hours").trigger, Interval)
    with pytest.raises(BadTrigger, match='For 24 hours from now on say "every 24 hours"'):
        read_words("every day", now_in(BERLIN), BERLIN)


def test_a_period_in_days_says_that_it_moves_where_clocks_change() -> None:
    moves = "it counts elapsed hours: after the clocks change it comes an hour earlier or later on the clock"
    assert one("every 2 days", BERLIN).note == moves
    assert one("every 2 days", "Asia/Kolkata").note is None
    assert one("every 48 hours", BERLIN).note is None


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("on the 31st of every month at 9", "months without a 31st are left out"),
        ("on the 1st and 30th at 9", "some months have no 30th"),
        ("on the 1st through 31st of the month at 9", None),
        ("on the 1st through 30th of the month at 9", "some months have no 30th"),
        ("every 29 February at 9", "only in leap years"),
        ("fifth Monday of the month at 9", "months without a fifth one are left out"),
        ("on the 31st of every January and July at 9", None),
        ("on the 28th of every month at 9", None),
        ("last day of the month at 9", None),
    ],
)
def test_a_day_that_some_months_lack_is_noted(text: str, note: str | None) -> None:
    assert one(text).note == note


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "every 2 weeks on Monday at 10, counting from 5 April 2027",
            "the date only says which weeks are meant: the first slot is before it",
        ),
        ("every 2 weeks on Monday at 10, counting from 5 January 2026", None),
        ("every 2 weeks on Sunday and Monday at 9", "weeks run from Monday to Sunday"),
        ("every 2 weeks on Saturday and Sunday at 9", None),
    ],
)
def test_what_may_surprise_about_weeks_is_noted(text: str, note: str | None) -> None:
    assert one(text).note == note


def test_a_period_with_an_end_is_said_to_go_by_the_clock() -> None:
    note = "with an end it goes by the clock, counted from midnight and not from now"
    assert one("every 8 hours until Friday").note == note
    assert one("every 8 hours from 6:00 through 22:00 until Friday").note is None
    assert one("every 8 hours").note is None


@pytest.mark.parametrize("text", ["every day by 9am", "tomorrow by noon"])
def test_by_is_said_to_be_read_as_at(text: str) -> None:
    assert one(text).note == '"by" is read as "at"'
    assert one(text.replace("by", "at")).note is None


def test_a_question_in_a_refusal_has_no_full_stop_after_it() -> None:
    with pytest.raises(BadTrigger, match=r"until when\? Say it as in"):
        read_words("every hour for 3 days until Friday", now_in(BERLIN), BERLIN)


def test_the_first_coming_day_is_in_the_first_week() -> None:
    for day in range(14):
        for hour in (9, 11):
            now = datetime(2026, 12, 24 + day % 7, hour, tzinfo=UTC) + timedelta(days=day // 7 * 7)
            for text, week_days in (
                ("every 2 weeks on Monday at 10", {0}),
                ("every 3 weeks on Monday, Wednesday and Sunday at 10", {0, 2, 6}),
            ):
                coming = now.replace(hour=10)
                while coming <= now or coming.weekday() not in week_days:
                    coming += timedelta(days=1)
                assert one(text, "UTC", now).next_at == coming


def test_the_week_is_that_of_the_time_that_was_meant_not_of_the_one_it_is_moved_to() -> None:
    # In Algiers the clocks jumped from Sunday 25 April 1971, 23:00, to Monday.
    found = one("every 2 weeks on Sunday at 23:30", "Africa/Algiers", datetime(1971, 4, 24, tzinfo=UTC))
    assert found.next_at == datetime(1971, 4, 25, 23, tzinfo=UTC)
    assert shown(found.trigger, "UTC") == "cron 30 23 * * SUN%2"


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("tomorrow at 9am", datetime(2027, 3, 11, 9)),  # noqa: DTZ001
        ("at 17:00", datetime(2027, 3, 11, 17)),  # noqa: DTZ001
        ("in 2 days at 9", datetime(2027, 3, 12, 9)),  # noqa: DTZ001
        ("2027-12-31T09:00", datetime(2027, 12, 31, 9)),  # noqa: DTZ001
        ("28 March at 02:30", datetime(2027, 3, 28, 2, 30)),  # noqa: DTZ001
        ("31 October at 02:30", datetime(2027, 10, 31, 2, 30)),  # noqa: DTZ001
    ],
)
def test_a_time_said_as_a_local_one_is_kept_as_one(text: str, local: datetime) -> None:
    assert one(text).trigger == Once.at_local(local, BERLIN)
    elsewhere = one(f"{text} New York time").trigger
    assert isinstance(elsewhere, Once)
    assert elsewhere.zone == "America/New_York"


def test_the_next_of_many_is_kept_as_a_local_time_too() -> None:
    once, again = readings("on the 28th at 02:30", BERLIN)
    assert once.trigger == Once.at_local(datetime(2027, 3, 28, 2, 30), BERLIN)  # noqa: DTZ001
    assert once.next_at == again.next_at == datetime(2027, 3, 28, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["in 2 hours", "PT2H", "in 2 days", "2027-03-12T20:00:00+01:00"])
def test_a_time_that_is_not_said_as_a_local_one_is_an_instant(text: str) -> None:
    found = one(text).trigger
    assert isinstance(found, Once)
    assert found.local is None


def test_a_time_in_a_gap_moves_to_the_end_of_the_gap_and_says_so() -> None:
    found = one("28 March at 02:30")
    assert found.next_at == datetime(2027, 3, 28, 1, 0, tzinfo=UTC)
    assert found.words == "On Sunday 28 March 2027 at 03:00, Berlin time"
    assert found.note == ("02:30 doesn't exist on Sunday 28 March 2027, Berlin time: clocks go forward; moved to 03:00")


def test_a_time_that_comes_twice_is_the_first_and_says_so() -> None:
    found = one("31 October at 02:30")
    assert found.next_at == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)
    assert found.note == "02:30 comes twice on Sunday 31 October 2027, Berlin time: the first is meant"
    second = one("31 October at 02:30 (second pass)")
    assert second.trigger == Once(datetime(2027, 10, 31, 1, 30, tzinfo=UTC))
    assert second.words == "On Sunday 31 October 2027 at 02:30 (second pass), Berlin time"
    with pytest.raises(BadTrigger, match="02:30 comes only once on Monday 1 November 2027"):
        read_words("1 November at 02:30 (second pass)", now_in(BERLIN), BERLIN)


@pytest.mark.parametrize(
    ("text", "said_at", "moments"),
    [
        ("tomorrow at 2:30am cet", "2027-10-30T20:00+02:00", ["31 01:30"]),
        ("tomorrow at 2:30am CEST", "2027-10-30T20:00+02:00", ["31 00:30"]),
        ("tomorrow at 9am CEST", "2027-03-09T10:20+01:00", ["10 07:00", "10 08:00"]),
        ("tomorrow at 9am CET", "2027-07-09T10:20+02:00", ["10 07:00", "10 08:00"]),
        ("tomorrow at 9am CET", "2027-03-09T10:20+01:00", ["10 08:00"]),
        ("every day at 9am CET", "2027-07-09T10:20+02:00", ["10 07:00"]),
    ],
)
def test_a_clock_that_says_summer_or_winter_is_taken_at_its_word(text: str, said_at: str, moments: list[str]) -> None:
    found = readings(text, BERLIN, datetime.fromisoformat(said_at))
    assert [f"{each.next_at:%d %H:%M}" for each in found] == moments
    assert all("first is meant" not in (each.note or "") for each in found)


def test_a_clock_that_cities_share_is_that_of_ones_own_and_else_says_which() -> None:
    assert one("every day at 9 Eastern time", "America/Toronto").zone == "America/Toronto"
    found = one("every day at 9 EET")
    assert found.note == "clocks show the same there as in Bucharest, Helsinki and Kyiv"
    assert one("every day at 9 EET", "Europe/Kyiv").note is None


def test_each_of_two_ways_to_count_days_says_which_it_is() -> None:
    assert [each.note for each in readings("in 3 weeks", BERLIN)] == [
        "at the same time of day; clocks change before then",
        "that many times 24 hours; clocks change before then",
    ]


def test_the_one_choice_that_is_left_of_a_date_says_why() -> None:
    (only,) = readings("3/4/2027 at 9am", BERLIN)
    assert only.note == "with day and month the other way around it has passed"


def test_a_day_that_was_skipped_altogether_moves_to_the_next() -> None:
    before = datetime(2011, 12, 28, tzinfo=UTC)
    found = one("2011-12-30 09:00", "Pacific/Apia", before)
    assert found.next_at == datetime(2011, 12, 30, 10, 0, tzinfo=UTC)
    assert found.words == "On Saturday 31 December 2011 at 00:00, Apia time"


def test_a_friday_said_on_a_friday_is_today_or_in_a_week() -> None:
    friday = datetime(2027, 3, 12, 8, 0, tzinfo=UTC)
    assert [shown(each.trigger, "UTC") for each in readings("Friday at 9", "UTC", friday)] == [
        "once 2027-03-12 09:00",
        "once 2027-03-19 09:00",
    ]
    assert shown(one("Friday at 7", "UTC", friday).trigger, "UTC") == "once 2027-03-19 07:00"
    assert shown(one("this Friday at 9", "UTC", friday).trigger, "UTC") == "once 2027-03-12 09:00"
    assert shown(one("next Friday at 9", "UTC", friday).trigger, "UTC") == "once 2027-03-19 09:00"


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("3/9 9am", ["2027-09-03", "2028-03-09"]),
        ("3/9 11am", ["2027-03-09", "2027-09-03"]),
        ("3/9/2027 9am", ["2027-09-03"]),
        ("3/9/2027 11am", ["2027-03-09", "2027-09-03"]),
    ],
)
def test_a_date_with_two_meanings_is_asked_also_if_one_has_just_passed(text: str, meanings: list[str]) -> None:
    found = read_words(text, datetime(2027, 3, 9, 10, 20, tzinfo=UTC), "UTC")
    assert isinstance(found, Ambiguous)
    assert [f"{each.next_at:%Y-%m-%d}" for each in found.readings] == meanings


def test_the_one_day_of_a_rule_says_that_a_gap_moves_it() -> None:
    note = "02:30 doesn't exist on Sunday 28 March 2027, Berlin time: clocks go forward; moved to 03:00"
    assert one("once on the last sunday of march at 2:30am").note == note
    once, again = readings("last sunday of march at 2:30am", BERLIN)
    assert (once.note, again.note) == (note, None)
    calendar, _ = readings("on the 28th at 2:30am if that is also a Sunday", BERLIN)
    assert calendar.note == note


@pytest.mark.parametrize(
    ("text", "said_at", "meanings"),
    [
        ("tonight at 2am", "10 00:30", ["10 02:00", "11 02:00"]),
        ("tonight at 3", "10 01:10", ["10 03:00", "11 03:00"]),
        ("tonight at 2am", "10 03:00", ["11 02:00"]),
        ("tonight at 2am", "10 07:00", ["11 02:00"]),
        ("tonight at 9", "10 00:30", ["10 21:00"]),
        ("tuesday night at 3am", "10 01:10", ["10 03:00", "17 03:00"]),
        ("tuesday at 3 at night", "10 01:10", ["10 03:00", "17 03:00"]),
        ("tuesday night at 11", "10 01:10", ["16 23:00"]),
        ("tuesday at 3am", "10 01:10", ["16 03:00"]),
        ("friday night at 3am", "10 01:10", ["13 03:00"]),
    ],
)
def test_after_midnight_the_night_is_the_one_that_goes_on_or_the_next(
    text: str, said_at: str, meanings: list[str]
) -> None:
    now = datetime.fromisoformat(f"2027-03-{said_at}").replace(tzinfo=UTC)
    found = readings(text, "UTC", now)
    assert [f"{each.next_at:%d %H:%M}" for each in found] == meanings


def test_next_monday_said_on_a_sunday_depends_on_when_the_week_begins() -> None:
    sunday = datetime(2027, 3, 14, 8, 0, tzinfo=UTC)
    assert [shown(each.trigger, "UTC") for each in readings("next Monday at 9", "UTC", sunday)] == [
        "once 2027-03-15 09:00",
        "once 2027-03-22 09:00",
    ]


def test_today_at_eight_said_at_nine_is_refused_with_both_ways_out() -> None:
    nine = datetime(2027, 3, 10, 9, 0, tzinfo=UTC)
    with pytest.raises(BadTrigger) as refused:
        read_words("today at 8", nine, "UTC")
    assert refused.value.message == "Wednesday 10 March 2027 at 08:00 has passed: it is already 09:00, UTC"
    assert refused.value.hint == 'Say "tomorrow at 08:00" or "today at 20:00".'


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("0900 hours", "once 2027-03-11 09:00"),
        ("tomorrow at 1830 hours", "once 2027-03-11 18:30"),
        ("every day 0900 hours", "cron 0 9 * * *"),
    ],
)
def test_hours_after_four_digits_say_nothing_more(text: str, meaning: str) -> None:
    assert shown(one(text).trigger, BERLIN) == meaning


def test_a_while_is_counted_from_now_and_never_ends_early() -> None:
    now = datetime(2027, 3, 10, 20, 0, 0, 250_000, tzinfo=UTC)
    assert one("in 1 minute", "UTC", now).trigger == Once(datetime(2027, 3, 10, 20, 1, 1, tzinfo=UTC))
    period = one("every minute", "UTC", now)
    assert period.trigger == Interval(timedelta(minutes=1), now)
    assert period.next_at == now + timedelta(minutes=1)


def test_a_month_without_that_day_is_refused() -> None:
    with pytest.raises(BadTrigger, match="February 2027 has no day 31"):
        read_words("in 1 month", datetime(2027, 1, 31, tzinfo=UTC), "UTC")


def test_a_time_without_an_offset_is_nobodys_now() -> None:
    with pytest.raises(BadTrigger, match="Time without offset"):
        read_words("tomorrow at 9", datetime(2027, 1, 1), "UTC")  # noqa: DTZ001


def examples_of_the_page() -> list[tuple[str, str]]:
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [(text, words) for text, words in rows]


def test_the_page_has_examples() -> None:
    assert len(examples_of_the_page()) >= 40


@pytest.mark.parametrize(("text", "words"), examples_of_the_page())
def test_every_example_of_the_page_is_true(text: str, words: str) -> None:
    try:
        said = "; or: ".join(each.words for each in readings(text, BERLIN))
    except BadTrigger as bad:
        said = f"refused: {bad.message}"
    assert said == words
