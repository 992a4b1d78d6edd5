"""An expected outcome as a value: `Ok` with what was asked for, or `Err` with what to do instead."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Ok[T]:
    value: T


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that words may mean: words that mean only this, what they mean, and the next time of it."""

    words: str
    description: str
    next_at: datetime | None = None

    def to_json(self) -> dict[str, str | None]:
        return {
            "words": self.words,
            "description": self.description,
            "next_at": None if self.next_at is None else self.next_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Err:
    """`code` is for programs (`codes.py` lists them), `message` says what was wrong, `hint` what to do next.

    `field` names the request field that was wrong, if there is one. `choices` are what an ambiguous schedule may mean:
    repeat the request with the words of one. `reason` is for our log and trail: the caller isn't told.
    """

    code: str
    message: str = ""
    hint: str = ""
    field: str | None = None
    choices: tuple[Choice, ...] = ()
    reason: str = ""


type Result[T] = Ok[T] | Err


class CrontyError(Exception):
    """What the Python APIs raise for an `Err`."""

    def __init__(self, err: Err) -> None:
        super().__init__(f"{err.message} {err.hint}".strip())
        self.err = err

    @property
    def code(self) -> str:
        return self.err.code

    @property
    def message(self) -> str:
        return self.err.message

    @property
    def hint(self) -> str:
        return self.err.hint

    @property
    def field(self) -> str | None:
        return self.err.field

    @property
    def choices(self) -> tuple[Choice, ...]:
        return self.err.choices


def value_of[T](result: Result[T]) -> T:
    """The value of an `Ok`; an `Err` is raised."""
    if isinstance(result, Err):
        raise CrontyError(result)
    return result.value
