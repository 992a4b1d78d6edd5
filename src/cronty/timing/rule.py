"""Any way callers say when: a type with its configuration, or words."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from cronty.timing.calendar import Calendar
from cronty.timing.days_off import NamedCalendar, with_days_off
from cronty.timing.errors import BadTrigger, Unclear, shown
from cronty.timing.interval import Interval
from cronty.timing.once import Once
from cronty.timing.reading import read_moment, read_trigger
from cronty.timing.rrule_in import read_rrule
from cronty.timing.trigger import Trigger
from cronty.timing.words.read import Ambiguous, Reading, read_words
from cronty.timing.zones import zone


@dataclass(frozen=True, slots=True)
class Rule:
    """A trigger, the zone it is spoken of in, and what else its author should know."""

    trigger: Trigger
    zone: str
    note: str | None = None
    max_runs: int | None = None
    """How many times it was said to run; a trigger doesn't count, its job does."""


def read_rule(
    trigger_type: str,
    config: Mapping[str, object],
    zone_name: str,
    now: datetime,
    known: Mapping[str, NamedCalendar] = MappingProxyType({}),
) -> Rule:
    """The rule that `config` describes; type `words` takes `{"text": "every weekday at 8:30"}`.

    A `once` may say its `run_at` in words too. Whatever may mean two things is refused, with its readings. `known` are
    the named calendars whose days off it may go by.
    """
    rule = _read(trigger_type, config, zone_name, now)
    if not isinstance(rule.trigger, Calendar) or not rule.trigger.calendars:
        return rule
    today = now.astimezone(zone(rule.trigger.zone)).date()
    return replace(rule, trigger=with_days_off(rule.trigger, known, today))


def _read(trigger_type: str, config: Mapping[str, object], zone_name: str, now: datetime) -> Rule:
    if trigger_type == "words":
        text = config.get("text")
        if not isinstance(text, str) or len(config) != 1:
            raise BadTrigger(
                "Invalid trigger_config for 'words': it needs just a text", 'As in {"text": "every weekday at 8:30"}.'
            )
        return _said(text, zone_name, now)
    times = None
    if trigger_type == "calendar":
        if "rrule" in config:
            return _recurring(config, zone_name, now)
        config = dict(config)
        times = _times(config.pop("count", None))
    try:
        return Rule(read_trigger(trigger_type, config, zone_name, _whole(now)), zone_name, max_runs=times)
    except BadTrigger as bad:
        said = config.get("run_at")
        if trigger_type != "once" or not isinstance(said, str) or not any(map(str.isalpha, said)):
            raise
        return _once_said(said, zone_name, now, bad)


def read_instant(value: object, zone_name: str, now: datetime) -> datetime:
    """An instant from ISO 8601 or from words; without an offset it is a local time of `zone_name`."""
    try:
        return read_moment(value, zone_name)
    except BadTrigger as bad:
        if not isinstance(value, str) or not any(map(str.isalpha, value)):
            raise
        trigger = _once_said(value, zone_name, now, bad).trigger
        assert isinstance(trigger, Once)
        return trigger.at


def _once_said(text: str, zone_name: str, now: datetime, bad: BadTrigger) -> Rule:
    """A moment in words; what isn't words at all is refused for not being ISO 8601."""
    try:
        rule = _said(text, zone_name, now)
    except BadTrigger as unread:
        raise unread if isinstance(unread, Unclear) else bad from None
    if not isinstance(rule.trigger, Once):
        raise BadTrigger(
            f'"{text}" is a rule that repeats, not one moment',
            'Use trigger_type "cron" or "interval", or one time.',
        )
    return rule


def _said(text: str, zone_name: str, now: datetime) -> Rule:
    match read_words(text, now, zone_name):
        case Reading(trigger=trigger, zone=zone, note=note, max_runs=max_runs):
            if isinstance(trigger, Interval) and trigger.anchor == now:
                trigger = Interval(trigger.period, _whole(now))
            return Rule(trigger, zone, note, max_runs)
        case Ambiguous((only,)):
            raise Unclear(f'"{text}" names no exact time; it may be: {_candidate(only)}', _CONFIRM)
        case Ambiguous(readings):
            raise Unclear(f'"{text}" may mean: {"; or: ".join(_candidate(one) for one in readings)}', _CHOOSE)


def _recurring(config: Mapping[str, object], zone_name: str, now: datetime) -> Rule:
    text = config["rrule"]
    if not isinstance(text, str) or len(config) != 1:
        raise BadTrigger(
            "Invalid trigger_config for 'calendar': an rrule is a text and stands alone",
            'As in {"rrule": "DTSTART:20270405T090000\\nRRULE:FREQ=WEEKLY;BYDAY=MO"}.',
        )
    calendar, times = read_rrule(text, zone_name, now)
    return Rule(calendar, calendar.zone, max_runs=times)


def _times(count: object) -> int | None:
    if count is None or (isinstance(count, int) and not isinstance(count, bool) and 1 <= count < 2**31):
        return count
    raise BadTrigger(f'Invalid "count" of a calendar: {shown(count)}', "It must be a positive number, or left out.")


def _whole(moment: datetime) -> datetime:
    """The second it is in: nobody wants to read fractions of one in every slot to come."""
    return moment.replace(microsecond=0)


_CONFIRM = "Ask whether that is meant, then repeat the call with those words."
_CHOOSE = "Ask which one is meant, then repeat the call with those words."


def _candidate(reading: Reading) -> str:
    if reading.next_at is None or isinstance(reading.trigger, Once):
        return f'"{reading.words}"'
    return f'"{reading.words}" (next: {reading.next_at.isoformat()})'
