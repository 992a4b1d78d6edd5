"""Data for people: the slots around now, a job's year, how late runs start, what needs attention."""

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Final

from cronty.contract.answers_of_owner import OwnerFigures, OwnerList
from cronty.contract.caller import Caller
from cronty.contract.requests import ListOwners
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.limits import reached
from cronty.jobs.overview import (
    MAX_DRAWN,
    Answered,
    Bin,
    Concerns,
    Day,
    Fleet,
    Frequent,
    JobCounts,
    Lag,
    LatestRun,
    OwnerUse,
    RunEvent,
    Slot,
    Timeline,
    Verdict,
    Week,
    bins_of,
    frequent,
    planned_slots,
    week_ahead,
)
from cronty.scheduler.event_stream import EventBoard, Listener
from cronty.scheduler.permission import event_as_seen
from cronty.scheduler.scheduler import Scheduler
from cronty.store.overview_store import Counted, OverviewStore
from cronty.timing import zone

MAX_PLANNED: Final = 2000
"""How many future slots are computed at most, which takes milliseconds."""

MAX_PASSED: Final = 2000
"""How many past slots are read one by one at most."""

MAX_OF_JOB: Final = 100_000
"""How many runs of a job its days are counted from at most."""

FLEET_BACK: Final = timedelta(minutes=5)
FLEET_BIN: Final = timedelta(seconds=10)
_SOON: Final = timedelta(minutes=1)  # no slot gets its row earlier than that
_DAY: Final = timedelta(days=1)
_AT_A_TIME: Final = 50
YEAR_SHOWN: Final = 371  # 53 weeks


class Overview:
    """Reads only, so it is separate from the scheduler. `own` is the owner of the installation."""

    def __init__(self, store: OverviewStore, scheduler: Scheduler, own: str) -> None:
        self._store = store
        self._own = own
        self._scheduler = scheduler
        self._board = EventBoard(store)

    async def timeline(
        self, caller: Caller, back: timedelta = _DAY, ahead: timedelta = _DAY, bins: int = 96
    ) -> Timeline:
        """The slots of all jobs around now, each with its verdict."""
        now = await self._store.now()
        since, until, width = now - back, now + ahead, (back + ahead) / bins
        planned = await self._store.planned(caller.owner, until, MAX_PLANNED)
        coming: list[Slot] = []
        for slot in islice(planned_slots(planned, until), MAX_PLANNED):
            coming.append(slot)
            if len(coming) % _AT_A_TIME == 0:
                await asyncio.sleep(0)  # others' turn: a rule may have very many times and days
        through = coming[-1].scheduled_for if len(coming) == MAX_PLANNED else until
        # A slot that is due right now is planned until it fires, and has a row from then on.
        passed = await self._store.passed(caller.owner, since, now + _SOON, MAX_PASSED + 1)
        if too_many := len(passed) > MAX_PASSED:
            counted = await self._store.count(caller.owner, since, now + _SOON, width)
        else:
            counted: Counted = [(slot.scheduled_for, slot.verdict, slots) for slot, slots in passed]
        counted.extend((max(since, slot.scheduled_for), "planned", 1) for slot in coming)
        named = [*passed, *((slot, 1) for slot in coming)]
        often = frequent(named, (back + ahead) / _DAY)
        seldom = [slot for slot, _ in named if slot.job_number not in often]
        often_counted: Counted = [
            (max(since, slot.scheduled_for), slot.verdict, slots) for slot, slots in named if slot.job_number in often
        ]
        return Timeline(
            since,
            now,
            until,
            width,
            bins_of(since, until, width, counted),
            sorted(seldom, key=_moment) if not too_many and len(seldom) <= MAX_DRAWN else None,
            through,
            bins_of(since, until, width, often_counted),
            len(often),
        )

    async def week(self, caller: Caller, starts: Sequence[datetime]) -> Week:
        """The slots of some days, past or to come; they start at `starts`, and the last one is where they end."""
        now = await self._store.now()
        since, until = starts[0], starts[-1]
        passed: list[tuple[Slot, int]] = []
        if since < now:
            passed = await self._store.passed(caller.owner, since, min(until, now + _SOON), MAX_PASSED + 1)
        planned = await self._store.planned(caller.owner, until, MAX_PLANNED) if until > now else []
        ahead = await asyncio.to_thread(week_ahead, planned, starts)
        often = frequent(passed, len(starts) - 1) | {one.job_number for one in ahead.often}
        every = [*passed, *((slot, 1) for slot in ahead.slots)]
        counted = {one.job_number: one for one in ahead.often}
        for slot, count in every:
            if (number := slot.job_number) not in often:
                continue
            if number not in counted:
                counted[number] = Frequent(number, slot.name, slot.task, [Bin(start, {}) for start in starts[:-1]])
            verdicts = counted[number].bins[max(0, bisect_right(starts, slot.scheduled_for) - 1)].verdicts
            verdicts[slot.verdict] = verdicts.get(slot.verdict, 0) + count
        slots = [slot for slot, _ in every if slot.job_number not in often]
        by_day = sorted(counted.values(), key=lambda one: -sum(sum(bin.verdicts.values()) for bin in one.bins))
        return Week(now, sorted(slots, key=_moment), by_day, len(passed) > MAX_PASSED or ahead.cut)

    async def latest_of(self, caller: Caller, numbers: Sequence[int], each: int = 10) -> dict[int, list[LatestRun]]:
        """The latest runs of some jobs, the newest first: their health at a glance."""
        return await self._store.latest_of(caller.owner, list(numbers), each) if numbers else {}

    async def results(self, caller: Caller, since: datetime, limit: int = 5) -> list[Answered]:
        """What jobs have answered since then, one answer of each, those in words first."""
        return await self._store.results(caller.owner, since, limit, caller.agent)

    async def job_counts(self, caller: Caller) -> JobCounts:
        """How many jobs fail, wait for an agent, are paused, and have ended."""
        return await self._store.job_counts(caller.owner)

    async def waiting_prompts(self, caller: Caller, most: int = 100) -> int:
        """How many prompts wait for an agent, counted up to `most`; with an agent's key those for that agent."""
        return await self._store.waiting_prompts(caller.owner, caller.agent, most)

    async def lag(self, caller: Caller, back: timedelta = _DAY, bins: int = 48) -> list[Lag]:
        """How late an owner's slots started."""
        now = await self._store.now()
        found = await self._store.lag(caller.owner, now - back, now, back / bins)
        return _lags(now - back, back / bins, bins, found)

    async def concerns(self, caller: Caller, limit: int = 10) -> Concerns:
        """Jobs that are paused for a reason, set aside, failing or overdue, the latest first."""
        return await self._store.concerns(caller.owner, limit, caller.agent)

    async def year(self, caller: Caller, job_id: str | int, days: int = YEAR_SHOWN) -> Result[list[Day]]:
        """A job's days until today in its own zone, those without a slot too; fewer if it has very many runs."""
        shown = await self._scheduler.show(caller, job_id)
        if isinstance(shown, Err):
            return shown
        job, place = shown.value, zone(shown.value.zone)
        today = (await self._store.now()).astimezone(place).date()
        first = today - (days - 1) * _DAY
        since = datetime.combine(first, time.min, place).astimezone(UTC)
        year: dict[date, dict[Verdict, int]] = {}
        counted, all_of_them = await self._store.days(caller.owner, job.number, place.key, since, MAX_OF_JOB)
        for day, verdict, slots in counted:
            year.setdefault(day, {})[verdict] = slots
        if not all_of_them:  # the first of these days is only partly counted
            first = min(today, min(year) + _DAY)
        return Ok([Day(day, year.get(day, {})) for day in (first + n * _DAY for n in range((today - first).days + 1))])

    async def tags(self, caller: Caller) -> dict[str, int]:
        """The tags of the owner's latest jobs and how many jobs have each; the most used first, up to 100."""
        return await self._store.tags(caller.owner)

    async def events(self, caller: Caller, after: datetime | None = None, limit: int = 500) -> list[RunEvent]:
        """Run events after this time, oldest first; None means one minute ago. They appear half a second late."""
        since = after or await self._store.now() - timedelta(minutes=1)
        return [event_as_seen(caller, event) for event in await self._store.events(caller.owner, since, limit)]

    def listen(self, caller: Caller, after: datetime) -> AbstractAsyncContextManager[Listener]:
        """The same as they happen, including events written late."""
        return self._board.listen(caller.owner, after)

    async def has_other_worker(self, name: str) -> bool:
        """Whether a worker is alive that isn't called this."""
        return any(one.alive and one.name != name for one in await self._store.workers())

    def not_for(self, caller: Caller) -> Err | None:
        """Why this caller may not see figures of the whole installation: they are for its operator, at its machine or
        as the owner of the installation with the scope admin."""
        if caller.trusted or (caller.owner == self._own and caller.may("admin")):
            return None
        message = "Figures of the whole installation are for its operator."
        return Err("not_allowed", message, f"Use a key of the owner {self._own!r} with the scope admin.")

    async def fleet(self, caller: Caller) -> Result[Fleet]:
        """Figures of the whole installation."""
        if refused := self.not_for(caller):
            return refused
        backlog = await self._store.backlog()
        since = backlog.now - FLEET_BACK
        rows = await self._store.throughput(since, backlog.now, FLEET_BIN)
        bins = bins_of(since, backlog.now, FLEET_BIN, [(start, verdict, slots) for start, verdict, slots, _ in rows])
        late = [(start, lags[0], lags[1]) for start, verdict, _, lags in rows if verdict == "done" and lags]
        found = Fleet(
            backlog.now,
            await self._store.workers(),
            backlog.waiting,
            backlog.running,
            backlog.overdue,
            backlog.oldest_overdue,
            backlog.frozen,
            bins,
            _lags(since, FLEET_BIN, len(bins), late),
        )
        return Ok(found)

    async def owners(self, caller: Caller, request: ListOwners) -> Result[OwnerList]:
        """Who uses what, who fails, and who is held."""
        if refused := self.not_for(caller):
            return refused
        page = await self._store.owners(request.after, request.limit)
        found = [self._figures(one) for one in page]
        return Ok(OwnerList(owners=found, cursor=page[-1].name if len(page) == request.limit else None))

    def _figures(self, one: OwnerUse) -> OwnerFigures:
        limits = self._scheduler.allowance.of_owner(one.limits)
        return OwnerFigures(
            name=one.name,
            jobs=one.jobs,
            stored_bytes=one.stored_bytes,
            running=one.running,
            runs_in_hour=one.in_hour,
            runs_in_day=one.in_day,
            failed=one.failed,
            held_by=reached(limits, one.used, one.jobs, one.running),
            overdue=one.overdue,
            oldest_overdue=one.oldest_overdue,
            limited=one.limits is not None,
            erasing=one.erasing,
            created_at=one.created_at,
        )


def _moment(slot: Slot) -> datetime:
    return slot.scheduled_for


def _lags(since: datetime, width: timedelta, bins: int, found: Iterable[tuple[datetime, float, float]]) -> list[Lag]:
    at = {start: (p50, p99) for start, p50, p99 in found}
    starts = (since + number * width for number in range(bins))
    return [Lag(start, *at.get(start, (None, None))) for start in starts]
