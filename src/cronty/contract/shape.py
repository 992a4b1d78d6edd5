"""What requests and answers have in common: each is a dataclass whose fields are set once.

`@dataclass(frozen=True)` compiles six methods for every class. With seventy classes that is a third of the time that
`import cronty.client` takes, so here only `__init__` is compiled and the others are written once, for all.
"""

from dataclasses import Field, FrozenInstanceError, dataclass, fields
from typing import Any, ClassVar, override


class Shape:
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        dataclass(eq=False, repr=False, kw_only=kw_only)(cls)

    @override
    def __setattr__(self, name: str, value: object) -> None:
        if name in self.__dict__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        self.__dict__[name] = value

    @override
    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    @override
    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    @override
    def __hash__(self) -> int:
        return hash(tuple(getattr(self, one.name) for one in fields(self)))

    @override
    def __repr__(self) -> str:
        shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))
        return f"{type(self).__name__}({shown})"
