"""What a stored job means to the engine, remembered where many jobs share it."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import orjson

from cronty.jobs.action import PROMPT, ROUTED, Action
from cronty.jobs.policy import Policy, load_policy
from cronty.timing import CatchUp, Cron, Interval, Once, Trigger
from cronty.timing.cron import Gap, Overlap

_ANY: Final = datetime(2000, 1, 1, tzinfo=UTC)


def agent_of(task: str, arguments: str) -> str | None:
    """Which agent a prompt is for, "" for any; None if it isn't one."""
    if task != PROMPT and not task.startswith(ROUTED):
        return None
    return Action(task, (), orjson.loads(arguments)["kwargs"]).agent or ""


@lru_cache(maxsize=4096)
def policy_of(stored: str) -> tuple[Policy, CatchUp, timedelta]:
    """A policy, how it catches up, and how late a slot may be and still run."""
    policy = load_policy(stored)
    catch_up = policy.catching_up()
    return policy, catch_up, catch_up.latest_start


@lru_cache(maxsize=65536)
def _cron(expression: str, zone: str, gap: Gap, overlap: Overlap) -> Cron:
    return Cron(expression, zone, gap, overlap)


@lru_cache(maxsize=65536)
def _period(microseconds: int) -> timedelta:
    return Interval(timedelta(microseconds=microseconds), _ANY).period


def slot_after(
    slot: datetime,
    period: int | None,
    expression: str | None,
    zone: str | None,
    gap: Gap | None,
    overlap: Overlap | None,
) -> datetime | None:
    """The slot after this one; for most fires that is all there is to know, and no trigger has to be made."""
    if expression is not None:
        return _cron(expression, zone or "UTC", gap or "run_after", overlap or "first").after(slot)
    if period is None:
        return None
    try:
        return slot + _period(period)
    except OverflowError:
        return None


def trigger_of(
    slot: datetime,
    period: int | None,
    expression: str | None,
    zone: str | None,
    gap: Gap | None,
    overlap: Overlap | None,
) -> Trigger:
    """Any slot of an interval serves as its anchor: the others lie whole periods away."""
    if expression is not None:
        return _cron(expression, zone or "UTC", gap or "run_after", overlap or "first")
    if period is not None:
        return Interval(timedelta(microseconds=period), slot)
    return Once(slot)
