"""What a calendar trigger may say, how it is stored, and what is said about one that can't be used."""

from datetime import date

import pytest

from cronty.timing.calendar import MAX_RULES, Calendar, DayOff
from cronty.timing.calendar_json import calendar_from_json, calendar_to_json
from cronty.timing.calendar_rule import UNITS, CalendarRule, Span
from cronty.timing.errors import BadTrigger

APRIL = date(2027, 4, 5)
WHOLE = {
    "kind": "calendar",
    "zone": "Europe/Berlin",
    "rules": [
        {
            "times": ["09:00", "17:30"],
            "every": 2,
            "unit": "week",
            "since": "2027-04-05",
            "weekdays": ["MO", "TH"],
        },
        {"times": ["08:00-21:30/45"], "days": [1, -1], "months": [3, 6]},
        {"times": ["09:00"], "business_days": [1, -1]},
        {"times": ["10:00"], "weekdays": ["MO", "1FR", "-1SU"]},
    ],
    "starts": "2027-03-15",
    "ends": "2027-12-31",
    "without": ["2027-12-25", "2027-12-27/2027-12-30"],
    "calendars": ["DE-BE", "team"],
    "instead": "next_business_day",
    "off": {"2027-12-26": "Boxing Day"},
    "on": ["2027-10-09"],
    "gap": "skip",
    "overlap": "both",
}


def test_a_calendar_is_stored_as_it_is_said() -> None:
    calendar = calendar_from_json(WHOLE)
    assert calendar_to_json(calendar) == WHOLE
    assert calendar.rules[0] == CalendarRule((540, 1050), 2, "week", APRIL, weekdays=(0, 3))
    assert calendar.rules[1] == CalendarRule((Span(480, 1290, 45),), days=(1, -1), months=(3, 6))
    assert calendar.rules[3] == CalendarRule((600,), weekdays=(0,), nths=((1, 4), (-1, 6)))
    assert calendar.off == (DayOff(date(2027, 12, 26), "Boxing Day"),)
    assert len(calendar.without) == 5


def test_one_rule_has_one_spelling() -> None:
    said = CalendarRule((600, 540, 600), weekdays=tuple(range(7)), months=tuple(range(1, 13)), days=(-1, 15, 1, 1))
    assert said == CalendarRule((540, 600), days=(1, 15, -1))
    assert Span(480, 1300, 45) == Span(480, 1290, 45)
    assert CalendarRule((540,), unit="week", weekdays=(0,)) == CalendarRule((540,), weekdays=(0,))


def test_a_rhythm_without_days_takes_those_of_its_first_day() -> None:
    assert CalendarRule((540,), 2, "week", APRIL).weekdays == (0,)
    assert CalendarRule((540,), 3, "month", APRIL).days == (5,)
    assert CalendarRule((540,), 2, "year", APRIL).months == (4,)
    assert CalendarRule((540,), 2, "year", APRIL).days == (5,)
    assert CalendarRule((540,), 2, "year", APRIL, business_days=(1,)).days == ()
    assert CalendarRule((540,), 2, "day", APRIL).days == ()


def test_all_weekdays_of_every_other_week_are_not_one_of_them() -> None:
    week = tuple(range(7))
    assert CalendarRule((540,), 2, "week", APRIL, weekdays=week).weekdays == week
    assert CalendarRule((540,), 2, "month", APRIL, weekdays=week).days == ()
    assert len(CalendarRule((540,), 2, "year", APRIL, months=tuple(range(1, 13))).months) == 12
    for unit in UNITS:
        calendar = Calendar((CalendarRule((540,), 2, unit, APRIL, weekdays=week, months=tuple(range(1, 13))),))
        assert calendar_from_json(calendar_to_json(calendar)) == calendar


def test_quarters_are_three_months() -> None:
    said = {"times": ["09:00"], "unit": "quarter", "since": "2027-01-15"}
    assert calendar_from_json({"rules": [said]}).rules == (CalendarRule((540,), 3, "month", date(2027, 1, 15)),)


def test_weekdays_may_be_said_in_full() -> None:
    said = {"times": ["9:00"], "weekdays": ["Mon", "thursday", "-1Fri"]}
    assert calendar_from_json({"rules": [said]}).rules == (CalendarRule((540,), weekdays=(0, 3), nths=((-1, 4),)),)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, '"times" is missing'),
        ({"times": []}, 'Invalid "times"'),
        ({"times": ["24:00"]}, "'24:00'. Use \"09:00\""),
        ({"times": ["09:00-10:00"]}, "range with its step"),
        ({"times": ["22:00-02:00/30"]}, "over midnight takes two"),
        ({"times": ["08:00-09:00/90"]}, "fit into the range"),
        ({"times": ["08:00-09:00/0"]}, "1 or more"),
        ({"times": [f"{n // 60:02}:{n % 60:02}" for n in range(49)]}, "for more use a range"),
        ({"times": ["09:00"], "hours": [1]}, "Unknown key for a calendar rule: 'hours'"),
        ({"times": ["09:00"], "weekdays": []}, "leave it out"),
        ({"times": ["09:00"], "weekdays": ["MX"]}, '"-1FR" for the last Friday'),
        ({"times": ["09:00"], "weekdays": ["6MO"]}, "1MO to 5MO"),
        ({"times": ["09:00"], "days": [0]}, "-1 for the last day"),
        ({"times": ["09:00"], "days": [True]}, "whole number"),
        ({"times": ["09:00"], "months": [13]}, "1 (January) to 12"),
        ({"times": ["09:00"], "business_days": [24]}, "1 for the first"),
        ({"times": ["09:00"], "every": 2, "unit": "week"}, 'needs "since"'),
        ({"times": ["09:00"], "every": 0}, "Invalid rhythm"),
        ({"times": ["09:00"], "every": 11, "unit": "year", "since": "2027-01-01"}, "10 years"),
        ({"times": ["09:00"], "unit": "hour"}, "day, week, month, quarter or year"),
        ({"times": ["09:00"], "unit": "week"}, 'Name its "weekdays"'),
        ({"times": ["09:00"], "unit": "year", "days": [1]}, 'Name its "months" and "days"'),
        ({"times": ["09:00"], "unit": "quarter", "days": [1]}, "[1, 4, 7, 10]"),
        ({"times": ["09:00"], "since": "2027-01-01"}, 'Use "starts"'),
        ({"times": ["09:00"], "every": 2, "since": "1 May"}, "2027-12-31"),
        ("09:00", "Invalid calendar rule"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_with_what_to_do(rule: object, said: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        calendar_from_json({"rules": [rule]})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"rules": []}, "leave it out"),
        ({"rules": [{"times": [f"{n:02}:00"]} for n in range(MAX_RULES + 1)]}, "Name 1 to 8"),
        ({"rules": [None] * (MAX_RULES + 1)}, "Name 1 to 8"),
        ({"rules": [{"times": [None] * 401}]}, "Name 1 to 400"),
        ({"rules": [{"times": ["09:00"]}], "without": [None] * 401}, "Name 1 to 400"),
        ({"except": ["2027-12-25"]}, "Known are calendars, ends, gap, instead"),
        ({"starts": "2027-12-31", "ends": "2027-01-01"}, "Name an end after its start"),
        ({"starts": "0001-01-01"}, "1970 to 9990"),
        ({"without": ["2027-12-25/2027-12-24"]}, "must end after it starts"),
        ({"without": ["2000-01-01/2027-12-24"]}, "use a named calendar"),
        ({"instead": "later"}, '"next_business_day"'),
        ({"zone": "Berlin/Europe"}, "Berlin"),
        ({"gap": []}, "Unknown gap policy"),
        ({"calendars": [""]}, "1 to 64 characters"),
        ({"off": ["2027-12-25"]}, "Christmas Day"),
    ],
)
def test_a_calendar_that_cannot_be_used_is_refused_with_what_to_do(parts: dict[str, object], said: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        calendar_from_json({"rules": [{"times": ["09:00"]}], **parts})
    assert said in str(refused.value)


def test_equal_calendars_are_equal_however_they_are_said() -> None:
    nine, ten = CalendarRule((540,)), CalendarRule((600,))
    assert Calendar((nine, nine, ten), "Europe/Berlin") == Calendar((nine, ten), "Europe/Berlin")
