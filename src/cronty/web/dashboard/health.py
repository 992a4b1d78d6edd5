"""A job's health at a glance: its last ten runs as bars, and one word about it where somebody should look."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cronty.jobs.job import UNTAKEN, Job, failing_words
from cronty.jobs.overview import LatestRun
from cronty.web.dashboard.formats import rough
from cronty.web.dashboard.verdicts import LABELS, ORDER, kind_of

SHOWN: Final = 10
STEP: Final = 8
_FULL: Final = {"done": ("done", 2, 12), "failed": ("failed", 0, 16), "quarantined": ("failed", 0, 16)}
_EDGE: Final = {"missed": "missed", "running": "running", "waiting": "edge"}


@dataclass(frozen=True, slots=True)
class Bar:
    kind: str
    x: float
    y: float
    width: float
    height: float
    round: float = 1.5


@dataclass(frozen=True, slots=True)
class Health:
    bars: list[Bar]
    title: str
    done: int
    of: int
    width: int = SHOWN * STEP - 3
    box: str = f"0 0 {SHOWN * STEP - 3} 16"


@dataclass(frozen=True, slots=True)
class State:
    """What is unusual about a job: a mark, words, and the tone of its row."""

    verdict: str
    words: str
    tone: str


def draw_health(runs: Sequence[LatestRun]) -> Health:
    """Oldest on the left; a job with fewer runs has dots in place of those it hasn't had."""
    latest = list(runs[:SHOWN])[::-1]
    empty = SHOWN - len(latest)
    bars = [Bar("none", place * STEP + 1.5, 12, 2, 2, 1) for place in range(empty)]
    for place, run in enumerate(latest, empty):
        bars += _bars(run.verdict, place * STEP)
    counts = Counter(run.verdict for run in latest)
    said = ", ".join(f"{counts[one]} {LABELS[one].lower()}" for one in ORDER if counts[one]) or "no runs yet"
    return Health(bars, f"Last runs: {said}", counts["done"], len(latest))


def draw_key(verdict: str) -> Health:
    """One bar, for a legend."""
    return Health(_bars(verdict, 0), LABELS.get(verdict, verdict), 0, 0, 5, "0 0 5 16")


def _bars(verdict: str, x: float) -> list[Bar]:
    if verdict in _FULL:
        kind, y, height = _FULL[verdict]
        return [Bar(kind, x, y, 5, height)]
    if verdict in _EDGE:
        edge = Bar(_EDGE[verdict], x + 0.6, 2.6, 3.8, 10.8, 1.2)
        return [edge, Bar("waiting", x, 8, 5, 6)] if verdict == "waiting" else [edge]
    return [Bar("low", x, 10, 5, 4)]


def state_of(job: Job, runs: Sequence[LatestRun], now: datetime) -> State | None:
    """What a person should know of a job at a glance; None in the normal case."""
    if job.state == "paused":
        return State("paused", "Paused" if job.reason is None else f"Paused: {job.reason}", "off")
    if job.state == "set_aside":
        return State("quarantined", "Held back", "bad")
    if job.state == "cancelled":
        return State("cancelled", "Ended", "off")
    running = next((run for run in runs if run.verdict in ("running", "waiting")), None)
    if running is not None and job.in_flight:
        return _in_flight(job, running, now)
    if job.failures_in_row:
        words = f"Failed {job.failures_in_row} times in a row" if job.failures_in_row > 1 else "Failed last time"
        return State("failed", words if job.next_slot else "Failed", "bad")
    if job.next_slot is None:
        return State("done", "Finished", "off")
    return None


def _in_flight(job: Job, run: LatestRun, now: datetime) -> State:
    if job.retry_error is not None:
        return State("failed", failing_words(job.action.task), "bad")
    if run.verdict == "waiting" and kind_of(job.action.task) == "prompt":
        return State(
            "waiting", f"Waiting for {job.action.agent or 'an agent'}, {rough(now - run.scheduled_for)}", "wait"
        )
    if job.untaken_since is not None:
        return State("waiting", f"{UNTAKEN}, {rough(now - job.untaken_since)}", "wait")
    if run.verdict == "waiting":
        return State("waiting", "Waiting", "wait")
    return State("running", f"Running, {rough(now - (run.started_at or run.scheduled_for))}", "live")
