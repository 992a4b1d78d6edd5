"""Which time zone the clock of this machine shows."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cronty.timing import BadTrigger, zone

_FOLLOWED: Final = 8
"""Links that lead from one to the next, before it is taken for a circle."""


def machine_zone(root: Path = Path("/")) -> str | None:
    """The zone by TZ, by where /etc/localtime leads, or by /etc/timezone; None if none of them names one."""
    return next((name for said in _said(root) if (name := _known(said)) is not None), None)


def _said(root: Path) -> Iterator[str]:
    yield os.environ.get("TZ", "").removeprefix(":")
    yield from _links(root / "etc/localtime")
    try:
        yield (root / "etc/timezone").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return


def _links(link: Path) -> Iterator[str]:
    """Each place on the way: the first is the name that was chosen, the last may be another town's."""
    for _ in range(_FOLLOWED):
        try:
            link = link.parent / os.readlink(link)
        except OSError:
            return
        yield str(link)


def _known(said: str) -> str | None:
    name = said.rpartition("zoneinfo/")[2].removeprefix("posix/")
    try:
        return zone(name).key
    except BadTrigger:
        return None
