"""What Prometheus is told about a process and about the installation."""

from collections.abc import Iterable
from importlib.metadata import version
from typing import Final

from cronty import metrics
from cronty.engine.engine import Engine
from cronty.metrics import Metric, Values
from cronty.store.database import Database
from cronty.store.fleet_store import Figures

type Seen = Iterable[tuple[Metric, Values]]


STALE: Final = 15.0
"""Seconds after which a due slot should have been handled; the same as in `cronty doctor`."""


def why_late(figures: Figures | None) -> str | None:
    """Why no engine of this installation does its work, or None."""
    if figures is None or figures.frozen is not None or figures.oldest_overdue < STALE:
        return None
    return f"A job has been due for {figures.oldest_overdue:.0f} s, and no engine fires it."


def metrics_text(figures: Figures | None, engine: Engine | None, pools: dict[str, Database]) -> str:
    """The counters and the state of this process; and the installation's figures, unless the database is away."""
    fleet = () if figures is None else _fleet(figures)
    return metrics.exposition([*_process(figures, engine, pools), *fleet])


def _process(figures: Figures | None, engine: Engine | None, pools: dict[str, Database]) -> Seen:
    yield metrics.INFO, {(version("cronty"),): 1}
    yield metrics.DATABASE_UP, {(): int(figures is not None)}
    if figures is not None:
        yield metrics.CLOCK_OFFSET, {(): figures.offset}
    if engine is not None:
        yield metrics.IN_FLIGHT, {(): engine.working.in_flight}
        yield metrics.CONCURRENCY, {(): engine.working.concurrency}
        yield metrics.HEARTBEAT_AGE, {(): engine.silent_for}
        yield metrics.STUCK, {(): int(engine.why_stuck() is not None)}
    open_pools = {name: one.pool for name, one in pools.items() if one.is_open}
    busy = {(name, "busy"): pool.busy for name, pool in open_pools.items()}
    yield metrics.POOL, busy | {(name, "idle"): pool.idle for name, pool in open_pools.items()}
    yield metrics.POOL_SIZE, {(name,): pool.size for name, pool in open_pools.items()}


def _fleet(figures: Figures) -> Seen:
    queued = {kind: figures.queued.get(kind, (0, 0.0)) for kind in metrics.KINDS}
    yield metrics.WORKERS, {("held",): figures.workers, ("passed",): figures.lost_workers}
    yield metrics.QUEUE, {(kind,): runs for kind, (runs, _) in queued.items()}
    yield metrics.QUEUE_OLDEST, {(kind,): age for kind, (_, age) in queued.items()}
    yield metrics.RUNNING, {(): figures.running}
    yield metrics.OVERDUE, {(): figures.overdue}
    yield metrics.OLDEST_OVERDUE, {(): figures.oldest_overdue}
    yield metrics.FROZEN, {(): int(figures.frozen is not None)}
    yield metrics.SET_ASIDE, {(): figures.set_aside}
