"""Words may leave out the days off of lists."""

from datetime import UTC, date, datetime

import pytest

from cronty.timing import BadTrigger, Calendar, describe
from cronty.timing.lists_in_words import split_lists
from cronty.timing.named_calendar import NamedCalendar
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
            "At 09:00 every 2 weeks on Monday (starting 22 February 2027), except on days off of team, Tokyo time",
        ),
        (
            "every day at 9 except DE, weekends",
            "At 09:00 on weekdays, except on days off of DE, Berlin time",
        ),
        (
            "every Monday at 9am except holidays in DE and US, Los Angeles time",
            "At 09:00 on Mondays, except on days off of DE and US, Los Angeles time",
        ),
        (
            "every day at 9 except DE, 24 December 2027, New York time",
            "At 09:00 every day, except 24 December 2027, except on days off of DE, New York time",
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
        ("every day at 9 except holidays in Germany, Fridays", "every day at 9 except Fridays", ("Germany",)),
        ("every day at 9 except holidays in Germany, the 1st", "every day at 9 except the 1st", ("Germany",)),
        ("every day at 9 except holidays in Germany, May 3", "every day at 9 except May 3", ("Germany",)),
        ("every day at 9 except holidays in Germany, and Fridays", "every day at 9 except Fridays", ("Germany",)),
        ("every day at 9 except holidays in Germany, in July", "every day at 9 except in July", ("Germany",)),
        ("every day at 9 except holidays in DE, not on weekends", "every day at 9, not on weekends", ("DE",)),
        ("every day at 9 except Sundays, holidays in Germany", "every day at 9 except Sundays", ("Germany",)),
        ("every hour except holidays in Germany, weekdays", "every hour, weekdays", ("Germany",)),
        (
            "every weekday at 9 except holidays in DE, Saturdays at 10",
            "every weekday at 9, Saturdays at 10",
            ("DE",),
        ),
        ("every day at 9 except DE, New York time", "every day at 9, New York time", ("DE",)),
        ("every day at 9 except DE, UTC", "every day at 9, UTC", ("DE",)),
        ("every day at 9 except US holidays", "every day at 9", ("US",)),
        ("every day at 9 except UK bank holidays", "every day at 9", ("UK",)),
        ("every day at 9 unless it's a US federal holiday", "every day at 9", ("US",)),
        ("every day at 9 except german and french holidays", "every day at 9", ("german", "french")),
        ("every day at 9 except national holidays in France", "every day at 9", ("France",)),
        ("every day at 9 skipping holidays in Germany", "every day at 9", ("Germany",)),
        ("every day at 9, not on holidays in Germany", "every day at 9", ("Germany",)),
        ("every day at 9 apart from holidays in Germany", "every day at 9", ("Germany",)),
        ("every day at 9 except holidays in Germany and in France", "every day at 9", ("Germany", "France")),
        ("every day at 9 except holidays in the czech republic at 9", "every day at 9 at 9", ("czech republic",)),
        ("every day at 9 except holidays in New York, New York time", "every day at 9, New York time", ("New York",)),
        ("every day at 9 except DE and FR", "every day at 9", ("DE", "FR")),
        ("every day at 9 except holidays in FR", "every day at 9", ("FR",)),
        ("every day at 9 except days off of team and monday-crew", "every day at 9", ("team", "monday-crew")),
    ],
)
def test_lists_are_found_wherever_they_are_left_out(text: str, plain: str, names: tuple[str, ...]) -> None:
    assert split_lists(text) == (plain, names)


@pytest.mark.parametrize(
    ("codes", "hint"),
    [
        ("TH", 'Say "except Thursdays" or "except holidays in TH".'),
        ("FR", 'Say "except Fridays" or "except holidays in FR".'),
        ("MO and FR", 'Say "except Mondays and Fridays" or "except holidays in MO and FR".'),
        ("SA and SU", 'Say "except Saturdays and Sundays".'),
    ],
)
def test_a_code_that_may_be_a_day_of_the_week_is_asked_about(codes: str, hint: str) -> None:
    with pytest.raises(BadTrigger, match=f'"{codes}" may be') as refused:
        read(f"every day at 9am except {codes}")
    assert refused.value.hint == hint
    said = refused.value.hint.split('"')[1]
    assert isinstance(read(f"every day at 9am {said}"), Rule)


def test_a_date_beside_a_list_needs_its_year_like_any_other() -> None:
    with pytest.raises(BadTrigger, match="Give its year"):
        read("every weekday at 9 except holidays in DE, May 3")


def test_an_unknown_place_is_told_how_places_are_named() -> None:
    with pytest.raises(BadTrigger, match="such as DE or DE-BY; for a list of your own use 'de'"):
        read("every weekday at 9 except holidays in Atlantis")


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
