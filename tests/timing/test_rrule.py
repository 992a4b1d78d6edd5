"""Recurrence rules in and out: what is held means the same to us and to others, what isn't is refused by name."""

import random
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest

from cronty.timing import BadTrigger, Calendar, CalendarRule, Cron, Span, from_json, read_rrule, to_rrules
from cronty.timing.rule import read_rule
from tests.timing.calendars import some_calendar

BERLIN = "Europe/Berlin"
NOW = datetime(2027, 3, 10, 20, tzinfo=UTC)
START = "DTSTART;TZID=Europe/Berlin:20270405T090000\n"
APRIL = date(2027, 4, 5)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("FREQ=DAILY", CalendarRule((540,))),
        ("FREQ=DAILY;INTERVAL=3", CalendarRule((540,), 3, "day", APRIL)),
        ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30", CalendarRule((540, 570, 1020, 1050))),
        ("FREQ=WEEKLY", CalendarRule((540,), weekdays=(0,))),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;WKST=MO", CalendarRule((540,), 2, "week", APRIL, weekdays=(0, 3))),
        ("FREQ=MONTHLY", CalendarRule((540,), days=(5,))),
        ("FREQ=MONTHLY;BYMONTHDAY=1,-1", CalendarRule((540,), days=(1, -1))),
        ("FREQ=MONTHLY;BYDAY=MO,1FR", CalendarRule((540,), weekdays=(0,), nths=((1, 4),))),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", CalendarRule((540,), weekdays=(4,), days=(13,))),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1", CalendarRule((540,), business_days=(1, -1))),
        ("FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1", CalendarRule((540,), nths=((-1, 4),))),
        ("FREQ=YEARLY", CalendarRule((540,), months=(4,), days=(5,))),
        ("FREQ=YEARLY;BYMONTH=3,9;BYDAY=2SU", CalendarRule((540,), months=(3, 9), nths=((2, 6),))),
        ("FREQ=YEARLY;INTERVAL=2;BYMONTHDAY=1", CalendarRule((540,), 2, "year", APRIL, tuple(range(1, 13)), (1,))),
    ],
)
def test_an_rrule_is_read_as_a_rule(text: str, rule: CalendarRule) -> None:
    assert read_rrule(f"{START}RRULE:{text}", "UTC", NOW) == (Calendar((rule,), BERLIN, starts=APRIL), None)


def test_an_rrule_may_come_alone_with_its_hour() -> None:
    assert read_rrule("freq=daily;byhour=9", BERLIN, NOW) == (Calendar((CalendarRule((540,)),), BERLIN), None)


def test_several_rrules_are_a_union() -> None:
    text = f"{START}RRULE:FREQ=WEEKLY;BYDAY=MO\r\nRRULE:FREQ=MONTHLY;BYMONTHDAY=1"
    rules = (CalendarRule((540,), weekdays=(0,)), CalendarRule((540,), days=(1,)))
    assert read_rrule(text, "UTC", NOW)[0] == Calendar(rules, BERLIN, starts=APRIL)


@pytest.mark.parametrize(
    ("until", "ends"),
    [
        ("20271231", date(2027, 12, 31)),
        ("20271231T090000", date(2027, 12, 31)),
        ("20271231T080000Z", date(2027, 12, 31)),
        ("20271231T075959Z", date(2027, 12, 30)),
    ],
)
def test_until_is_a_last_day(until: str, ends: date) -> None:
    assert read_rrule(f"{START}RRULE:FREQ=DAILY;UNTIL={until}", "UTC", NOW)[0].ends == ends


def test_count_counts_from_the_start_and_a_job_from_now_on() -> None:
    text = "DTSTART;TZID=Europe/Berlin:20270301T090000\nRRULE:FREQ=DAILY;COUNT=15"
    assert read_rrule(text, "UTC", NOW)[1] == 5
    rule = read_rule("calendar", {"rrule": text}, "UTC", NOW)
    assert (rule.zone, rule.max_runs) == (BERLIN, 5)
    with pytest.raises(BadTrigger, match="All of them are past"):
        read_rrule(text, "UTC", NOW + timedelta(days=30))


@pytest.mark.parametrize(
    ("text", "left", "last"),
    [
        ("DTSTART:20270405T090000Z\nRRULE:FREQ=WEEKLY;COUNT=5\nEXDATE:20270412T090000Z", 4, "2027-05-03"),
        (
            "DTSTART:20270405T090000Z\nRRULE:FREQ=WEEKLY;COUNT=5\nEXDATE:20270412T090000Z,20270419T090000Z",
            3,
            "2027-05-03",
        ),
        ("DTSTART:20270405T090000Z\nRRULE:FREQ=WEEKLY;COUNT=5\nEXDATE:20270510T090000Z", 5, "2027-05-03"),
        ("DTSTART:20270301T090000Z\nRRULE:FREQ=DAILY;COUNT=20\nEXDATE:20270303T090000Z", 10, "2027-03-20"),
        ("DTSTART:20270301T090000Z\nRRULE:FREQ=DAILY;COUNT=20\nEXDATE:20270315T090000Z", 9, "2027-03-20"),
        ("DTSTART:20270405T090000Z\nRRULE:FREQ=DAILY;BYHOUR=9,18;COUNT=3\nEXDATE;VALUE=DATE:20270406", 2, "2027-04-05"),
    ],
)
def test_count_counts_what_is_left_out_too(text: str, left: int, last: str) -> None:
    calendar, count = read_rrule(text, "UTC", NOW)
    assert count == left
    slot = NOW
    for _ in range(left):
        slot = calendar.after(slot) or NOW
    assert slot.date().isoformat() == last


def test_a_count_of_nothing_but_days_left_out_is_refused() -> None:
    with pytest.raises(BadTrigger, match="COUNT=1 from"):
        read_rrule("DTSTART:20270405T090000Z\nRRULE:FREQ=DAILY;COUNT=1\nEXDATE:20270405T090000Z", "UTC", NOW)
    with pytest.raises(BadTrigger, match="COUNT beside EXDATE on 9000-04-05"):
        read_rrule("DTSTART:20270405T090000Z\nRRULE:FREQ=YEARLY;COUNT=1\nEXDATE:90000405T090000Z", "UTC", NOW)


@pytest.mark.parametrize(
    ("start", "days", "begins"),
    [
        *(
            (start, day, begins)
            for start in ("20270405", "20270411")
            for day in ("FR", "SU")
            for begins in ("SU", "WE")
        ),
        ("20270411", "MO,WE,FR", "SU"),
        ("20270411", "MO,TU,WE,TH,FR", "SA"),
        ("20270407", "WE,TH,FR", "WE"),
        ("20270405", "MO,TU", "WE"),
    ],
)
def test_weeks_may_begin_on_any_day_that_does_not_part_the_days(start: str, days: str, begins: str) -> None:
    text = f"DTSTART:{start}T090000Z\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY={days};WKST={begins}"
    calendar, _ = read_rrule(text, "UTC", NOW)
    rule: Any = import_module("dateutil.rrule").rrulestr(text)
    slots, slot = list[datetime](), NOW
    while len(slots) < 20 and (slot := calendar.after(slot) or NOW) > NOW:
        slots.append(slot)
    assert slots == [rule[number] for number in range(20)]


def test_a_zone_in_quotes_is_the_zone() -> None:
    text = 'DTSTART;TZID="Europe/Berlin":20270405T090000\nRRULE:FREQ=DAILY\nEXDATE;TZID="Europe/Berlin":20270406T090000'
    assert read_rrule(text, "UTC", NOW)[0].zone == BERLIN


def test_a_zone_with_spaces_in_its_name_is_named_whole() -> None:
    with pytest.raises(BadTrigger, match=r"Unknown time zone: W\. Europe Standard Time"):
        read_rrule("DTSTART;TZID=W. Europe Standard Time:20270405T090000 RRULE:FREQ=DAILY", "UTC", NOW)


def test_days_left_out_are_read() -> None:
    text = f"{START}RRULE:FREQ=DAILY\nEXDATE;TZID=Europe/Berlin:20271225T090000,20271226T090000"
    assert read_rrule(text, "UTC", NOW)[0].without == (date(2027, 12, 25), date(2027, 12, 26))
    assert len(read_rrule(f"{START}RRULE:FREQ=DAILY\nEXDATE;VALUE=DATE:20271225", "UTC", NOW)[0].without) == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "0 RRULE lines"),
        ("RRULE:FREQ=HOURLY", "FREQ=HOURLY"),
        ("RRULE:FREQ=FORTNIGHTLY", "FORTNIGHTLY"),
        ("RRULE:FREQ=DAILY;BYYEARDAY=1", "BYYEARDAY"),
        ("RRULE:FREQ=YEARLY;BYWEEKNO=1", "BYWEEKNO"),
        ("RRULE:FREQ=DAILY;BYSECOND=30", "BYSECOND"),
        ("RRULE:FREQ=DAILY;INTERVAL=0", "INTERVAL=0"),
        ("RRULE:FREQ=DAILY;INTERVAL=x", "INTERVAL=X"),
        ("RRULE:FREQ=DAILY;COUNT=2;UNTIL=20271231", "COUNT beside UNTIL"),
        ("RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU", "WKST=SU"),
        ("RRULE:FREQ=WEEKLY;INTERVAL=2;WKST=XX", "WKST='XX'"),
        ("RRULE:FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY with FREQ=WEEKLY"),
        ("RRULE:FREQ=WEEKLY;BYDAY=1MO", "BYDAY=1MO with FREQ=WEEKLY"),
        ("RRULE:FREQ=YEARLY;BYDAY=20MO", "BYDAY=20MO with FREQ=YEARLY"),
        ("RRULE:FREQ=MONTHLY;BYDAY=XX", "BYDAY='XX'"),
        ("RRULE:FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1", "BYSETPOS=1"),
        ("RRULE:FREQ=DAILY;BYHOUR=25", "BYHOUR"),
        ("RRULE:FREQ=DAILY;BYHOUR=8,18;UNTIL=20271231T120000", "UNTIL=20271231T120000"),
        ("RRULE:FREQ=DAILY;FREQ=DAILY", "FREQ=DAILY"),
        ("RRULE:FREQ=DAILY\nRDATE:20271231T090000", "RDATE"),
        ("RRULE:FREQ=DAILY;BYHOUR=8,18\nEXDATE:20271231T180000", "EXDATE on 2027-12-31"),
        ("RRULE:FREQ=DAILY;BYHOUR=8,18", "DTSTART at 09:00"),
        ("RRULE:FREQ=DAILY;COUNT=3\nRRULE:FREQ=DAILY;COUNT=4", "different ends"),
        ("DTSTART:20270405T090000\nRRULE:FREQ=DAILY", "DTSTART"),
    ],
)
def test_what_a_calendar_cannot_hold_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        read_rrule(START + text, "UTC", NOW)
    assert named in refused.value.message
    assert refused.value.hint


def test_an_rrule_without_a_time_or_a_first_day_is_refused() -> None:
    for text in ("FREQ=DAILY", "FREQ=WEEKLY;BYHOUR=9", "FREQ=DAILY;BYHOUR=9;INTERVAL=2"):
        with pytest.raises(BadTrigger, match="DTSTART"):
            read_rrule(text, "UTC", NOW)


def test_a_calendar_is_said_in_rrules() -> None:
    rule = CalendarRule((540, 1050, Span(600, 720, 60)), 2, "week", APRIL, weekdays=(0, 3))
    calendar = Calendar((rule,), BERLIN, ends=date(2027, 12, 31), without=(date(2027, 4, 8),))
    lines = to_rrules(calendar, date(2027, 1, 1))
    assert [line.rrule for line in lines] == [
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;BYHOUR=9,10,11,12;BYMINUTE=0;UNTIL=20271231T225959Z",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;BYHOUR=17;BYMINUTE=30;UNTIL=20271231T225959Z",
    ]
    assert [str(line.start) for line in lines] == ["2027-04-05 09:00:00", "2027-04-05 17:30:00"]
    assert [len(line.without) for line in lines] == [4, 1]


def test_what_rrules_cannot_say_is_refused_by_name() -> None:
    both = CalendarRule((540,), business_days=(1,), weekdays=(0,))
    with pytest.raises(BadTrigger, match="business days together"):
        to_rrules(Calendar((both,)), APRIL)
    with pytest.raises(BadTrigger, match="moved"):
        to_rrules(Calendar((CalendarRule((540,)),), instead="next_business_day"), APRIL)


def test_what_goes_out_comes_in_again() -> None:
    chance, read = random.Random(3), 0
    for _ in range(400):
        try:
            calendar = from_json(said_in_utc(chance))
            assert isinstance(calendar, Calendar)
            lines = to_rrules(calendar, date(2027, 1, 1))
        except BadTrigger:
            continue
        for line in lines:
            text = f"DTSTART:{line.start:%Y%m%dT%H%M%S}Z\nRRULE:{line.rrule}"
            for day in {each.date() for each in line.without}:
                text += f"\nEXDATE;VALUE=DATE:{day:%Y%m%d}"
            again, _ = read_rrule(text, "UTC", NOW)
            alone = Calendar(again.rules)
            start = line.start.replace(tzinfo=UTC)
            assert slots(again, start, 5) == slots(alone, start, 5, again)
            read += 1
    assert read > 500


def slots(calendar: Calendar | Cron, since: datetime, most: int, within: Calendar | None = None) -> list[datetime]:
    found: list[datetime] = []
    moment = calendar.after(since - timedelta(seconds=1))
    while moment is not None and len(found) < most:
        if within is None or (
            moment.date() not in within.without and (within.ends is None or moment.date() <= within.ends)
        ):
            found.append(moment)
        if within is not None and within.ends is not None and moment.date() > within.ends:
            break
        moment = calendar.after(moment)
    return found


def said_in_utc(chance: random.Random) -> dict[str, Any]:
    said = some_calendar(chance, datetime(2027, 3, 12, 9), "UTC")  # noqa: DTZ001
    said.pop("instead", None)
    return said


def test_dateutil_finds_the_same_slots_where_no_clock_changes() -> None:
    pytest.importorskip("dateutil")
    dateutil: Any = import_module("dateutil.rrule")
    chance, compared = random.Random(1), 0
    for _ in range(400):
        try:
            calendar = from_json(said_in_utc(chance))
            assert isinstance(calendar, Calendar)
            lines = to_rrules(calendar, date(2027, 1, 1))
        except BadTrigger:
            continue
        peer = dateutil.rruleset()
        for line in lines:
            peer.rrule(dateutil.rrulestr(line.rrule.replace("Z", ""), dtstart=line.start))
            for moment in line.without:
                peer.exdate(moment)
        horizon = datetime(2036, 1, 1)  # noqa: DTZ001
        theirs = [slot for slot in peer.xafter(datetime(2026, 12, 31), count=40) if slot < horizon]  # noqa: DTZ001
        off = {each.day for each in calendar.off}
        ours = [slot for slot in slots(calendar, datetime(2027, 1, 1, tzinfo=UTC), 400) if slot.date() not in off]
        assert [slot.replace(tzinfo=None) for slot in ours][: len(theirs)] == theirs, calendar
        compared += 1
    assert compared > 200
