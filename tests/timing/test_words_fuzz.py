"""Whatever is typed is read, or refused with a sentence; quickly, and without a trace.

More of it by hand: `python -m tests.timing.test_words_fuzz 1000000 240` (texts, seconds).
"""

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic, process_time

from cronty.timing import Ambiguous, BadTrigger, Cron, Reading, read_words
from cronty.timing.words.vocabulary import MONTHS, NUMBERS, ORDINALS, PARTS, UNITS, WEEKDAYS, WEEKDAYS_PLURAL
from tests.timing.phrases import AMBIGUOUS, PHRASES, REFUSED, ZONED, same
from tests.timing.strategies import ZONES

START = datetime(2027, 3, 10, 19, tzinfo=UTC)
PIECES = [
    *(*WEEKDAYS, *WEEKDAYS_PLURAL, *MONTHS, *NUMBERS, *ORDINALS, *PARTS, *UNITS),
    *(
        "every",
        "every",
        "each",
        "every other",
        "hourly",
        "daily",
        "weekly",
        "monthly",
        "yearly",
        "nightly",
        "fortnightly",
    ),
    *(
        "at",
        "at",
        "on",
        "on the",
        "the",
        "and",
        "or",
        "of",
        "in",
        "to",
        "from",
        "between",
        "through",
        "until",
        "a",
        "an",
    ),
    *("today", "tonight", "tomorrow", "noon", "midnight", "weekdays", "weekends", "next", "this", "next week", "last"),
    *("half", "quarter", "past", "past the hour", "am", "pm", "oclock", "from now", "please", "remind me"),
    *("0", "1", "2", "3", "9", "12", "15", "17", "24", "30", "31", "59", "60", "99", "2027", "2028", "99999999999"),
    *("9:00", "09:00", "17:30", "9.30", "25:00", "9am", "12pm", "9:75", "09:00:30", ":15", "9-17", "9 to 5"),
    *("1st", "2nd", "15th", "31st", "32nd", "2h30m", "PT1H", "P1D", "P1M", "P", "1d", "0m", "1.5 hours"),
    *("2027-12-31", "2027-02-29", "03/04", "31.12.2027", "3/4/2028", "2027-12-31T09:00Z", "0000-00-00", "9999-12-31"),
    *("of the month", "of every month", "last day", "first Monday", "by the clock", "on the hour", "(second pass)"),
    *(",", "-", ":", "/", ".", "(", ")", "&", "UTC", "Berlin time", "New York time", "Pacific time", "Europe/Berlin"),
    *("time", "EST", "in Tokyo", "@daily", "*", "*/5", "MON-FRI", "L", "0 9", "* * *", "'", "é"),
]


@dataclass(slots=True)
class Seen:
    """What came of it; times are processor time, so that a busy machine doesn't count."""

    texts: int = 0
    read: int = 0
    ambiguous: int = 0
    worst: float = 0.0
    worst_text: str = ""
    wrong: list[str] = field(default_factory=list[str])


def texts(chance: random.Random) -> Iterator[str]:
    """Random characters, random words, and sentences with a word changed."""
    known = [row[0] for row in (*PHRASES, *ZONED, *AMBIGUOUS, *REFUSED)]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789 :/.,-()@*#'\"[]{}é\t\n😀\0"
    while True:
        yield "".join(chance.choice(letters) for _ in range(chance.randint(0, 40)))
        for _ in range(4):
            yield " ".join(chance.choice(PIECES) for _ in range(chance.randint(1, 9)))
            words = chance.choice(known).split(" ")
            where = chance.randrange(len(words))
            change = chance.choice([[], [chance.choice(PIECES)], [words[where], chance.choice(PIECES)]])
            yield " ".join(words[:where] + change + words[where + 1 :])


def fuzz(count: int, seconds: float, seed: int) -> Seen:
    chance = random.Random(seed)
    seen = Seen()
    end = monotonic() + seconds
    read_words("every day at 9 Berlin time", START, "UTC")
    for text in texts(chance):
        if seen.texts >= count or monotonic() > end:
            return seen
        seen.texts += 1
        now = START + timedelta(seconds=chance.randrange(400 * 86_400))
        try:
            look(text, now, chance.choice(ZONES), seen)
        except Exception as error:  # the finding itself
            seen.wrong.append(f"{text!r} at {now}: {error!r}")
    raise AssertionError


def look(text: str, now: datetime, zone_name: str, seen: Seen) -> None:
    began = process_time()
    try:
        found = read_words(text, now, zone_name)
    except BadTrigger as bad:
        found = None
        if not bad.message or not bad.hint:
            seen.wrong.append(f"{text!r}: {bad!r}")
    took = process_time() - began
    if took > seen.worst:
        seen.worst, seen.worst_text = took, text
    if found is None:
        return
    seen.read += 1
    seen.ambiguous += isinstance(found, Ambiguous)
    readings = found.readings if isinstance(found, Ambiguous) else (found,)
    assert isinstance(found, Reading) or len(readings) > 1
    for reading in readings:
        assert reading.next_at is not None
        assert reading.next_at > now
        # A cron in its own spelling is said in the grammar's: that is for test_describe.
        if len(reading.words) <= 128 and not (isinstance(reading.trigger, Cron) and is_cron_text(text)):
            again = read_words(reading.words, now, "Asia/Tokyo")
            assert isinstance(again, Reading), reading
            assert same(again.trigger, reading.trigger), reading


def is_cron_text(text: str) -> bool:
    fields = text.replace("cron:", "").split()
    return "*" in text or "@" in text or (len(fields) >= 5 and fields[0][:1].isdigit() and fields[1][:1].isdigit())


def test_any_text_is_read_or_refused_with_a_hint_and_said_back() -> None:
    seen = fuzz(20_000, 60, 1)
    assert seen.wrong == []
    assert seen.read > 200
    assert seen.worst < 0.1


if __name__ == "__main__":
    result = fuzz(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    print(f"{result.texts} texts, {result.read} read ({result.ambiguous} ambiguous), {len(result.wrong)} wrong")
    print(f"worst {result.worst * 1000:.1f} ms: {result.worst_text!r}")
    print("\n".join(result.wrong[:20]))
