"""Cron agrees with an independent minute-by-minute matcher, above all where clocks change."""

import random
from datetime import UTC, date, datetime, timedelta

from cronty.timing import Cron, zone
from tests.timing.__main__ import changes, compare, days, difference, list_or_range, some_weeks
from tests.timing.oracle import fires, is_in_week, walk


def test_cron_agrees_with_the_oracle_at_every_change_of_six_years_under_every_policy() -> None:
    report = compare(cases=25_000, seed=1)
    assert report.differences == []
    assert report.cases == 25_000
    assert len(report.changes) == len(changes()) > 250
    assert report.in_weeks > 2000
    assert min(report.kinds["fixed time in a gap"], report.kinds["fixed time in an overlap"]) > 500


def test_cron_agrees_with_the_oracle_where_nothing_changes() -> None:
    chance = random.Random(2)
    for _ in range(5):
        start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=chance.randint(0, 2000))
        walked = walk(zone("UTC"), start, start + timedelta(days=33))
        for _ in range(20):
            expression = f"{list_or_range(chance, 0, 59)} {list_or_range(chance, 0, 23)} {days(chance, start)}"
            assert difference(Cron(expression), walked, fires(expression, walked), chance) is None


def test_cron_agrees_with_the_oracle_on_which_weeks_are_meant() -> None:
    chance = random.Random(3)
    for _ in range(5):
        start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=chance.randint(0, 2000))
        walked = walk(zone("Europe/Berlin"), start, start + timedelta(days=60))
        for _ in range(20):
            expression = (
                f"{list_or_range(chance, 0, 59)} {list_or_range(chance, 0, 23)} * * {some_weeks(chance, start)}"
            )
            cron = Cron(expression, "Europe/Berlin")
            assert difference(cron, walked, fires(expression, walked), chance) is None


def test_the_oracle_knows_which_week_is_which() -> None:
    assert is_in_week("2", date(1970, 1, 1))
    assert is_in_week("2+1", date(1970, 1, 5))
    assert not is_in_week("2", date(1970, 1, 11))
    assert is_in_week("52+51", date(1969, 12, 28))
    weeks = [day for day in (date(2026, 12, 20) + timedelta(days=each) for each in range(28)) if is_in_week("3", day)]
    assert weeks == [date(2026, 12, 21) + timedelta(days=each) for each in range(7)] + [
        date(2027, 1, 11) + timedelta(days=each) for each in range(6)
    ]


def test_the_oracle_knows_a_gap_and_an_overlap() -> None:
    spring = walk(zone("Europe/Berlin"), datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 3, 29, 3, tzinfo=UTC))
    after_gap = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert fires("30 2 * * *", spring) == {after_gap: "2026-03-29 02:30:00"}
    assert fires("0,30 2-3 * * *", spring) == {after_gap: "", after_gap + timedelta(minutes=30): ""}
    assert fires("30 2 * * *", spring, gap="skip") == {}
    assert fires("*/30 2 * * *", spring) == {}
    autumn = walk(zone("Europe/Berlin"), datetime(2026, 10, 25, tzinfo=UTC), datetime(2026, 10, 25, 3, tzinfo=UTC))
    first, second = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert list(fires("30 2 * * *", autumn)) == [first]
    assert list(fires("30 2 * * *", autumn, overlap="both")) == [first, second]
    assert list(fires("30 */2 * * *", autumn)) == [first, second]
