"""Times, durations and numbers as text for people."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import pairwise

from cronty.jobs.overview import MAX_COUNTED
from cronty.timing import zone

_STEPS = ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "min"))


def span(length: timedelta | float | None) -> str:
    """`3 h 20 min`, `45 s`, `120 ms`: at most two parts."""
    if length is None:
        return "–"
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds < 0:
        return f"−{span(-seconds)}"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10 and not seconds.is_integer():
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    for place, (unit, name) in enumerate(_STEPS):
        if seconds >= unit:
            whole, rest = divmod(round(seconds), unit)
            smaller, small_name = _STEPS[place + 1] if place + 1 < len(_STEPS) else (1, "s")
            part = rest // smaller
            return f"{whole} {name} {part} {small_name}" if part and whole < 10 else f"{whole} {name}"
    raise AssertionError("unreachable")


def ago(moment: datetime | None, now: datetime) -> str:
    """`in 5 min`, `2 h ago`, `now`."""
    if moment is None:
        return "–"
    seconds = (moment - now).total_seconds()
    if abs(seconds) < 1.5:
        return "now"
    length = rough(abs(seconds))
    return f"in {length}" if seconds > 0 else f"{length} ago"


def rough(length: timedelta | float) -> str:
    """`2 h`, `45 s`: one part."""
    seconds = max(0.0, length.total_seconds() if isinstance(length, timedelta) else length)
    for unit, name in _STEPS:
        if seconds >= unit:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds)} s"


def duration(start: datetime | None, end: datetime | None) -> str:
    return "–" if start is None or end is None else span(end - start)


def clock_text(moment: datetime, zone_name: str, *, seconds: bool = False) -> str:
    """The time of day: `09:00`, with seconds if they matter."""
    local = moment.astimezone(zone(zone_name))
    return f"{local:%H:%M:%S}" if seconds else f"{local:%H:%M}"


def day_text(moment: datetime, zone_name: str, now: datetime | None = None) -> str:
    """`Today`, `Mon 16 Nov`, with the year if it isn't this year."""
    local = moment.astimezone(zone(zone_name))
    if now is not None:
        today = now.astimezone(zone(zone_name)).date()
        for days, name in ((0, "Today"), (1, "Tomorrow"), (-1, "Yesterday")):
            if local.date() == today + timedelta(days=days):
                return name
        if local.year == today.year:
            return f"{local:%a} {local.day} {local:%b}"
    return f"{local:%a} {local.day} {local:%b %Y}"


def is_fine(moments: Sequence[datetime]) -> bool:
    """Whether these times need seconds to be told apart."""
    return any(abs(after - before) < timedelta(minutes=1) for before, after in pairwise(moments))


def mid(text: str) -> str:
    """A day in the middle of a sentence: `today`."""
    return text[0].lower() + text[1:] if text.startswith(("Today", "Tomorrow", "Yesterday")) else text


def long_day(moment: datetime, zone_name: str) -> str:
    """`Thursday 22 October`."""
    local = moment.astimezone(zone(zone_name))
    return f"{local:%A} {local.day} {local:%B}"


def since(moment: datetime, now: datetime) -> str:
    """How long ago, without saying so: `2 h`."""
    return rough(now - moment)


def day_clock(moment: datetime, zone_name: str, now: datetime) -> str:
    """`09:00` today, `Tomorrow 09:00`, `Mon 16 Nov 09:00`."""
    day, clock = day_text(moment, zone_name, now), clock_text(moment, zone_name)
    return clock if day == "Today" else f"{day} {clock}"


def utc_text(moment: datetime) -> str:
    there = moment.astimezone(UTC)
    return f"{there:%Y-%m-%d %H:%M:%S}" if there.second else f"{there:%Y-%m-%d %H:%M}"


def number(value: float) -> str:
    """With thin spaces between thousands."""
    return f"{value:,.0f}".replace(",", "\u202f")


def counted(value: int) -> str:
    """A number with `+` if counting stopped there."""
    return f"{number(value)}+" if value >= MAX_COUNTED else number(value)


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def brief(text: str, room: int) -> str:
    """As much of a text as fits into `room` bytes of HTML after escaping."""
    if len(text) * 6 <= room or len(escape(text).encode()) <= room:
        return text
    shown: list[str] = []
    left = room - 3
    for one in text:
        left -= len(escape(one).encode())
        if left < 0:
            break
        shown.append(one)
    return "".join(shown).rstrip() + "…"


def first_line(text: str | None, length: int = 160) -> str:
    lines = (text or "").strip().splitlines()
    return cut(lines[0], length) if lines else ""


_RAISED = re.compile(
    r"(?:\w+\.)*([A-Z]\w*(?:Error|Exception|Failed|Timeout|Expired|Warning|Exit|Interrupt))(?::\s*(.*))?"
)
_NUMBER_OF_SYSTEM = re.compile(r"\[Errno -?\d+\] ")


def plain_error(text: str | None, length: int = 160) -> str:
    """What went wrong, in a line without the names of programs: `no answer within 30 s` of `TimeoutError: …`."""
    lines = (text or "").strip().splitlines()
    if not lines:
        return ""
    line = lines[-1 if lines[0].startswith("Traceback ") else 0].strip()
    if not (raised := _RAISED.fullmatch(line)):
        return cut(line, length)
    said = _NUMBER_OF_SYSTEM.sub("", raised[2] or "")
    if " " in said:
        return cut(said, length)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", raised[1]).capitalize()
    return cut(f"{name}: {said}" if said else name, length)


def unbroken(text: str) -> str:
    """Kept on one line: `30 s`."""
    return text.replace(" ", "\u00a0")
