"""What `grow` found, as a table in Markdown and as a picture in SVG that can be read on light and on dark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any, Final

type Results = Mapping[tuple[int, str], Mapping[str, Any]]
type Points = list[tuple[int, float]]

LOOKS: Final = ("now", "jobs", "job", "list", "create", "edit")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: the part it is from, and how its cell is said."""

    title: str
    part: str
    cell: Callable[[Mapping[str, Any]], str]


def _look(name: str) -> Column:
    def cell(figures: Mapping[str, Any]) -> str:
        one = figures[name]
        return "–" if "error" in one else f"{number(one['ms'])} ms, {number(one['pages'])}"

    return Column(name.capitalize() if name in ("now", "jobs", "job") else name, "pages", cell)


COLUMNS: Final = (
    Column("fires/s", "fires", lambda one: number(one["per_s"])),
    Column("bare", "fires", lambda one: f"{number(one['bare_per_s'])} ({one['ratio']})"),
    Column("idle minute", "idle", lambda one: f"{number(one['statements'])} statements, {number(one['pages'])}"),
    *map(_look, LOOKS),
    Column("prune, longest statement", "prune", lambda one: f"{number(one['longest_ms'])} ms"),
    Column("retime", "retime", lambda one: f"{number(one['per_s'])} jobs/s"),
    Column("erase", "erase", lambda one: f"{number(one['seconds'])} s"),
)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def sizes_of(results: Results) -> list[int]:
    return sorted({jobs for jobs, _ in results})


def table(results: Results) -> str:
    """A row for each size; a cell that couldn't be measured is a dash, with its reason below."""
    rows = [["jobs", *(column.title for column in COLUMNS)], ["---:"] * (1 + len(COLUMNS))]
    for jobs in sizes_of(results):
        rows.append([f"{jobs:,}", *(_cell(column, results.get((jobs, column.part))) for column in COLUMNS)])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, *(["", *said] if (said := reasons(results)) else [])])


def _cell(column: Column, figures: Mapping[str, Any] | None) -> str:
    return "–" if figures is None or "error" in figures else column.cell(figures)


def reasons(results: Results) -> list[str]:
    """Why cells are missing."""
    found: list[str] = []
    for (jobs, part), figures in sorted(results.items()):
        parts = {part: figures} | {name: figures[name] for name in LOOKS if part == "pages" and name in figures}
        found += [f"- {jobs:,} jobs, {name}: {one['error']}" for name, one in parts.items() if "error" in one]
    return found


# -- the picture ------------------------------------------------------------------------------------------------

WIDTH: Final = 440
HEIGHT: Final = 250
LEFT, RIGHT, TOP, BOTTOM = 54, 110, 44, 30
_STYLE: Final = """
  svg { color-scheme: light dark; }
  text { font: 12px system-ui, sans-serif; fill: #333a45; }
  .title { font-weight: 600; font-size: 13px; fill: #15181d; }
  .paper { fill: #ffffff; } .grid { stroke: #dfe3e8; } .line { fill: none; stroke-width: 2; }
  .c0 { stroke: #1f5fbf; } .c1 { stroke: #b3500f; } .c2 { stroke: #1a7f4b; } .c3 { stroke: #8a2f9c; }
  .c4 { stroke: #946200; } .c5 { stroke: #b0243f; }
  circle { stroke-width: 2; fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #b9c0ca; } .title { fill: #eef1f5; } .paper, circle { fill: #14171c; } .grid { stroke: #2c323b; }
    .c0 { stroke: #6aa5ff; } .c1 { stroke: #f29a5c; } .c2 { stroke: #58c48c; } .c3 { stroke: #d68ae6; }
    .c4 { stroke: #e0b34c; } .c5 { stroke: #ff7d92; }
  }
"""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    series: Mapping[str, Points]


def panels(results: Results) -> list[Panel]:
    def points(part: str, value: Callable[[Mapping[str, Any]], float | None]) -> Points:
        found: Points = []
        for jobs in sizes_of(results):
            figures = results.get((jobs, part))
            if figures and "error" not in figures and (one := value(figures)) is not None:
                found.append((jobs, one))
        return found

    def looks(what: str) -> dict[str, Points]:
        return {
            name: points("pages", lambda one, name=name: None if "error" in one[name] else one[name][what])
            for name in LOOKS
        }

    return [
        Panel("Fires per second", {
            "Cronty": points("fires", lambda one: one["per_s"]), "bare": points("fires", lambda one: one["bare_per_s"]),
        }),
        Panel("An idle minute", {
            "pages": points("idle", lambda one: one["pages"]),
            "statements": points("idle", lambda one: one["statements"]),
        }),
        Panel("Pages touched for an owner with ten jobs", looks("pages")),
        Panel("The same, milliseconds", looks("ms")),
        Panel("Prune: longest statement, milliseconds", {"prune": points("prune", lambda one: one["longest_ms"])}),
        Panel("Retime: jobs moved per second", {"retime": points("retime", lambda one: one["per_s"])}),
    ]  # fmt: skip


def draw(results: Results) -> str:
    """Both axes are logarithmic: what costs the same at every size is a level line."""
    sizes = sizes_of(results)
    drawn = panels(results)
    height = HEIGHT * ceil(len(drawn) / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" width="{2 * WIDTH}" '
        f'height="{height}" role="img" aria-label="What Cronty costs as the number of stored jobs grows">',
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{2 * WIDTH}" height="{height}"/>',
    ]
    for place, panel in enumerate(drawn):
        parts.append(f'<g transform="translate({place % 2 * WIDTH} {place // 2 * HEIGHT})">')
        parts += _panel(panel, sizes)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, sizes: Sequence[int]) -> list[str]:
    values = [value for points in panel.series.values() for _, value in points]
    low, high = _decades(values)
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    span = max(log10(sizes[-1]) - log10(sizes[0]), 1e-9) if sizes else 1

    def x(jobs: int) -> float:
        return round(LEFT + 8 + (log10(jobs) - log10(sizes[0])) / span * (across - 16), 1)

    def y(value: float) -> float:
        return round(TOP + (high - log10(max(value, 10**low))) / (high - low) * down, 1)

    drawn = [f'<text class="title" x="{LEFT}" y="24">{panel.title}</text>']
    for power in range(low, high + 1):
        at = y(10**power)
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + across}" y1="{at}" y2="{at}"/>')
        drawn.append(f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{_short(10.0**power)}</text>')
    for jobs in sizes:
        drawn.append(f'<text x="{x(jobs)}" y="{HEIGHT - 10}" text-anchor="middle">{_short(jobs)}</text>')
    drawn.append(f'<text x="{WIDTH - RIGHT + 16}" y="{HEIGHT - 10}">jobs stored</text>')
    for color, points in enumerate(panel.series.values()):
        path = " ".join(f"{x(jobs)},{y(value)}" for jobs, value in points)
        drawn.append(f'<polyline class="line c{color}" points="{path}"/>')
        drawn += [f'<circle class="c{color}" cx="{x(jobs)}" cy="{y(value)}" r="3"/>' for jobs, value in points]
    return drawn + _names(panel, y)


def _names(panel: Panel, y: Callable[[float], float]) -> list[str]:
    """Each line's name and last value at its end, moved apart where they would lie on each other."""
    ends = sorted((y(points[-1][1]), color, name, points[-1][1])
                  for color, (name, points) in enumerate(panel.series.items()) if points)  # fmt: skip
    places = [end[0] for end in ends]
    for _ in range(20):
        for one, (above, below) in enumerate(pairwise(places)):
            if (missing := 15 - (below - above)) > 0.1:
                places[one] -= missing / 2
                places[one + 1] += missing / 2
    left = WIDTH - RIGHT
    drawn: list[str] = []
    for place, (end, color, name, value) in zip(places, ends, strict=True):
        drawn.append(f'<line class="c{color}" x1="{left - 4}" y1="{end}" x2="{left + 6}" y2="{round(place, 1)}"/>')
        drawn.append(f'<text x="{left + 9}" y="{round(place + 4, 1)}">{name} {number(value)}</text>')
    return drawn


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around these values."""
    some = [value for value in values if value > 0] or [1.0]
    low, high = floor(log10(min(some))), ceil(log10(max(some)))
    return low, max(high, low + 1)


def _short(value: float) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"
