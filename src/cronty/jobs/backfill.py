"""Which slots of a past range a backfill runs, and what becomes of the rows that they have.

A slot without a row gets one outside of the chain of slots, as a run that was asked for. A verdict without a run
becomes that run: it waits, under the id of its slot. A row that covers a range of slots is split first, so that the
chain stays whole: what isn't run keeps its verdict and its reason.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

import orjson

from cronty.jobs.job import Job
from cronty.jobs.moments import local_text
from cronty.jobs.run import LIVE
from cronty.timing import Calendar, Changed, Trigger
from cronty.timing.offsets import TICK

MOST_RUN: Final = 1000
"""Slots that one call runs."""

MOST_LOOKED: Final = 5000
"""Slots that one call looks at."""

NOT_RUN: Final = frozenset({"skipped", "coalesced", "missed"})
TAKEN: Final = "on a day off, skipped or moved"
EARLIER_RULE: Final = "covered by a verdict of an earlier schedule"
_ON_PURPOSE: Final = ("asked for by ", "moved to ")
"""How the reasons of slots begin that were skipped or moved, this once."""

NO_ROW: Final = "no run"


@dataclass(frozen=True, slots=True)
class Backfilled:
    """Who had a slot run after its time, when, and what its verdict was before."""

    by: str
    at: datetime

    def dump(self) -> str:
        return orjson.dumps(asdict(self)).decode()


def backfilled_in_words(stored: str, zone_name: str) -> str:
    """What a run's column `backfilled` says."""
    found = orjson.loads(stored)
    at = datetime.fromisoformat(found["at"]).replace(microsecond=0)
    words = f"backfilled by {found['by']} on {local_text(at, zone_name)}"
    if (state := found.get("was")) is None:
        return words
    because = f" ({found['because']})" if found.get("because") else ""
    return f"{words}; before that it was {state}{because}"


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A row in the range: of one slot, or of all slots from `scheduled_for` through `through`."""

    scheduled_for: datetime
    through: datetime | None
    slots: int
    followed_by: datetime | None
    state: str
    reason: str | None
    finished_at: datetime | None

    def covers(self, slot: datetime) -> bool:
        return self.scheduled_for <= slot <= (self.through or self.scheduled_for)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a range that was split: one slot that will run, or others that won't."""

    first: datetime
    through: datetime | None
    slots: int
    followed_by: datetime | None


@dataclass(frozen=True, slots=True)
class Split:
    row: KnownRun
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """`slots` will run; `before` counts what was known of them, `left_out` the others, both by words. The rest of the
    range begins at `next_from`."""

    slots: tuple[datetime, ...]
    before: Mapping[str, int]
    left_out: Mapping[str, int]
    splits: tuple[Split, ...]
    next_from: datetime | None


def latest_slot(job: Job, now: datetime, last: KnownRun | None) -> datetime:
    """No slot after this one can be backfilled: it has not come, or the engine has not decided on it yet.

    `last` is the last row of the job's chain.
    """
    planned = job.next_slot or job.held_slot
    if planned is not None:
        latest = min(now, planned - TICK)
    else:
        latest = job.slots_after if last is None else min(now, last.through or last.scheduled_for)
    return latest if job.ends_at is None else min(latest, job.ends_at)


def slots_in(slots: Trigger | Changed, since: datetime, until: datetime) -> list[datetime]:
    """The slots from `since` through `until`, one more than may be looked at if there are more."""
    found: list[datetime] = []
    slot = slots.after(since - TICK)
    while slot is not None and slot <= until and len(found) <= MOST_LOOKED:
        found.append(slot)
        slot = slots.after(slot)
    return found


def plan_backfill(
    slots: Trigger | Changed, found: Sequence[datetime], rows: Sequence[KnownRun], again_before: datetime | None
) -> BackfillPlan:
    """`found` are the slots of the range, `rows` all rows from the first to the last of them, in order. Slots that were
    run are run again if their run ended before `again_before`."""
    chosen: list[datetime] = []
    before: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    ranges: dict[datetime, tuple[KnownRun, list[datetime]]] = {}
    single = {row.scheduled_for: row for row in rows if row.slots == 1}
    wide = [row for row in rows if row.slots > 1]
    begins = [row.scheduled_for for row in wide]
    whole = [is_of_rule(slots, row) for row in wide]
    next_from = None
    for number, slot in enumerate(found):
        if number == MOST_LOOKED or len(chosen) == MOST_RUN:
            next_from = slot
            break
        row, is_whole = single.get(slot), True
        place = bisect_right(begins, slot) - 1
        if row is None and place >= 0 and wide[place].covers(slot):
            row, is_whole = wide[place], whole[place]
        if wrong := _why_not(slots, slot, row, again_before, whole=is_whole):
            left_out[wrong] += 1
            continue
        chosen.append(slot)
        before[NO_ROW if row is None else row.state] += 1
        if row is not None and row.slots > 1:
            ranges.setdefault(row.scheduled_for, (row, []))[1].append(slot)
    splits = tuple(Split(row, tuple(split(slots, row, taken))) for row, taken in ranges.values())
    return BackfillPlan(tuple(chosen), before, left_out, splits, next_from)


def _why_not(
    slots: Trigger | Changed, slot: datetime, row: KnownRun | None, again_before: datetime | None, *, whole: bool
) -> str | None:
    """Why a slot isn't run, or None."""
    if isinstance(slots, Calendar | Changed) and slots.taken(slot) is not None:
        return TAKEN
    if not whole:
        return EARLIER_RULE
    if row is None or row.state in NOT_RUN:
        return TAKEN if row is not None and (row.reason or "").startswith(_ON_PURPOSE) else None
    if row.state in LIVE or again_before is None or row.finished_at is None or row.finished_at >= again_before:
        return row.state
    return None


def is_of_rule(slots: Trigger | Changed, row: KnownRun) -> bool:
    """Whether a range covers exactly the slots that the rule names today."""
    through = row.through or row.scheduled_for
    first = row.scheduled_for
    return slots.count(first, first) == 1 and slots.count(first, through) == row.slots


def split(slots: Trigger | Changed, row: KnownRun, chosen: Sequence[datetime]) -> Iterator[Part]:
    """The parts of a range, in order and linked, in which each chosen slot is alone."""
    end = row.through or row.scheduled_for
    first: datetime | None = row.scheduled_for
    spans: list[tuple[datetime, datetime]] = []
    for slot in chosen:
        if first is not None and first < slot:
            spans.append((first, slots.last(first, slot - TICK) or first))
        spans.append((slot, slot))
        first = slots.after(slot)
    if first is not None and first <= end:
        spans.append((first, end))
    followers = [*(begin for begin, _ in spans[1:]), row.followed_by]
    for (begin, through), followed_by in zip(spans, followers, strict=True):
        yield Part(begin, through if through > begin else None, slots.count(begin, through), followed_by)
