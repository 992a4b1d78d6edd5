"""Calendars agree with an independent look at every minute and day, above all where clocks change."""

import json
import random
from datetime import UTC, datetime, timedelta

from cronty.timing import zone
from tests.timing.__main__ import Window, changes, difference
from tests.timing.calendar_oracle import fires
from tests.timing.calendars import calendars, compare
from tests.timing.oracle import walk


def test_calendars_agree_with_the_oracle_at_every_change_of_six_years_under_every_policy() -> None:
    report = compare(cases=20_000, seed=1)
    assert report.differences == []
    assert report.cases == 20_000
    assert len(report.changes) == len(changes()) > 250
    assert min(report.kinds["moved by a gap"], report.kinds["moved by a calendar"]) > 500
    assert report.kinds["fires"] > 8000


def test_calendars_agree_with_the_oracle_over_weeks() -> None:
    chance = random.Random(2)
    for _ in range(8):
        start = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=chance.randint(0, 2000))
        walked = walk(zone("Europe/Berlin"), start, start + timedelta(days=50))
        window = Window("Europe/Berlin", start + timedelta(days=25))
        made = calendars(chance, window)
        for calendar, text in (next(made) for _ in range(15)):
            assert difference(calendar, walked, fires(text, walked), chance) is None, text


def test_the_oracle_knows_a_gap_an_overlap_and_a_day_off() -> None:
    def at(said: dict[str, object], start: datetime) -> list[str]:
        walked = walk(zone("Europe/Berlin"), start, start + timedelta(days=4))
        return [str(slot) for slot in fires(json.dumps(said), walked)]

    spring, autumn = datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)
    fixed, span = {"times": ["02:30"], "days": [29]}, {"times": ["02:00-02:59/30"], "days": [25, 29]}
    assert at({"rules": [fixed]}, spring) == ["2026-03-29 01:00:00+00:00"]
    assert at({"rules": [fixed], "gap": "skip"}, spring) == []
    assert at({"rules": [span]}, spring) == []
    assert len(at({"rules": [span]}, autumn)) == 4
    noon = {"times": ["12:00"], "weekdays": ["SA"]}
    assert at({"rules": [noon], "instead": "previous_business_day"}, autumn - timedelta(days=1)) == []
    assert at({"rules": [noon], "instead": "next_business_day", "off": {"2026-10-26": ""}}, autumn) == [
        "2026-10-27 11:00:00+00:00"
    ]
