"""Holds what the new primary says and what the workers left as traces against what was to happen."""

import time
from collections import Counter
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

import asyncpg
import orjson

from chaos.failover.cluster import Cluster, Node
from chaos.failover.load import Load
from chaos.failover.plan import Plan
from chaos.failover.processes import Processes
from chaos.failover.watch import Watch
from chaos.load import run_id
from chaos.verdict import Figures, Trace, read_traces

ALWAYS_ZERO: Final = (
    "lost", "never_started", "failed_though_succeeded", "unlabelled_repeats", "unfinished", "struck_off", "tracebacks",
)  # fmt: skip
ZERO_IF_SYNCHRONOUS: Final = ("outcome_of_another_attempt",)
MAX_LOG_LINES: Final = 50
MAX_SILENCE: Final = 5.0
"""Seconds without any start of a task beyond the moment at which there was a node to write to."""

UNSETTLED: Final = (
    "select exists (select from cronty.runs where scheduled_for < $1 and finished_at is null)"
    " or exists (select from cronty.due where next_at < $1)"
)


def broken(figures: Figures, plan: Plan) -> list[str]:
    """Which promises an event broke."""
    names = (*ALWAYS_ZERO, *ZERO_IF_SYNCHRONOUS) if plan.sync else ALWAYS_ZERO
    found = [name for name in names if figures[name]]
    if figures["trouble"] is not None:
        found.append("trouble")
    if figures["silence"] > (figures["primary_after"] or 0) + MAX_SILENCE:
        found.append("silence")
    if figures["log_lines"] > MAX_LOG_LINES:
        found.append("log_lines")
    return found


async def examine(
    cluster: Cluster, processes: Processes, load: Load, watch: Watch, window: tuple[datetime, datetime],
    event_at: float, old: Node,
) -> Figures:  # fmt: skip
    """All figures about the slots of a window that an event lies in."""
    primary = await cluster.primary()
    rows = await primary.ask(
        "select job_id, scheduled_for, state::text, attempt, result::text, error, reason from cronty.runs"
        " where scheduled_for >= $1 and scheduled_for < $2", *window, timeout=30,
    )  # fmt: skip
    runs = {run_id(row["job_id"], row["scheduled_for"]): row for row in rows}
    expected = load.slots(*window)
    everything = read_traces(processes.traces)
    traces = [one for one in everything if one.run_id in expected]
    successor = watch.primary_since(event_at, old.name)
    return {
        "slots": len(expected),
        "primary_after": None if successor is None else round(successor - event_at, 1),
        **_of_runs(runs, expected, traces),
        **_of_time(traces, everything, event_at),
        **watch.figures(event_at),
    }


def _of_runs(runs: dict[str, asyncpg.Record], expected: set[str], traces: list[Trace]) -> Figures:
    starts = Counter((one.run_id, one.attempt) for one in traces)
    labels = Counter((one.run_id, one.attempt, one.epoch) for one in traces)
    started = {one.run_id for one in traces}
    ended_badly = [
        row for name, row in runs.items()
        if row["state"] in ("failed", "cancelled", "quarantined") and name in started
    ]  # fmt: skip
    foreign = 0
    for name, row in runs.items():
        if row["state"] == "done":
            attempt: int = orjson.loads(row["result"])[0]
            foreign += attempt != row["attempt"] or (name, attempt) not in starts
    return {
        "lost": len(expected - runs.keys()),
        "never_started": len(expected - started),
        "unfinished": sum(row["state"] in ("waiting", "running") for row in runs.values()),
        "failed_though_succeeded": len(ended_badly),
        "errors": Counter(str(row["error"] or row["reason"])[:90] for row in ended_badly).most_common(3),
        "repeats": len(traces) - len(started),
        "unlabelled_repeats": sum(count - 1 for count in labels.values()),
        "outcome_of_another_attempt": foreign,
    }


def _of_time(traces: list[Trace], everything: list[Trace], event_at: float) -> dict[str, Any]:
    firsts: dict[str, Trace] = {}
    for one in sorted(traces, key=lambda trace: trace.at, reverse=True):
        firsts[one.run_id] = one
    late = {one.at: one.at - one.slot.timestamp() for one in firsts.values()}
    too_late = [at for at, by in late.items() if at > event_at and by > 1]
    moments = [*sorted(one.at for one in everything if one.at > event_at - 2), time.time()]
    silence, begins = max(((after - before, before) for before, after in pairwise(moments)), default=(0.0, event_at))
    return {
        "silence": round(silence, 1),
        "silence_from": round(begins - event_at, 1),
        "on_time_after": round(max(too_late) - event_at, 1) if too_late else 0.0,
        "latest": round(max(late.values(), default=0.0), 2),
    }
