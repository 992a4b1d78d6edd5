"""The slots to come, and what is said about them when clocks change."""

from datetime import UTC, datetime, timedelta

import pytest

from cronty.timing import Broken, Cron, Interval, Once, Slot, Trigger, preview

BERLIN = "Europe/Berlin"


def lines(trigger: Trigger, after: str, count: int, zone_name: str = BERLIN) -> list[str]:
    slots = preview(trigger, datetime.fromisoformat(after), count, zone_name)
    return [f"{slot.local:%d %H:%M} {slot.utc:%H:%M}" + (f" {slot.note}" if slot.note else "") for slot in slots]


def test_slots_are_shown_in_local_time_and_utc() -> None:
    (slot,) = preview(Cron("30 8 * * MON-FRI", BERLIN), datetime(2027, 1, 8, 20, tzinfo=UTC), 1, BERLIN)
    assert slot == Slot(datetime.fromisoformat("2027-01-11T08:30+01:00"), datetime(2027, 1, 11, 7, 30, tzinfo=UTC))
    assert str(slot.local) == "2027-01-11 08:30:00+01:00"
    assert slot.utc.tzinfo is UTC


def test_a_time_in_the_gap_is_said_to_have_moved() -> None:
    assert lines(Cron("30 2 * * *", BERLIN), "2027-03-27T00:00Z", 3) == [
        "27 02:30 01:30",
        "28 03:00 01:00 clocks go forward that night: moved from 02:30 to 03:00",
        "29 02:30 00:30",
    ]


def test_a_time_that_comes_twice_is_said_to_be_the_first_pass() -> None:
    assert lines(Cron("30 2 * * *", BERLIN), "2027-10-30T00:00Z", 3) == [
        "30 02:30 00:30",
        "31 02:30 00:30 clocks go back: first pass of 02:30",
        "01 02:30 01:30 an hour later in UTC than the one before",
    ]


def test_both_passes_are_told_apart() -> None:
    assert lines(Cron("*/30 * * * *", BERLIN), "2027-10-30T23:30Z", 6) == [
        "31 02:00 00:00 clocks go back: first pass of 02:00",
        "31 02:30 00:30 clocks go back: first pass of 02:30",
        "31 02:00 01:00 clocks go back: second pass of 02:00",
        "31 02:30 01:30 clocks go back: second pass of 02:30",
        "31 03:00 02:00",
        "31 03:30 02:30",
    ]


def test_the_same_local_time_is_another_one_in_utc() -> None:
    assert lines(Cron("0 9 * * *", BERLIN), "2027-03-27T00:00Z", 3) == [
        "27 09:00 08:00",
        "28 09:00 07:00 an hour earlier in UTC than the one before",
        "29 09:00 07:00",
    ]


def test_a_period_of_a_day_moves_on_the_clock() -> None:
    daily = Interval(timedelta(days=1), datetime(2027, 3, 1, 8, tzinfo=UTC))
    assert lines(daily, "2027-03-27T00:00Z", 2) == [
        "27 09:00 08:00",
        "28 10:00 08:00 an hour later on the clock than the one before",
    ]


def test_a_short_period_says_that_clocks_went_forward() -> None:
    hourly = Interval(timedelta(hours=1), datetime(2027, 3, 1, tzinfo=UTC))
    assert lines(hourly, "2027-03-27T23:30Z", 3) == [
        "28 01:00 00:00",
        "28 03:00 01:00 clocks went forward an hour",
        "28 04:00 02:00",
    ]


def test_half_an_hour_on_lord_howe() -> None:
    assert lines(Cron("0 9 * * *", "Australia/Lord_Howe"), "2027-10-02T00:00Z", 2, "Australia/Lord_Howe") == [
        "03 09:00 22:00",
        "04 09:00 22:00",
    ]
    assert lines(Cron("0 9 * * *", "Australia/Lord_Howe"), "2027-10-01T00:00Z", 2, "Australia/Lord_Howe") == [
        "02 09:00 22:30",
        "03 09:00 22:00 30 minutes earlier in UTC than the one before",
    ]


def test_a_cron_may_be_looked_at_from_another_zone() -> None:
    assert lines(Cron("30 2 * * *", BERLIN), "2027-03-27T12:00Z", 1, "Asia/Kolkata") == [
        "28 06:30 01:00 clocks go forward that night: moved from 02:30 to 03:00"
    ]


def test_there_may_be_fewer_slots_than_asked_for() -> None:
    once = Once(datetime(2027, 1, 31, 8, tzinfo=UTC))
    assert lines(once, "2027-01-01T00:00Z", 5) == ["31 09:00 08:00"]
    assert lines(once, "2027-02-01T00:00Z", 5) == []
    assert lines(Broken({}, "why"), "2027-02-01T00:00Z", 5) == []
    assert lines(once, "2027-01-01T00:00Z", 0) == []


@pytest.mark.parametrize("count", [1, 7, 50])
def test_every_slot_is_later_than_the_one_before(count: int) -> None:
    slots = preview(Cron("*/20 * * * *", BERLIN), datetime(2027, 10, 30, 20, tzinfo=UTC), count, BERLIN)
    assert len(slots) == count
    assert [slot.utc for slot in slots] == sorted({slot.utc for slot in slots})
    assert all(slot.local.astimezone(UTC) == slot.utc for slot in slots)
