"""Any trigger, and its form in JSON."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import cast

from cronty.timing.broken import Broken
from cronty.timing.calendar import Calendar
from cronty.timing.calendar_json import STORED_KEYS, calendar_from_json, calendar_to_json
from cronty.timing.cron import Cron
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.interval import Interval
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.once import Once
from cronty.timing.zoned import Gap, Overlap

type Trigger = Once | Interval | Cron | Calendar | Broken

_NONE: Mapping[str, NamedCalendar] = MappingProxyType({})
_EXAMPLES = {
    "once": '{"kind": "once", "at": "2027-01-31T09:00:00+01:00"}',
    "interval": '{"kind": "interval", "seconds": 900, "anchor": "2027-01-31T09:00:00Z"}',
    "cron": '{"kind": "cron", "expression": "30 9 * * MON-FRI", "zone": "Europe/Berlin"}',
}
_KEYS = {
    "once": frozenset({"kind", "at", "local", "zone"}),
    "interval": frozenset({"kind", "seconds", "anchor"}),
    "cron": frozenset({"kind", "expression", "zone", "gap", "overlap"}),
    "calendar": STORED_KEYS,
}


def to_json(trigger: Trigger) -> dict[str, object]:
    """Return the trigger as a JSON object that `from_json` reads back to an equal one."""
    match trigger:
        case Once(at=at, local=local, zone=zone):
            said = {"local": local.isoformat(), "zone": zone} if local is not None else {}
            return {"kind": "once", "at": at.isoformat(), **said}
        case Interval(period=period, anchor=anchor):
            seconds = period.total_seconds() if period.microseconds else period // timedelta(seconds=1)
            return {"kind": "interval", "seconds": seconds, "anchor": anchor.isoformat()}
        case Cron(expression=expression, zone=zone, gap=gap, overlap=overlap):
            policy = {"gap": gap} if gap != "run_after" else {}
            policy |= {"overlap": overlap} if overlap != "first" else {}
            return {"kind": "cron", "expression": expression, "zone": zone, **policy}
        case Calendar():
            return calendar_to_json(trigger)
        case Broken(stored=stored):
            return dict(stored)


def to_stored(trigger: Trigger) -> dict[str, object]:
    """Return the trigger as it is stored: with the names of its lists of days off, without their days."""
    return calendar_to_json(trigger, days=not trigger.calendars) if isinstance(trigger, Calendar) else to_json(trigger)


def from_stored(value: dict[str, object], lists: Mapping[str, NamedCalendar] = _NONE) -> Trigger:
    """Like `from_json`, for what was good when it was stored: if it no longer is, it is `Broken`.

    `lists` are the lists of days off that it may name.

    Keys that only a newer version knows are ignored, but not inside the rules of a calendar: without them it might
    fire at other times than it should.
    """
    kind = value.get("kind")
    known = _KEYS.get(kind, frozenset(value)) if isinstance(kind, str) else frozenset(value)
    try:
        plain = {key: part for key, part in value.items() if key in known}
        return calendar_from_json(plain, lists) if kind == "calendar" else from_json(plain)
    except BadTrigger as bad:
        return Broken(value, str(bad))


def from_json(value: dict[str, object]) -> Trigger:
    """Return the trigger that a JSON object describes; a cron or calendar without a zone is in UTC.

    Their `gap` and `overlap` are written only where they aren't the usual ones.
    """
    kind = value.get("kind")
    if kind == "calendar":
        return calendar_from_json(value)
    if not isinstance(kind, str) or kind not in _KEYS:
        raise BadTrigger(
            f"Unknown trigger kind: {shown(kind)}",
            f'Use "once", "interval", "cron" or "calendar": {_EXAMPLES["cron"]}',
        )
    if not value.keys() <= _KEYS[kind]:
        strange = min(str(key) for key in value.keys() - _KEYS[kind])[:80]
        raise BadTrigger(f"Unknown key for a {kind} trigger: {strange}", f"Example: {_EXAMPLES[kind]}")
    if kind == "once":
        if "local" in value:
            return Once.at_local(_moment(value, kind, "local").replace(tzinfo=None), _text(value, kind, "zone"))
        return Once(_moment(value, kind, "at"))
    if kind == "interval":
        return Interval(_period(value), _moment(value, kind, "anchor"))
    zone = _text(value, kind, "zone") if "zone" in value else "UTC"
    gap = _text(value, kind, "gap") if "gap" in value else "run_after"
    overlap = _text(value, kind, "overlap") if "overlap" in value else "first"
    return Cron(_text(value, kind, "expression"), zone, cast("Gap", gap), cast("Overlap", overlap))


def _text(value: dict[str, object], kind: str, key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str):
        raise BadTrigger(
            f'Bad "{key}" of a {kind} trigger: {shown(found)}', f"It must be text. Example: {_EXAMPLES[kind]}"
        )
    return found


def _moment(value: dict[str, object], kind: str, key: str) -> datetime:
    text = _text(value, kind, key)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise BadTrigger(f'Bad "{key}" of a {kind} trigger: {shown(text)}', f"Example: {_EXAMPLES[kind]}") from None


def _period(value: dict[str, object]) -> timedelta:
    seconds = value.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise BadTrigger(f'Bad "seconds" of an interval trigger: {shown(seconds)}', f"Example: {_EXAMPLES['interval']}")
    try:
        return timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise BadTrigger(
            f"Invalid interval: {shown(seconds)} seconds", "It must be from 1 second to 10 years."
        ) from None
