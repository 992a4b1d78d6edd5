"""Which program this is: by the name it gives itself, else by the package of its functions or the name of its script.

A name survives a deploy to another folder. On the database of one's own machine, where two unrelated programs are
easily called `main`, the folder tells them apart too: neither pauses what the other declares.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from cronty.jobs.performers import Home

PROGRAM: Final = "code:"
PLACE: Final = "code-place:"
MAX_TAG: Final = 50


@dataclass(frozen=True, slots=True)
class Program:
    """As the tags of its jobs name it; `place` is None where a folder says nothing, and where the name was given."""

    tag: str
    place: str | None = None

    @property
    def name(self) -> str:
        return self.tag.removeprefix(PROGRAM)

    @property
    def tags(self) -> list[str]:
        return [self.tag] if self.place is None else [self.tag, self.place]

    def may_have_made(self, tags: Sequence[str]) -> bool:
        """False for jobs of a program of the same name in another folder."""
        places = [tag for tag in tags if tag.startswith(PLACE)]
        return self.place is None or not places or self.place in places


def program_of(module: str, *, by_place: bool) -> Program:
    """The program that a function of this module belongs to."""
    package = module.partition(".")[0]
    loaded = sys.modules.get(package)
    if package == "__main__":
        package = _of_main(loaded)
    tag = f"{PROGRAM}{package}"[:MAX_TAG]
    return Program(tag, _place(loaded) if by_place else None)


def home_of(function: object) -> Home:
    """Where a task's function is."""
    while isinstance(function, partial):
        function = cast("partial[object]", function).func
    found = program_of(str(getattr(function, "__module__", "")), by_place=True)
    return Home(found.name, found.place)


def named_program(name: str) -> Program:
    if not 0 < len(name.strip()) <= MAX_TAG - len(PROGRAM):
        raise ValueError(f"A program's name has 1 to {MAX_TAG - len(PROGRAM)} characters; {name!r} hasn't.")
    return Program(f"{PROGRAM}{name.strip()}")


def _of_main(main: ModuleType | None) -> str:
    """`python -m shop.jobs` is `shop`, `python backup.py` is `backup`."""
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name).partition(".")[0]
    return Path(getattr(main, "__file__", None) or "main").stem


def _place(module: ModuleType | None) -> str | None:
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    folder = Path(file).resolve().parent
    package = getattr(getattr(module, "__spec__", None), "parent", None)
    for _ in package.split(".") if package else ():
        folder = folder.parent  # to where the package is
    return f"{PLACE}{sha256(str(folder).encode()).hexdigest()[:12]}"
