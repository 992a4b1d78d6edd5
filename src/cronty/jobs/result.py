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
    """`code` is for programs, `message` says what was wrong, `hint` what to do next."""

    code: str
    message: str = ""
    hint: str = ""

    @property
    def is_ok(self) -> bool:
        return False

    @property
    def is_err(self) -> bool:
        return True


type Result[T] = Ok[T] | Err
