"""What ntfy is given ahead of its time: planned, claimed call by call, and settled."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

import orjson

from cronty.jobs.ahead import NEAREST, WINDOW, Place, State
from cronty.jobs.alerts import Alert
from cronty.jobs.job import Job
from cronty.store.alerts import raise_alerts
from cronty.store.channel_store import context_of
from cronty.store.database import Connection, Database, Row, columns, query
from cronty.store.job_store import jobs_from
from cronty.store.sealing import CannotOpen, Sealer

LEASE: Final = 60.0
"""Seconds that a call has; then another engine makes it again."""


@dataclass(frozen=True, slots=True)
class Target:
    """A channel that gets notifications ahead of their time; its URL is encrypted."""

    name: str
    key_id: str
    sealed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class JobAhead:
    job: Job
    owner_id: int
    target: Target
    now: datetime


@dataclass(frozen=True, slots=True)
class Call:
    """A claimed call. `was_there`: ntfy may have had it before. `kwargs` is None if the job has changed since it was
    planned, or is gone. `replaced`: its run was sent to the same place."""

    place: Place
    owner_id: int
    owner: str
    target: Target
    version: int
    state: State
    tries: int
    failures: int
    was_there: bool
    error: str | None
    now: datetime
    job_number: int
    name: str | None
    zone: str | None
    kwargs: dict[str, Any] | None
    replaced: bool


class Ended(NamedTuple):
    """How a call went. `gone`: ntfy hasn't got it, and nothing more is to be done. `there`: it may have it."""

    call: Call
    held: bool = False
    gone: bool = False
    there: bool = False
    wait: float = 0.0
    error: str | None = None
    failed: bool = False
    alert: Alert | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return (*self.call.place, self.call.tries, self.call.state, self.call.version)


class AheadStore:
    def __init__(self, database: Database, sealer: Sealer | None) -> None:
        self._database = database
        self._sealer = sealer

    async def now_if_used(self) -> datetime | None:
        """The time; None if no channel gets notifications ahead of their time, or the installation is frozen."""
        return cast("datetime | None", await self._database.value("is_ahead_used", self._database.moment()))

    async def jobs(self, after: int, most: int, usual_limit: int, *, every: bool) -> list[JobAhead]:
        """Jobs with slots to give to ntfy, after this one, at most so many: those of which it is to have nothing yet,
        or every one. Owners with a limit of runs an hour are left out."""
        given = (after, most, WINDOW.total_seconds(), NEAREST.total_seconds(), usual_limit, every)
        rows = await self._database.fetch("jobs_ahead", self._database.moment(), *given)
        jobs = await jobs_from(self._database.fetch, rows)
        return [JobAhead(job, row["owner_id"], _target(row), row["now"]) for job, row in zip(jobs, rows, strict=True)]

    async def plan(self, planned: Sequence[tuple[JobAhead, Sequence[datetime]]]) -> None:
        """Write down what ntfy is to be given of these jobs, and that the rest of what it has is to be taken back."""
        now = self._database.moment()
        rows = [
            (one.job.id, slot, one.owner_id, one.job.owner, one.target.name, one.job.version, one.target.key_id,
             one.target.sealed)
            for one, slots in planned
            for slot in slots
        ]  # fmt: skip
        places = columns([row[:2] for row in rows], 2)

        async def write(connection: Connection) -> None:
            await connection.execute(query("plan_handing"), now, LEASE, *columns(rows, 8))
            await connection.execute(query("drop_handing"), now, LEASE, [one.job.id for one, _ in planned], *places)

        await self._database.together(write)

    async def take_back(self, usual_limit: int) -> None:
        """Have taken back what isn't to ring as ntfy has it."""
        await self._database.change("take_back", self._database.moment(), LEASE, usual_limit)

    async def claim(self, most: int, share: int, waiting: Sequence[int]) -> list[Call]:
        """Calls to make now, at most `share` of an owner, and none of the owners that must wait."""
        given = (self._database.moment(), most, LEASE, share, waiting, NEAREST.total_seconds())
        return [_call(row) for row in await self._database.fetch("claim_handings", *given)]

    def url(self, owner_id: int, target: Target) -> str | None:
        """Where it goes; None if no key opens it."""
        try:
            context = context_of(owner_id, target.name)
            return None if self._sealer is None else self._sealer.open(target.sealed, target.key_id, context)
        except CannotOpen:
            return None

    async def settle(self, ended: Sequence[Ended]) -> None:
        """Write how calls went, and raise the alerts about them."""
        now = self._database.moment()
        gone = [one.key for one in ended if one.gone]
        rows = [(*one.key, one.held, one.there, one.wait, one.failed, one.error) for one in ended]
        alerts = [one.alert for one in ended if one.alert is not None]

        async def settle(connection: Connection) -> None:
            if gone:
                await connection.execute(query("forget_handed"), *columns(gone, 5))
            await connection.execute(query("settle_handing"), now, *columns(rows, 10))
            await raise_alerts(connection, now, alerts)

        await self._database.together(settle)


def _target(row: Row) -> Target:
    return Target(row["channel"], row["key_id"], row["sealed"])


def _call(row: Row) -> Call:
    return Call(
        place=(row["job_id"], row["scheduled_for"]),
        owner_id=row["owner_id"],
        owner=row["owner"],
        target=_target(row),
        version=row["version"],
        state=row["state"],
        tries=row["tries"],
        failures=row["failures"],
        was_there=row["was_there"],
        error=row["error"],
        now=row["now"],
        job_number=row["job_number"] or 0,
        name=row["name"],
        zone=row["zone"],
        kwargs=orjson.loads(row["arguments"])["kwargs"] if row["job_version"] == row["version"] else None,
        replaced=row["replaced"],
    )
