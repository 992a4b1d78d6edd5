"""Neighbours among numbers."""

from collections.abc import Iterable


def runs(values: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last of each run of three or more numbers; others stand alone, as (n, n)."""
    found: list[tuple[int, int]] = []
    for value in sorted(set(values)):
        if found and value == found[-1][1] + 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return [pair for low, high in found for pair in (_apart(low, high) if high - low < 2 else [(low, high)])]


def _apart(low: int, high: int) -> list[tuple[int, int]]:
    return [(each, each) for each in range(low, high + 1)]
