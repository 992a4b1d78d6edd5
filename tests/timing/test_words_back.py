"""A calendar is said in words that read as the same slots; `python -m tests.timing.test_words_back 200000` for more."""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from cronty.timing import BadTrigger, Calendar, CalendarRule, Cron, Reading, Span, Trigger, describe, read_words
from cronty.timing.calendar_rule import Unit
from cronty.timing.words.tokens import LONGEST

NOW = datetime(2027, 3, 10, 19, tzinfo=UTC)
UNITS: tuple[Unit, ...] = ("day", "week", "month", "year")


def some_times(chance: random.Random) -> tuple[int | Span, ...]:
    times: list[int | Span] = [chance.randrange(0, 1440, 5) for _ in range(chance.choice((1, 1, 2, 3)))]
    start, end = sorted(chance.sample(range(0, 1440, 5), 2))
    span = Span(start, end, min(chance.choice((5, 7, 15, 45, 60, 90)), end - start))
    return tuple(chance.choice((times, times, [span], [*times, span])))


def some_rule(chance: random.Random) -> CalendarRule:
    weekdays = tuple(chance.sample(range(7), chance.choice((1, 2, 5))))
    nths = tuple((chance.choice((1, 2, 5, -1, -2)), chance.randrange(7)) for _ in range(chance.choice((1, 2))))
    days = tuple(chance.sample([*range(1, 32), -1, -2], chance.choice((1, 2, 3))))
    business = tuple(chance.sample((1, 2, 10, -1, -5), chance.choice((1, 2))))
    plain = CalendarRule(some_times(chance), months=chance.choice(((), (), tuple(chance.sample(range(1, 13), 2)))))
    rule = chance.choice(
        (
            plain,
            *(replace(plain, weekdays=weekdays), replace(plain, days=days), replace(plain, nths=nths)),
            *(replace(plain, business_days=business), replace(plain, days=(13,), weekdays=weekdays)),
            *(replace(plain, weekdays=(0,), nths=((1, 4),)), replace(plain, days=(-1,), business_days=(-1,))),
        )
    )
    if chance.random() < 0.7:
        return rule
    since = date(2026, 1, 1) + timedelta(days=chance.randrange(400))
    return replace(rule, every=chance.choice((2, 3, 5, 10)), unit=chance.choice(UNITS), since=since)


def some_calendars(seed: int, count: int) -> Iterator[Calendar]:
    chance = random.Random(seed)
    while count:
        rules = tuple(some_rule(chance) for _ in range(chance.choice((1, 1, 1, 2))))
        without = (date(2027, 12, 24), *(date(2027, 12, day) for day in (27, 28, 29)))
        try:
            calendar = Calendar(
                rules,
                chance.choice(("Europe/Berlin", "America/New_York", "UTC")),
                starts=chance.choice((None, None, date(2027, 4, 5))),
                ends=chance.choice((None, None, date(2028, 12, 31), date(2027, 4, 5))),
                without=chance.choice(((), (), without)),
            )
        except BadTrigger:
            continue
        if calendar.after(NOW) is not None:
            count -= 1
            yield calendar


def slots(trigger: Trigger, count: int) -> list[datetime | None]:
    found: list[datetime | None] = [NOW]
    while len(found) <= count and (slot := found[-1]) is not None:
        found.append(trigger.after(slot))
    return found


def test_calendars_read_back_as_the_same_slots() -> None:
    seen = read_back(1, 2000)
    assert seen["equal"] > 1200
    assert seen["too long"] < 20


def read_back(seed: int, count: int, slots_each: int = 40) -> Counter[str]:
    seen: Counter[str] = Counter()
    for calendar in some_calendars(seed, count):
        words = describe(calendar)
        if len(words) > LONGEST:
            seen["too long"] += 1
            continue
        found = read_words(words, NOW, "Asia/Tokyo")
        assert isinstance(found, Reading), words
        seen["equal" if found.trigger == calendar else "in other fields"] += 1
        # Whole hours in five fields are fixed times, which differ from a span where clocks change.
        hours = any(isinstance(time, Span) and time.step % 60 == 0 for rule in calendar.rules for time in rule.times)
        if found.trigger != calendar and not (hours and isinstance(found.trigger, Cron)):
            assert slots(calendar, slots_each) == slots(found.trigger, slots_each), words
    return seen


@pytest.mark.parametrize(
    "text",
    [
        "weekdays at 7:45 and weekends at 9:00 until 31 December 2027",
        "every 2 weeks on Monday at 9 starting 5 April 2027",
        "every 3 days at 7am starting 5 April 2027 until 30 June 2027",
        "every 45 minutes from 8:00 to 22:00 on weekdays except 25 December 2027",
        "every 5 hours starting tomorrow at 06:00, 10 times",
        "on the 13th at 09:00 if that is also a Friday, 3 times",
        "every 15 minutes between 22:00 and 06:00 on Fridays",
        "every hour tomorrow",
        "every day at 9 from 3 May to 3 May",
        "every third day at 18:00 for 2 weeks",
        "every other Monday and every Thursday at 9",
        "every 2 weeks on Monday at 9 (starting 5 April 2027)",
        "first and last business day of the month at 9 until 31 December 2027",
        "every other week on Friday at 10 and every other week on Friday at 17:00",
    ],
)
def test_what_is_read_is_said_so_that_it_reads_as_the_same(text: str) -> None:
    first = read_words(text, NOW, "Europe/Berlin")
    assert isinstance(first, Reading)
    again = read_words(first.words, NOW, "Asia/Tokyo")
    assert isinstance(again, Reading), first.words
    assert (again.trigger, again.max_runs) == (first.trigger, first.max_runs)


if __name__ == "__main__":
    print(read_back(2, int(sys.argv[1])))
