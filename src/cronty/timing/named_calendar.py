"""A list of days off that has a name, and that many jobs share."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from cronty.timing.calendar_days import DaySet


@dataclass(frozen=True)
class NamedCalendar:
    """Days off by their reasons, such as `holiday (Christmas Day)`, and make-up days, which win.

    Whatever goes by it refers to it: what is computed from its days is computed once, and kept here.
    """

    off: Mapping[date, str]
    on: frozenset[date] = frozenset()

    def __hash__(self) -> int:
        return hash((len(self.off), len(self.on)))

    @cached_property
    def off_days(self) -> DaySet:
        return DaySet(self.off)

    @cached_property
    def on_days(self) -> DaySet:
        return DaySet(self.on)

    @cached_property
    def _sorted(self) -> Sequence[date]:
        return sorted(self.off)

    def between(self, first: date, end: date) -> Sequence[date]:
        """Return the days off from `first` until before `end`."""
        return self._sorted[bisect_left(self._sorted, first) : bisect_left(self._sorted, end)]
