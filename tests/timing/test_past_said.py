"""Times that are past are read as people say them."""

from datetime import UTC, datetime

import pytest

from cronty.timing import BadTrigger
from cronty.timing.past_said import read_past_bound

NOW = datetime(2026, 11, 16, 14, 0, tzinfo=UTC)
"""A Monday."""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-11-01", "2026-11-01T00:00", "2026-11-01T23:59:59.999999"),
        ("2026-11-01 09:00", "2026-11-01T09:00", "2026-11-01T09:00"),
        ("yesterday", "2026-11-15T00:00", "2026-11-15T23:59:59.999999"),
        ("yesterday 9:00", "2026-11-15T09:00", "2026-11-15T09:00"),
        ("9:00", "2026-11-16T09:00", "2026-11-16T09:00"),
        ("friday", "2026-11-13T00:00", "2026-11-13T23:59:59.999999"),
        ("last friday", "2026-11-13T00:00", "2026-11-13T23:59:59.999999"),
        ("8 November", "2026-11-08T00:00", "2026-11-08T23:59:59.999999"),
        ("1 December", "2025-12-01T00:00", "2025-12-01T23:59:59.999999"),
        ("today", "2026-11-16T00:00", "2026-11-16T23:59:59.999999"),
        ("tomorrow", "2026-11-17T00:00", "2026-11-17T23:59:59.999999"),
        ("3 days ago", "2026-11-13T14:00", "2026-11-13T14:00"),
        ("2 hours ago", "2026-11-16T12:00", "2026-11-16T12:00"),
    ],
)
def test_a_bound_that_is_past_is_read(text: str, first: str, last: str) -> None:
    assert read_past_bound(text, "UTC", NOW, last=False) == datetime.fromisoformat(first).replace(tzinfo=UTC)
    assert read_past_bound(text, "UTC", NOW, last=True) == datetime.fromisoformat(last).replace(tzinfo=UTC)


def test_a_day_is_one_of_the_zone() -> None:
    assert read_past_bound("2026-11-01", "Europe/Berlin", NOW, last=False) == datetime(2026, 10, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize("text", ["the other day", "blah ago", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadTrigger):
        read_past_bound(text, "UTC", NOW, last=False)
