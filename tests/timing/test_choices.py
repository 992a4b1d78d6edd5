"""What may mean several things is answered with choices, and each of their words means one thing."""

import pytest

from cronty.timing import Reading, Trigger, read_words
from cronty.timing.errors import Unclear
from cronty.timing.rule import read_rule
from tests.timing.phrases import CHOICES, PLACES, now_in, same

BERLIN = "Europe/Berlin"


def refused(text: str, zone_name: str) -> Unclear:
    with pytest.raises(Unclear) as raised:
        read_rule("words", {"text": text}, zone_name, now_in(zone_name))
    return raised.value


def test_the_table_is_as_large_as_promised() -> None:
    assert len([words for _, words in CHOICES if len(words) > 1]) >= 40


@pytest.mark.parametrize(("text", "words"), CHOICES)
def test_a_phrase_with_several_meanings_has_these_choices(text: str, words: list[str]) -> None:
    unclear = refused(text, BERLIN)
    assert [each.words for each in unclear.candidates] == words
    assert all(each.words in each.description and each.words in unclear.message for each in unclear.candidates)


@pytest.mark.parametrize("zone_name", PLACES)
@pytest.mark.parametrize(("text", "words"), CHOICES)
def test_the_words_of_a_choice_mean_it_alone_wherever_they_are_repeated(
    text: str, words: list[str], zone_name: str
) -> None:
    now, found = now_in(zone_name), read_words(text, now_in(zone_name), zone_name)
    if isinstance(found, Reading):
        # "In 3 weeks" is plain where clocks don't change, and PT where people live by it.
        assert zone_name != BERLIN
        return
    for reading in found.readings:
        for elsewhere in (zone_name, "Asia/Tokyo"):
            again = read_words(reading.words, now, elsewhere)
            assert isinstance(again, Reading), reading.words
            assert (again.max_runs, again.next_at) == (reading.max_runs, reading.next_at)
            assert same(again.trigger, reading.trigger), reading.words
    assert len(distinct([each.trigger for each in found.readings])) == len(found.readings)
    del words


def distinct(triggers: list[Trigger]) -> list[Trigger]:
    return [each for at, each in enumerate(triggers) if each not in triggers[:at]]


@pytest.mark.parametrize(("text", "words"), CHOICES)
def test_a_choice_says_its_next_time_on_the_clocks_of_its_zone(text: str, words: list[str]) -> None:
    for candidate in refused(text, BERLIN).candidates:
        again = read_words(candidate.words, now_in(BERLIN), BERLIN)
        assert isinstance(again, Reading)
        assert candidate.next_at == again.next_at
        assert candidate.next_at is not None
        assert getattr(candidate.next_at.tzinfo, "key", None) == again.zone
    del words


def test_one_side_of_an_or_is_never_taken_for_granted() -> None:
    """At 20:00 the 8 of today has passed, but whether 21:30 is meant is still to be said."""
    (only,) = refused("today at 8 or 21:30", BERLIN).candidates
    assert only.words == "On Wednesday 10 March 2027 at 21:30, Berlin time"


def test_an_or_between_two_kinds_of_day_that_both_hold_is_no_choice() -> None:
    assert isinstance(read_words("on the 1st, or on Mondays, at 9:00", now_in(BERLIN), BERLIN), Reading)
