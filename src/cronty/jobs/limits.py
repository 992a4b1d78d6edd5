"""How much one owner may have and do, and the messages for what goes over a limit. Counting is done elsewhere."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Final

from cronty.contract.result import Err
from cronty.jobs.action import Action
from cronty.timing import Interval, Trigger
from cronty.timing.errors import shown

OVER: Final = "over_limit"
CALLS: Final = "calls"
"""The name under which calls out are counted."""

RUNS: Final = "runs"
"""The name under which runs are counted."""

WAKES: Final = "wakes "
"""How the names begin under which wakes are counted, by agent."""

REFUSED: Final = "refused "
"""How the names begin under which refusals are counted, by limit."""


@dataclass(frozen=True, slots=True)
class OverLimit(Err):
    """A request was refused; `limit` is the field of `Limits` that it would exceed."""

    limit: str = ""


class BadLimits(ValueError):
    """Invalid limits; the text names the field, the value and what is accepted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Zero means no limit. `alert` is the topic or channel that is told when a limit was reached.

    Intervals are seconds: `min_interval` for any job, `min_agent_interval` for the notifications, prompts and webhooks
    that an agent makes. `depth` limits chains of jobs that are each made by a run of the job before.
    """

    jobs: int = 10_000
    stored_bytes: int = 64 * 1024 * 1024
    min_interval: float = 1.0
    min_agent_interval: float = 60.0
    depth: int = 10
    wakes_per_hour: int = 120
    runs_per_hour: int = 0
    concurrent_runs: int = 0
    pushes_per_day: int = 500
    calls_per_minute: int = 300
    alert: str = ""

    def as_json(self) -> dict[str, object]:
        return asdict(self)


DEFAULTS: Final = Limits()
NAMES: Final = frozenset(one.name for one in fields(Limits))


def read_limits(base: Limits, given: Mapping[str, object]) -> Limits:
    """`base` with some of its limits replaced, or `BadLimits`."""
    for name, value in given.items():
        if wrong := _flaw(name, value):
            raise BadLimits(wrong)
    return replace(base, **dict(given))  # pyright: ignore[reportArgumentType]


def load_limits(base: Limits, stored: Mapping[str, object]) -> Limits:
    """`base` with what is stored for an owner. What a newer version wrote and this one can't read is left out."""
    return read_limits(base, {name: value for name, value in stored.items() if _flaw(name, value) is None})


def _flaw(name: str, value: object) -> str | None:
    if name not in NAMES:
        return f"Unknown limit: {shown(name)}. Known are: {', '.join(sorted(NAMES))}."
    if name == "alert":
        if isinstance(value, str) and len(value) <= 64:
            return None
        return f"Limit 'alert' must be a topic or a channel such as ann-phone, not {shown(value)}."
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return f"Limit {name!r} must be a number, 0 for none, not {shown(value)}."
    if isinstance(value, float) and not name.endswith("interval"):
        return f"Limit {name!r} must be a whole number, not {shown(value)}."
    return None


# -- what the scheduler refuses ------------------------------------------------------------------------------------


def too_often(limits: Limits, action: Action, trigger: Trigger, *, by_agent: bool) -> OverLimit | None:
    """Only an interval can be too short: cron fires once a minute at most."""
    if not isinstance(trigger, Interval):
        return None
    agents = by_agent and action.kind != "task"
    least = max(limits.min_interval, limits.min_agent_interval if agents else 0)
    seconds = trigger.period.total_seconds()
    if seconds >= least:
        return None
    whose = f"A {action.kind} that an agent makes" if agents else "A job"
    return OverLimit(
        OVER,
        f"{whose} may repeat at most every {least:g} seconds; this one would repeat every {seconds:g}.",
        f"Use an interval of {least:g} seconds or more, or ask the operator for a lower limit.",
        limit="min_interval",
    )


def too_many(limits: Limits, jobs: int) -> OverLimit | None:
    """`jobs` is how many the owner has already."""
    if not limits.jobs or jobs < limits.jobs:
        return None
    return OverLimit(
        OVER,
        f"There are already {jobs} jobs that will still run; {limits.jobs} are allowed.",
        "Cancel some first (list_jobs shows them), or ask the operator for more.",
        limit="jobs",
    )


def too_large(limits: Limits, stored: int, more: int) -> OverLimit | None:
    """`stored` is the size of the arguments of the owner's jobs so far, `more` that of the new one."""
    if not limits.stored_bytes or stored + more <= limits.stored_bytes:
        return None
    return OverLimit(
        OVER,
        f"The arguments and rules of your jobs, deleted ones too, and your calendars take up {stored} bytes, and "
        f"these would add {more}; {limits.stored_bytes} are allowed.",
        "Cancel some jobs (list_jobs shows them), store the data elsewhere and pass a reference, or ask the operator.",
        limit="stored_bytes",
    )


def too_deep(limits: Limits, depth: int) -> OverLimit | None:
    """`depth` is how many jobs long the chain is, each made by a run of the one before."""
    if not limits.depth or depth <= limits.depth:
        return None
    return OverLimit(
        OVER,
        f"This job would be made by a run of a job that was itself made by a run, {depth} deep; "
        f"{limits.depth} are allowed.",
        'Make one job that repeats ("every hour") instead of a chain, or let a person schedule it.',
        limit="depth",
    )


def over_wakes(limits: Limits, agent: str, used: int) -> OverLimit | None:
    if not limits.wakes_per_hour or used <= limits.wakes_per_hour:
        return None
    hint = "Wait for the next hour, or ask the operator for more."
    return OverLimit(OVER, held_wakes(limits, agent), hint, limit="wakes_per_hour")


def over_runs(limits: Limits, used: int) -> OverLimit | None:
    if not limits.runs_per_hour or used <= limits.runs_per_hour:
        return None
    hint = "Ask for fewer, wait for the next hour, or ask the operator for more."
    return OverLimit(OVER, f"That would be {held_runs(limits)}.", hint, limit="runs_per_hour")


def over_calls(limits: Limits, used: int) -> OverLimit | None:
    if not limits.calls_per_minute or used <= limits.calls_per_minute:
        return None
    hint = "Try again in a minute, or schedule it: then it is put off instead of being refused."
    return OverLimit(OVER, held_calls(limits), hint, limit="calls_per_minute")


def over_pushes(limits: Limits, used: int) -> OverLimit | None:
    if not limits.pushes_per_day or used <= limits.pushes_per_day:
        return None
    return OverLimit(
        OVER,
        f"{limits.pushes_per_day} immediate notifications have been sent today (UTC); no more are allowed.",
        "Wait for tomorrow, put several messages into one, or ask the operator for more.",
        limit="pushes_per_day",
    )


# -- what the engine skips -----------------------------------------------------------------------------------------


def held_wakes(limits: Limits, agent: str) -> str:
    who = f"agent {agent[:80]}" if agent else "agents that share the inbox"
    return f"over the limit of {limits.wakes_per_hour} wakes an hour for {who}"


def held_runs(limits: Limits) -> str:
    return f"over the limit of {limits.runs_per_hour} runs an hour"


def held_calls(limits: Limits) -> str:
    return f"over the limit of {limits.calls_per_minute} calls a minute"


def next_turn(since: datetime, window: timedelta, ahead: int, limit: int) -> datetime:
    """When something over a limit has its turn: `ahead` others are over it too and come first, `limit` in a window."""
    return since + window * (1 + ahead // limit)


def excess(asked: int, used: int, limit: int) -> int:
    """How many of `asked` are over the limit; `used` is the count that includes all of them."""
    return min(asked, max(0, used - limit)) if limit else 0


def reached(limits: Limits, used: Mapping[str, int], jobs: int, running: int) -> list[str]:
    """The limits that hold an owner back now, or have since the hour began; `used` is counted as `usage` has it."""
    found = {name.removeprefix(REFUSED) for name in used if name.startswith(REFUSED)}
    most = {RUNS: "runs_per_hour", CALLS: "calls_per_minute"}
    for what, count in used.items():
        name = "wakes_per_hour" if what.startswith(WAKES) else most.get(what)
        if name is not None and 0 < getattr(limits, name) < count:
            found.add(name)
    if limits.jobs and jobs >= limits.jobs:
        found.add("jobs")
    if limits.concurrent_runs and running >= limits.concurrent_runs:
        found.add("concurrent_runs")
    return sorted(found)


def wakes_of(agent: str | None) -> str:
    """The name under which an agent's wakes are counted."""
    return f"{WAKES}{agent or ''}"[:100]


def hour_of(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0)


def minute_of(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)


def day_of(now: datetime) -> datetime:
    return hour_of(now) - timedelta(hours=now.hour)
