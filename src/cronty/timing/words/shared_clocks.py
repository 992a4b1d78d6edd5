"""Clocks that cities share: where nothing is left to choose between them, nobody is asked."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from cronty.timing.calendar import Calendar
from cronty.timing.cron import Cron
from cronty.timing.once import Once
from cronty.timing.trigger import Trigger
from cronty.timing.words.places import place
from cronty.timing.words.vocabulary import listed
from cronty.timing.zones import zone

_LOOKS: Final = 2 * 73
_STEP: Final = timedelta(days=5)
"""Cities that share a name of their clock change it on the same days, or not at all: a look every few days tells."""


@lru_cache(maxsize=64)
def _clock(zone_name: str, year: int) -> tuple[timedelta | None, ...]:
    """The offsets of two years."""
    there, first = zone(zone_name), datetime(year, 1, 1, tzinfo=UTC)
    return tuple((first + look * _STEP).astimezone(there).utcoffset() for look in range(_LOOKS))


def at_offset(zones: tuple[str, ...], offset: timedelta | None, year: int) -> tuple[str, ...]:
    """The zones whose clocks have that offset at some time: Vancouver has no PST any more."""
    if offset is None or len(zones) == 1:
        return zones
    return tuple(each for each in zones if offset in _clock(each, year)) or zones


def come_to_the_same(one: tuple[Trigger, str], other: tuple[Trigger, str], year: int) -> bool:
    """Whether the clocks of two cities leave nothing to choose: `every day at 9 ET` is the same in Toronto."""
    (first, here), (second, there) = one, other
    if isinstance(first, Once) and isinstance(second, Once):
        return first.at == second.at
    if isinstance(first, Cron | Calendar) and isinstance(second, Cron | Calendar):
        return replace(first, zone=there) == second and _clock(here, year) == _clock(there, year)
    return first == second


def same_as(zones: Iterable[str]) -> str | None:
    """What to know of a clock that others share."""
    names = [place(each).removesuffix(" time") for each in zones]
    return f"clocks show the same there as in {listed(names)}" if names else None
