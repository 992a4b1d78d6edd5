"""From the recurrence rules of iCalendar (RFC 5545) to a calendar; what a calendar can't hold is refused by name.

Held: FREQ from DAILY to YEARLY, INTERVAL, UNTIL, COUNT, BYMONTH, BYMONTHDAY, BYDAY, BYHOUR, BYMINUTE, BYSETPOS of
weekdays within a month, and EXDATE of whole days. Several RRULE lines are a union, as the rules of a calendar are.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from cronty.timing.calendar import MAX_RULES, Calendar
from cronty.timing.calendar_json import WEEKDAYS
from cronty.timing.calendar_rule import CalendarRule, Span, Unit
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.localtime import instant_of, midnight
from cronty.timing.zones import zone

LONGEST: Final = 4096
_EXAMPLE: Final = '"DTSTART;TZID=Europe/Berlin:20270405T090000\\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO"'
_UNITS: Final[dict[str, Unit]] = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_OFTEN: Final = ("HOURLY", "MINUTELY", "SECONDLY")
_HELD: Final = frozenset(
    {
        *("FREQ", "INTERVAL", "UNTIL", "COUNT", "WKST", "BYMONTH", "BYMONTHDAY"),
        *("BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS"),
    }
)
_BYDAY: Final = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_MOMENT: Final = re.compile(r"([0-9]{8})(?:T([0-9]{6})(Z)?)?")
# Lines may also stand side by side; a zone's name may have spaces in it.
_BREAK: Final = re.compile(r"[\r\n]|\s(?=(?i:DTSTART|RRULE|EXDATE|RDATE|EXRULE)[;:]|(?i:FREQ)=)")
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,6}")
_DAY: Final = timedelta(days=1)
_TICK: Final = timedelta(microseconds=1)
_COUNTED_YEARS: Final = 100
_LAST_SECOND: Final = timedelta(hours=23, minutes=59, seconds=59)


@dataclass(frozen=True, slots=True)
class _Rule:
    """One RRULE line, and the moment from which it counts, if there is one."""

    parts: dict[str, str]
    start: datetime | None
    zone: str

    def numbers(self, name: str) -> tuple[int, ...]:
        found = self.parts.get(name)
        if found is None:
            return ()
        values = found.split(",")
        if len(values) > 400 or not all(map(_WHOLE.fullmatch, values)):
            raise _refused(f"{name}={found}", "It takes whole numbers, with commas between them.")
        return tuple(map(int, values))

    def number(self, name: str) -> int | None:
        found = self.numbers(name)
        if name in self.parts and (len(found) != 1 or found[0] < 1):
            raise _refused(f"{name}={self.parts[name]}", "It is one positive number.")
        return found[0] if found else None

    @property
    def freq(self) -> str:
        return self.parts.get("FREQ", "")


def read_rrule(text: str, zone_name: str, now: datetime) -> tuple[Calendar, int | None]:
    """Return the calendar that the lines describe, and how many more times it is to fire, if they say so.

    Local times are those of DTSTART's TZID, else of `zone_name`.
    """
    start, own_zone, rules, left_out = _lines(text, zone_name)
    read = [_rule(_Rule(parts, start, own_zone)) for parts in rules]
    ends = {until for _, until, _ in read}
    counts = {count for _, _, count in read}
    if len(ends) > 1 or (len(read) > 1 and counts != {None}):
        raise _refused("several RRULE lines with different ends", "Give all of them the same UNTIL, and no COUNT.")
    calendar = Calendar(
        tuple(rule for rule, _, _ in read),
        own_zone,
        starts=None if start is None else start.date(),
        ends=ends.pop(),
        without=_without(left_out, {time for rule, _, _ in read for time in rule.times}),
    )
    count = counts.pop()
    if start is not None:
        _check_start(calendar, start, now)
    return calendar, None if count is None else _still_to_come(calendar, start, count, now)


# -- lines --------------------------------------------------------------------------------------------------------


def _lines(text: str, zone_name: str) -> tuple[datetime | None, str, list[dict[str, str]], list[tuple[datetime, bool]]]:
    """Return DTSTART, the zone, the RRULEs, and the moments of EXDATE with whether each is a whole day."""
    if len(text) > LONGEST:
        raise BadTrigger(f"The RRULE has {len(text)} characters", f"At most {LONGEST}.")
    start, own_zone, rules, dates = None, zone(zone_name).key, list[dict[str, str]](), list[tuple[str, str]]()
    for line in filter(None, map(str.strip, _BREAK.split(text.replace("\r\n ", "").replace("\n ", "")))):
        name, colon, value = line.partition(":")
        if not colon and line.upper().startswith("FREQ="):
            name, value = "RRULE", line
        name, _, parameters = name.partition(";")
        match name.upper():
            case "RRULE" if not parameters:
                rules.append(_parts(value.upper()))
            case "DTSTART" if start is None:
                start, own_zone = _start(value.upper(), parameters, own_zone)
            case "EXDATE":
                dates += ((each, parameters) for each in value.upper().split(","))
            case _:
                raise _refused(shown(line), "Lines are DTSTART (one), RRULE and EXDATE.")
    if not 1 <= len(rules) <= MAX_RULES:
        raise _refused(f"{len(rules)} RRULE lines", f"Give 1 to {MAX_RULES}, as in {_EXAMPLE}.")
    return start, own_zone, rules, [(_local(each, more, own_zone), "T" not in each) for each, more in dates]


def _parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value or name in parts:
            raise _refused(shown(part), f"Parts are NAME=VALUE, each once, as in {_EXAMPLE}.")
        parts[name] = value
    return parts


def _start(value: str, parameters: str, own_zone: str) -> tuple[datetime, str]:
    if parameters.startswith("TZID="):
        own_zone = _zone(parameters)
    elif value.endswith("Z"):
        own_zone = "UTC"
    start = _local(value, parameters, own_zone)
    if start.second:
        raise _refused(f"DTSTART:{value}", "A calendar has no seconds.")
    return start, own_zone


def _zone(parameters: str) -> str:
    """The zone of a TZID, which may be in quotes."""
    return zone(parameters.removeprefix("TZID=").strip('"')).key


def _local(value: str, parameters: str, own_zone: str) -> datetime:
    """Return a moment as the clocks of the zone show it, without an offset."""
    found = _MOMENT.fullmatch(value)
    known = parameters.upper() in ("", "VALUE=DATE", "VALUE=DATE-TIME")
    if found is None or not (known or (parameters.startswith("TZID=") and _zone(parameters) == own_zone)):
        raise _refused(
            shown(f"{parameters}:{value}"), "Moments are 20270405T090000, or with a Z for UTC; all in one zone."
        )
    try:
        moment = datetime.strptime(found[1] + (found[2] or "000000"), "%Y%m%d%H%M%S")  # noqa: DTZ007
    except ValueError:
        raise _refused(shown(value), "There is no such moment.") from None
    if not found[3] or own_zone == "UTC":
        return moment
    if not 1970 <= moment.year <= 9990:
        raise _refused(shown(value), "Use years from 1970 to 9990.")
    return moment.replace(tzinfo=UTC).astimezone(zone(own_zone)).replace(tzinfo=None)


# -- one rule -----------------------------------------------------------------------------------------------------


def _rule(said: _Rule) -> tuple[CalendarRule, date | None, int | None]:
    """Return the rule, its last day, and how many times it fires."""
    _check(said)
    every = said.number("INTERVAL") or 1
    times = _times(said)
    days = _days(said)
    if every > 1 and said.start is None:
        raise _refused(f"INTERVAL={every} without DTSTART", f"Say from when to count, as in {_EXAMPLE}.")
    rule = CalendarRule(
        times,
        every,
        _UNITS[said.freq] if every > 1 else "day",
        _since(said, said.start) if said.start is not None and every > 1 else None,
        **days,
    )
    count = said.number("COUNT")
    if count is not None and "UNTIL" in said.parts:
        raise _refused("COUNT beside UNTIL", "Give one of them.")
    return rule, _last_day(said, times), count


def _check(said: _Rule) -> None:
    if said.freq in _OFTEN:
        raise _refused(f"FREQ={said.freq}", "Use an interval, or BYHOUR and BYMINUTE with FREQ=DAILY.")
    if said.freq not in _UNITS:
        raise _refused(f"FREQ={shown(said.freq)}", "Use DAILY, WEEKLY, MONTHLY or YEARLY.")
    for name in said.parts:
        if name not in _HELD:
            raise _refused(shown(name), f"Held are {', '.join(sorted(_HELD))}.")
    if said.parts.get("BYSECOND", "0") != "0":
        raise _refused("BYSECOND", "A calendar has no seconds.")
    if said.parts.get("WKST", "MO") not in WEEKDAYS:
        raise _refused(f"WKST={shown(said.parts['WKST'])}", "Use MO to SU.")


def _since(said: _Rule, start: datetime) -> date:
    """The day to count from: weeks of a calendar begin on Monday, so those of WKST may be the ones after or before."""
    if said.freq != "WEEKLY":
        return start.date()
    begins = WEEKDAYS.index(said.parts.get("WKST", "MO"))
    days = _weekdays(said)[0] or (start.weekday(),)
    shifts = {(day - begins) % 7 - (start.weekday() - begins) % 7 - (day - start.weekday()) for day in days}
    if len(shifts) > 1:
        raise _refused(f"WKST={said.parts['WKST']}", "Weeks are counted from Monday, and these days lie across it.")
    shift = shifts.pop()
    return start.date() + (timedelta(days=shift - start.weekday()) if shift else timedelta(0))


def _times(said: _Rule) -> tuple[int, ...]:
    hours, minutes = said.numbers("BYHOUR"), said.numbers("BYMINUTE")
    if said.start is None and not hours:
        raise _refused("an RRULE without a time", f"Add DTSTART or BYHOUR, as in {_EXAMPLE}.")
    hours = hours or ((said.start.hour,) if said.start else ())
    minutes = minutes or ((said.start.minute,) if said.start else (0,))
    if not all(0 <= hour < 24 for hour in hours) or not all(0 <= minute < 60 for minute in minutes):
        raise _refused("BYHOUR or BYMINUTE", "Hours are 0 to 23, minutes 0 to 59.")
    return tuple(hour * 60 + minute for hour in hours for minute in minutes)


def _without(left_out: list[tuple[datetime, bool]], times: set[int | Span]) -> tuple[date, ...]:
    """Return the days of EXDATE; one that leaves out only some times of a day is refused."""
    named: dict[date, set[int | Span]] = {}
    for moment, whole_day in left_out:
        minutes = times if whole_day else {moment.hour * 60 + moment.minute}
        named.setdefault(moment.date(), set()).update(minutes)
    for day, minutes in named.items():
        if minutes != times:
            raise _refused(
                f"EXDATE on {day}", "It leaves out other times of the day than it has; leave out whole days."
            )
    return tuple(named)


def _days(said: _Rule) -> dict[str, Any]:
    """Return the tests on days, by their names in a rule; what isn't said comes from DTSTART."""
    weekdays, nths = _weekdays(said)
    found: dict[str, Any] = {"months": said.numbers("BYMONTH"), "days": said.numbers("BYMONTHDAY")}
    if found["days"] and said.freq == "WEEKLY":
        raise _refused("BYMONTHDAY with FREQ=WEEKLY", "Use FREQ=MONTHLY.")
    if nths and (said.freq in ("DAILY", "WEEKLY") or (said.freq == "YEARLY" and not found["months"])):
        raise _refused(
            f"BYDAY={said.parts['BYDAY']} with FREQ={said.freq}", "Number weekdays within a month: FREQ=MONTHLY."
        )
    if "BYSETPOS" in said.parts:
        return found | _by_position(said, weekdays, nths)
    found |= {"weekdays": weekdays, "nths": nths}
    if not weekdays and not nths and not found["days"] and said.freq != "DAILY":
        if said.start is None:
            raise _refused(f"FREQ={said.freq} without days", f"Add DTSTART or BYDAY, as in {_EXAMPLE}.")
        if said.freq == "WEEKLY":
            found["weekdays"] = (said.start.weekday(),)
        else:
            found["days"] = (said.start.day,)
            if said.freq == "YEARLY" and not found["months"]:
                found["months"] = (said.start.month,)
    if said.freq == "YEARLY" and not found["months"]:
        found["months"] = tuple(range(1, 13))
    return found


def _weekdays(said: _Rule) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    text = said.parts.get("BYDAY")
    items = [] if text is None else [_BYDAY.fullmatch(item) for item in text.split(",")]
    weekdays: list[int] = []
    nths: list[tuple[int, int]] = []
    for item in items:
        if item is None:
            raise _refused(f"BYDAY={shown(text)}", "Use MO to SU, 1MO for the first Monday, -1FR for the last Friday.")
        day = WEEKDAYS.index(item[2])
        if item[1] is None:
            weekdays.append(day)
        else:
            nths.append((int(item[1]), day))
    return tuple(weekdays), tuple(nths)


def _by_position(said: _Rule, weekdays: tuple[int, ...], nths: tuple[tuple[int, int], ...]) -> dict[str, Any]:
    """BYSETPOS picks from all moments of a month; it is held where those are one weekday, or Monday to Friday."""
    places = said.numbers("BYSETPOS")
    one_a_day = len(_times(said)) == 1 and not nths and "BYMONTHDAY" not in said.parts
    monthly = said.freq == "MONTHLY" or (said.freq == "YEARLY" and len(said.numbers("BYMONTH")) == 1)
    if one_a_day and monthly and set(weekdays) == {0, 1, 2, 3, 4}:
        return {"business_days": places}
    if one_a_day and monthly and len(weekdays) == 1:
        return {"nths": tuple((place, weekdays[0]) for place in places)}
    raise _refused(
        f"BYSETPOS={said.parts['BYSETPOS']}",
        "It is held with FREQ=MONTHLY, one time, and one weekday or BYDAY=MO,TU,WE,TH,FR.",
    )


def _last_day(said: _Rule, times: tuple[int, ...]) -> date | None:
    if "UNTIL" not in said.parts:
        return None
    text = said.parts["UNTIL"]
    until = _local(text, "", said.zone)
    if "T" not in text:
        until += _LAST_SECOND
    minute = until.hour * 60 + until.minute
    if all(time <= minute for time in times):
        return until.date()
    if any(time <= minute for time in times):
        raise _refused(f"UNTIL={text}", "It ends between two times of a day; name the end of a day.")
    return until.date() - timedelta(days=1)


# -- from when, how often -----------------------------------------------------------------------------------------


def _check_start(calendar: Calendar, start: datetime, now: datetime) -> None:
    """Refuse a start in the middle of a day, if that is still to come and earlier times of the day would fire."""
    at = instant_of(start, calendar.zone).at
    if at > now and calendar.count(max(midnight(start.date(), calendar.zone), now), at - timedelta(seconds=1)):
        raise _refused(f"DTSTART at {start:%H:%M}", "It lies between two times of its day; start at the first of them.")


def _still_to_come(calendar: Calendar, start: datetime | None, count: int, now: datetime) -> int:
    """COUNT counts from DTSTART, also what EXDATE takes out; a job counts its runs from now on."""
    if start is None:
        return count
    since, every = instant_of(start, calendar.zone).at, replace(calendar, without=())
    left = count - (every.count(since, now) if since <= now else 0)
    counted = now if since <= now else since - _TICK
    ahead, taken = 0, 0
    for day in calendar.without:
        begins, ends = (midnight(each, calendar.zone) for each in (day, day + _DAY))
        if day.year > now.year + _COUNTED_YEARS:
            raise _refused(f"COUNT beside EXDATE on {day}", f"It is more than {_COUNTED_YEARS} years away.")
        if ends <= counted:
            continue
        ahead += every.count(counted + _TICK, begins - _TICK)
        slots = every.count(max(counted + _TICK, begins), ends - _TICK)
        taken += max(0, min(slots, left - ahead))
        ahead, counted = ahead + slots, ends - _TICK
    if left - taken < 1:
        raise _refused(f"COUNT={count} from {start:%Y-%m-%d}", "All of them are past.")
    return left - taken


def _refused(what: str, hint: str) -> BadTrigger:
    return BadTrigger(f"Can't hold this RRULE: {what}", hint)
