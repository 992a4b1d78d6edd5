"""A week as a calendar: what was, what comes, each time to be moved or skipped where it stands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby, pairwise
from typing import Final

from starlette.responses import Response

from cronty.jobs.overview import Frequent, Slot, Verdict
from cronty.jobs.run import FAILED, run_id
from cronty.timing import zone
from cronty.web.dashboard.formats import brief, clock_text, cut, day_clock, number
from cronty.web.dashboard.job import MESSAGES
from cronty.web.dashboard.verdicts import LABELS, kind_of
from cronty.web.dashboard.visit import Visit

DAYS: Final = 7
BACK: Final = 2
"""The week begins that many days before today, so that what just happened is seen."""
STACKED: Final = 3
"""How many times of an hour are shown one by one."""
LISTED: Final = 12
"""How many more are listed when they are asked for."""
ROOM: Final = 100
"""Bytes of a page that a name may use."""
FARTHEST: Final = timedelta(days=3653)
_HOLIDAY: Final = re.compile(r"holiday \((.+)\)")


@dataclass(frozen=True, slots=True)
class Chip:
    """One time of a job. `href` is where it leads; a time to come opens at `menu` instead."""

    name: str
    clock: str
    note: str
    mark: str | None
    icon: str
    tone: str
    href: str
    menu: str | None


@dataclass(frozen=True, slots=True)
class Cell:
    hour: int
    chips: list[Chip]
    more: list[Chip]
    others: int
    """How many are neither shown nor listed."""
    now_before: int | None
    """Before which chip the line of the present moment is drawn."""


@dataclass(frozen=True, slots=True)
class Often:
    """The jobs that come often, on one day: parts of a bar in percent, and what they say."""

    parts: list[tuple[str, str, str]]
    times: str
    failed: int
    jobs: list[tuple[int, str, str]]


@dataclass(slots=True)
class Day:
    date: date
    tone: str
    flags: list[tuple[str, str]]
    """Icon and words of what is unusual about the day."""
    cells: list[Cell]
    often: Often | None
    wrong: bool = False
    slots: list[Slot] = field(default_factory=list[Slot])


async def show_week(visit: Visit) -> Response:
    now, zone_name = await visit.clock()
    today = now.astimezone(zone(zone_name)).date()
    first = _asked(visit, today)
    starts = [
        datetime.combine(first + timedelta(days=day), time.min, zone(zone_name)).astimezone(UTC)
        for day in range(DAYS + 1)
    ]
    week = await visit.service.overview.week(visit.caller, starts)
    days = _days(week.slots, starts, first, today, zone_name)
    hours = _hours(days, now, zone_name)
    for place, day in enumerate(days):
        day.cells = [_cell(day, hour, now, zone_name, f"/week?from={first}") for hour in hours]
        day.often = _often(week.often, place)
        day.wrong = any(slot.verdict in FAILED for slot in day.slots) or bool(day.often and day.often.failed)
    last = days[-1].date
    return visit.page(
        "week.html",
        now=now,
        zone=zone_name,
        today=today,
        days=days,
        rows=_rows(hours),
        title=f"{first:%a} {first.day} {first:%B} to {last:%a} {last.day} {last:%B}",
        is_often=bool(week.often),
        cut=week.cut,
        here_from=first,
        earlier=first - timedelta(days=DAYS),
        later=first + timedelta(days=DAYS),
        is_now=first <= today <= last,
        message=MESSAGES.get(visit.query.get("done", "")),
    )


def _asked(visit: Visit, today: date) -> date:
    try:
        asked = date.fromisoformat(visit.query.get("from", ""))
    except ValueError:
        return today - timedelta(days=BACK)
    return asked if abs(asked - today) < FARTHEST else today - timedelta(days=BACK)


def _days(slots: Sequence[Slot], starts: Sequence[datetime], first: date, today: date, zone_name: str) -> list[Day]:
    days: list[Day] = []
    for place, (start, end) in enumerate(pairwise(starts)):
        day = first + timedelta(days=place)
        flags: list[tuple[str, str]] = []
        if (longer := end - start - timedelta(days=1)) != timedelta(0):
            hours = f"{(end - start) / timedelta(hours=1):g} h"
            flags.append(("clockback", f"Clocks go {'back' if longer > timedelta(0) else 'forward'}, {hours}"))
        tone = "today" if day == today else "past" if day < today else ""
        days.append(Day(day, tone, flags, [], None))
    for slot in slots:
        day = days[max(0, min(DAYS - 1, (slot.scheduled_for.astimezone(zone(zone_name)).date() - first).days))]
        day.slots.append(slot)
        holiday = _HOLIDAY.search(slot.reason or "")
        if holiday and ("flag", holiday[1]) not in day.flags:
            day.flags.append(("flag", holiday[1]))
    return days


def _hours(days: Sequence[Day], now: datetime, zone_name: str) -> list[int]:
    """The hours in which something is; and the present one, if today is there."""
    place = zone(zone_name)
    found = {slot.scheduled_for.astimezone(place).hour for day in days for slot in day.slots}
    if any(day.tone == "today" for day in days):
        found.add(now.astimezone(place).hour)
    return sorted(found)


def _rows(hours: Sequence[int]) -> list[tuple[int, bool]]:
    """The rows of the week: an hour, and whether it stands for a run of empty ones."""
    rows: list[tuple[int, bool]] = []
    for empty, run in groupby(range(24), lambda hour: hour not in hours):
        listed = list(run)
        rows += [(listed[0], True)] if empty else [(hour, False) for hour in listed]
    return rows


def _cell(day: Day, hour: int, now: datetime, zone_name: str, here: str) -> Cell:
    place = zone(zone_name)
    slots = [slot for slot in day.slots if slot.scheduled_for.astimezone(place).hour == hour]
    chips = [_chip(slot, now, zone_name, here) for slot in slots[: STACKED + LISTED]]
    shown = chips if len(slots) <= STACKED else chips[: STACKED - 1]
    is_now = day.tone == "today" and now.astimezone(place).hour == hour
    before = sum(slot.scheduled_for <= now for slot in slots[: len(shown)]) if is_now else None
    more = chips[len(shown) : len(shown) + LISTED]
    return Cell(hour, shown, more, len(slots) - len(shown) - len(more), before)


def _chip(slot: Slot, now: datetime, zone_name: str, here: str) -> Chip:
    clock, kind = clock_text(slot.scheduled_for, zone_name), kind_of(slot.task)
    if slot.verdict != "planned":
        tone = "bad" if slot.verdict in FAILED else "wait" if slot.verdict == "waiting" else "was"
        note = "" if slot.verdict == "done" else LABELS[slot.verdict].lower()
        return Chip(
            brief(slot.name, ROOM), clock, note, slot.verdict, kind, tone,
            f"/runs/{run_id(slot.job_number, slot.scheduled_for)}", None,
        )  # fmt: skip
    menu = f"/jobs/{slot.job_number}/slot?slot={slot.scheduled_for:%Y-%m-%dT%H:%M:%S}Z&next={here}"
    if slot.reason is not None:
        moved = slot.reason.startswith("moved")
        holiday = _HOLIDAY.search(slot.reason)
        note = "moved" if moved else holiday[1] if holiday else "skipped"
        return Chip(brief(slot.name, ROOM), clock, note, "skipped", kind, "gone", f"/jobs/{slot.job_number}", menu)
    note = f"from {day_clock(slot.moved_from, zone_name, slot.scheduled_for)}" if slot.moved_from else ""
    tone = "moved" if slot.moved_from else ""
    return Chip(
        brief(slot.name, ROOM), clock, note, None, "moved" if slot.moved_from else kind, tone,
        f"/jobs/{slot.job_number}", menu if slot.scheduled_for > now else None,
    )  # fmt: skip


def _often(jobs: Sequence[Frequent], place: int) -> Often | None:
    sums: dict[Verdict, int] = {}
    listed: list[tuple[int, str, str]] = []
    for job in jobs:
        verdicts = job.bins[place].verdicts
        for verdict, count in verdicts.items():
            sums[verdict] = sums.get(verdict, 0) + count
        if whole := sum(verdicts.values()):
            bad = sum(verdicts.get(one, 0) for one in FAILED)
            listed.append(
                (job.job_number, cut(job.name, 60), f"{number(whole)} times" + (f", {bad} failed" if bad else ""))
            )
    whole = sum(sums.values())
    if not whole:
        return None
    bad = sum(sums.get(one, 0) for one in FAILED)
    planned = sums.get("planned", 0)
    parts: list[tuple[str, str, str]] = []
    x = 0.0
    for kind, count in (("d3", whole - bad - planned), ("f", bad), ("p2", planned)):
        if count:
            width = max(2.0, 100 * count / whole)
            parts.append((kind, f"{min(x, 98.0):.1f}", f"{width:.1f}"))
            x += width
    return Often(parts, number(whole), bad, listed[:LISTED])
