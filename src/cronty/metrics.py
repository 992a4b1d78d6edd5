"""Every metric: its name, its meaning and its labels; and the text that Prometheus reads.

Counters are plain integers of this process, added to once for a batch where that is possible. Every value that a label
may have is listed here, so the number of series doesn't grow with owners, jobs, tasks or agents.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Final

type Labels = tuple[str, ...]
type Values = Mapping[Labels, float]
"""The values of a metric by the values of its labels, in order; `()` if it has none."""

OTHER: Final = "other"
KINDS: Final = ("task", "command", "notify", "webhook", "wake", "inbox")
"""What a run does. `wake` is a prompt whose agent a worker wakes; `inbox` is one that waits to be read."""

VERDICTS: Final = ("done", "failed", "cancelled", "skipped", "coalesced", "missed", "quarantined")
_DUTIES: Final = (
    "fire", "fire 2", "look", "claim", "rescue", "prune", "retime", "holidays", "seal", "alert", "tell", "settle",
    "beat", "expire", "listen", OTHER,
)  # fmt: skip
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 3600.0)


class Metric:
    kind = "gauge"

    def __init__(self, name: str, meaning: str, **labels: Sequence[str]) -> None:
        self.name = name
        self.meaning = meaning
        self.labels = labels

    def sample(self, given: Labels, value: float, suffix: str = "", last: str = "") -> str:
        """One line. `last` is a label of this sample alone."""
        said = [f'{label}="{_escaped(text)}"' for label, text in zip(self.labels, given, strict=True)]
        inside = ",".join([*said, last] if last else said)
        return f"{self.name}{suffix}{{{inside}}} {value!r}" if inside else f"{self.name}{suffix} {value!r}"

    def lines(self, values: Values) -> list[str]:
        head = [f"# HELP {self.name} {self.meaning}", f"# TYPE {self.name} {self.kind}"]
        return head + [self.sample(given, value) for given, value in values.items()]


class Counter(Metric):
    kind = "counter"

    def __init__(self, name: str, meaning: str, **labels: Sequence[str]) -> None:
        super().__init__(name, meaning, **labels)
        self.counts: dict[Labels, int] = dict.fromkeys(product(*labels.values()), 0)

    def add(self, count: int = 1, *given: str) -> None:
        """What isn't listed is counted as `other`."""
        if given not in self.counts:
            given = (OTHER,) * len(given)
        self.counts[given] = self.counts.get(given, 0) + count


class Histogram(Metric):
    kind = "histogram"

    def __init__(self, name: str, meaning: str, bounds: Sequence[float] = _SECONDS) -> None:
        super().__init__(name, meaning)
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: Collection[float]) -> None:
        """Count many at once; usually most of them are alike, and few bounds lie between them."""
        if not seconds:
            return
        low, high = (bisect_left(self.bounds, one) for one in (min(seconds), max(seconds)))
        if low == high:
            self.counts[low] += len(seconds)
        else:
            for one in seconds:
                self.counts[bisect_left(self.bounds, one, low, high)] += 1
        self.sum += sum(seconds)

    def lines(self, values: Values) -> list[str]:
        lines, total = super().lines({}), 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            total += count
            lines.append(self.sample((), total, "_bucket", f'le="{bound}"'))
        return [*lines, self.sample((), self.sum, "_sum"), self.sample((), total, "_count")]


# -- counted by each process ------------------------------------------------------------------------------------

DUE = Counter("cronty_due_jobs_total", "Jobs that this process found due, and gave a run or a verdict.")
FIRED = Counter("cronty_fired_slots_total", "Slots that this process made runs of.")
START_LAG = Histogram(
    "cronty_start_lag_seconds",
    "Seconds from when a job was due to when this process fired it, by the database's clock.",
)
QUEUE_WAIT = Histogram(
    "cronty_queue_wait_seconds",
    "Seconds that runs taken from the queue had waited there since they could have started.",
)
VERDICT = Counter("cronty_verdicts_total", "Slots that got their verdict from this process.", verdict=VERDICTS)
ATTEMPTS = Counter(
    "cronty_attempts_total",
    "Attempts that ended in this process.",
    kind=KINDS,
    outcome=("done", "failed", "snoozed", "cancelled", "interrupted"),
)
RESCUED = Counter("cronty_rescued_runs_total", "Runs of lost workers that this process queued again.")
STRUCK_OFF = Counter("cronty_lost_workers_total", "Workers whose lease had passed, and that this process struck off.")
LEASES_LOST = Counter("cronty_lost_leases_total", "How often this process lost its own lease, or doubted a claim.")
SUPERSEDED = Counter("cronty_late_outcomes_total", "Outcomes that came after another worker had taken the run.")
HELD = Counter(
    "cronty_held_by_limit_total",
    "Slots skipped and attempts put off by an owner's limit.",
    limit=("runs_per_hour", "wakes_per_hour", "calls_per_minute"),
)
STEP_FAILURES = Counter("cronty_failed_steps_total", "Steps of the engine that failed, by duty.", duty=_DUTIES)
CALLS = Counter(
    "cronty_outbound_calls_total",
    "HTTP calls out: by the status of the answer, or why there was none. `forbidden` is our own refusal.",
    result=(
        "2xx", "3xx", "4xx", "5xx", "forbidden",
        "timeout", "tls", "refused", "dns", "reset", "protocol", "unreachable", OTHER,
    ),
)  # fmt: skip
REQUESTS = Counter(
    "cronty_requests_total",
    "Operations that this process answered, over any surface.",
    result=("ok", "refused", "limited", "unavailable", "fault"),
)

# -- the state of each process, looked at when it is asked ------------------------------------------------------

INFO = Metric("cronty_info", "1; the label says which version this process runs.", version=())
DATABASE_UP = Metric("cronty_database_up", "1 if the database answered this process, else 0.")
CLOCK_OFFSET = Metric("cronty_clock_offset_seconds", "The database's clock minus that of this machine.")
IN_FLIGHT = Metric("cronty_in_flight_runs", "Runs that this process has claimed and not yet settled.")
CONCURRENCY = Metric("cronty_concurrency", "How many runs this process performs at once.")
HEARTBEAT_AGE = Metric("cronty_heartbeat_age_seconds", "Seconds since this process last renewed its lease.")
STUCK = Metric("cronty_engine_stuck", "1 if the engine of this process isn't healthy; /ready says why.")
POOL = Metric(
    "cronty_pool_connections",
    "Connections of this process to the database.",
    pool=("door", "engine"),
    state=("busy", "idle"),
)
POOL_SIZE = Metric("cronty_pool_size", "The most connections a pool opens.", pool=("door", "engine"))

# -- the whole installation, from the database: every process says the same -------------------------------------

WORKERS = Metric("cronty_fleet_workers", "Workers by their lease.", lease=("held", "passed"))
QUEUE = Metric("cronty_fleet_queued_runs", "Runs that could start now, each kind up to 10,000.", kind=KINDS)
QUEUE_OLDEST = Metric(
    "cronty_fleet_oldest_queued_seconds", "How long the first of them has waited; 0 if there is none.", kind=KINDS
)
RUNNING = Metric("cronty_fleet_running_runs", "Runs that are running, up to 10,000.")
OVERDUE = Metric("cronty_fleet_overdue_jobs", "Jobs that were due over a second ago, up to 10,000.")
OLDEST_OVERDUE = Metric("cronty_fleet_oldest_overdue_seconds", "How late the latest of them is; 0 if there is none.")
SET_ASIDE = Metric("cronty_fleet_set_aside_jobs", "Jobs whose next slot can't be computed any more, up to 10,000.")
FROZEN = Metric("cronty_fleet_frozen", "1 while the installation is frozen (`cronty freeze`).")

COUNTED: Final[Sequence[Counter | Histogram]] = (
    DUE, FIRED, START_LAG, QUEUE_WAIT, VERDICT, ATTEMPTS, RESCUED, STRUCK_OFF, LEASES_LOST, SUPERSEDED, HELD,
    STEP_FAILURES, CALLS, REQUESTS,
)  # fmt: skip
OF_PROCESS: Final = (
    INFO, DATABASE_UP, CLOCK_OFFSET, IN_FLIGHT, CONCURRENCY, HEARTBEAT_AGE, STUCK, POOL, POOL_SIZE,
)  # fmt: skip
OF_FLEET: Final = (WORKERS, QUEUE, QUEUE_OLDEST, RUNNING, OVERDUE, OLDEST_OVERDUE, SET_ASIDE, FROZEN)
ALL: Final[Sequence[Metric]] = (*COUNTED, *OF_PROCESS, *OF_FLEET)


def exposition(seen: Iterable[tuple[Metric, Values]]) -> str:
    """All counters of this process, and these gauges, in Prometheus's text format 0.0.4."""
    counted = [(one, one.counts if isinstance(one, Counter) else {}) for one in COUNTED]
    return "".join(f"{line}\n" for metric, values in (*counted, *seen) for line in metric.lines(values))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
