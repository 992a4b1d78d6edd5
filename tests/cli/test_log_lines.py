"""A line in the log is one line, of a bounded length, and JSON where that is asked for."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from cronty.actions.tasks import CurrentRun, Registry, performing
from cronty.cli.log_lines import FORMATS, LONGEST
from cronty.scheduler import Scheduler
from cronty.tracing import within
from tests.conftest import HandClock, Hands, add
from tests.spans import GIVEN


def record(message: str, *, failing: bool = False) -> logging.LogRecord:
    fault: Any = None
    if failing:
        try:
            raise ValueError("one\ntwo")
        except ValueError:
            fault = sys.exc_info()
    return logging.LogRecord("cronty", logging.WARNING, "x.py", 1, message, (), fault)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("failing", [False, True])
def test_whatever_is_in_it_it_is_one_line(form: str, failing: bool) -> None:
    said = FORMATS[form]().format(record("a\nb\r\x1b[31m\u2028c \ud800" + "x" * 100_000, failing=failing))
    assert len(said.splitlines()) == 1
    assert "\x1b" not in said
    assert len(said) < 4 * LONGEST
    assert ("ValueError" in said) is failing


def test_json_says_the_same_by_name() -> None:
    line = json.loads(FORMATS["json"]().format(record("it failed", failing=True)))
    assert (line["level"], line["logger"], line["message"]) == ("WARNING", "cronty", "it failed")
    assert line["trace"].endswith("ValueError: one\ntwo")
    assert line["at"].endswith("+00:00")


def test_json_names_the_run_and_the_span_in_which_it_was_logged() -> None:
    run = CurrentRun(1024, 7168, 7, datetime(2027, 3, 1, 8, tzinfo=UTC), 2, task="backup")
    with performing(run), within(GIVEN):
        line = json.loads(FORMATS["json"]().format(record("half done")))
    known = {name: line[name] for name in ("run_id", "job", "attempt", "task")}
    assert known == {"run_id": run.run_id, "job": "7", "attempt": "2", "task": "backup"}
    assert f"00-{line['trace_id']}-{line['span_id']}-01" == GIVEN
    outside = json.loads(FORMATS["json"]().format(record("outside")))
    assert outside.keys() == {"at", "level", "logger", "message"}


async def test_a_failed_attempt_is_one_line_without_a_trace(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    await add(door, task="fail")
    clock.advance(minutes=1)
    with caplog.at_level(logging.INFO, "cronty.tasks"):
        await hands.all()
    [line] = [one for one in caplog.records if "fail" in one.getMessage()]
    assert line.exc_info is None
    assert "attempt 1: ValueError: no luck" in line.getMessage()
