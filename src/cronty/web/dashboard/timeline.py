"""Lays out the timeline: columns of marks, or stacked bars when there are too many marks.

Horizontal positions are percentages and vertical ones are pixels, so the drawing fits any width undistorted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cronty.jobs.overview import Bin, Slot, Timeline, Verdict
from cronty.jobs.run import FAILED, run_id
from cronty.timing import zone
from cronty.web.dashboard.formats import brief, clock_text, day_text, number
from cronty.web.dashboard.verdicts import LABELS, ORDER

PITCH: Final = 10
"""Pixels from mark to mark in a column."""
MAX_STACKED: Final = 11
NAMES: Final = 12_000
"""Bytes that the names of all marks together may use in a page."""
PLOT: Final = 124
LEAST: Final = 74
AXIS: Final = 26
STRIP: Final = 30
"""Pixels for the strip of jobs that come often."""


@dataclass(frozen=True, slots=True)
class Mark:
    x: str
    y: int
    verdict: Verdict
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    x: str
    y: str
    width: str
    height: str
    verdict: Verdict
    title: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A bar's whole height as a link, and the diamond above a bar with failures."""

    x: str
    width: str
    href: str
    title: str
    middle: str
    flag: str | None


@dataclass(frozen=True, slots=True)
class Rib:
    """Half an hour of the jobs that come often."""

    x: str
    width: str
    kind: str
    failed: int
    """Height of its red part."""
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class Tick:
    x: str
    label: str
    day: bool
    wide: bool
    """Whether to leave it out on a narrow screen."""


@dataclass(frozen=True, slots=True)
class Drawing:
    now: str
    marks: list[Mark]
    bars: list[Bar]
    over: list[tuple[str, int, str]]
    """Columns that are higher than the drawing, how many marks are left out, and on which side of it this is said."""
    ticks: list[Tick]
    until: str | None
    """How far planned slots were computed, if not to the end."""
    counts: dict[Verdict, int]
    plot: int
    hits: list[Hit]
    ribs: list[Rib]

    @property
    def height(self) -> int:
        return self.plot + AXIS + (STRIP if self.ribs else 0)


def draw_timeline(line: Timeline, zone_name: str) -> Drawing:
    whole = line.until - line.since

    def across(moment: datetime) -> float:
        return 100 * (moment - line.since) / whole

    columns = _columns(line)
    rows = min(MAX_STACKED, max(map(len, columns.values()), default=0))
    plot = PLOT if line.slots is None else min(PLOT, max(LEAST, rows * PITCH + 14))
    marks, over = _marks(line, columns, plot, zone_name)
    return Drawing(
        now=f"{across(line.now):.2f}",
        marks=marks,
        bars=list(_bars(line.bins, 100 * (line.width / whole), across, zone_name)) if line.slots is None else [],
        over=over,
        ticks=list(_ticks(line, zone_name)),
        until=f"{across(line.planned_through):.2f}" if line.planned_through < line.until else None,
        counts=counted(line.bins),
        plot=plot,
        hits=list(_hits(line, zone_name)) if line.slots is None else [],
        ribs=list(_ribs(line, zone_name)) if line.slots is not None and line.often_jobs else [],
    )


def counted(bins: Sequence[Bin]) -> dict[Verdict, int]:
    """How many of each verdict, in the order of the legend, without zeros."""
    sums: dict[Verdict, int] = {verdict: sum(one.verdicts.get(verdict, 0) for one in bins) for verdict in ORDER}
    return {verdict: count for verdict, count in sums.items() if count}


def _columns(line: Timeline) -> dict[int, list[Slot]]:
    columns: dict[int, list[Slot]] = {}
    for slot in sorted(line.slots or [], key=lambda one: (one.scheduled_for, one.job_number)):
        place = (slot.scheduled_for - line.since) // line.width
        columns.setdefault(max(0, min(place, len(line.bins) - 1)), []).append(slot)
    return columns


def _marks(
    line: Timeline, columns: Mapping[int, list[Slot]], plot: int, zone_name: str
) -> tuple[list[Mark], list[tuple[str, int, str]]]:
    marks: list[Mark] = []
    over: list[tuple[str, int, str]] = []
    now = (line.now - line.since) / line.width
    room = min(80, NAMES // max(1, len(line.slots or [])))
    for place, stacked in columns.items():
        x = f"{100 * (place + 0.5) * (line.width / (line.until - line.since)):.2f}"
        stacked.sort(key=lambda one: ORDER.index(one.verdict), reverse=True)  # failures are never left out
        shown = stacked[:MAX_STACKED][::-1]
        marks += [
            _mark(slot, x, plot - PITCH // 2 - 2 - row * PITCH, room, zone_name) for row, slot in enumerate(shown)
        ]
        if len(stacked) > MAX_STACKED:
            # Beside the line of now a number in the middle of its column would be cut by it.
            side = "middle" if abs(place + 0.5 - now) > 2 else "end" if place + 0.5 < now else "start"
            over.append((x, len(stacked) - MAX_STACKED, side))
    return marks, over


def _mark(slot: Slot, x: str, y: int, room: int, zone_name: str) -> Mark:
    planned = slot.verdict == "planned"
    href = f"/jobs/{slot.job_number}" if planned else f"/runs/{run_id(slot.job_number, slot.scheduled_for)}"
    when = clock_text(slot.scheduled_for, zone_name)
    label = "won't run, " + slot.reason if planned and slot.reason else LABELS[slot.verdict].lower()
    title = f"{brief(slot.name, room)}, {when}: {label}"
    return Mark(x, y, slot.verdict, href, title)


_BARS: Final[tuple[Verdict, ...]] = (
    "failed", "quarantined", "done", "running", "waiting", "planned", "missed", "skipped", "coalesced", "cancelled",
)  # fmt: skip
"""From the foot of a bar to its top: failures stand at the foot, where they are seen."""


def _bars(bins: Sequence[Bin], width: float, across: Callable[[datetime], float], zone_name: str) -> Iterator[Bar]:
    highest = _highest(bins)
    for one in bins:
        y = float(PLOT)
        title = clock_text(one.start, zone_name) + ": " + counts_text(one.verdicts)
        for verdict in _BARS:
            if not (count := one.verdicts.get(verdict, 0)):
                continue
            height = max(1.5, (PLOT - 22) * count / highest)
            y -= height
            x = across(one.start) + width * 0.12
            yield Bar(f"{x:.2f}", f"{max(0.0, y):.1f}", f"{width * 0.76:.2f}", f"{height:.1f}", verdict, title)


def _highest(bins: Sequence[Bin]) -> int:
    return max((sum(one.verdicts.values()) for one in bins), default=0) or 1


def _place(line: Timeline, moment: datetime) -> float:
    return 100 * (moment - line.since) / (line.until - line.since)


def _day_link(moment: datetime, zone_name: str) -> str:
    """The day of the week's page."""
    day = moment.astimezone(zone(zone_name)).date()
    return f"/week?from={day - timedelta(days=2)}#d{day}"


def _hits(line: Timeline, zone_name: str) -> Iterator[Hit]:
    highest, width = _highest(line.bins), 100 * (line.width / (line.until - line.since))
    for one in line.bins:
        if not any(one.verdicts.values()):
            continue
        x = _place(line, one.start)
        bad = any(one.verdicts.get(verdict) for verdict in FAILED)
        top = PLOT - (PLOT - 22) * sum(one.verdicts.values()) / highest - 9
        title = clock_text(one.start, zone_name) + ": " + counts_text(one.verdicts)
        yield Hit(
            f"{x:.2f}", f"{width:.2f}", _day_link(one.start, zone_name), title, f"{x + width / 2:.2f}",
            f"{max(6.0, top):.0f}" if bad else None,
        )  # fmt: skip


def _ribs(line: Timeline, zone_name: str) -> Iterator[Rib]:
    width, highest = 100 * (line.width / (line.until - line.since)), _highest(line.often)
    for one in line.often:
        whole = sum(one.verdicts.values())
        bad = sum(one.verdicts.get(verdict, 0) for verdict in (*FAILED, "missed"))
        planned = one.verdicts.get("planned", 0)
        level = -(-3 * whole // highest)
        kind = "0" if not whole else f"p{2 if 2 * whole > highest else 1}" if 2 * planned > whole else f"d{level}"
        title = clock_text(one.start, zone_name) + ": " + counts_text(one.verdicts)
        yield Rib(
            f"{_place(line, one.start) + width * 0.06:.2f}", f"{width * 0.88:.2f}", kind,
            max(5, round(14 * bad / whole)) if bad else 0, _day_link(one.start, zone_name), title,
        )  # fmt: skip


def counts_text(verdicts: Mapping[Verdict, int]) -> str:
    """`24 done, 1 failed`."""
    parts = [f"{number(verdicts[one])} {LABELS[one].lower()}" for one in ORDER if verdicts.get(one)]
    return ", ".join(parts) or "nothing"


def _ticks(line: Timeline, zone_name: str) -> Iterator[Tick]:
    """Every third hour of the local day, also on days with a clock change."""
    zoneinfo = zone(zone_name)
    hour = line.since.astimezone(zoneinfo).replace(minute=0, second=0, microsecond=0)
    moment = hour.astimezone(line.since.tzinfo)
    while moment < line.until:
        local = moment.astimezone(zoneinfo)
        place = 100 * (moment - line.since) / (line.until - line.since)
        crowded = abs(place - 100 * (line.now - line.since) / (line.until - line.since)) < 4
        if local.hour % 3 == 0 and local.minute == 0 and 1.5 < place < 98.5:
            day = local.hour == 0
            label = day_text(moment, zone_name, line.now) if day else f"{local:%H:%M}"
            label = "" if crowded else label
            yield Tick(f"{place:.2f}", label, day, local.hour % 6 != 0)
        moment += timedelta(hours=1) if local.minute == 0 else timedelta(minutes=60 - local.minute)
