"""Times that are past, in ISO 8601 or words. Words mean a time to come, so they are read as of a day before too."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from cronty.timing.errors import BadTrigger
from cronty.timing.rule import read_bound, read_instant
from cronty.timing.zones import zone

_SHORT_HOUR: Final = re.compile(r"(?<![\d:.,])(?=\d:\d\d(?!\s*[ap]\.?m))", re.IGNORECASE)
_CLOCK: Final = re.compile(r"\d{1,2}:\d\d(:\d\d)?")
_YESTERDAY: Final = re.compile(r"\byesterday\b", re.IGNORECASE)
_LAST: Final = re.compile(r"\blast (?=(mon|tues?|wed(nes)?|thurs?|fri|sat(ur)?|sun)(day)?\b)", re.IGNORECASE)
_AGO: Final = re.compile(r"(.+)\sago", re.IGNORECASE)
_ON: Final = re.compile(r"\b(today|tomorrow|next|in|now)\b", re.IGNORECASE)
_YEAR: Final = timedelta(days=366)


def on_24_hours(text: str) -> str:
    """Words as code says them: 3:00 is at night, and needs no choice between that and the afternoon."""
    return _SHORT_HOUR.sub("0", text)


def read_past(text: str, zone_name: str, now: datetime) -> datetime:
    """A time that may be past."""
    text = on_24_hours(text.strip())
    midnight = _midnight(zone_name, now)
    if _CLOCK.fullmatch(text):
        text = f"today at {text}"
    if _YESTERDAY.fullmatch(text):
        raise BadTrigger(f'"{text}" doesn\'t say at what time', 'Say it as in "yesterday 9:00".')
    if _YESTERDAY.search(text):
        day_before = (midnight - timedelta(days=1)).astimezone(UTC)
        return read_instant(_YESTERDAY.sub("today", text), zone_name, day_before)
    if _LAST.search(text):
        return read_instant(_LAST.sub("", text), zone_name, (midnight - timedelta(days=7)).astimezone(UTC))
    try:
        return read_instant(text, zone_name, now)
    except BadTrigger:
        return read_instant(text, zone_name, midnight.astimezone(UTC))


def read_past_bound(value: str | datetime, zone_name: str, now: datetime, *, last: bool) -> datetime:
    """The first instant of a time or a day that may be past, or the last one.

    A day of the week or of the month without a year is the latest that has come: `friday`, `8 November`.
    """
    if isinstance(value, datetime):
        return read_bound(value, zone_name, now, last=last)
    text = on_24_hours(value.strip())
    if ago := _AGO.fullmatch(text):
        return now - (read_instant(f"in {ago[1]}", zone_name, now) - now)
    midnight = _midnight(zone_name, now)
    week = (midnight - timedelta(days=7)).astimezone(UTC)
    if _LAST.search(text):
        return read_bound(_LAST.sub("", text), zone_name, week, last=last)
    if (_YESTERDAY.search(text) and not _YESTERDAY.fullmatch(text)) or _CLOCK.fullmatch(text):
        return read_past(text, zone_name, now)
    try:
        found = read_bound(text, zone_name, now, last=last)
    except BadTrigger:
        return read_bound(text, zone_name, midnight.astimezone(UTC), last=last)
    if found <= now or _ON.search(text) or not any(map(str.isalpha, text)):
        return found
    earlier = (read_bound(text, zone_name, since, last=last) for since in (week, now - _YEAR))
    return next((one for one in earlier if one <= now), found)


def _midnight(zone_name: str, now: datetime) -> datetime:
    """The start of today."""
    return now.astimezone(zone(zone_name)).replace(hour=0, minute=0, second=0, microsecond=0)
