"""The dashboard's statements. They read the ordinary tables; nothing is stored for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, cast

import orjson

from cronty.jobs.frozen import Frozen
from cronty.jobs.ids import job_id_text
from cronty.jobs.limits import CALLS
from cronty.jobs.overview import (
    MAX_COUNTED,
    MOST_OF_OWNER,
    Answered,
    Concern,
    Concerns,
    JobCounts,
    LatestRun,
    OwnerUse,
    Planned,
    RunEvent,
    Slot,
    Verdict,
    WorkerLook,
)
from cronty.jobs.run import run_id
from cronty.store.database import Database, Row
from cronty.store.day_lists import read_changes, read_triggers
from cronty.store.freezing import read_frozen
from cronty.timing import with_changes

EVER: Final = datetime.min.replace(tzinfo=UTC)
"""PostgreSQL's -infinity, as asyncpg writes it."""

type Counted = list[tuple[datetime, Verdict, int]]
type Lags = list[tuple[datetime, float, float]]


@dataclass(frozen=True, slots=True)
class Backlog:
    """Waiting, running and overdue runs of the whole installation, each counted up to `MAX_COUNTED`."""

    now: datetime
    waiting: int
    running: int
    overdue: int
    oldest_overdue: datetime | None
    frozen: Frozen | None


class OverviewStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        return cast("datetime", await self._database.value("now", self._database.moment()))

    async def passed(self, owner: str, since: datetime, until: datetime, limit: int) -> list[tuple[Slot, int]]:
        """Past slots in order, each with how many slots its run row covers."""
        rows = await self._database.of(owner).for_display().fetch("slots_passed", owner, since, until, limit)
        return [(_slot(row), row["slots"]) for row in rows]

    async def count(self, owner: str, since: datetime, until: datetime, width: timedelta) -> Counted:
        rows = await self._database.of(owner).for_display().fetch("count_slots", owner, since, until, width)
        return [(row["start"], row["verdict"], row["slots"]) for row in rows]

    async def planned(self, owner: str, until: datetime, limit: int) -> list[Planned]:
        theirs = self._database.of(owner).for_display()
        rows = await theirs.fetch("slots_planned", owner, until, limit)
        triggers = await read_triggers(theirs.fetch, [(row["owner_id"], row["trigger_json"]) for row in rows])
        return [
            Planned(
                row["number"],
                row["name"],
                with_changes(trigger, read_changes(row["trigger_json"])),
                row["next_slot"],
                row["ends_at"],
                row["remaining"],
                row["task"],
            )
            for row, trigger in zip(rows, triggers, strict=True)
        ]

    async def owners(self, after: str, most: int) -> list[OwnerUse]:
        """The owners by name, those after this one; for the operator of the installation."""
        given = (after, most, MOST_OF_OWNER, MOST_OF_OWNER, self._database.moment(), MAX_COUNTED, CALLS)
        rows = await self._database.for_the_engine().fetch("list_owners", *given)
        return [
            OwnerUse(
                row["name"],
                row["live_jobs"],
                row["live_bytes"],
                None if row["limits"] is None else orjson.loads(row["limits"]),
                row["erasing_since"] is not None,
                row["created_at"],
                row["running"],
                row["failed"],
                row["in_hour"],
                row["in_day"],
                row["overdue"],
                row["oldest_overdue"],
                orjson.loads(row["used"] or "{}"),
            )
            for row in rows
        ]

    async def lag(self, owner: str, since: datetime, until: datetime, width: timedelta) -> Lags:
        rows = await self._database.of(owner).for_display().fetch("lag_of_owner", owner, since, until, width)
        return [(row["start"], *row["lags"]) for row in rows]

    async def concerns(self, owner: str, limit: int, agent: str | None = None) -> Concerns:
        theirs = self._database.of(owner).for_display()
        rows = await theirs.fetch("list_concerns", owner, self._database.moment(), limit, agent)
        items = [
            Concern(
                row["kind"],
                row["job_number"],
                row["name"],
                row["what"] or "",
                row["since"],
                row["task"],
                row["failures"],
                row["ended"],
                row["failed_slot"],
            )
            for row in rows
        ]
        return Concerns(items, rows[0]["total"] if rows else 0)

    async def latest_of(self, owner: str, numbers: Sequence[int], each: int) -> dict[int, list[LatestRun]]:
        """The latest runs of these jobs, the newest first."""
        rows = await self._database.of(owner).for_display().fetch("latest_of_jobs", owner, numbers, each)
        found: dict[int, list[LatestRun]] = {}
        for row in rows:
            run = LatestRun(row["scheduled_for"], row["verdict"], row["started_at"])
            found.setdefault(row["job_number"], []).append(run)
        return found

    async def results(self, owner: str, since: datetime, limit: int, agent: str | None = None) -> list[Answered]:
        rows = await self._database.of(owner).for_display().fetch("latest_results", owner, since, limit, agent)
        return [Answered(**dict(row)) for row in rows]

    async def job_counts(self, owner: str) -> JobCounts:
        row = await self._database.of(owner).for_display().one("count_jobs", owner)
        assert row is not None
        return JobCounts(**dict(row))

    async def waiting_prompts(self, owner: str, agent: str | None, most: int) -> int:
        return cast("int", await self._database.of(owner).for_display().value("count_inbox", owner, agent, most))

    async def days(
        self, owner: str, number: int, zone: str, since: datetime, most: int
    ) -> tuple[list[tuple[date, Verdict, int]], bool]:
        """Counts by day of the latest `most` runs of a job, and whether these are all of them since then."""
        rows = await self._database.of(owner).for_display().fetch("days_of_job", owner, number, zone, since, most)
        return [(row["day"], row["verdict"], row["slots"]) for row in rows], sum(row["runs"] for row in rows) < most

    async def tags(self, owner: str) -> dict[str, int]:
        rows = await self._database.of(owner).for_display().fetch("list_tags", owner)
        return {row["tag"]: row["jobs"] for row in rows}

    async def mark(self) -> int:
        """A transaction id: what is written from now on has this id or a later one."""
        return cast("int", await self._database.value("mark"))

    async def stirred(
        self, owners: Sequence[str], after: datetime, written_since: int | None = None, slots_after: datetime = EVER
    ) -> tuple[datetime, set[str]]:
        """Which of these owners have runs that changed after `after`, and up to what time that is known.

        It runs as the engine, which sees all owners, and returns only names; `events` then runs for each owner.
        """
        given = (owners, after, self._database.moment(), written_since, slots_after)
        row = await self._database.for_the_engine().one("stirred", *given)
        assert row is not None
        return row["through"], set(row["owners"])

    async def events(
        self,
        owner: str,
        after: datetime,
        limit: int,
        written_since: int | None = None,
        slots_after: datetime = EVER,
    ) -> list[RunEvent]:
        given = (owner, after, self._database.moment(), limit, written_since, slots_after)
        rows = await self._database.of(owner).fetch("list_events", *given)
        return [_event(dict(row)) for row in rows]

    async def workers(self) -> list[WorkerLook]:
        rows = await self._database.for_the_engine().for_display().fetch("list_workers", self._database.moment())
        return [WorkerLook(**dict(row)) for row in rows]

    async def backlog(self) -> Backlog:
        row = await self._database.for_the_engine().for_display().one("fleet", self._database.moment(), MAX_COUNTED)
        assert row is not None
        return Backlog(
            row["now"], row["waiting"], row["running"], row["overdue"], row["oldest_overdue"], read_frozen(row)
        )

    async def throughput(
        self, since: datetime, until: datetime, width: timedelta
    ) -> list[tuple[datetime, Verdict, int, list[float] | None]]:
        rows = await self._database.for_the_engine().for_display().fetch("throughput", since, until, width, MAX_COUNTED)
        return [(row["start"], row["verdict"], row["slots"], row["lags"]) for row in rows]


def _slot(row: Row) -> Slot:
    return Slot(row["job_number"], row["name"], row["scheduled_for"], row["verdict"], row["reason"], row["task"])


def _event(row: dict[str, Any]) -> RunEvent:
    number, made = row["job_number"], row.pop("created_at")
    return RunEvent(run_id=run_id(number, row["scheduled_for"]), job_id=job_id_text(number, made), **row)
