"""Words may leave out the days off of lists."""

from datetime import UTC, date, datetime

import pytest

from cronty.timing import BadTrigger, Calendar, describe
from cronty.timing.days_off import NamedCalendar
from cronty.timing.lists_in_words import split_lists
from cronty.timing.rule import Rule, read_rule

NOW = datetime(2027, 3, 1, 8, tzinfo=UTC)
KNOWN = {name: NamedCalendar({date(2027, 12, 25): "holiday (Christmas Day)"}) for name in ("de", "de-by", "us", "team")}


def read(text: str) -> Rule:
    return read_rule("words", {"text": text}, "Europe/Berlin", NOW, KNOWN)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "every weekday at 9:00 except holidays in DE-BY",
            "At 09:00 on weekdays, except on days off of DE-BY, Berlin time",
        ),
        ("every weekday at 9:00 unless DE-BY", "At 09:00 on weekdays, except on days off of DE-BY, Berlin time"),
        ("every day except public holidays of DE at 9:00", "At 09:00 every day, except on days off of DE, Berlin time"),
        (
            "every day at 9:00 and 17:30, unless it's a holiday in the US",
            "At 09:00 and 17:30 every day, except on days off of US, Berlin time",
        ),
        (
            "every 4 hours from 08:00 through 16:00 on weekdays except on days off of team and DE",
            "At 08:00, 12:00 and 16:00 on weekdays, except on days off of team and DE, Berlin time",
        ),
        (
            "every 2 weeks on Monday at 9:00 except days off of team, Tokyo time",
            "At 09:00 every 2 weeks on Monday, counting from 22 February 2027, except on days off of team, Tokyo time",
        ),
    ],
)
def test_words_leave_out_lists(text: str, said: str) -> None:
    rule = read(text)
    assert isinstance(rule.trigger, Calendar)
    assert describe(rule.trigger, rule.zone) == said
    assert read(said).trigger == rule.trigger


@pytest.mark.parametrize(
    ("text", "plain", "names"),
    [
        ("every day at 9 except holidays in germany until june 30", "every day at 9 until june 30", ("germany",)),
        ("every day at 9 except holidays in Germany Berlin time", "every day at 9 Berlin time", ("Germany",)),
        ("every day at 9 except holidays in New Zealand, Berlin time", "every day at 9, Berlin time", ("New Zealand",)),
        ("every day at 9 except holidays in germany please", "every day at 9 please", ("germany",)),
        ("every day at 9 except holidays in new zealand", "every day at 9", ("new zealand",)),
        ("every day at 9 except holidays in DE Europe/Paris", "every day at 9 Europe/Paris", ("DE",)),
        ("every day at 9 except fridays and holidays in germany", "every day at 9 except fridays", ("germany",)),
        ("every day at 9 except holidays in germany and fridays", "every day at 9 except fridays", ("germany",)),
        ("every day at 9 unless de-by", "every day at 9", ("DE-BY",)),
        ("every day at 9 except days off of team and monday-crew", "every day at 9", ("team", "monday-crew")),
    ],
)
def test_lists_are_found_wherever_they_are_left_out(text: str, plain: str, names: tuple[str, ...]) -> None:
    assert split_lists(text) == (plain, names)


def test_the_last_business_day_goes_by_the_days_off() -> None:
    rule = read("last business day of the month at 9 except holidays in DE").trigger
    assert isinstance(rule, Calendar)
    assert rule.rules[0].business_days == (-1,)


@pytest.mark.parametrize(
    "text",
    [
        "every weekday at 9:00 except Friday",
        "every day at 9:00 except 25 December 2027",
        "every day at 9:00 except holidays",
        "every day at 9:00",
    ],
)
def test_other_words_are_left_as_they_are(text: str) -> None:
    assert split_lists(text) == (text, ())


def test_what_has_no_days_cannot_leave_any_out() -> None:
    for text in ("every 90 minutes except holidays in DE", "tomorrow at 9:00 except holidays in DE"):
        with pytest.raises(BadTrigger, match="Can't leave days off out of"):
            read(text)
    with pytest.raises(BadTrigger, match="Unknown calendar"):
        read("every day at 9:00 except days off of nobody")


def test_words_that_mean_two_things_keep_their_lists() -> None:
    with pytest.raises(BadTrigger, match="except on days off of DE"):
        read("every day in the morning except holidays in DE")
