"""What callers write as a time is read in steps that grow with its length, whatever they repeat."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from time import thread_time

import pytest

from cronty.mcp.notifications import is_cron
from cronty.timing import BadTrigger, Cron, Reading, read_words
from cronty.timing.lists_in_words import split_lists
from cronty.timing.rrule_in import read_rrule
from cronty.timing.rule import read_bound, read_instant, read_rule
from cronty.timing.words.day_said import days_said
from cronty.timing.words.tokens import LONGEST
from cronty.timing.zones import zone

NOW = datetime(2027, 3, 1, 8, tzinfo=UTC)
ZONE = "Europe/Berlin"
READERS: dict[str, Callable[[str], object]] = {
    "lists": split_lists,
    "words": lambda text: read_rule("words", {"text": text}, ZONE, NOW),
    "instant": lambda text: read_instant(text, ZONE, NOW),
    "bound": lambda text: read_bound(text, ZONE, NOW, last=True),
    "day": lambda text: days_said(text, NOW, ZONE),
    "rrule": lambda text: read_rrule(text, ZONE, NOW),
    "cron": lambda text: Cron(text, ZONE),
    "fields of cron": is_cron,
    "zone": zone,
}
REPEATED = (
    " ",
    ",",
    ", ",
    " and",
    " and ",
    "1",
    "1 ",
    "9:00 ",
    "-1",
    "LLL/",
    "a ",
    "Ab ",
    " except fridays",
    "DE and ",
)


def seconds(read: Callable[[str], object], text: str) -> float:
    """The best of several: this thread's own time, so that a busy machine doesn't count."""
    found: list[float] = []
    for _ in range(3):
        began = thread_time()
        with suppress(BadTrigger):
            read(text)
        found.append(thread_time() - began)
    return min(found)


def _counted(_: str) -> None:
    """Work to compare with, so that a few microseconds more aren't taken for growth."""
    sum(range(200_000))


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_text_of_twice_the_length_takes_few_times_as_long(read: Callable[[str], object]) -> None:
    slack = seconds(_counted, "")
    for one in REPEATED:
        for head in ("", "every day at 9 except fridays", "except fridays and holidays in "):
            short, long = (f"{head}{one * (size // len(one))} !" for size in (240, 480))
            assert seconds(read, long) < 8 * seconds(read, short) + slack, (head, one)


@pytest.mark.parametrize(
    "text",
    [
        "except fridays " * 12 + " " * 150 + "and" + " " * 150,
        "every day at 9 except holidays in " + "New Zealand and " * 24 + "9",
        "every day at 9 except fridays and holidays in " + "Saudi Arabia, " * 24 + "Hong Kong 9",
    ],
)
def test_lists_in_words_take_no_longer_for_what_matches_in_many_ways(text: str) -> None:
    assert split_lists(text)[0]
    assert seconds(split_lists, text) < seconds(_counted, "")


def test_a_text_that_is_too_long_is_not_searched_for_lists() -> None:
    text = "except fridays " * 30 + " " * 500 + "and" + " " * 900
    assert split_lists(text) == (text, ())
    with pytest.raises(BadTrigger, match="Can't read a time of 1853 characters"):
        read_rule("words", {"text": text}, ZONE, NOW)


def test_a_field_of_cron_with_many_l_is_looked_at_once() -> None:
    assert is_cron("0 9 L * MON-FRI")
    assert is_cron("0 0 L-3 JUL,dec 5L")
    assert not is_cron("at nine")
    assert not is_cron("LLL/" * 40 + "!")


@pytest.mark.parametrize("one", ["three or ", "9 or ", "9 ", "three and three or ", "the first or "])
def test_a_text_that_says_more_than_a_sentence_does_is_given_up(one: str) -> None:
    text = (one * 99)[: LONGEST if len(one) > 5 else 300].strip()
    with pytest.raises(BadTrigger, match=r"says so much.*make a job for each"):
        read_words(text, NOW, ZONE)
    assert seconds(READERS["words"], text) < 2 * seconds(_counted, "")


def test_a_choice_in_a_long_sentence_is_not_worked_out() -> None:
    said = "every 15 minutes from 9 to 17 and tomorrow at noon and every 90 minutes and on the 1st, or Mondays, "
    text = (said * 5)[:LONGEST].rstrip(" ,")
    with pytest.raises(BadTrigger):
        read_words(text, NOW, ZONE)
    assert seconds(READERS["words"], text) < 2 * seconds(_counted, "")


def test_a_sentence_with_more_days_than_anyone_says_is_refused_before_it_is_worked_out() -> None:
    said = "; and ".join(f"every day at {hour:02}:15" for hour in range(16))
    assert isinstance(read_words(said, NOW, "UTC"), Reading)
    with pytest.raises(BadTrigger, match=r"days with their times more than 16 times.*make several jobs"):
        read_words(f"{said}; and every day at 16:15", NOW, "UTC")
