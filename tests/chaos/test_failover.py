"""What the failover scenario expects and what it calls broken; the cluster itself needs programs that CI hasn't."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chaos.failover.events import EVENTS
from chaos.failover.load import Load
from chaos.failover.plan import Plan
from chaos.failover.verdict import broken

START = datetime(2027, 3, 1, 8, 0, 30, tzinfo=UTC)

KEPT: dict[str, Any] = {
    "lost": 0, "never_started": 0, "failed_though_succeeded": 0, "unfinished": 0, "struck_off": 0, "tracebacks": 0,
    "unlabelled_repeats": 0, "outcome_of_another_attempt": 0, "trouble": None, "silence": 33.0, "primary_after": 29.0,
    "log_lines": 50,
}  # fmt: skip


def test_events_may_be_repeated() -> None:
    assert Plan(events="kill:2,freeze").kinds() == ["kill", "kill", "freeze"]
    assert set(Plan().kinds()) <= set(EVENTS)


def test_slots_of_a_window_are_neither_missed_nor_counted_twice() -> None:
    load = Load(60, START)
    middle, end = START + timedelta(seconds=95), START + timedelta(seconds=180)
    first, second = load.slots(START, middle), load.slots(middle, end)
    assert first.isdisjoint(second)
    assert first | second == load.slots(START, end)
    crons = [name for name in first | second if name.startswith("run_20_")]
    assert len(crons) == 3, "08:01, 08:02 and 08:03"


@pytest.mark.parametrize(
    ("change", "sync", "found"),
    [
        ({}, True, []),
        ({"lost": 1}, True, ["lost"]),
        ({"failed_though_succeeded": 1}, False, ["failed_though_succeeded"]),
        ({"unlabelled_repeats": 353}, True, ["unlabelled_repeats"]),
        ({"unlabelled_repeats": 353}, False, ["unlabelled_repeats"]),
        ({"silence": 34.5}, True, ["silence"]),
        ({"log_lines": 51, "tracebacks": 1}, True, ["tracebacks", "log_lines"]),
        ({"trouble": "there is no primary", "primary_after": None, "silence": 2.0}, True, ["trouble"]),
    ],
)
def test_a_broken_promise_is_named(change: dict[str, Any], sync: bool, found: list[str]) -> None:
    assert broken(KEPT | change, Plan(sync=sync)) == found
