"""What a caller is told about an expression or a zone that can't be used."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronty.timing import BadTrigger, Cron

EXAMPLE = 'Example: "30 9 * * MON-FRI" is 09:30 on weekdays (minute hour day-of-month month day-of-week).'


def weeks_of(text: str) -> str:
    return (
        f'day-of-week: "{text}" must end in a number of weeks, %2 to %52, and may go on with which of them, '
        '+0 to one less than that; try "MON%2" or "MON,WED%2+1".'
    )


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "It has 0 fields; exactly five are needed."),
        ("5", "It has 1 field; exactly five are needed."),
        ("not a cron", "It has 3 fields; exactly five are needed."),
        ("0 0 9 * * *", "It has 6 fields, and seconds or years are not supported; exactly five are needed."),
        ("0 0 9 * * * 2027", "It has 7 fields; exactly five are needed."),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "Give the time zone on its own, not inside the expression."),
        ("61 * * * *", 'minute: 61 is outside 0-59; try "0" or "*/15".'),
        ("0 24 * * *", 'hour: 24 is outside 0-23; try "9" or "9-17".'),
        ("0 0 0 * *", 'day-of-month: 0 is outside 1-31; try "1,15" or "L".'),
        ("0 0 * 13 *", 'month: 13 is outside 1-12; try "1-6" or "JAN,JUL".'),
        ("0 0 * * 8", 'day-of-week: 8 is outside 0-7; try "MON-FRI" or "1#2".'),
        ("nine * * * *", 'minute: "NINE" is not in 0-59; try "0" or "*/15".'),
        ("-5 * * * *", 'minute: "" is not in 0-59; try "0" or "*/15".'),
        ("1,,2 * * * *", 'minute: "1,,2" has an empty item in its list; try "0" or "*/15".'),
        ("*/0 * * * *", 'minute: the step in "*/0" must be 1 to 60; try "0" or "*/15".'),
        ("*/ * * * *", 'minute: the step in "*/" must be 1 to 60; try "0" or "*/15".'),
        ("*/5/5 * * * *", 'minute: the step in "*/5/5" must be 1 to 60; try "0" or "*/15".'),
        ("*/90 * * * *", 'minute: the step in "*/90" is over 60; for long periods use an interval.'),
        ("0 22-2 * * *", 'hour: the range "22-2" runs backwards; write it as "22-23,0-2".'),
        ("0 0 * * FRI-MON", 'day-of-week: the range "FRI-MON" runs backwards; write it as "FRI-7,0-MON".'),
        ("0 0 * * MONDAY", 'day-of-week: "MONDAY" must be shortened to "MON".'),
        ("0 0 ? * *", 'day-of-month: "?" is not supported; use "*".'),
        ("0 0 15W * *", 'day-of-month: "15W" is not in 1-31; try "1,15" or "L".'),
        ("0 0 * * L", 'day-of-week: "L" is not in 0-7; try "MON-FRI" or "1#2".'),
        (
            "0 0 * * MON#6",
            'day-of-week: "MON#6" must end in #1 to #5; "MON#2" is the second Monday of the month.',
        ),
        (
            "@reboot",
            "Known nicknames are @hourly @daily @midnight @weekly @monthly @yearly @annually; "
            "for a fixed period use an interval.",
        ),
        ("0 0 * * MON%", weeks_of("MON%")),
        ("0 0 * * MON%1", weeks_of("MON%1")),
        ("0 0 * * MON%53", weeks_of("MON%53")),
        ("0 0 * * MON%2+2", weeks_of("MON%2+2")),
        ("0 0 * * MON%2,WED", weeks_of("MON%2,WED")),
        ("0 0 * * %2", 'day-of-week: "%2" has an empty item in its list; try "MON-FRI" or "1#2".'),
        (
            "0 0 * * MON#1%2",
            'day-of-week: "MON#1%2" goes by months and by weeks; "MON#2" is the second Monday of the month, '
            '"MON%2" every second Monday.',
        ),
        (
            "0 9 1 * MON%2",
            'day-of-week: "MON%2" goes by weeks, so day-of-month and month must be "*", as in "0 9 * * MON%2".',
        ),
        (
            "0 9 * JAN MON%2",
            'day-of-week: "MON%2" goes by weeks, so day-of-month and month must be "*", as in "0 9 * * MON%2".',
        ),
        ("0%2 9 * * *", 'minute: "0%2" has a "%", which belongs to day-of-week; "MON%2" is every second Monday.'),
        ("0 0 * L *", 'month: "L" is not in 1-12; try "1-6" or "JAN,JUL".'),
        ("0 0 L/2 * *", 'day-of-month: "L" is not in 1-31; try "1,15" or "L".'),
        ("٣ * * * *", "It contains '٣'; only plain ASCII digits and letters are allowed."),
    ],
)
def test_a_bad_expression_is_explained(expression: str, why: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        Cron(expression)
    assert str(refused.value) == f"Invalid cron expression: {expression}. {why} {EXAMPLE}"
    assert refused.value.message == f"Invalid cron expression: {expression}"
    assert refused.value.hint == f"{why} {EXAMPLE}"


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 31 2 *", "day-of-month 31 in month 2, day-of-week *"),
        ("0 0 30,31 FEB *", "day-of-month 30,31 in month 2, day-of-week *"),
        ("0 0 31 4,6,9,11 *", "day-of-month 31 in month 4,6,9,11, day-of-week *"),
        ("0 0 29 2 */7", "day-of-month 29 in month 2, day-of-week */7"),
        ("0 0 * 2 MON#5", "day-of-month * in month 2, day-of-week 1#5"),
    ],
)
def test_a_day_that_never_comes_is_refused(expression: str, days: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        Cron(expression)
    assert str(refused.value).startswith(
        f"Invalid cron expression: {expression}. No such day within 10 years: {days}; "
    )


def test_a_huge_expression_is_refused_without_repeating_it() -> None:
    with pytest.raises(BadTrigger, match="It has 1000000 characters; at most 256 are allowed") as refused:
        Cron("1," * 500_000)
    assert len(str(refused.value)) < 500


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from("0123456789*/-,#%+LW ?@" + string.ascii_uppercase), max_size=20))
def test_any_text_is_a_cron_or_a_bad_trigger(text: str) -> None:
    for expression in (text, f"{text} * * * *", f"0 0 {text} * *", f"0 0 * * {text}"):
        answer = accepted_or_refused(expression)
        assert answer is None or answer.startswith(f"Invalid cron expression: {expression}. ")


def accepted_or_refused(expression: str) -> str | None:
    try:
        Cron(expression)
    except BadTrigger as refused:
        return str(refused)
    return None
