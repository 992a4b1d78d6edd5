"""Days off take slots or move them, and every slot still gets exactly one verdict."""

import random
from datetime import UTC, date, datetime, timedelta
from time import thread_time

import pytest

from cronty.timing import (
    Broken,
    Calendar,
    CalendarRule,
    CatchUp,
    DayOff,
    Span,
    from_stored,
    plan,
    preview,
    to_stored,
)
from cronty.timing.calendar_json import calendar_from_json
from cronty.timing.days_off import read_days_off, with_days_off
from cronty.timing.errors import BadTrigger
from cronty.timing.ics_in import read_ics
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.plan import CatchUpMode
from cronty.timing.rule import read_rule
from tests.timing.calendars import days_off, some_calendar

BERLIN = "Europe/Berlin"
CHRISTMAS = DayOff(date(2026, 12, 25), "holiday (Christmas Day)")
BOXING_DAY = DayOff(date(2026, 12, 26), "holiday (Boxing Day)")
NINE = CalendarRule((540,))
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


def daily(*make_up_days: date) -> Calendar:
    return Calendar((NINE,), BERLIN, lists=days_off(CHRISTMAS, BOXING_DAY, on=make_up_days), calendars=("DE",))


def at(day: int, hour: int = 8) -> datetime:
    return datetime(2026, 12, day, hour, tzinfo=UTC)


def test_a_slot_on_a_day_off_is_skipped_with_the_name_of_the_day() -> None:
    planned = plan(daily(), at(25), at(25) + timedelta(seconds=1))
    assert planned.runs == ()
    assert [(one.verdict, one.reason, one.first, one.followed_by) for one in planned.passed] == [
        ("skipped", "holiday (Christmas Day)", at(25), at(26))
    ]
    assert planned.next_at == at(26)


def test_a_make_up_day_wins() -> None:
    planned = plan(daily(CHRISTMAS.day), at(25), at(25))
    assert [due.slot for due in planned.runs] == [at(25)]


def test_a_backlog_over_days_off_runs_the_latest_slot_that_is_none() -> None:
    planned = plan(daily(), at(23), at(26, 12), CatchUp(window=10 * DAY))
    assert [due.slot for due in planned.runs] == [at(24)]
    assert [(one.verdict, one.first) for one in planned.passed] == [
        ("coalesced", at(23)),
        ("skipped", at(25)),
        ("skipped", at(26)),
    ]
    assert planned.runs[0].followed_by == at(25)
    assert planned.next_at == at(27)


def test_a_schedule_that_is_used_up_ends_before_the_day_off() -> None:
    planned = plan(daily(), at(24), at(26, 12), CatchUp(window=10 * DAY), remaining=1)
    assert (len(planned.runs), planned.passed, planned.next_at) == (1, (), None)


def test_a_preview_says_what_days_off_do() -> None:
    slots = preview(daily(), at(24, 12), 3, BERLIN)
    assert [slot.note for slot in slots] == ["skipped: holiday (Christmas Day)", "skipped: holiday (Boxing Day)", None]
    moved = Calendar(
        (CalendarRule((540,), days=(25,)),), BERLIN, instead="next_business_day", lists=days_off(CHRISTMAS)
    )
    assert [(slot.utc, slot.note) for slot in preview(moved, at(1), 2, BERLIN)] == [
        (at(28), "moved from Friday 25 December: holiday (Christmas Day)"),
        (datetime(2027, 1, 25, 8, tzinfo=UTC), None),
    ]
    weekend = Calendar((CalendarRule((540,), days=(26,)),), BERLIN, instead="previous_business_day")
    assert preview(weekend, at(1), 1, BERLIN)[0].note == "moved from Saturday 26 December: weekend"


def test_the_first_business_day_knows_days_off() -> None:
    new_year = DayOff(date(2027, 1, 1), "holiday (New Year)")
    first = Calendar((CalendarRule((540,), business_days=(1,)),), lists=days_off(new_year))
    assert first.after(datetime(2026, 12, 30, tzinfo=UTC)) == datetime(2027, 1, 4, 9, tzinfo=UTC)
    saturday = Calendar((CalendarRule((540,), business_days=(1,)),), lists=days_off(new_year, on=(date(2027, 1, 2),)))
    assert saturday.after(datetime(2026, 12, 30, tzinfo=UTC)) == datetime(2027, 1, 2, 9, tzinfo=UTC)


def test_a_slot_that_a_gap_moves_over_midnight_belongs_to_its_own_day() -> None:
    # In Nuuk 23:00 becomes 00:00 on 27 March 2027.
    late = Calendar((CalendarRule((1410,)),), "America/Nuuk", lists=days_off(DayOff(date(2027, 3, 27), "x")))
    slot = datetime(2027, 3, 28, 1, tzinfo=UTC)
    assert late.after(slot - DAY / 2) == slot
    assert late.taken(slot) == "x"
    planned = plan(late, slot, slot)
    assert [(one.verdict, one.first, one.slots) for one in planned.passed] == [("skipped", slot, 1)]


def test_every_slot_of_any_backlog_gets_one_verdict() -> None:
    chance, taken = random.Random(4), 0
    modes: tuple[CatchUpMode, ...] = ("latest", "all", "none")
    for _ in range(300):
        near = datetime(2027, 3, 28, 9) + chance.randrange(-20, 20) * DAY  # noqa: DTZ001
        said = some_calendar(chance, near, chance.choice([BERLIN, "America/Nuuk", "Asia/Tokyo"]))
        said.pop("instead", None)
        said["off"] = {(near.date() + chance.randint(-9, 9) * DAY).isoformat(): "off" for _ in range(9)}
        try:
            calendar = calendar_from_json(said)
        except BadTrigger:
            continue
        first = calendar.after(near.replace(tzinfo=UTC) - 9 * DAY)
        if first is None:
            continue
        now = first + chance.randrange(18 * 24) * timedelta(hours=1)
        planned = plan(calendar, first, now, CatchUp(chance.choice(modes), chance.randint(1, 400) * DAY / 20, 5))
        slots = list_slots(calendar, first, now)
        pieces = sorted([*((due.slot, due.slot, 1, due.followed_by) for due in planned.runs)] + [
            (one.first, one.through, one.slots, one.followed_by) for one in planned.passed
        ])  # fmt: skip
        assert [piece[0] for piece in pieces[1:]] == [piece[3] for piece in pieces[:-1]]
        assert pieces[-1][3] == planned.next_at == calendar.after(slots[-1])
        assert sum(piece[2] for piece in pieces) == len(slots)
        for piece in pieces:
            assert len([slot for slot in slots if piece[0] <= slot <= piece[1]]) == piece[2]
        for one in planned.passed:
            for slot in slots:
                if one.first <= slot <= one.through:
                    assert (calendar.taken(slot) is not None) == (one.verdict == "skipped")
                    taken += one.verdict == "skipped"
        assert all(calendar.taken(due.slot) is None for due in planned.runs)
    assert taken > 300


def list_slots(calendar: Calendar, first: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    slot = calendar.after(first - TICK)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = calendar.after(slot)
    return found


def test_spans_are_taken_too() -> None:
    often = Calendar((CalendarRule((Span(540, 1020, 60),)),), BERLIN, lists=days_off(CHRISTMAS))
    planned = plan(often, at(25), at(26, 12), CatchUp("none"))
    assert (planned.passed[0].verdict, planned.passed[0].slots) == ("skipped", 9)


LIST: dict[str, object] = {
    "days": {"2027-12-25": "Christmas Day", "2027-05-01": "Labor Day"},
    "windows": [{"from": "2027-12-20", "through": "2028-01-03", "name": "Year-end freeze"}],
    "make_up_days": ["2027-12-22"],
}


def test_an_owners_list_becomes_days_of_the_trigger() -> None:
    team = read_days_off(LIST)
    known = {"team": team, "de": NamedCalendar({date(2027, 12, 22): "holiday (x)", date(2040, 1, 1): "holiday (far)"})}
    rule = read_rule("calendar", {"rules": [{"times": ["09:00"]}], "calendars": ["DE", "team"]}, BERLIN, at(1), known)
    assert isinstance(rule.trigger, Calendar)
    reasons = dict(rule.trigger.off)
    assert reasons[date(2027, 12, 25)] == "holiday (Christmas Day)"
    assert reasons[date(2027, 12, 20)] == "freeze (Year-end freeze)"
    assert date(2027, 12, 22) not in reasons
    assert reasons[date(2040, 1, 1)] == "holiday (far)"


def test_a_trigger_is_stored_with_the_names_of_its_lists_and_read_with_their_days() -> None:
    known = {"team": read_days_off({"windows": [{"from": "2026-01-01", "through": "2031-12-31", "name": "long"}]})}
    named = with_days_off(Calendar((NINE,), calendars=("Team",)), known)
    assert len(named.off) == 2191
    stored = to_stored(named)
    assert stored == {"kind": "calendar", "zone": "UTC", "rules": [{"times": ["09:00"]}], "calendars": ["Team"]}
    assert from_stored(stored, known) == named
    gone = from_stored(stored)
    assert isinstance(gone, Broken)
    assert "Unknown calendar: 'Team'" in gone.reason


def test_a_list_that_is_not_there_is_refused_with_those_that_are() -> None:
    said = {"rules": [{"times": ["09:00"]}], "calendars": ["teem"]}
    with pytest.raises(BadTrigger, match="make a list with save_calendar, or leave days out by their dates"):
        read_rule("calendar", said, BERLIN, at(1))
    with pytest.raises(BadTrigger, match="Use 'team'"):
        read_rule("calendar", said, BERLIN, at(1), {"team": read_days_off(LIST)})


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"dates": []},
        {"days": ["2027-12-25"]},
        {"days": {"25 December": "x"}},
        {"days": {"2027-12-25": ""}},
        {"windows": [{"from": "2027-12-20"}]},
        {"windows": [{"from": "2027-12-20", "through": "2027-12-19", "name": "x"}]},
        {"windows": [{"from": "2000-12-20", "through": "2027-12-19", "name": "x"}]},
        {"make_up_days": "2027-12-25"},
        {"days": {"0001-01-01": "x"}},
    ],
)
def test_a_list_that_cannot_be_used_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(BadTrigger) as refused:
        read_days_off(value)
    assert refused.value.hint


ICS = """BEGIN:VCALENDAR\r
BEGIN:VEVENT\r
DTSTART;VALUE=DATE:20271224\r
DTEND;VALUE=DATE:20271227\r
SUMMARY:Christ\r
 mas\\, all of it\r
END:VEVENT\r
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20271001T090000
SUMMARY:A meeting
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20200501
RRULE:FREQ=YEARLY
END:VEVENT
END:VCALENDAR
"""


def test_the_all_day_events_of_a_file_are_days_off() -> None:
    off = read_ics(ICS, date(2027, 3, 1)).off
    assert [day for day in off if day.month == 12] == [date(2027, 12, day) for day in (24, 25, 26)]
    assert off[date(2027, 12, 24)] == "holiday (Christmas, all of it)"
    assert off[date(2027, 5, 1)] == off[date(2035, 5, 1)] == "holiday (day off)"
    assert len(off) == 13


def event(*lines: str, start: str = "20271224") -> str:
    return "\n".join(("BEGIN:VEVENT", "UID:a", f"DTSTART;VALUE=DATE:{start}", *lines, "END:VEVENT", ""))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (event("DURATION:P3D"), "2027-12-24 2027-12-25 2027-12-26"),
        (event("DURATION:P1W"), " ".join(f"2027-12-{day}" for day in range(24, 31))),
        (event("RDATE;VALUE=DATE:20271231,20280101"), "2027-12-24 2027-12-31 2028-01-01"),
        (event("EXDATE;VALUE=DATE:20271224", "RDATE;VALUE=DATE:20271231"), "2027-12-31"),
        (event("RRULE:FREQ=YEARLY;WKST=SU;UNTIL=20291224"), "2027-12-24 2028-12-24 2029-12-24"),
        (event("RRULE:FREQ=YEARLY;COUNT=8", start="20200301"), "2026-03-01 2027-03-01"),
        (event("RRULE:FREQ=YEARLY;COUNT=3", "EXDATE;VALUE=DATE:20281224"), "2027-12-24 2029-12-24"),
        (event("RRULE:FREQ=YEARLY;COUNT=3", start="20240229"), "2028-02-29 2032-02-29"),
        (event("STATUS:CANCELLED") + event(start="20271226"), "2027-12-26"),
        (
            event("RRULE:FREQ=YEARLY;COUNT=2") + event("RECURRENCE-ID;VALUE=DATE:20281224", start="20281227"),
            "2027-12-24 2028-12-27",
        ),
        (
            event("RRULE:FREQ=YEARLY;COUNT=2") + event("RECURRENCE-ID;VALUE=DATE:20281224", "STATUS:CANCELLED"),
            "2027-12-24",
        ),
        (event("TRANSP:TRANSPARENT"), "2027-12-24"),
        (event("SUMMARY:one\u2028DTSTART;VALUE=DATE:20280101"), "2027-12-24"),
        (event("SUMMARY:one").replace("\n", "\r"), "2027-12-24"),
    ],
)
def test_what_an_event_says_of_its_days_counts(text: str, days: str) -> None:
    assert [day.isoformat() for day in sorted(read_ics(text, date(2027, 3, 9)).off)] == days.split()


def test_the_name_of_an_event_is_not_that_of_its_alarm() -> None:
    text = event("SUMMARY:Christmas", "BEGIN:VALARM", "SUMMARY:Buy gifts", "DTSTART;VALUE=DATE:20271201", "END:VALARM")
    assert read_ics(text, date(2027, 3, 9)).off == {date(2027, 12, 24): "holiday (Christmas)"}


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["DURATION:PT36H"], "DURATION: 'PT36H'"),
        (["RRULE:FREQ=YEARLY;BYDAY=4TH"], "BYDAY=4TH"),
        (["RRULE:FREQ=YEARLY;COUNT=0"], "COUNT=0"),
        (["RDATE:20271231T090000"], "20271231T090000"),
        (["RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20271224"], "RECURRENCE-ID"),
        (["DURATION:P400W", f"RDATE:{','.join(['20271231', '20281231'])}"], "Too many days"),
    ],
)
def test_what_cannot_be_said_of_days_off_is_refused_by_name(lines: list[str], named: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        read_ics(event(*lines), date(2027, 3, 9))
    assert named in refused.value.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "BEGIN:VEVENT\nDTSTART;VALUE=DATE:2027\nEND:VEVENT",
        ICS.replace("FREQ=YEARLY", "FREQ=MONTHLY"),
        "x" * 10**6 + "y",
    ],
)
def test_a_file_without_usable_days_is_refused(text: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        read_ics(text, date(2027, 3, 1))
    assert refused.value.hint


def test_days_that_are_said_again_and_again_are_counted_each_time() -> None:
    window = {"from": "2027-01-01", "through": "2029-12-31", "name": "again"}
    with pytest.raises(BadTrigger, match="Invalid window"):
        read_days_off({"windows": [window] * 5})
    event = "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20270101\nDTEND;VALUE=DATE:20300101\nSUMMARY:x\nEND:VEVENT\n"
    with pytest.raises(BadTrigger, match="Too many days"):
        read_ics(event * 5, date(2027, 1, 1))


def test_many_events_of_one_name_are_read_in_steps_that_grow_with_their_number() -> None:
    """Each of them looks up the days that others replace, and copies none."""

    def seconds(number: int) -> float:
        days = [(date(2027, 1, 1) + timedelta(days=each)).strftime("%Y%m%d") for each in range(number)]
        replacing = "".join(f"BEGIN:VEVENT\nUID:a\nRECURRENCE-ID:{day}\nEND:VEVENT\n" for day in days)
        text = event(start="20500101") * number + replacing
        found: list[float] = []
        for _ in range(3):
            began = thread_time()
            assert read_ics(text, date(2027, 3, 9)).off
            found.append(thread_time() - began)
        return min(found)

    assert seconds(1800) < 10 * seconds(450), "four times as many"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (event() * 4000 + event("RRULE:FREQ=MONTHLY"), "Too many days in the file"),
        (event("RDATE:" + "x," * 4000), "Too many days in the file"),
        (event(*["EXDATE:x,x"] * 2001), "Too many days in the file"),
        (event("RRULE:FREQ=MONTHLY", *["x"] * 100_000), "The file has 100005 lines"),
    ],
)
def test_a_file_is_counted_before_it_is_read(text: str, told: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        read_ics(text, date(2027, 3, 9))
    assert refused.value.message == told


def test_a_list_is_counted_before_its_days_are_read() -> None:
    for given in (
        {"days": {str(each): 1 for each in range(4001)}},
        {"make_up_days": [1] * 4001},
        {"windows": [1] * 4001},
    ):
        with pytest.raises(BadTrigger, match="Too many days off: 4001"):
            read_days_off(given)
