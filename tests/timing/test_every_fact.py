"""Whatever was said is used, or the phrase is refused: a fact is never dropped in silence."""

import re
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from cronty.timing import Ambiguous, BadTrigger, Trigger, read_words
from tests.timing.phrases import AMBIGUOUS, CHOICES, PHRASES, SAID, ZONED, now_in

BERLIN = "Europe/Berlin"
# At one moment "next" may change nothing, or "tomorrow"; hardly at all of these.
MOMENTS = [
    datetime(*each, tzinfo=ZoneInfo(BERLIN))
    for each in (
        (2027, 3, 10, 20),
        (2027, 3, 14, 6, 30),
        (2027, 6, 19, 13, 15),
        (2026, 12, 31, 23, 40),
        (2028, 4, 10, 0, 5),
    )
]
TEXTS = [
    text
    for text in dict.fromkeys(row[0] for row in (*PHRASES, *ZONED, *AMBIGUOUS, *SAID, *CHOICES))
    if "*" not in text and not text.startswith(("@", "0 "))
]
FILLERS = {
    *(
        "at",
        "@",
        "on",
        "in",
        "of",
        "the",
        "a",
        "an",
        "and",
        "&",
        "by",
        "from",
        "after",
        "please",
        "not",
        "all",
        "single",
        "sharp",
    ),
    *("o'clock", "minutes", "once", "counting", "hrs", "pls", "run", "only"),
}
# Words that may say what another word says too. That they are used nevertheless is shown by swapping them.
TWICE = {
    *(
        "every",
        "each",
        "day",
        "week",
        "month",
        "year",
        "daily",
        "monthly",
        "today",
        "tonight",
        "tomorrow",
        "this",
        "coming",
    ),
    *("morning", "mornings", "a.m", "am", "1", "12", "2027", "monday", "first", "one", "5", "europe/berlin", "twice"),
}
SWAPS = [
    *("monday tuesday wednesday thursday friday saturday sunday monday", "mon tue wed thu fri sat sun mon"),
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays mondays",
    "january february march april may june july august september october november december january",
    *("morning evening morning", "mornings evenings mornings", "first second third fourth last first"),
    *("1st 2nd 3rd 4th 1st", "15th 16th", "today tomorrow today", "minutes hours days weeks months minutes"),
    *("minute hour day week month year minute", "daily weekly monthly yearly daily", "am pm am", "next this next"),
    *("weekdays weekends weekdays", "weekday weekend weekday", "noon midnight noon", "until starting until"),
    *("one two three four five six seven eight nine ten one", "a.m. p.m. a.m.", "quarter half quarter"),
    "twice thrice",
]
SWAPPED = dict(pair for words in SWAPS for pair in pairwise(words.split()))
# What is the same by the calendar or the clock: any day of a week counts as well, and an end that no step reaches; and
# what is said in two ways.
SAME = {
    ("every 2 weeks on Monday at 10, counting from 5 January 2026", "5"),
    ("every 2 weeks on Monday at 10, counting from 5 January 2026", "January"),
    ("every 2 weeks on Monday at 10, counting from 5 January 2026", "2026"),
    ("on the 1st through 31st, or on Mondays, at 9:00", "Mondays,"),
    ("on the 1st, or Monday through Sunday, at 9:00", "1st,"),
    ("every hour from 9:00 through 08:00", "08:00"),
    ("every 2 hours from 8 through 18", "18"),
    ("every day at 8 through 30 April", "30"),
    ("second to last day of the month at 9", "to"),
    ("at 09:00 on the 2nd to last day of every March", "to"),
    ("weekdays 9 to 5 9-17 every 30 minutes", "9-17"),
    ("every weekday at 9 but not on Fridays", "but"),
    ("every weekday (Mon-Fri) at 08:30", "(Mon-Fri)"),
    ("daily at 9am on weekdays", "daily"),
    ("daily at 9am (weekdays only)", "daily"),
    ("every day Mon-Fri at 9am", "day"),
    ("every 2 weeks on Monday at 10, as on 5 January 2026", "5"),
    ("every 2 weeks on Monday at 10, as on 5 January 2026", "January"),
    ("15 mins before 9 every weekday", "mins"),
    ("sat 3 april 2027 10.30", "sat"),
    ("wake me up at 7 tomorrow", "up"),
    ("now + 90min", "now"),
    ("twelve noon tomorrow", "twelve"),
    ("schedule for 9 tomorrow", "schedule"),
    ("schedule for 9 tomorrow", "for"),
    ("every 15 min 24/7", "24/7"),
    ("every day of the week at 9", "week"),
    ("Recurring: every monday at 9am", "Recurring:"),
    ("- every monday at 9am", "-"),
    ("in two days' time at 9am", "time"),
    ("every day at 9 Eastern time", "time"),
    ("every day at 9 Pacific time", "time"),
    ("9am Eastern time every weekday", "time"),
    ("every day at 9am US Eastern", "US"),
    ("every day at 9am US Pacific time", "time"),
    ("every day at 9am Eastern Standard Time", "Standard"),
    ("every day at 9am Eastern Standard Time", "Time"),
}

type Meaning = tuple[Trigger, str, int | None, bool]


def meanings(text: str) -> list[tuple[Meaning, ...] | None]:
    """What a text means at each of the moments; None where it is refused."""
    found: list[tuple[Meaning, ...] | None] = []
    for moment in MOMENTS:
        try:
            read = read_words(text, moment, BERLIN)
        except BadTrigger:
            found.append(None)
            continue
        readings = read.readings if isinstance(read, Ambiguous) else (read,)
        soft = isinstance(read, Ambiguous) and len(readings) == 1
        found.append(tuple((each.trigger, each.zone, each.max_runs, soft) for each in readings))
    return found


def changes(one: str, other: str) -> bool:
    """Whether another text is refused or means something else, at one of the moments at least."""
    return any(said is not None and said != also for said, also in zip(meanings(one), meanings(other), strict=True))


def swapped(word: str) -> list[str]:
    core = word.strip(",.;()") if word not in SWAPPED else word
    found = [word.replace(core, SWAPPED[core.lower()])] if core.lower() in SWAPPED else []
    if (number := re.fullmatch(r"(\d+)((?::\d\d)?(?:am|pm)?)", core)) is not None:
        found.append(word.replace(core, f"{int(number[1]) % 12 + 1}{number[2]}"))
    return found


# Every third of them always, the others with `-m long`.
MARKED = [pytest.param(text, marks=[pytest.mark.long] if place % 3 else []) for place, text in enumerate(TEXTS)]


@pytest.mark.parametrize("text", MARKED)
def test_a_word_that_is_left_out_changes_the_reading_unless_it_is_a_filler(text: str) -> None:
    words = text.split()
    for place, word in enumerate(words):
        if word.lower().strip(",.;()") not in FILLERS | TWICE and (text, word) not in SAME:
            assert changes(text, " ".join(words[:place] + words[place + 1 :])), word


@pytest.mark.parametrize("text", MARKED)
def test_another_word_of_the_same_kind_changes_the_reading(text: str) -> None:
    words = text.split()
    for place, word in enumerate(words):
        for other in swapped(word):
            assert (text, word) in SAME or changes(text, " ".join([*words[:place], other, *words[place + 1 :]])), other


@pytest.mark.parametrize(
    "text",
    [
        "every hour on Sundays in the morning",
        "every 15 minutes tonight",
        "in 2 days from 09:00 through 16:45",
        "in 2 hours in March",
        "in 2 hours in the evening",
        "in 3 days at minute 15",
        "in 2 days at 9 on the 3rd",
        "12/31/2027 at 8am fifth",
        "3 May at 9 on the first Monday",
        "on 3 May in June at 9",
        "tomorrow in March at 9",
        "today 3 May at 9",
        "tomorrow, 3 May, at 9",
        "next Friday 3 December at 9",
        "tonight at 9 in the morning",
        "every morning at 7 in the evening",
        "tomorrow morning at 6 in the evening",
        "at 02:30 (second pass)",
        "at 9 in the morning at night",
        "every 2 weeks (second pass)",
    ],
)
def test_a_phrase_with_a_fact_that_has_no_place_is_refused(text: str) -> None:
    with pytest.raises(BadTrigger):
        read_words(text, now_in(BERLIN), BERLIN)


@pytest.mark.parametrize(
    "text",
    [
        "every day at 9 except Sundays and in August",
        "every weekday at 9 except Friday and the 15th",
        "every day at 9 except 25 December 2026 and Sundays",
        "every day at 9 except mondays, the 1st",
    ],
)
def test_what_is_left_out_never_becomes_what_is_added(text: str) -> None:
    with pytest.raises(BadTrigger, match="several kinds"):
        read_words(text, MOMENTS[0], BERLIN)
