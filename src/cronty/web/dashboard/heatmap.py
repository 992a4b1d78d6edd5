"""A job's days as a calendar: a year in columns of weeks, or a young job's weeks in rows of seven wide days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from cronty.jobs.overview import Day, Verdict
from cronty.jobs.run import FAILED
from cronty.web.dashboard.timeline import counts_text

CELL: Final = 11
STEP: Final = 13
LEFT: Final = 28
TOP: Final = 16
YOUNG: Final = 70
"""A job with fewer days than this is shown in weeks."""
WIDE: Final = 66
TALL: Final = 20
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
GOOD: Final[tuple[Verdict, ...]] = ("done", "running", "waiting")


@dataclass(frozen=True, slots=True)
class Cell:
    x: int
    y: int
    kind: str
    title: str
    width: int = CELL
    height: int = CELL

    @property
    def mark(self) -> str | None:
        """A diamond in the middle of a day on which some runs failed."""
        return (
            f"M{self.x + self.width / 2:g} {self.y + self.height / 2 - 3:g}l3 3-3 3-3-3z"
            if self.kind == "some"
            else None
        )


@dataclass(frozen=True, slots=True)
class Heatmap:
    cells: list[Cell]
    empty: str
    """The days without a slot, as one SVG path, because most jobs have many."""
    months: list[tuple[int, str]]
    width: int
    height: int = TOP + 7 * STEP
    rows: tuple[tuple[int, str], ...] = ((25, "Mon"), (51, "Wed"), (77, "Fri"))
    """Labels on the left, with their places."""
    weeks: bool = False
    today: Cell | None = None


def draw_days(days: Sequence[Day], made: date) -> Heatmap:
    """The days of a job that was made then."""
    first = min([made, *(day.date for day in days if any(day.verdicts.values()))])
    young = [day for day in days if day.date >= first - timedelta(days=first.weekday())]
    return draw_weeks(young) if len(young) < YOUNG else draw_year(days)


def draw_weeks(days: Sequence[Day]) -> Heatmap:
    """A row for each week from Monday to Sunday, the latest at the bottom; a good day by its number of runs."""
    if not days:
        return Heatmap([], "", [], LEFT)
    monday = days[0].date - timedelta(days=days[0].date.weekday())
    most = max((sum(day.verdicts.get(one, 0) for one in GOOD) for day in days), default=0)
    cells: list[Cell] = []
    rows: list[tuple[int, str]] = []
    left = 58
    for day in days:
        week, weekday = divmod((day.date - monday).days, 7)
        x, y = left + weekday * (WIDE + 3), TOP + week * (TALL + 3)
        if weekday == 0 or not rows:
            first = day.date - timedelta(days=weekday)
            rows.append((y + 14, f"{first.day} {first:%b}"))
        some = any(day.verdicts.values())
        title = f"{day.date:%a} {day.date.day} {day.date:%b}: {counts_text(day.verdicts)}"
        cells.append(Cell(x, y, _kind(day.verdicts, most) if some else "empty", title, WIDE, TALL))
    today = cells[-1]
    for weekday in range(days[-1].date.weekday() + 1, 7):
        cells.append(Cell(left + weekday * (WIDE + 3), today.y, "future", "Still to come", WIDE, TALL))
    names = [(left + place * (WIDE + 3), name) for place, name in enumerate(_WEEKDAYS)]
    high = TOP + (rows[-1][0] - 14 - TOP) + TALL + 1
    return Heatmap(cells, "", names, left + 7 * (WIDE + 3) - 2, high, tuple(rows), weeks=True, today=today)


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
    last, weekday = divmod((days[-1].date - monday).days, 7)
    today = Cell(LEFT + last * STEP, TOP + weekday * STEP, "today", "Today")
    return Heatmap(cells, "".join(empty), months, LEFT + (last + 1) * STEP, today=today)


def _kind(verdicts: Mapping[Verdict, int], most: int) -> str:
    """By the worst verdict of the day; a good day by its number of runs."""
    bad, good = (sum(verdicts.get(one, 0) for one in kind) for kind in (FAILED, GOOD))
    if bad:
        return "some" if good > bad else "bad"
    if verdicts.get("missed"):
        return "missed"
    if not good:
        return "none"
    return f"good{-(-4 * good // most)}"
