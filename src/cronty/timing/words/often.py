"""How many times in a day, week, month or year: `twice a day at 8 and 20` names as many times as it says."""

from typing import Final

from cronty.timing.errors import BadTrigger
from cronty.timing.words.said import Said
from cronty.timing.words.sentence import Sentence

WHICH: Final = {
    "day": 'Say when, as in "every day at 9:00 and 17:00".',
    "week": 'Say on which days, as in "every Monday and Thursday at 9:00".',
    "month": 'Say on which days, as in "on the 1st and 15th of every month at 9:00".',
    "year": 'Say on which days, as in "every year on 1 January and 1 July at 9:00".',
}


def put_often(sentence: Sentence, count: int, unit: str) -> None:
    """Note how many times were said; once in an hour or a quarter is a period, and more often names no times."""
    if unit not in WHICH:
        if count > 1:
            raise sentence.refuse(
                "how far apart?", 'Say it as in "every 30 minutes" or "every 2 weeks on Monday at 9:00".'
            )
        return
    if sentence.often is not None:
        raise sentence.refuse("it says twice how often", "Say it once.")
    sentence.often = count, unit


def check_often(sentence: Sentence) -> None:
    """Refuse a sentence whose days and times aren't as many as it says."""
    if sentence.often is None:
        return
    count, unit = sentence.often
    found = [_count(said, unit) for said in sentence.groups]
    if 0 in found:
        raise BadTrigger(
            f'"{sentence.text}" doesn\'t say {"when" if unit == "day" else "on which days"}', _which(count, unit)
        )
    # Groups of days have the times of each day, or share those of the week, month or year.
    named = next((each for each in found if each != count), count) if unit == "day" else sum(found)
    if named != count:
        often = "once" if count == 1 else f"{count} times"
        raise sentence.refuse(f"{often} a {unit}, and it names {named}", "Make the two agree, or leave out how often.")


def _which(count: int, unit: str) -> str:
    if unit == "day" and count in (2, 3, 4, 6, 8, 12):
        return f'{WHICH["day"][:-1]}, or how far apart, as in "every {24 // count} hours".'
    return WHICH[unit]


def _count(said: Said, unit: str) -> int:
    """How many times a group has in a day, week, month or year; 0 if it doesn't say which."""
    ranked = len(said.month_days) + len(said.nths) + len(said.business_days)
    months = len(said.months) or 1
    days = {
        "day": 1,
        "week": len(said.weekdays),
        "month": ranked,
        "year": 1 if said.date is not None else ranked * months,
    }
    times = len(said.clocks) or (unit != "day" or bool(said.part))
    return 0 if said.windows or said.every is not None else days[unit] * times
