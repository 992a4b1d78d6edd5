"""An expected outcome as a value: `Ok` with what was asked for, or `Err` with what to do instead."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ok[T]:
    value: T

    @property
    def is_ok(self) -> bool:
        return True

    @property
    def is_err(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Err:
    """`code` is for programs (`codes.py` lists them), `message` says what was wrong, `hint` what to do next.

    `field` names the request field that was wrong, if there is one.
    """

    code: str
    message: str = ""
    hint: str = ""
    field: str | None = None

    @property
    def is_ok(self) -> bool:
        return False

    @property
    def is_err(self) -> bool:
        return True


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


def value_of[T](result: Result[T]) -> T:
    """The value of an `Ok`; an `Err` is raised."""
    if isinstance(result, Err):
        raise CrontyError(result)
    return result.value
