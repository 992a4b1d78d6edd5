"""Any way callers say when: a type with its configuration, or words."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from types import MappingProxyType

from cronty.timing.calendar import Calendar
from cronty.timing.days_off import NamedCalendar, with_days_off
from cronty.timing.errors import BadTrigger, Candidate, Unclear, Unread, shown
from cronty.timing.interval import Interval
from cronty.timing.lists_in_words import said_lists, split_lists, without_lists
from cronty.timing.offsets import TICK
from cronty.timing.once import Once
from cronty.timing.reading import read_moment, read_trigger
from cronty.timing.rrule_in import read_rrule
from cronty.timing.trigger import Trigger
from cronty.timing.words.day_said import days_said
from cronty.timing.words.read import Ambiguous, Reading, read_words
from cronty.timing.words.vocabulary import MONTH_NAMES, WEEKDAY_NAMES, ordinal
from cronty.timing.zones import zone


@dataclass(frozen=True, slots=True)
class Rule:
    """A trigger, the zone it is spoken of in, and what else its author should know."""

    trigger: Trigger
    zone: str
    note: str | None = None
    max_runs: int | None = None
    """How many times it was said to run; a trigger doesn't count, its job does."""
    said: str | None = None
    """The words it was given in, if it was."""


def read_rule(
    trigger_type: str,
    config: Mapping[str, object],
    zone_name: str,
    now: datetime,
    known: Mapping[str, NamedCalendar] = MappingProxyType({}),
    *,
    starts: datetime | None = None,
) -> Rule:
    """The rule that `config` describes; type `words` takes `{"text": "every weekday at 8:30"}`.

    A `once` may say its `run_at` in words too, or `now`. Whatever may mean two things is refused, with its readings.
    `known` are the named calendars whose days off it may go by. With `starts`, words without a time or a day, such as
    `every day`, have those of the start.
    """
    rule = _read(trigger_type, config, zone_name, now, starts)
    if not isinstance(rule.trigger, Calendar) or not rule.trigger.calendars:
        return rule
    return replace(rule, trigger=with_days_off(rule.trigger, known))


def _read(
    trigger_type: str, config: Mapping[str, object], zone_name: str, now: datetime, starts: datetime | None = None
) -> Rule:
    if trigger_type == "words":
        text = config.get("text")
        if not isinstance(text, str) or len(config) != 1:
            raise BadTrigger(
                "Invalid trigger_config for 'words': it needs just a text", 'As in {"text": "every weekday at 8:30"}.'
            )
        return _said(text, zone_name, now) if starts is None else _said_from(text, zone_name, now, starts)
    if trigger_type == "once" and config == {"run_at": "now"}:
        return Rule(Once(now + TICK), zone_name)
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


def read_bound(value: object, zone_name: str, now: datetime, *, last: bool) -> datetime:
    """The first instant of what `read_instant` reads or of a day, in words or ISO 8601; or the last one."""
    days = None
    if isinstance(value, str):
        try:
            day = date.fromisoformat(value.strip())
            days = (day, day)
        except ValueError:
            days = days_said(value, now, zone_name) if any(map(str.isalpha, value)) or "/" in value else None
    if days is None:
        return read_instant(value.strip() if isinstance(value, str) else value, zone_name, now)
    if not last:
        return read_moment(datetime.combine(days[0], time()), zone_name)
    if days[1] == date.max:
        raise BadTrigger(f"Time out of range: {shown(value)}", "Name a time from the year 2 to 9998.")
    return read_moment(datetime.combine(days[1] + timedelta(days=1), time()), zone_name) - TICK


def _once_said(text: str, zone_name: str, now: datetime, bad: BadTrigger) -> Rule:
    """A moment in words; what isn't words at all is refused for not being ISO 8601."""
    try:
        rule = _said(text, zone_name, now)
    except BadTrigger as unread:
        if isinstance(unread, Unclear):
            raise
        if not isinstance(bad, Unread):
            raise bad from None
        raise Unread(bad.message, f'{bad.hint.rstrip(".")}, or in words, as in "tomorrow at 9:00".') from None
    if not isinstance(rule.trigger, Once):
        raise BadTrigger(
            f'"{text}" is a rule that repeats, not one moment',
            'Give one time, as in "tomorrow at 9:00", or schedule it as something that repeats.',
        )
    return rule


def _said_from(text: str, zone_name: str, now: datetime, starts: datetime) -> Rule:
    """Words that may lack their time, or their day and time, because the start has them."""
    local = starts.astimezone(zone(zone_name))
    at, day, month = f"at {local:%H:%M}", ordinal(local.day), MONTH_NAMES[local.month - 1]
    try:
        return _said(text, zone_name, now)
    except BadTrigger as bad:
        refused = bad
    for more in (at, f"on {WEEKDAY_NAMES[local.weekday()]} {at}", f"on the {day} {at}", f"on {local.day} {month} {at}"):
        with suppress(BadTrigger):
            return _said(f"{text} {more}", zone_name, now)
    raise refused


def _said(text: str, zone_name: str, now: datetime) -> Rule:
    plain, lists = split_lists(text)
    match read_words(plain, now, zone_name):
        case Reading(trigger=trigger, zone=named, note=note, max_runs=max_runs):
            if lists:
                trigger = without_lists(trigger, lists, text, now.date())
            if isinstance(trigger, Interval) and trigger.anchor == now:
                trigger = Interval(trigger.period, _whole(now))
            return Rule(trigger, named, note, max_runs, said=" ".join(text.split()))
        case Ambiguous(readings):
            candidates = tuple(_candidate(one, lists) for one in readings)
            listed = "; or: ".join(_shown(one, each) for one, each in zip(readings, candidates, strict=True))
            listed = listed if len(listed) <= _LONGEST_LIST else f"{listed[:_LONGEST_LIST]}…"
            if len(readings) == 1 and "no exact time" in (readings[0].note or ""):
                raise Unclear(f'"{text}" names no exact time; it may be: {listed}', _CONFIRM, candidates)
            hint = _CHOOSE if len(readings) > 1 else _CONFIRM
            raise Unclear(f'"{text}" may mean: {listed}', hint, candidates)


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


_LONGEST_LIST = 700
_CONFIRM = "Ask whether that is meant, then repeat the call with those words."
_CHOOSE = "Ask which one is meant, then repeat the call with those words."


def _candidate(reading: Reading, lists: tuple[str, ...]) -> Candidate:
    local = None if reading.next_at is None else reading.next_at.astimezone(zone(reading.zone))
    words = f"{reading.words}{said_lists(lists)}"
    note = f" ({reading.note})" if reading.note else ""
    return Candidate(words, f"{words}{note}", local)


def _shown(reading: Reading, candidate: Candidate) -> str:
    if candidate.next_at is None or isinstance(reading.trigger, Once):
        return f'"{candidate.words}"'
    return f'"{candidate.words}" (next: {candidate.next_at.isoformat()})'
