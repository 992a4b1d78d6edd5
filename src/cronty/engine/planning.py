"""Parses the stored parts of a job for the engine; what many jobs share is cached."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import orjson

from cronty.jobs.action import PROMPT, ROUTED, Action
from cronty.jobs.policy import Policy, load_policy
from cronty.timing import BadTrigger, Broken, CatchUp, Cron, Interval, Once, Trigger, from_stored
from cronty.timing.zoned import Gap, Overlap

_ANY: Final = datetime(2000, 1, 1, tzinfo=UTC)


def agent_of(task: str, arguments: str) -> str | None:
    """Which agent a prompt is for, "" for any; None if the task isn't a prompt."""
    if task != PROMPT and not task.startswith(ROUTED):
        return None
    return Action(task, (), orjson.loads(arguments)["kwargs"]).agent or ""


@lru_cache(maxsize=4096)
def policy_of(stored: str) -> tuple[Policy, CatchUp, timedelta]:
    """A policy, its catch-up rule, and how late a slot may still run."""
    policy = load_policy(stored)
    catch_up = policy.catching_up()
    return policy, catch_up, catch_up.latest_start


@lru_cache(maxsize=65536)
def _cron(expression: str, zone: str, gap: Gap, overlap: Overlap) -> Cron:
    return Cron(expression, zone, gap, overlap)


@lru_cache(maxsize=4096)
def _calendar(stored: str) -> Trigger:
    trigger = from_stored(orjson.loads(stored))
    if isinstance(trigger, Broken):
        raise BadTrigger(trigger.reason)
    return trigger


@lru_cache(maxsize=65536)
def _period(microseconds: int) -> timedelta:
    return Interval(timedelta(microseconds=microseconds), _ANY).period


def is_calendar(expression: str | None) -> bool:
    """Whether it is a calendar, as it is stored: only a plan knows what becomes of its slot."""
    return expression is not None and expression[0] == "{"


def slot_after(
    slot: datetime,
    period: int | None,
    expression: str | None,
    zone: str | None,
    gap: Gap | None,
    overlap: Overlap | None,
) -> datetime | None:
    """The slot after this one. Most fires need nothing else, and no trigger has to be built."""
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
    if expression is not None and is_calendar(expression):
        return _calendar(expression)
    if expression is not None:
        return _cron(expression, zone or "UTC", gap or "run_after", overlap or "first")
    if period is not None:
        return Interval(timedelta(microseconds=period), slot)
    return Once(slot)
