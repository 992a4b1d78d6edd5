"""Other programs read from our file the slots that we have, on days on which clocks change too."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import icalendar
import pytest
from dateutil.rrule import rrulestr
from ical.calendar_stream import IcsCalendarStream

from cronty.timing import Calendar, CalendarRule, Changed, Cron, DayOff, Interval, Once, SlotChange, Span, Trigger
from cronty.timing.cron_rules import as_calendar
from cronty.timing.ics_out import HORIZON, MAX_A_DAY, Entry, write_ics
from cronty.timing.rrule_in import read_rrule
from tests.timing.calendars import days_off

NOW = datetime(2027, 2, 11, 10, 20, tzinfo=UTC)
TICK = timedelta(microseconds=1)
BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def entry(slots: Trigger | Changed, ends_at: datetime | None = None, remaining: int | None = None) -> Entry:
    running = slots.open if isinstance(slots, Calendar | Changed) else slots
    first = running.after(NOW)
    assert first is not None
    return Entry("job-1", "A, job; with\nwords", "Every day — at nine", slots, first, ends_at, remaining)


def ours(one: Entry) -> list[datetime]:
    slots = one.slots.open if isinstance(one.slots, Calendar | Changed) else one.slots
    found: list[datetime] = []
    slot = slots.after(one.first - TICK)
    while slot is not None and slot <= one.first + HORIZON and (one.ends_at is None or slot <= one.ends_at):
        if one.remaining is not None and len(found) == one.remaining:
            break
        found.append(slot)
        slot = slots.after(slot)
    return found


def events_in(text: str) -> list[Any]:
    calendar: Any = icalendar.Calendar.from_ical(text)
    return calendar.walk("VEVENT")


def by_icalendar(text: str) -> list[datetime]:
    """The slots that a program reads which takes the zone by its name and expands rules by local times."""
    found: list[datetime] = []
    for event in events_in(text):
        start: datetime = event["DTSTART"].dt
        if "RRULE" not in event:
            found.append(start.astimezone(UTC))
            continue
        left_out: Any = event.get("EXDATE", [])
        lists = cast("list[Any]", left_out) if isinstance(left_out, list) else [left_out]
        without: set[datetime] = {each.dt.replace(tzinfo=None) for one in lists for each in one.dts}
        rule: Any = event["RRULE"]
        until: datetime = rule.pop("UNTIL", [datetime(2030, 1, 1, tzinfo=UTC)])[0]
        for local in rrulestr(rule.to_ical().decode(), dtstart=start.replace(tzinfo=None)):
            slot = local.replace(tzinfo=start.tzinfo).astimezone(UTC)
            if slot > until:
                break
            if local not in without:
                found.append(slot)
    return sorted(found)


def by_ical(text: str, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    for event in IcsCalendarStream.calendar_from_ics(text).timeline:
        assert isinstance(event.dtstart, datetime)
        if event.dtstart.astimezone(UTC) > until:
            break
        found.append(event.dtstart.astimezone(UTC))
    return found


RULES: list[Trigger | Changed] = [
    Cron("0 9 * * 1-5", BERLIN),
    Cron("30 2 * * *", BERLIN),
    Cron("30 2 * * *", NEW_YORK, gap="skip", overlap="both"),
    Cron("15 2,14 * * *", LORD_HOWE),
    Cron("30 1-3 * * 0", NEW_YORK),
    Cron("0 */8 * * *", BERLIN),
    Cron("0 12 1,L * 5", BERLIN),
    Cron("0 12 * * 1#2,5L", BERLIN),
    Cron("0 9 29 2 *", "Asia/Tokyo"),
    Cron("0 10 * * MON,SUN%2+1", NEW_YORK),
    Interval(timedelta(hours=25), NOW),
    Interval(timedelta(days=2), NOW),
    Once(NOW + timedelta(days=40)),
    Calendar((CalendarRule((150, 545), weekdays=(5, 6)), CalendarRule((540,), days=(-1,))), BERLIN),
    Calendar((CalendarRule((Span(60, 240, 60),), weekdays=(6,)),), NEW_YORK),
    Calendar((CalendarRule((540,), every=2, unit="week", since=date(2027, 1, 4), weekdays=(0, 3)),), BERLIN),
    Calendar((CalendarRule((540,), business_days=(1, -1)),), BERLIN),
    Calendar((CalendarRule((540,), days=(1, 15)),), BERLIN, instead="next_business_day"),
    Calendar(
        (CalendarRule((150,)),), BERLIN, lists=days_off(DayOff(date(2027, 3, 28), "x"), DayOff(date(2027, 12, 24), "y"))
    ),
    Calendar((CalendarRule((540,)),), BERLIN, starts=date(2027, 6, 1), ends=date(2027, 11, 30)),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_two_other_programs_read_the_slots_that_we_have(rule: Trigger | Changed) -> None:
    one = entry(rule)
    text = write_ics([one], NOW, "Cronty: ann")
    wanted = ours(one)
    assert [slot for slot in by_icalendar(text) if slot <= one.first + HORIZON] == wanted
    assert by_ical(text, one.first + HORIZON) == wanted


def test_a_run_that_is_skipped_or_moved_is_so_in_the_file() -> None:
    nine = datetime(2027, 3, 1, 8, tzinfo=UTC)
    day = timedelta(days=1)
    changes = (SlotChange(nine, "no"), SlotChange(nine + day, "moved", nine + day + timedelta(hours=2)))
    one = entry(Changed(Cron("0 9 * * *", BERLIN), changes))
    found = by_icalendar(write_ics([one], NOW, "x"))
    assert [slot for slot in found if slot <= one.first + HORIZON] == ours(one)
    assert nine not in found
    assert nine + day + timedelta(hours=2) in found


def test_what_ends_ends_in_the_file() -> None:
    daily = Cron("0 9 * * *", BERLIN)
    for one in (entry(daily, remaining=3), entry(daily, ends_at=datetime(2027, 5, 1, tzinfo=UTC))):
        assert by_icalendar(write_ics([one], NOW, "x")) == ours(one)


def test_what_rrule_cannot_say_is_written_slot_by_slot_for_a_year() -> None:
    one = entry(Cron("0 9 LW * *", BERLIN))
    text = write_ics([one], NOW, "x")
    assert "RRULE" not in text
    found = by_icalendar(text)
    assert found == ours(one)[: len(found)]
    assert len(found) in (12, 13)


def test_what_comes_very_often_is_left_out() -> None:
    text = write_ics([entry(Cron("*/5 * * * *")), entry(Interval(timedelta(hours=24 / MAX_A_DAY), NOW))], NOW, "x")
    assert text.count("BEGIN:VEVENT") == 1


def test_names_cannot_break_out_of_their_line() -> None:
    strange = "a\r\nEND:VEVENT\r\nBEGIN:VALARM, ; \\ é" + "ü" * 80
    one = Entry("job-1", strange, strange, Once(NOW + timedelta(days=1)), NOW + timedelta(days=1))
    text = write_ics([one], NOW, strange)
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert text.count("BEGIN:VALARM") == text.count("\r\nBEGIN:VALARM") + 3
    [event] = events_in(text)
    assert str(event["SUMMARY"]) == strange.replace("\r\n", "  ")


@pytest.mark.parametrize(
    "expression",
    [
        "0 9 * * 1-5",
        "*/30 8-10 * * *",
        "5 4 1,15,L 1-6/2 *",
        "0 12 1 * 5",
        "0 12 */2 * MON",
        "0 12 * * 1#2,5L,0",
        "@weekly",
        "0 10 * * MON,WED%3+1",
    ],
)
def test_a_cron_is_the_calendar_it_is_taken_for(expression: str) -> None:
    cron = Cron(expression)
    calendar = as_calendar(cron, NOW.date())
    assert calendar is not None
    slot = cron.after(NOW)
    for _ in range(400):
        assert slot is not None
        following = cron.after(slot)
        assert calendar.after(slot) == following
        slot = following


def test_our_own_reader_takes_what_we_write() -> None:
    text = write_ics([entry(Cron("0 9 * * 1-5", BERLIN))], NOW, "x")
    lines = [line for line in text.split("\r\n") if line.startswith(("DTSTART;", "RRULE"))]
    calendar, _ = read_rrule("\n".join(lines), "UTC", NOW)
    assert calendar.after(NOW) == Cron("0 9 * * 1-5", BERLIN).after(NOW)
