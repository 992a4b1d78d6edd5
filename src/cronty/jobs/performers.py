"""Which program performs a task. Workers take runs by a task's name, so a name is one program's in an installation."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple


class Home(NamedTuple):
    """Where a task's function is: its package or script, and a digest of the folder that is in."""

    package: str
    place: str | None = None


class Performs(NamedTuple):
    """What a worker performs of its own, and the name that its program gives itself."""

    program: str | None = None
    tasks: Mapping[str, Home] = {}


NOTHING: Final = Performs()


class Performer(NamedTuple):
    """A living worker that performs a task."""

    worker: str
    task: str
    program: str | None
    home: Home

    @property
    def name(self) -> str:
        return self.program or self.home.package


def compared(
    program: str | None, home: Home, other: Performer, *, by_place: bool
) -> Literal["same", "unsure", "other"]:
    """Whether the task that is at home here is that of the same program there.

    Names that both give themselves decide. If only one does, as while a new version says its name for the first time,
    it is known by what it would be called without it too. A folder tells programs of one name apart for certain only
    `by_place`, on a machine of one's own: elsewhere a new version may be in a new folder.
    """
    if program is not None and other.program is not None:
        return "same" if program == other.program else "other"
    if home.package != other.home.package and (program or home.package) != other.name:
        return "other"
    if home.place is None or other.home.place is None or home.place == other.home.place:
        return "same"
    return "other" if by_place else "unsure"
