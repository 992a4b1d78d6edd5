"""From the way callers say it (a type and its configuration) to a trigger."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from cronty.timing.calendar_json import EXAMPLE, KEYS, calendar_from_json
from cronty.timing.cron import Cron
from cronty.timing.errors import BadTrigger, Unread, shown
from cronty.timing.interval import Interval
from cronty.timing.localtime import as_utc, instant_of
from cronty.timing.once import Once
from cronty.timing.trigger import Trigger
from cronty.timing.zones import zone

_UNITS: Final = ("seconds", "minutes", "hours", "days")
_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "once": ("run_at",),
    "interval": (*_UNITS, "anchor"),
    "cron": ("expression", "dst_gap", "dst_overlap"),
    "calendar": (*KEYS, "dst_gap", "dst_overlap"),
}
_EXAMPLES: Final = {
    "once": '{"run_at": "2027-01-31T09:00:00+01:00"}',
    "interval": '{"hours": 1}',
    "cron": '{"expression": "30 9 * * MON-FRI"}',
    "calendar": EXAMPLE,
}


def read_trigger(trigger_type: str, config: Mapping[str, object], zone_name: str, now: datetime) -> Trigger:
    """A trigger from its type and configuration; times without an offset are meant in `zone_name`."""
    if trigger_type not in _EXAMPLES:
        raise BadTrigger(
            f"Unknown trigger type: {shown(trigger_type)}", 'Use "once", "interval", "cron" or "calendar".'
        )
    known = _KEYS[trigger_type]
    strange = sorted(set(config) - set(known), key=str)
    missing = trigger_type != "interval" and known[0] not in config
    if strange or not config or missing:
        what = (
            f"unknown key {shown(strange[0])}" if strange else f"{known[0]!r} is missing" if missing else "it is empty"
        )
        raise BadTrigger(
            f"Invalid trigger_config for {shown(trigger_type)}: {what}", f"Give it as {_EXAMPLES[trigger_type]}."
        )
    if trigger_type == "once":
        moment = _moment(config["run_at"])
        return Once(moment) if moment.utcoffset() is not None else Once.at_local(moment, zone_name)
    if trigger_type == "interval":
        return Interval(_period(config), read_moment(config["anchor"], zone_name) if "anchor" in config else now)
    gap, overlap = config.get("dst_gap", "run_after"), config.get("dst_overlap", "first")
    if gap not in ("run_after", "skip") or overlap not in ("first", "both"):
        raise BadTrigger(
            f"Invalid trigger_config for '{trigger_type}': dst_gap is {shown(gap)}, dst_overlap is {shown(overlap)}",
            'dst_gap is "run_after" or "skip", dst_overlap is "first" or "both".',
        )
    if trigger_type == "calendar":
        said = {key: config[key] for key in KEYS if key in config}
        return calendar_from_json({**said, "zone": zone_name, "gap": gap, "overlap": overlap})
    expression = config["expression"]
    if not isinstance(expression, str):
        raise BadTrigger(f"Invalid cron expression: {shown(expression)}", f"Give it as {_EXAMPLES['cron']}.")
    return Cron(expression, zone_name, gap, overlap)


def read_moment(value: object, zone_name: str) -> datetime:
    """An instant from ISO 8601; without an offset it is a local time of `zone_name`, the first if it comes twice."""
    moment = _moment(value)
    return as_utc(moment) if moment.utcoffset() is not None else instant_of(moment, zone(zone_name).key).at


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime):
        raise Unread(f"Invalid time: {shown(value)}", "Give it in ISO 8601, as in 2027-01-31T09:00:00+01:00.")
    return moment


def _period(config: Mapping[str, object]) -> timedelta:
    amounts: dict[str, int | float] = {}
    for unit in _UNITS:
        amount = config.get(unit, 0)
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < 1e9:
            raise BadTrigger(
                f"Invalid interval: {unit} is {shown(amount)}", 'Numbers must be positive, as in {"hours": 1}.'
            )
        amounts[unit] = amount
    try:
        period = timedelta(**amounts)
    except OverflowError:
        raise BadTrigger("Invalid interval: it is too long", 'At most 10 years, as in {"days": 365}.') from None
    if not period:
        raise BadTrigger("Invalid interval: it is 0", 'Numbers must be positive, as in {"hours": 1}.')
    return period
