"""Parses the stored parts of a job for the engine; what many jobs share is cached."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import orjson

from cronty.jobs.action import PROMPT, ROUTED, Action
from cronty.jobs.policy import Policy, load_policy
from cronty.store.day_lists import read_changes
from cronty.timing import (
    BadTrigger,
    Broken,
    CatchUp,
    Changed,
    Cron,
    Interval,
    Once,
    Trigger,
    from_stored,
    with_changes,
)
from cronty.timing.slot_changes import changes_from_json
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
def _whole(stored: str) -> Trigger | Changed:
    """A trigger that is read as a whole: a calendar, or one of which single slots are changed."""
    value = orjson.loads(stored)
    return with_changes(_unbroken(from_stored(value)), changes_from_json(value.get("changes")))


def _unbroken(trigger: Trigger) -> Trigger:
    if isinstance(trigger, Broken):
        raise BadTrigger(trigger.reason)
    return trigger


@lru_cache(maxsize=65536)
def _period(microseconds: int) -> timedelta:
    return Interval(timedelta(microseconds=microseconds), _ANY).period


def is_whole(expression: str | None) -> bool:
    """Whether it is a whole trigger, as it is stored: only a plan knows what becomes of its slot."""
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
    by_lists: Trigger | None = None,
) -> Trigger | Changed:
    """Any slot of an interval serves as its anchor: the others lie whole periods away. `by_lists` is the trigger if it
    names lists of days off."""
    if by_lists is not None and expression is not None:
        return with_changes(_unbroken(by_lists), read_changes(expression))
    if expression is not None and is_whole(expression):
        return _whole(expression)
    if expression is not None:
        return _cron(expression, zone or "UTC", gap or "run_after", overlap or "first")
    if period is not None:
        return Interval(timedelta(microseconds=period), slot)
    return Once(slot)
