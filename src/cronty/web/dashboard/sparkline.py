"""Small drawings of numbers over time: how late slots started, how many runs ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from statistics import median
from typing import Final

from cronty.jobs.overview import Bin, Lag
from cronty.web.dashboard.timeline import counts_text
from cronty.web.dashboard.verdicts import ORDER

WIDTH: Final = 300
HEIGHT: Final = 56


@dataclass(frozen=True, slots=True)
class LagDrawing:
    """`p50` and `p99` are SVG paths in a box of `WIDTH` by `HEIGHT`, stretched to fit."""

    p50: str
    p99: str
    usual: float | None
    slow: float | None
    worst: float | None
    width: int = WIDTH
    height: int = HEIGHT


def draw_lag(bins: Sequence[Lag]) -> LagDrawing:
    """From zero to the worst lag, on a log scale; a bin in which nothing started leaves a gap."""
    usual = [one.p50 for one in bins if one.p50 is not None]
    slow = [one.p99 for one in bins if one.p99 is not None]
    worst = max(slow, default=None)
    top = max(worst or 0.0, 0.5)
    return LagDrawing(
        _path([one.p50 for one in bins], top),
        _path([one.p99 for one in bins], top),
        median(usual) if usual else None,
        median(slow) if slow else None,
        worst,
    )


def _path(values: Sequence[float | None], top: float) -> str:
    step = WIDTH / max(1, len(values))
    parts: list[str] = []
    lifted = True
    for place, value in enumerate(values):
        if value is None:
            lifted = True
            continue
        x, y = place * step, HEIGHT - 3 - (HEIGHT - 8) * min(1.0, _magnitude(value) / _magnitude(top))
        parts.append(f"{'M' if lifted else 'L'}{x:.1f} {y:.1f}H{x + step:.1f}")
        lifted = False
    return "".join(parts)


def _magnitude(seconds: float) -> float:
    """Log scale: one slow start among thousands of fast ones must not flatten the rest."""
    return log1p(max(0.0, seconds) / 0.02)


@dataclass(frozen=True, slots=True)
class Column:
    x: str
    width: str
    parts: list[tuple[str, str, str]]
    """Verdict, top and height."""
    title: str


def draw_columns(bins: Sequence[Bin], height: int = HEIGHT) -> list[Column]:
    """One column for each bin, stacked by verdict."""
    highest = max((sum(one.verdicts.values()) for one in bins), default=0) or 1
    step = 100 / max(1, len(bins))
    columns: list[Column] = []
    for place, one in enumerate(bins):
        y, parts = float(height), list[tuple[str, str, str]]()
        for verdict in ORDER:
            if count := one.verdicts.get(verdict, 0):
                tall = max(1.0, (height - 4) * count / highest)
                y -= tall
                parts.append((verdict, f"{max(0.0, y):.1f}", f"{tall:.1f}"))
        if parts:
            title = f"{one.start:%H:%M} UTC: {counts_text(one.verdicts)}"
            columns.append(Column(f"{place * step + step * 0.15:.2f}", f"{step * 0.7:.2f}", parts, title))
    return columns
