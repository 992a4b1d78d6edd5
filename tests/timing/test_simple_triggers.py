"""One-offs, intervals, and triggers as JSON."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from cronty.timing import BadTrigger, Cron, Interval, Once, from_json, to_json

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def test_a_one_off_has_one_slot() -> None:
    once = Once(NOON)
    assert once.after(NOON - TICK) == NOON
    assert once.after(NOON) is None
    assert once.last(NOON, NOON) == NOON
    assert once.last(NOON + TICK, NOON + TICK) is None
    assert (once.count(NOON, NOON), once.count(NOON - TICK, NOON - TICK)) == (1, 0)


def test_times_are_kept_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    assert Once(datetime(2026, 6, 1, 14, tzinfo=east)) == Once(NOON)
    assert Once(datetime(2026, 6, 1, 14, tzinfo=east)).at.tzinfo is UTC
    assert Interval(timedelta(hours=1), datetime(2026, 6, 1, 14, tzinfo=east)).anchor.tzinfo is UTC


def test_an_interval_begins_at_its_anchor() -> None:
    every = Interval(timedelta(seconds=1.5), NOON)
    assert every.after(NOON - timedelta(days=1)) == NOON
    assert every.after(NOON) == NOON + timedelta(seconds=1.5)
    assert every.last(NOON - timedelta(days=1), NOON - TICK) is None
    assert every.last(NOON, NOON + timedelta(seconds=2.9)) == NOON + timedelta(seconds=1.5)
    assert every.count(NOON - timedelta(days=1), NOON + timedelta(seconds=3)) == 3
    assert every.count(NOON + TICK, NOON + timedelta(seconds=3)) == 2
    assert every.count(NOON + TICK, NOON) == 0


def test_an_interval_ends_with_the_calendar() -> None:
    latest = datetime.max.replace(tzinfo=UTC)
    assert Interval(timedelta(days=3000), NOON).after(latest) is None


@pytest.mark.parametrize("seconds", [0, -5, 0.999999, 86400 * 3654])
def test_an_interval_too_short_or_too_long_is_refused(seconds: float) -> None:
    with pytest.raises(BadTrigger, match=r"Invalid interval: .* from 1 second to 10 years; for example, 900"):
        Interval(timedelta(seconds=seconds), NOON)


def test_a_time_without_offset_is_refused() -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(BadTrigger, match=r"Time without offset: 2026-06-01T12:00:00\. Add one"):
        Once(naive)
    with pytest.raises(BadTrigger, match=r"Time without offset: 2026-06-01T12:00:00\. Add one"):
        Interval(timedelta(hours=1), naive)


@pytest.mark.parametrize(
    ("trigger", "json"),
    [
        (Once(NOON), {"kind": "once", "at": "2026-06-01T12:00:00+00:00"}),
        (
            Interval(timedelta(minutes=15), NOON),
            {"kind": "interval", "seconds": 900, "anchor": "2026-06-01T12:00:00+00:00"},
        ),
        (
            Interval(timedelta(seconds=1.5), NOON),
            {"kind": "interval", "seconds": 1.5, "anchor": "2026-06-01T12:00:00+00:00"},
        ),
        (
            Cron("@daily", "Europe/Berlin"),
            {"kind": "cron", "expression": "@daily", "zone": "Europe/Berlin"},
        ),
    ],
)
def test_a_trigger_as_json(trigger: Once | Interval | Cron, json: dict[str, object]) -> None:
    assert to_json(trigger) == json
    assert from_json(json) == trigger


def test_a_cron_without_zone_is_in_utc() -> None:
    assert from_json({"kind": "cron", "expression": "0 9 * * *"}) == Cron("0 9 * * *", "UTC")


@pytest.mark.parametrize(
    ("json", "text"),
    [
        ({}, "Unknown trigger kind: None. Use"),
        ({"kind": "rrule"}, "Unknown trigger kind: 'rrule'. Use"),
        ({"kind": ["cron"]}, "Unknown trigger kind: ['cron']. Use"),
        ({"kind": "once"}, 'Bad "at" of a once trigger: None. It must be text. Example: {"kind": "once"'),
        ({"kind": "once", "at": "noon"}, "Bad \"at\" of a once trigger: 'noon'. Example: {"),
        ({"kind": "once", "at": "2026-06-01T12:00"}, "Time without offset: 2026-06-01T12:00:00. Add one"),
        ({"kind": "interval", "seconds": "60", "anchor": "2026-06-01T12:00Z"}, 'Bad "seconds"'),
        ({"kind": "interval", "seconds": True, "anchor": "2026-06-01T12:00Z"}, 'Bad "seconds"'),
        ({"kind": "interval", "seconds": 0, "anchor": "2026-06-01T12:00Z"}, "Invalid interval: 0 seconds"),
        ({"kind": "interval", "seconds": 10**400, "anchor": "2026-06-01T12:00Z"}, "Invalid interval: 1000"),
        (
            {"kind": "interval", "seconds": 10**5000, "anchor": "2026-06-01T12:00Z"},
            "Invalid interval: a number with thousands of digits seconds",
        ),
        ({"kind": "once", "at": "9999-12-31T23:59:59Z"}, "Time out of range: 9999-12-31T23:59:59+00:00. Name a time"),
        ({"kind": "once", "at": "0001-01-01T00:00:00+14:00"}, "Time out of range: 0001-01-01T00:00:00+14:00. Name"),
        ({"kind": "interval", "seconds": 1e30, "anchor": "2026-06-01T12:00Z"}, "Invalid interval: 1e+30"),
        (
            {"kind": "interval", "seconds": float("nan"), "anchor": "2026-06-01T12:00Z"},
            "Invalid interval: nan",
        ),
        ({"kind": "cron", "expression": 5}, 'Bad "expression" of a cron trigger: 5. It must be text.'),
        (
            {"kind": "cron", "expression": "@daily", "timezone": "UTC"},
            "Unknown key for a cron trigger: timezone. Example: {",
        ),
    ],
)
def test_bad_json_is_refused_with_an_example(json: dict[str, object], text: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        from_json(json)
    assert str(refused.value).startswith(text)


def test_a_long_value_is_refused_without_repeating_it() -> None:
    for json in (
        {"kind": "x" * 10_000},
        {"kind": "cron", "expression": "@daily", "gap": "x" * 10_000},
        {"kind": "cron", "x" * 10_000: 1},
        {"kind": "once", "at": "x" * 10_000},
    ):
        with pytest.raises(BadTrigger) as refused:
            from_json(dict[str, object](json))
        assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("local", "zone_name", "utc"),
    [
        ("2027-03-28T01:30", "Europe/Berlin", "2027-03-28T00:30"),
        ("2027-03-28T02:30", "Europe/Berlin", "2027-03-28T01:00"),  # jumped over: the jump
        ("2027-10-31T02:30", "Europe/Berlin", "2027-10-31T00:30"),  # comes twice: the first
        ("2027-03-14T02:00", "America/New_York", "2027-03-14T07:00"),
        ("2026-10-04T02:15", "Australia/Lord_Howe", "2026-10-03T15:30"),
    ],
)
def test_a_local_time_is_kept_and_read_back_as_one(local: str, zone_name: str, utc: str) -> None:
    once = Once.at_local(datetime.fromisoformat(local), zone_name)
    assert once.at == datetime.fromisoformat(utc).replace(tzinfo=UTC)
    assert from_json(to_json(once)) == once


@pytest.mark.parametrize("local", [datetime(1, 1, 1), datetime(9999, 12, 31)])  # noqa: DTZ001
def test_a_local_time_at_the_ends_of_the_calendar_is_refused(local: datetime) -> None:
    with pytest.raises(BadTrigger, match="Time out of range"):
        Once.at_local(local, "Europe/Berlin")


def test_a_local_time_follows_the_zone_database_and_not_the_instant_it_once_was() -> None:
    nine = datetime.fromisoformat("2027-05-03T09:00")
    stored = to_json(Once.at_local(nine, "Europe/Berlin")) | {"at": "1999-01-01T00:00:00+00:00"}
    assert from_json(stored).after(datetime(2027, 1, 1, tzinfo=UTC)) == datetime(2027, 5, 3, 7, tzinfo=UTC)
