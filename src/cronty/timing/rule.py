"""Any way callers say when: a type with its configuration, or words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from cronty.timing.errors import BadTrigger, Unclear
from cronty.timing.interval import Interval
from cronty.timing.once import Once
from cronty.timing.reading import read_moment, read_trigger
from cronty.timing.trigger import Trigger
from cronty.timing.words.read import Ambiguous, Reading, read_words


@dataclass(frozen=True, slots=True)
class Rule:
    """A trigger, the zone it is spoken of in, and what else its author should know."""

    trigger: Trigger
    zone: str
    note: str | None = None


def read_rule(trigger_type: str, config: Mapping[str, object], zone_name: str, now: datetime) -> Rule:
    """The rule that `config` describes; type `words` takes `{"text": "every weekday at 8:30"}`.

    A `once` may say its `run_at` in words too. Whatever may mean two things is refused, with its readings.
    """
    if trigger_type == "words":
        text = config.get("text")
        if not isinstance(text, str) or len(config) != 1:
            raise BadTrigger(
                "Invalid trigger_config for 'words': it needs just a text", 'As in {"text": "every weekday at 8:30"}.'
            )
        return _said(text, zone_name, now)
    try:
        return Rule(read_trigger(trigger_type, config, zone_name, _whole(now)), zone_name)
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
        case Reading(trigger=trigger, zone=zone, note=note):
            if isinstance(trigger, Interval) and trigger.anchor == now:
                trigger = Interval(trigger.period, _whole(now))
            return Rule(trigger, zone, note)
        case Ambiguous(readings):
            raise Unclear(f'"{text}" may mean: {"; or: ".join(_candidate(one) for one in readings)}', _CHOOSE)


def _whole(moment: datetime) -> datetime:
    """The second it is in: nobody wants to read fractions of one in every slot to come."""
    return moment.replace(microsecond=0)


_CHOOSE = "Ask which one is meant, then repeat the call with those words."


def _candidate(reading: Reading) -> str:
    if reading.next_at is None or isinstance(reading.trigger, Once):
        return f'"{reading.words}"'
    return f'"{reading.words}" (next: {reading.next_at.isoformat()})'
