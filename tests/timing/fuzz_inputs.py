"""What the fuzzer gives to the parsers: mostly almost right, sometimes anything at all."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

from cronty.timing.words.vocabulary import MONTHS, NUMBERS, ORDINALS, PARTS, UNITS, WEEKDAYS, WEEKDAYS_PLURAL
from tests.timing.__main__ import days, list_or_range, names
from tests.timing.calendars import some_calendar
from tests.timing.phrases import AMBIGUOUS, PHRASES, REFUSED, ZONED

FIRST: Final = datetime(1, 1, 1)  # noqa: DTZ001
NEAR: Final = datetime(2027, 3, 28, 2, 30)  # noqa: DTZ001
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789 :/.,-()@*#%+'\"[]{}é\t\n😀\0"
PIECES: Final = [
    *(*WEEKDAYS, *WEEKDAYS_PLURAL, *MONTHS, *NUMBERS, *ORDINALS, *PARTS, *UNITS),
    *("every", "every", "each", "every other", "hourly", "daily", "weekly", "monthly", "yearly", "nightly"),
    *("fortnightly", "biweekly", "every 2 weeks", "every 3 weeks on", "counting from", "5 January 2026"),
    *("at", "at", "on", "on the", "the", "and", "or", "of", "in", "to", "from", "between", "through", "until", "a"),
    *("today", "tonight", "tomorrow", "noon", "midnight", "weekdays", "weekends", "next", "this", "next week", "last"),
    *("half", "quarter", "past", "past the hour", "am", "pm", "oclock", "from now", "please", "remind me", "an"),
    *(
        "0",
        "1",
        "2",
        "3",
        "9",
        "12",
        "15",
        "17",
        "24",
        "30",
        "31",
        "59",
        "60",
        "99",
        "2027",
        "2028",
        "9999999",
        "999999999",
        "99999999999",
    ),
    *("9:00", "09:00", "17:30", "9.30", "25:00", "9am", "12pm", "9:75", "09:00:30", ":15", "9-17", "9 to 5"),
    *("1st", "2nd", "15th", "31st", "32nd", "2h30m", "PT1H", "P1D", "P1M", "P", "1d", "0m", "1.5 hours"),
    *("2027-12-31", "2027-02-29", "03/04", "31.12.2027", "3/4/2028", "2027-12-31T09:00Z", "0000-00-00", "9999-12-31"),
    *("of the month", "of every month", "last day", "first Monday", "by the clock", "on the hour", "(second pass)"),
    *("minutes", "at minutes 0 through 29", "1st through 31st", "or on Mondays", "weekend", "christmas"),
    *("or", "or 10", "once", "except", "except the first Monday", "starting", "for 2 weeks", "10 times", "June 2027"),
    *("15th and last business day", "business day", "and on Friday at 10", "9 and 5 pm", "every June", "; and", "only"),
    *(",", "-", ":", "/", ".", "(", ")", "&", "UTC", "Berlin time", "New York time", "Pacific time", "Europe/Berlin"),
    *("time", "EST", "in Tokyo", "@daily", "*", "*/5", "MON-FRI", "MON%2", "L", "0 9", "* * *", "'", "é"),
]
LINKS: Final = ("; and ", " and ", ", ", " or ", " ")
FIELD_PIECES: Final = (
    *("*", "*/2", "*/7", "*/60", "*/0", "0", "7", "59", "60", "1-5", "5-1", "1-5/2", "3-3/2", "L", "LW", "15W", "MON"),
    *("MON-FRI", "SUN", "MON#1", "5L", "1#6", "MON%2", "MON,WED%3+1", "*%52", "%2", "MON%2%2", "JAN", "?", "1,,2", ""),
    *(
        "1,2,3,4,5,6,7,8,9",
        "0-59",
        "1-31",
        "0-6",
        "MON-SUN",
        "31",
        "30,31",
        "29",
        "FEB",
        "99999999999999999999",
        "-",
        "/",
    ),
)
UNIT_NAMES: Final = (*UNITS, "", "quarters", "h30m", "T", "S", "M", "D")
ISO_PARTS: Final = (
    "2027",
    "03",
    "28",
    "T02:30",
    "T02:30:00.123456",
    "+01:00",
    "Z",
    "-23:59",
    "+24:00",
    "W13",
    "-7",
    "T",
)
ISO: Final = (
    *("2027-03-28T02:30:00+01:00", "2027-03-28T02:30", "20270328T0230", "2027-W13-7", "2027-10-31T02:30", "2027-03-28"),
    *("0001-01-01T00:00:00+14:00", "0001-01-01T00:00", "9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59.999999Z"),
    *("1883-11-18T12:03:57", "2011-12-30T09:00", "2027-03-28T02:30:00+01:00:30.5", "2027-03-28T24:00"),
)
NUMBERS_OF_ALL_KINDS: Final[tuple[object, ...]] = (
    *(0, 1, -1, 15, 60, 900, 3600, 86_400, 10**9, 10**18, int("1" * 30), int("1" * 400), -int("9" * 4000) * 10**1000),
    *(0.5, 1e-9, 1e300, -0.0, float("nan"), float("inf"), float("-inf"), True, False, None),
)
VALUES_OF_ALL_KINDS: Final[tuple[object, ...]] = (
    *NUMBERS_OF_ALL_KINDS,
    *(date(2027, 3, 28), datetime.max.replace(tzinfo=UTC), FIRST, list[object](), dict[str, object](), b"2027"),
)


def anything(chance: random.Random, most: int = 40) -> str:
    return "".join(chance.choice(LETTERS) for _ in range(chance.randint(0, most)))


def changed(chance: random.Random, text: str) -> str:
    """Return a text with up to three characters dropped, doubled, swapped or replaced."""
    for _ in range(chance.randint(0, 3)):
        at = chance.randint(0, len(text))
        new = chance.choice(("", text[at : at + 1] * 2, chance.choice(LETTERS), text[at : at + 1].swapcase()))
        text = text[:at] + new + text[at + 1 :]
    return text


def texts(chance: random.Random) -> Iterator[object]:
    """Random characters, random words, and sentences with a word changed."""
    known = [row[0] for row in (*PHRASES, *ZONED, *AMBIGUOUS, *REFUSED)]
    while True:
        yield anything(chance, 140)
        yield changed(chance, chance.choice(known))
        if chance.random() < 0.1:
            yield chance.choice(LINKS).join(chance.choice(known) for _ in range(chance.randint(2, 20)))[:500]
            yield chance.choice((" ", ",", " or ", " and ")).join(chance.choice(PIECES) for _ in range(99))[:500]
            yield ((chance.choice(PIECES) + chance.choice(LINKS)) * 250)[:500]
        for _ in range(4):
            yield " ".join(chance.choice(PIECES) for _ in range(chance.randint(1, 9)))
            words = chance.choice(known).split(" ")
            where = chance.randrange(len(words))
            change = chance.choice([[], [chance.choice(PIECES)], [words[where], chance.choice(PIECES)]])
            yield " ".join(words[:where] + change + words[where + 1 :])


def cron_text(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.4:
        return f"{list_or_range(chance, 0, 59)} {list_or_range(chance, 0, 23)} {days(chance, NEAR)}"
    if kind < 0.7:
        fields = [",".join(chance.choices(FIELD_PIECES, k=chance.choice((1, 1, 2, 3)))) for _ in range(5)]
        return " ".join(fields)
    if kind < 0.9:
        return changed(chance, f"{chance.choice(FIELD_PIECES)} {list_or_range(chance, 0, 23)} {days(chance, NEAR)}")
    return chance.choice(
        (anything(chance), changed(chance, "@daily"), chance.choice(FIELD_PIECES) * chance.randint(1, 99))
    )


def zone_text(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.7:
        name = chance.choice(names())
        return changed(
            chance, chance.choice((name, name, name.rpartition("/")[2], name.lower(), name.replace("_", " ")))
        )
    if kind < 0.8:
        return changed(chance, chance.choice(("+02:00", "UTC+2", "EST", "CEST", "GMT0", "Etc/GMT+5", "Z", "utc", "")))
    return anything(chance, chance.choice((10, 64, 200, 2000)))


def moment_value(chance: random.Random) -> object:
    kind = chance.random()
    if kind < 0.5:
        return changed(chance, chance.choice(ISO))
    if kind < 0.7:
        moment = FIRST + timedelta(seconds=chance.randrange(3652059 * 86_400))
        return moment.isoformat() + chance.choice(("", "Z", "+05:45", "-23:59", "+23:59:59"))
    if kind < 0.85:
        return "-".join(chance.choice(ISO_PARTS) for _ in range(chance.randint(1, 6)))
    return chance.choice((anything(chance), *VALUES_OF_ALL_KINDS))


def value_of_any_kind(chance: random.Random) -> object:
    return chance.choice(
        (
            *(moment_value(chance), cron_text(chance), zone_text(chance), anything(chance)),
            *(chance.choice(NUMBERS_OF_ALL_KINDS), chance.randint(0, 10**6), chance.random() * 10**6, [1], {"a": 1}),
        )
    )


def likely(chance: random.Random, **members: object) -> dict[str, object]:
    """Return these members, now and then without one, with another, or with a value of another kind."""
    found = dict(members)
    for name in members:
        if chance.random() < 0.1:
            found[name] = value_of_any_kind(chance)
        elif chance.random() < 0.05:
            del found[name]
    if chance.random() < 0.1:
        found[chance.choice(("zone", "gap", "overlap", "anchor", "at", "local", "seconds", "kind", "strange"))] = "skip"
    return found


def config(chance: random.Random) -> tuple[str, dict[str, object]]:
    kind = chance.choice(("once", "interval", "cron", "cron", "Once", "rrule", ""))
    if kind == "once":
        return kind, likely(chance, run_at=moment_value(chance))
    if kind == "interval":
        units = chance.sample(("seconds", "minutes", "hours", "days", "weeks"), chance.randint(0, 4))
        return kind, {unit: chance.choice((chance.randint(0, 100), value_of_any_kind(chance))) for unit in units}
    gap, overlap = chance.choice(("run_after", "skip", "both")), chance.choice(("first", "both", ""))
    return kind, likely(chance, expression=cron_text(chance), dst_gap=gap, dst_overlap=overlap)


def json_object(chance: random.Random) -> dict[str, object]:
    kind = chance.choice(("once", "local", "interval", "cron", "cron", "strange"))
    moment, here = (
        chance.choice((moment_value(chance), chance.choice(ISO))),
        chance.choice((*names(), zone_text(chance))),
    )
    if kind == "once":
        return likely(chance, kind=kind, at=moment)
    if kind == "local":
        return likely(chance, kind="once", at=chance.choice(ISO), local=moment, zone=here)
    if kind == "interval":
        seconds = chance.choice((chance.randint(0, 10**6), chance.choice(NUMBERS_OF_ALL_KINDS)))
        return likely(chance, kind=kind, seconds=seconds, anchor=moment)
    gap, overlap = chance.choice(("run_after", "skip", "both")), chance.choice(("first", "both", ""))
    return likely(chance, kind=kind, expression=cron_text(chance), zone=here, gap=gap, overlap=overlap)


def calendar_object(chance: random.Random) -> dict[str, object]:
    """A calendar, now and then with a part that doesn't belong there."""
    near = datetime(2027, 1, 1) + timedelta(minutes=chance.randrange(10**6))  # noqa: DTZ001
    said = some_calendar(chance, near, chance.choice(names()))
    if chance.random() < 0.6:
        said["rules"] = [likely(chance, **rule) if chance.random() < 0.5 else rule for rule in said["rules"]]
    return likely(chance, **said) if chance.random() < 0.6 else said


def rrule_text(chance: random.Random) -> str:
    """Lines of iCalendar, most of them almost right."""
    start = datetime(2026, 1, 1) + timedelta(minutes=15 * chance.randrange(10**5))  # noqa: DTZ001
    parts = [f"FREQ={chance.choice(('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY', 'HOURLY'))}"]
    for name, values in (
        ("INTERVAL", ("2", "3", "0", "999999")),
        ("BYDAY", ("MO", "MO,TU,WE,TH,FR", "1MO,-1FR", "MO,2TU", "6SU", "")),
        ("BYMONTHDAY", ("1", "-1", "13", "31", "32", "1,15,-1")),
        ("BYMONTH", ("2", "1,4,7,10", "13")),
        ("BYHOUR", ("9", "9,17", "24", "0,1,2,3,4,5,6,7,8")),
        ("BYMINUTE", ("0", "0,30", "60", ",".join(map(str, range(60))))),
        ("BYSETPOS", ("1", "-1", "0", "1,-1")),
        ("UNTIL", ("20271231", "20271231T120000Z", "20270230", "99991231T235959Z")),
        ("COUNT", ("10", "0", "x")),
        ("WKST", ("MO", "SU")),
        ("BYYEARDAY", ("1",)),
    ):
        if chance.random() < 0.2:
            parts.append(f"{name}={chance.choice(values)}")
    zone_part = chance.choice(("", "", f";TZID={chance.choice(names())}", ";VALUE=DATE", f";TZID={zone_text(chance)}"))
    lines = [f"DTSTART{zone_part}:{start:%Y%m%dT%H%M%S}{chance.choice(('', '', 'Z'))}", f"RRULE:{';'.join(parts)}"]
    if chance.random() < 0.2:
        lines.append(f"EXDATE{zone_part}:{start + timedelta(days=7):%Y%m%dT%H%M%S}")
    if chance.random() < 0.1:
        lines.pop(chance.randrange(len(lines)))
    text = chance.choice(("\n", "\r\n")).join(lines)
    return changed(chance, text) if chance.random() < 0.4 else text


def ics_text(chance: random.Random) -> str:
    """A file of a few all-day events, with a flaw here and there."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0"]
    for _ in range(chance.randrange(8)):
        day = date(2020, 1, 1) + timedelta(days=chance.randrange(4000))
        start = chance.choice((f"DTSTART;VALUE=DATE:{day:%Y%m%d}",) * 8 + ("DTSTART:20270101T090000Z", "DTSTART", ""))
        length = timedelta(days=chance.choice((1, 1, 1, 2, 14, 500, 0, -3)))
        last = f"DTEND;VALUE=DATE:{day + length:%Y%m%d}"
        end = chance.choice((last, last, "", "DTEND:20271332", "DTEND;VALUE=DATE:99991231"))
        rule = chance.choice(("", "", "RRULE:FREQ=YEARLY", "RRULE:FREQ=YEARLY;BYMONTH=1", "RRULE:FREQ=DAILY", "RRULE:"))
        name = f"SUMMARY:{anything(chance, 30)}"
        lines += ["BEGIN:VEVENT", start, end, rule, name, chance.choice(("END:VEVENT",) * 9 + ("",))]
    text = chance.choice(("\r\n", "\n", "\n ")).join(each for each in lines if each)
    return changed(chance, text) if chance.random() < 0.3 else text


def duration_text(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.3:
        letters = "PT" + "".join(
            f"{chance.randint(0, 10 ** chance.randint(0, 12))}{chance.choice('HMSDWY.T')}" for _ in range(3)
        )
        return changed(chance, letters)
    if kind < 0.9:
        number = (
            chance.randint(0, 99),
            f"{chance.random():.3f}",
            chance.choice((*NUMBERS, "a", "an", "half", "9" * 40)),
        )
        return " ".join(
            f"{chance.choice(number)}{chance.choice(('', ' '))}{chance.choice(UNIT_NAMES)}"
            for _ in range(chance.choice((1, 1, 2, 4)))
        )
    return anything(chance)


def id_value(chance: random.Random) -> str | int:
    known = ("job_42_1770000000", "scd_1a", "#42", "42", "scd_zzzzzzzzzzzzz", "job_9999999999999999999_1")
    return chance.choice(
        (changed(chance, chance.choice(known)), anything(chance), chance.choice((-1, 0, 2**63, 10**30)))
    )


def policy_values(chance: random.Random) -> dict[str, object]:
    names_of = ("attempts", "backoff", "backoff_factor", "backoff_max", "jitter", "timeout", "overlap", "catch_up")
    known = (*names_of, "catch_up_window", "catch_up_limit", "spread")
    kinds = ("skip", "queue", "latest", "all")
    return {
        chance.choice((*known, *known, *known, "strange")): chance.choice(
            (chance.randint(0, 1000), chance.random(), chance.choice(kinds), value_of_any_kind(chance))
        )
        for _ in range(chance.randint(0, 4))
    }
