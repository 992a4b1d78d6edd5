"""Real days on which clocks change, and other days worth knowing."""

from datetime import UTC, datetime, timedelta

import pytest

from cronty.timing import Cron, zone

TICK = timedelta(microseconds=1)


def local_slots(expression: str, name: str, day: str, days: int = 1) -> list[str]:
    """The slots of a local day as the wall shows them; the offset tells the passes of an overlap apart."""
    start = datetime.fromisoformat(day).replace(tzinfo=zone(name))
    end = (start + timedelta(days=days)).astimezone(UTC) - TICK
    cron, found = Cron(expression, name), list[str]()
    slot = cron.after(start.astimezone(UTC) - TICK)
    while slot is not None and slot <= end:
        assert slot.tzinfo is UTC
        found.append(slot.astimezone(zone(name)).strftime("%d %H:%M%z"))
        slot = cron.after(slot)
    return found


@pytest.mark.parametrize(
    ("expression", "name", "day", "expected"),
    [
        # A gap: fixed times move to its end, together, and a time named there anyway is not doubled.
        ("30 2 * * *", "Europe/Berlin", "2026-03-29", ["29 03:00+0200"]),
        ("0,15,30,45 2 * * *", "Europe/Berlin", "2026-03-29", ["29 03:00+0200"]),
        ("30 2,3 * * *", "Europe/Berlin", "2026-03-29", ["29 03:00+0200", "29 03:30+0200"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-29", ["29 03:00+0200"]),
        ("0 3 * * *", "Europe/Berlin", "2026-03-29", ["29 03:00+0200"]),
        ("30 2 * * *", "America/New_York", "2026-03-08", ["08 03:00-0400"]),
        # A gap: wildcards get nothing extra.
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-29", []),
        (
            "*/30 1-3 * * *",
            "Europe/Berlin",
            "2026-03-29",
            ["29 01:00+0100", "29 01:30+0100", "29 03:00+0200", "29 03:30+0200"],
        ),
        # An overlap: fixed times fire in the first pass only.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25", ["25 02:30+0200"]),
        ("30 1 * * *", "America/New_York", "2026-11-01", ["01 01:30-0400"]),
        # An overlap: wildcards follow real minutes.
        (
            "*/30 2 * * *",
            "Europe/Berlin",
            "2026-10-25",
            ["25 02:00+0200", "25 02:30+0200", "25 02:00+0100", "25 02:30+0100"],
        ),
        # Half an hour of daylight saving time.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04", ["04 02:30+1100"]),
        ("45 2 * * *", "Australia/Lord_Howe", "2026-10-04", ["04 02:45+1100"]),
        ("*/20 2 * * *", "Australia/Lord_Howe", "2026-10-04", ["04 02:40+1100"]),
        ("*/10 23 * * *", "Australia/Lord_Howe", "2026-10-04", [f"04 23:{each}0+1100" for each in range(6)]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-05", ["05 01:45+1100"]),
        (
            "*/15 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-05",
            [
                "05 01:00+1100",
                "05 01:15+1100",
                "05 01:30+1100",
                "05 01:45+1100",
                "05 01:30+1030",
                "05 01:45+1030",
            ],
        ),
        # Two hours of it.
        ("30 1 * * *", "Antarctica/Troll", "2026-03-29", ["29 03:00+0200"]),
        ("0 1,2,4 * * *", "Antarctica/Troll", "2026-03-29", ["29 03:00+0200", "29 04:00+0200"]),
        ("30 1,2 * * *", "Antarctica/Troll", "2026-10-25", ["25 01:30+0200", "25 02:30+0200"]),
        (
            "30 * * * *",
            "Antarctica/Troll",
            "2026-03-29",
            ["29 00:30+0000"] + [f"29 {each:02}:30+0200" for each in range(3, 24)],
        ),
        # Standard time in Ramadan: clocks go back in February and forward in March.
        ("30 2 * * *", "Africa/Casablanca", "2026-02-15", ["15 02:30+0100"]),
        ("30 2 * * *", "Africa/Casablanca", "2026-03-22", ["22 03:00+0100"]),
        # Midnight itself is skipped in some places.
        ("0 0 * * *", "America/Santiago", "2026-09-06", ["06 01:00-0300"]),
        ("@daily", "Africa/Cairo", "2026-04-24", ["24 01:00+0300"]),
    ],
)
def test_a_day_on_which_clocks_change(expression: str, name: str, day: str, expected: list[str]) -> None:
    assert local_slots(expression, name, day) == expected


def test_a_day_that_never_was_runs_at_its_end() -> None:
    # Samoa crossed the date line: 29 December 2011 was followed by the 31st.
    assert local_slots("0 9 * * *", "Pacific/Apia", "2011-12-29", days=3) == [
        "29 09:00-1000",
        "31 00:00+1400",
        "31 09:00+1400",
    ]
    assert local_slots("0 */12 * * *", "Pacific/Apia", "2011-12-29", days=3) == [
        "29 00:00-1000",
        "29 12:00-1000",
        "31 00:00+1400",
        "31 12:00+1400",
    ]


def test_the_answer_is_later_even_inside_a_repeated_hour() -> None:
    second_half_past_three = datetime(2021, 10, 31, 1, 30, tzinfo=UTC)
    assert Cron("45 3 * * *", "Europe/Riga").after(second_half_past_three) == datetime(2021, 11, 1, 1, 45, tzinfo=UTC)
    assert Cron("*/45 3 * * *", "Europe/Riga").after(second_half_past_three) == datetime(
        2021, 10, 31, 1, 45, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 L * *", ["2026-01-31", "2026-02-28", "2026-03-31"]),
        ("0 0 LW * *", ["2026-02-27", "2026-03-31", "2026-04-30"]),
        ("0 0 * * 5L", ["2026-02-27", "2026-03-27", "2026-04-24"]),
        ("0 0 * * friL", ["2026-02-27", "2026-03-27", "2026-04-24"]),
        ("0 0 * * MON#2", ["2026-02-09", "2026-03-09", "2026-04-13"]),
        ("0 0 * * 7", ["2026-02-01", "2026-02-08", "2026-02-15"]),
        ("0 0 * * sat-sun", ["2026-01-31", "2026-02-01", "2026-02-07"]),
        ("0 0 * * SUN-MON", ["2026-02-01", "2026-02-02", "2026-02-08"]),
        ("0 0 13 * FRI", ["2026-02-06", "2026-02-13", "2026-02-20"]),
        ("0 0 */13 * FRI", ["2026-02-27", "2026-03-27", "2026-05-01"]),
        ("0 0 29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 0 20-20/3 * *", ["2026-02-20", "2026-03-20", "2026-04-20"]),
        ("0 0 31 2 MON", ["2026-02-02", "2026-02-09", "2026-02-16"]),
        ("@monthly", ["2026-02-01", "2026-03-01", "2026-04-01"]),
        ("@Weekly", ["2026-02-01", "2026-02-08", "2026-02-15"]),
        ("@yearly", ["2027-01-01", "2028-01-01", "2029-01-01"]),
        ("  0 \t 0 1 jan *  ", ["2027-01-01", "2028-01-01", "2029-01-01"]),
    ],
)
def test_which_days_an_expression_names(expression: str, expected: list[str]) -> None:
    cron, moment, found = Cron(expression), datetime(2026, 1, 30, 12, tzinfo=UTC), list[str]()
    while len(found) < len(expected):
        slot = cron.after(moment)
        assert slot is not None
        found.append(slot.date().isoformat())
        moment = slot
    assert found == expected


def test_a_leap_day_is_found_across_a_century_without_one() -> None:
    found = Cron("0 0 29 2 *").after(datetime(2096, 2, 29, tzinfo=UTC))
    assert found == datetime(2104, 2, 29, tzinfo=UTC)


def test_the_ends_of_the_calendar_are_answered_too() -> None:
    earliest, latest = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for name in ("UTC", "America/New_York", "Pacific/Kiritimati"):
        for expression in ("* * * * *", "0 0 29 2 *", "30 2 * * *"):
            cron = Cron(expression, name)
            first = cron.after(earliest)
            assert first is not None
            assert first > earliest
            assert cron.after(latest) is None
            assert cron.last(latest - timedelta(days=4000), latest) is not None
            assert cron.count(latest, earliest) == 0
            assert cron.last(latest, earliest) is None


def test_a_cron_is_a_value() -> None:
    assert Cron("0 9 * * *", "Asia/Calcutta") == Cron("0 9 * * *", "Asia/Kolkata")
    assert len({Cron("0 9 * * *"), Cron("0 9 * * *", "UTC"), Cron("0 9 * * *", "Etc/UTC")}) == 1
    assert repr(Cron("0 9 * * *")) == "Cron(expression='0 9 * * *', zone='UTC', gap='run_after', overlap='first')"
    with pytest.raises(AttributeError):
        Cron("0 9 * * *").expression = "0 10 * * *"  # pyright: ignore[reportAttributeAccessIssue]
