"""A job's year as a calendar: a column for each week, a square for each day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from cronty.jobs.overview import Day, Verdict
from cronty.web.dashboard.timeline import counts_text

CELL: Final = 9
STEP: Final = 11
LEFT: Final = 30
TOP: Final = 20
BAD: Final[tuple[Verdict, ...]] = ("failed", "quarantined")
GOOD: Final[tuple[Verdict, ...]] = ("done", "running", "waiting")


@dataclass(frozen=True, slots=True)
class Cell:
    x: int
    y: int
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Heatmap:
    cells: list[Cell]
    empty: str
    """The days without a slot, as one SVG path, because most jobs have many."""
    months: list[tuple[int, str]]
    width: int
    height: int = TOP + 7 * STEP


def draw_year(days: Sequence[Day]) -> Heatmap:
    """Weeks begin on Monday; the last column is this week."""
    if not days:
        return Heatmap([], "", [], LEFT)
    monday = days[0].date - timedelta(days=days[0].date.weekday())
    most = max((sum(day.verdicts.get(one, 0) for one in GOOD) for day in days), default=0)
    cells: list[Cell] = []
    empty: list[str] = []
    months: list[tuple[int, str]] = []
    for day in days:
        week, weekday = divmod((day.date - monday).days, 7)
        x, y = LEFT + week * STEP, TOP + weekday * STEP
        if day.date.day == 1 and (not months or x - months[-1][0] > 2 * STEP):
            months.append((x, f"{day.date:%b}"))
        if any(day.verdicts.values()):
            title = f"{day.date:%a} {day.date.day} {day.date:%b}: {counts_text(day.verdicts)}"
            cells.append(Cell(x, y, _kind(day.verdicts, most), title))
        else:
            empty.append(f"M{x} {y}h{CELL}v{CELL}h-{CELL}z")
    last = (days[-1].date - monday).days // 7
    return Heatmap(cells, "".join(empty), months, LEFT + (last + 1) * STEP)


def _kind(verdicts: Mapping[Verdict, int], most: int) -> str:
    """By the worst verdict of the day; a good day by its number of runs."""
    bad, good = (sum(verdicts.get(one, 0) for one in kind) for kind in (BAD, GOOD))
    if bad:
        return "some" if good > bad else "bad"
    if verdicts.get("missed"):
        return "missed"
    if not good:
        return "none"
    return f"good{-(-4 * good // most)}"
