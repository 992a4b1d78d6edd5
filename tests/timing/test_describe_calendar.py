"""Calendars are said in plain words, each part in one form."""

from datetime import UTC, date, datetime

import pytest

from cronty.timing import Calendar, CalendarRule, DayOff, Span, describe, preview, to_json
from cronty.timing.trigger import from_json
from tests.timing.calendars import days_off

APRIL = date(2027, 4, 5)
NINE = (540,)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (CalendarRule((540, 1050)), "At 09:00 and 17:30 every day"),
        (CalendarRule((Span(480, 1290, 45),)), "Every 45 minutes from 08:00 through 21:30 every day"),
        (CalendarRule((Span(480, 1200, 60),)), "Every hour from 08:00 through 20:00 every day"),
        (CalendarRule((Span(480, 1200, 120),)), "Every 2 hours from 08:00 through 20:00 every day"),
        (CalendarRule((420, Span(480, 540, 1))), "At 07:00 and every minute from 08:00 through 09:00 every day"),
        (CalendarRule(NINE, months=(3, 4, 5, 12)), "At 09:00 every day in March through May and December"),
        (CalendarRule(NINE, 2, "day", APRIL), "At 09:00 every 2 days (starting 5 April 2027)"),
        (CalendarRule(NINE, 2, "week", APRIL), "At 09:00 every 2 weeks on Monday (starting 5 April 2027)"),
        (
            CalendarRule(NINE, 3, "month", APRIL),
            "At 09:00 every 3 months on the 5th of the month (starting 5 April 2027)",
        ),
        (CalendarRule(NINE, 2, "year", APRIL), "At 09:00 every 2 years on 5 April (starting 5 April 2027)"),
        (
            CalendarRule(NINE, 2, "week", APRIL, weekdays=(4,)),
            "At 09:00 every 2 weeks on Friday, counting from 5 April 2027",
        ),
        (CalendarRule(NINE, weekdays=(0, 1, 2, 3, 4)), "At 09:00 on weekdays"),
        (CalendarRule(NINE, weekdays=(0, 1, 2, 5)), "At 09:00 on Mondays through Wednesdays and Saturdays"),
        (CalendarRule(NINE, weekdays=(0,), months=(3,)), "At 09:00 on Mondays in March"),
        (CalendarRule(NINE, nths=((1, 0), (-1, 4))), "At 09:00 on the first Monday and last Friday of the month"),
        (CalendarRule(NINE, nths=((1, 4), (-2, 4))), "At 09:00 on the first and 2nd to last Friday of the month"),
        (CalendarRule(NINE, weekdays=(0,), nths=((1, 4),)), "At 09:00 on Mondays and on the first Friday of the month"),
        (CalendarRule(NINE, days=(1, 15, -1)), "At 09:00 on the 1st, 15th and last day of the month"),
        (CalendarRule(NINE, days=(-2,), months=(3,)), "At 09:00 on the 2nd to last day of every March"),
        (CalendarRule(NINE, days=(5,), months=(4,)), "At 09:00 on 5 April every year"),
        (CalendarRule(NINE, business_days=(1, -1)), "At 09:00 on the first and last business day of the month"),
        (CalendarRule(NINE, days=(13,), weekdays=(4,)), "At 09:00 on the 13th of the month if that is also a Friday"),
        (
            CalendarRule(NINE, days=(-1,), weekdays=(3, 4), business_days=(-1,)),
            "At 09:00 on the last day of the month if that is also the last business day of the month and a Thursday or"
            " a Friday",
        ),
    ],
)
def test_a_rule_is_said_in_words(rule: CalendarRule, said: str) -> None:
    assert describe(Calendar((rule,), "Europe/Berlin")) == f"{said}, Berlin time"


def test_what_holds_for_all_rules_is_said_of_all() -> None:
    weekdays, weekends = CalendarRule((465,), weekdays=(0, 1, 2, 3, 4)), CalendarRule(NINE, weekdays=(5, 6))
    both = Calendar((weekdays, weekends), "Europe/Berlin")
    assert describe(both) == "At 07:45 on weekdays; and at 09:00 on Saturdays and Sundays, Berlin time"
    until = Calendar((weekdays, weekends), starts=date(2027, 3, 15), ends=date(2027, 12, 31))
    assert describe(until).endswith("Sundays; all starting 15 March 2027, until 31 December 2027, UTC")


def test_a_start_that_is_the_first_day_of_the_rhythm_is_said_once() -> None:
    rule = CalendarRule(NINE, 2, "week", APRIL)
    assert describe(Calendar((rule,), starts=APRIL)) == "At 09:00 every 2 weeks on Monday, starting 5 April 2027, UTC"
    both = Calendar((rule, CalendarRule(NINE, weekdays=(4,))), starts=APRIL)
    assert describe(both) == (
        "At 09:00 every 2 weeks on Monday (starting 5 April 2027); and at 09:00 on Fridays"
        "; all starting 5 April 2027, UTC"
    )


def test_one_day_is_said_as_one() -> None:
    hourly = Calendar((CalendarRule((Span(0, 1380, 60),)),), starts=APRIL, ends=APRIL)
    assert describe(hourly) == "Every hour from 00:00 through 23:00, on 5 April 2027 only, UTC"
    assert describe(Calendar((CalendarRule(NINE),), starts=APRIL, ends=APRIL)) == (
        "At 09:00 every day, on 5 April 2027 only, UTC"
    )


def test_days_left_out_or_moved_are_said() -> None:
    rule = CalendarRule(NINE)
    days = tuple(date(2027, 12, day) for day in (24, 27, 28, 29))
    without = Calendar((rule,), without=days)
    assert describe(without) == (
        "At 09:00 every day, except 24 December 2027 and 27 December 2027 through 29 December 2027, UTC"
    )
    named = Calendar((rule,), calendars=("DE-BE", "team"))
    assert describe(named) == "At 09:00 every day, except on days off of DE-BE and team, UTC"
    moved = Calendar((rule,), calendars=("DE-BE",), instead="previous_business_day", lists=days_off(DayOff(APRIL, "x")))
    assert describe(moved) == "At 09:00 every day, or else on the previous business day by DE-BE, UTC"
    assert "except" in describe(Calendar((rule,), without=tuple(date(2027, 1, day) for day in range(1, 30, 2))))


def test_an_unusual_policy_is_said_where_it_matters() -> None:
    unusual = Calendar((CalendarRule(NINE),), gap="skip", overlap="both")
    assert describe(unusual).endswith(
        "UTC; left out if the clocks jump over it; both times if the clocks show it twice"
    )
    span = Calendar((CalendarRule((Span(0, 60, 30),)),), gap="skip", overlap="both")
    assert describe(span).endswith(", UTC")


def test_a_preview_notes_what_clocks_do_to_a_calendar() -> None:
    calendar = Calendar((CalendarRule((150,)),), "Europe/Berlin")
    slots = preview(calendar, datetime(2027, 3, 26, 12, tzinfo=UTC), 3, "Europe/Berlin")
    assert [slot.note for slot in slots] == [
        None,
        "clocks go forward that night: moved from 02:30 to 03:00",
        None,
    ]


def test_a_calendar_is_a_trigger_like_any_other() -> None:
    calendar = Calendar((CalendarRule(NINE, business_days=(1,)),), "Europe/Berlin")
    assert from_json(to_json(calendar)) == calendar
    assert calendar.after(datetime(2027, 4, 30, tzinfo=UTC)) == datetime(2027, 5, 3, 7, tzinfo=UTC)
