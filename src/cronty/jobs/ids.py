"""Three ways to write a job's number, all of them accepted everywhere. Each owner's jobs are numbered from 1."""

import re
from datetime import datetime
from typing import Final

_MAX: Final = 2**63 - 1
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_JOB: Final = re.compile(r"job_([0-9]{1,19})_[0-9]{1,19}")
_SCHEDULE: Final = re.compile(rf"scd_([{_ALPHABET}]{{1,13}})")
_NUMBER: Final = re.compile(r"#?([0-9]{1,19})")


def job_id_text(number: int, created_at: datetime) -> str:
    """`job_{number}_{unix time of creation}`, as the jobs dialect writes it."""
    return f"job_{number}_{int(created_at.timestamp())}"


def schedule_id_text(number: int) -> str:
    """`scd_{number in base 32}`, as the notifications dialect writes it."""
    digits = ""
    while number:
        number, digit = divmod(number, 32)
        digits = _ALPHABET[digit] + digits
    return f"scd_{digits or '0'}"


def read_job_id(text: str | int) -> int | None:
    """The job's number in any of the three forms; None if the text is none of them, so that no job is found."""
    if isinstance(text, int):
        return text if 0 < text <= _MAX else None
    text = text.strip()
    if found := _JOB.fullmatch(text) or _NUMBER.fullmatch(text):
        number = int(found[1])
    elif found := _SCHEDULE.fullmatch(text):
        number = 0
        for character in found[1]:
            number = number * 32 + _ALPHABET.index(character)
    else:
        return None
    return number if 0 < number <= _MAX else None
