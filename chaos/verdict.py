"""Holds what the database says and what the workers left as traces against what was to happen."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import asyncpg
import orjson

from chaos.load import EPOCH, run_id

type Figures = dict[str, Any]

MUST_BE_ZERO: Final = (
    "lost", "unfinished", "unexpected", "double_outcomes", "unlabelled_repeats", "done_without_start",
    "started_unknown", "outcome_of_another_attempt", "settled_and_superseded", "early", "unaccounted", "set_aside",
    "failed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trace:
    """One start of a task; `at` is the machine's monotonic clock, `epoch` what a failover raises."""

    run_id: str
    attempt: int
    pid: int
    at: float
    epoch: int = 0

    @property
    def slot(self) -> datetime:
        return EPOCH + timedelta(microseconds=int(self.run_id.rsplit("_", 1)[1]))


def read_traces(folder: Path) -> list[Trace]:
    traces: list[Trace] = []
    for path in folder.glob("*.trace"):
        for line in path.read_text().splitlines():
            run, attempt, pid, at, *epoch = line.split()
            traces.append(Trace(run, int(attempt), int(pid), float(at), *map(int, epoch)))
    return traces


async def examine(
    url: str,
    folder: Path,
    expected: set[str],
    elsewhere: Sequence[Trace] = (),
    said: Callable[[Any], int] = itemgetter(0),
    history_of: str | None = None,
) -> Figures:
    """All figures of a run that is over; those in MUST_BE_ZERO are the promises.

    `elsewhere` are starts that left no trace in the folder; `said` finds the attempt in a result. Runs of the owner
    `history_of` were there before it began.
    """
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "select job_id, scheduled_for, state::text, attempt, result::text, started_at < scheduled_for as early"
            " from cronty.runs"
            " where owner_id is distinct from (select id from cronty.owners where name = $1)",
            history_of,
        )
        attempts = await connection.fetch("select job_id, scheduled_for, attempt, outcome from cronty.attempts")
        unaccounted: int = await connection.fetchval("select count(*) from cronty.slots_unaccounted")
        set_aside: int = await connection.fetchval("select count(*) from cronty.jobs where state = 'set_aside'")
    finally:
        await connection.close()
    runs = {run_id(row["job_id"], row["scheduled_for"]): row for row in rows}
    traces = [*read_traces(folder), *elsewhere]
    return {
        "expected": len(expected),
        "unaccounted": unaccounted,
        "set_aside": set_aside,
        "double_outcomes": len(rows) - len(runs),
        **_of_runs(runs, expected),
        **_of_attempts(runs, attempts),
        **_of_traces(runs, traces, expected, said),
    }


def _of_runs(runs: Mapping[str, asyncpg.Record], expected: set[str]) -> Figures:
    states = Counter(str(row["state"]) for row in runs.values())
    return {
        "lost": len(expected - runs.keys()),
        "unexpected": len(runs.keys() - expected),
        "unfinished": states["waiting"] + states["running"],
        "done": states["done"],
        "failed": sum(states[name] for name in ("failed", "cancelled", "skipped", "coalesced", "missed")),
        "quarantined": states["quarantined"],
        "early": sum(bool(row["early"]) for row in runs.values()),
    }


def _of_attempts(runs: Mapping[str, asyncpg.Record], attempts: list[asyncpg.Record]) -> Figures:
    outcomes = Counter(str(row["outcome"]) for row in attempts)
    both = 0
    for row in attempts:
        run = runs.get(run_id(row["job_id"], row["scheduled_for"]))
        if run is not None and run["state"] in ("done", "failed", "cancelled"):
            both += row["attempt"] >= run["attempt"]
    return {
        "attempts_lost": outcomes["lost"],
        "attempts_superseded": outcomes["superseded"],
        "attempts_failed": outcomes["failed"],
        "settled_and_superseded": both,
    }


def _of_traces(
    runs: Mapping[str, asyncpg.Record], traces: list[Trace], expected: set[str], said: Callable[[Any], int]
) -> Figures:
    starts = Counter((trace.run_id, trace.attempt) for trace in traces)
    started = {trace.run_id for trace in traces}
    foreign = 0
    for name, row in runs.items():
        if row["state"] == "done":
            attempt = said(orjson.loads(row["result"]))
            foreign += attempt != row["attempt"] or (name, row["attempt"]) not in starts
    return {
        "starts": len(traces),
        "repeats": len(traces) - len(started),
        "unlabelled_repeats": sum(count - 1 for count in starts.values()),
        "done_without_start": sum(row["state"] == "done" and name not in started for name, row in runs.items()),
        "quarantined_without_start": sum(
            row["state"] == "quarantined" and name not in started for name, row in runs.items()
        ),
        "started_unknown": len(started - expected),
        "outcome_of_another_attempt": foreign,
    }


def broken(figures: Figures, *more: str) -> list[str]:
    """Which promises don't hold: figures that should be 0 and aren't."""
    return [name for name in (*MUST_BE_ZERO, *more) if figures.get(name)]
