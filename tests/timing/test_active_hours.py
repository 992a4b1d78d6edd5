"""A heartbeat is a rule with active hours: by the clock, on days on which it changes too."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from cronty.timing.rule import read_rule

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(("day", "offset"), [((2027, 3, 28), 2), ((2027, 10, 31), 1), ((2027, 6, 1), 2)])
def test_active_hours_are_hours_of_the_clock_on_every_day(day: tuple[int, int, int], offset: int) -> None:
    midnight = datetime(*day, tzinfo=BERLIN).astimezone(UTC)
    text = "every 30 minutes between 8:00 and 22:00"
    trigger = read_rule("words", {"text": text}, "Europe/Berlin", midnight).trigger
    slots: list[datetime] = []
    moment = trigger.after(midnight)
    while moment is not None and moment.astimezone(BERLIN).date() == datetime(*day, tzinfo=UTC).date():
        slots.append(moment)
        moment = trigger.after(moment)
    assert len(slots) == 28
    assert slots[0].astimezone(BERLIN).strftime("%H:%M") == "08:00"
    assert slots[-1].astimezone(BERLIN).strftime("%H:%M") == "21:30"
    assert slots[0] == datetime(*day, 8 - offset, tzinfo=UTC)
    assert {later - earlier for earlier, later in pairwise(slots)} == {timedelta(minutes=30)}


def test_active_hours_may_be_those_of_weekdays() -> None:
    saturday = datetime(2027, 3, 27, tzinfo=UTC)
    text = "every 30 minutes between 8:00 and 22:00 on weekdays"
    trigger = read_rule("words", {"text": text}, "Europe/Berlin", saturday).trigger
    assert trigger.after(saturday) == datetime(2027, 3, 29, 6, tzinfo=UTC), "Monday at 8:00, summer time"


@pytest.mark.parametrize("minutes", [45, 90, 7])
def test_what_does_not_divide_an_hour_counts_from_the_first_of_the_day(minutes: int) -> None:
    text = f"every {minutes} minutes between 8:00 and 22:00"
    midnight = datetime(2027, 3, 1, tzinfo=UTC)
    trigger = read_rule("words", {"text": text}, "UTC", midnight).trigger
    moment, slots = midnight, list[datetime]()
    while (slot := trigger.after(moment)) is not None and slot < midnight + timedelta(days=1):
        slots.append(slot)
        moment = slot
    first, last = midnight + timedelta(hours=8), midnight + timedelta(hours=22)
    assert slots[:3] == [first + number * timedelta(minutes=minutes) for number in range(3)]
    assert last - timedelta(minutes=minutes) <= slots[-1] < last, "between leaves out its end"
