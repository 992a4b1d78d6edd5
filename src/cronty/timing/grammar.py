"""The text of a cron expression: what is accepted, and what to say when it isn't.

cronsim evaluates what it is given and says little about what it refuses. This check stands in front of it:
plain ASCII, five fields, every refusal with the field, the value and a correct example, and the few spellings
that cronsim would misread rewritten (`20-20/13`, which it takes for `20/13`).
"""

import re
from dataclasses import dataclass

from cronty.timing.errors import BadTrigger
from cronty.timing.weeks import MAX_WEEKS, Weeks

LONGEST = 256
_WEEKS = re.compile(r"([0-9]{1,2})(?:\+([0-9]{1,2}))?")
_EXAMPLE = 'Example: "30 9 * * MON-FRI" is 09:30 on weekdays (minute hour day-of-month month day-of-week).'
_NICKNAMES = {
    "@HOURLY": "0 * * * *",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@WEEKLY": "0 0 * * 0",
    "@MONTHLY": "0 0 1 * *",
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    example: str
    names: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return self.high - self.low + 1


_DAY_OF_MONTH = _Field("day-of-month", 1, 31, '"1,15" or "L"')
_DAY_OF_WEEK = _Field("day-of-week", 0, 7, '"MON-FRI" or "1#2"', ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))
_FIELDS = (
    _Field("minute", 0, 59, '"0" or "*/15"'),
    _Field("hour", 0, 23, '"9" or "9-17"'),
    _DAY_OF_MONTH,
    _Field(
        "month",
        1,
        12,
        '"1-6" or "JAN,JUL"',
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
    ),
    _DAY_OF_WEEK,
)


class _Wrong(Exception):
    """Why a field isn't accepted."""


def refusal(expression: str, why: str) -> BadTrigger:
    """Return the error for an expression; its text begins with the words callers rely on."""
    shown = expression if len(expression) <= LONGEST else expression[:LONGEST] + "…"
    return BadTrigger(f"Invalid cron expression: {shown}", f"{why} {_EXAMPLE}")


def normalize(expression: str) -> str:
    """Return the expression as five upper-case fields, ready for cronsim but for the weeks at the end (`%2+1`)."""
    if len(expression) > LONGEST:
        raise refusal(expression, f"It has {len(expression)} characters; at most {LONGEST} are allowed.")
    if not expression.isascii():
        strange = next(each for each in expression if not each.isascii())
        raise refusal(expression, f"It contains {strange!r}; only plain ASCII digits and letters are allowed.")
    text = expression.strip().upper()
    if text.startswith("@"):
        if text not in _NICKNAMES:
            known = " ".join(_NICKNAMES).lower()
            raise refusal(expression, f"Known nicknames are {known}; for a fixed period use an interval.")
        return _NICKNAMES[text]
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise refusal(expression, _miscounted(parts))
    try:
        fields = [_field(field, part) for field, part in zip(_FIELDS, parts, strict=True)]
        if "%" in fields[-1] and fields[2:4] != ["*", "*"]:
            raise _Wrong(
                f'day-of-week: "{parts[-1]}" goes by weeks, so day-of-month and month must be "*", '
                f'as in "{parts[0]} {parts[1]} * * {parts[-1]}".'
            )
        return " ".join(fields)
    except _Wrong as wrong:
        raise refusal(expression, str(wrong)) from None


def _miscounted(parts: list[str]) -> str:
    if parts and parts[0].startswith(("CRON_TZ=", "TZ=")):
        return "Give the time zone on its own, not inside the expression."
    if len(parts) == 6:
        return "It has 6 fields, and seconds or years are not supported; exactly five are needed."
    return f"It has {len(parts)} field{'' if len(parts) == 1 else 's'}; exactly five are needed."


def _field(field: _Field, text: str) -> str:
    items, percent, weeks = text.partition("%")
    found = ",".join(_item(field, item, text) for item in items.split(","))
    return found + _weeks(field, text, weeks) if percent else found


def _weeks(field: _Field, text: str, weeks: str) -> str:
    if field is not _DAY_OF_WEEK:
        raise _Wrong(f'{field.name}: "{text}" has a "%", which belongs to day-of-week; "MON%2" is every second Monday.')
    if "#" in text or "L" in text:
        raise _Wrong(
            f'day-of-week: "{text}" goes by months and by weeks; "MON#2" is the second Monday of the month, '
            '"MON%2" every second Monday.'
        )
    found = _WEEKS.fullmatch(weeks)
    every, remainder = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if not 2 <= every <= MAX_WEEKS or remainder >= every:
        raise _Wrong(
            f'day-of-week: "{text}" must end in a number of weeks, %2 to %{MAX_WEEKS}, and may go on with which of '
            'them, +0 to one less than that; try "MON%2" or "MON,WED%2+1".'
        )
    return str(Weeks(every, remainder))


def _item(field: _Field, item: str, text: str) -> str:
    if item == "":
        raise _Wrong(f'{field.name}: "{text}" has an empty item in its list; try {field.example}.')
    if "?" in item:
        raise _Wrong(f'{field.name}: "?" is not supported; use "*".')
    if field is _DAY_OF_MONTH and item in ("L", "LW"):
        return item
    if field is _DAY_OF_WEEK and item.endswith("L") and len(item) > 1:
        return f"{_number(field, item[:-1])}L"
    if field is _DAY_OF_WEEK and "#" in item:
        return _nth(item)
    base, slash, step = item.partition("/")
    if slash:
        _check_step(field, item, step)
    if base == "*":
        return item
    start, dash, end = base.partition("-")
    if not dash:
        return f"{_number(field, start)}{slash}{step}"
    return _range(field, start, end, slash + step)


def _range(field: _Field, start: str, end: str, step: str) -> str:
    first, final = _number(field, start), _number(field, end)
    if field is _DAY_OF_WEEK and end == "SUN" and first > 0:
        final = 7
    if first == final:
        # cronsim takes the one value of 20-20/13 for the start of 20/13.
        return str(first)
    if first > final:
        wrapped = f"{start}-{field.high},{field.low}-{end}"
        raise _Wrong(f'{field.name}: the range "{start}-{end}" runs backwards; write it as "{wrapped}".')
    return f"{first}-{final}{step}"


def _nth(item: str) -> str:
    day, _, nth = item.partition("#")
    if nth not in ("1", "2", "3", "4", "5"):
        raise _Wrong(f'day-of-week: "{item}" must end in #1 to #5; "MON#2" is the second Monday of the month.')
    return f"{_number(_DAY_OF_WEEK, day)}#{nth}"


def _check_step(field: _Field, item: str, step: str) -> None:
    if not step.isdecimal() or int(step) == 0:
        raise _Wrong(f'{field.name}: the step in "{item}" must be 1 to {field.size}; try {field.example}.')
    if int(step) > field.size:
        # Legal in most crons, and read as "once per hour" (or day …), which whoever wrote */90 did not mean.
        raise _Wrong(f'{field.name}: the step in "{item}" is over {field.size}; for long periods use an interval.')


def _number(field: _Field, text: str) -> int:
    if text in field.names:
        return field.names.index(text) + field.low
    if text[:3] in field.names and text.isalpha():
        raise _Wrong(f'{field.name}: "{text}" must be shortened to "{text[:3]}".')
    if not text.isdecimal():
        raise _Wrong(f'{field.name}: "{text}" is not in {field.low}-{field.high}; try {field.example}.')
    if not field.low <= int(text) <= field.high:
        raise _Wrong(f"{field.name}: {text} is outside {field.low}-{field.high}; try {field.example}.")
    return int(text)
