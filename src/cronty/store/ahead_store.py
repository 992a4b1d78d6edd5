"""What ntfy has been given ahead of its time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from cronty.jobs.ahead import WINDOW, Handed, Place, State
from cronty.jobs.alerts import Alert
from cronty.jobs.job import Job
from cronty.store.alerts import raise_alerts
from cronty.store.channel_store import context_of
from cronty.store.database import Connection, Database, columns, query
from cronty.store.job_store import jobs_from
from cronty.store.sealing import CannotOpen, Sealer


@dataclass(frozen=True, slots=True)
class Target:
    """A channel that gets notifications ahead of their time; its URL is encrypted."""

    name: str
    key_id: str
    sealed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class JobAhead:
    """`target` is None if its notifications don't go to such a channel any more."""

    job: Job
    owner_id: int
    target: Target | None


class Given(NamedTuple):
    """What ntfy was given for one run, or what it is about to be given."""

    place: Place
    owner_id: int
    target: Target
    version: int
    state: State
    wait: float | None = None
    error: str | None = None
    tries: int = 0

    def row(self) -> tuple[object, ...]:
        job_id, slot = self.place
        return (job_id, slot, self.owner_id, self.target.name, self.version, self.target.key_id, self.target.sealed,
                self.state)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the jobs that have to do with it. `after` continues behind them; 0 if there are no more."""

    now: datetime
    jobs: dict[int, JobAhead]
    given: dict[Place, Given]
    handed: dict[Place, Handed]
    after: int


class AheadStore:
    def __init__(self, database: Database, sealer: Sealer | None) -> None:
        self._database = database
        self._sealer = sealer

    async def page(self, after: int, most: int) -> Page | None:
        """The jobs after this one, at most so many; None if there are none."""
        moment = self._database.moment()
        rows = await self._database.fetch("jobs_ahead", moment, after, most, WINDOW.total_seconds())
        if not rows:
            return None
        jobs = await jobs_from(self._database.fetch, rows)
        found = {
            job.id: JobAhead(
                job,
                row["owner_id"],
                None
                if row["sealed"] is None
                else Target(str(job.action.kwargs.get("topic")), row["key_id"], row["sealed"]),
            )
            for job, row in zip(jobs, rows, strict=True)
        }
        given: dict[Place, Given] = {}
        handed: dict[Place, Handed] = {}
        for row in await self._database.fetch("handed_of", moment, list(found)):
            place = (row["job_id"], row["scheduled_for"])
            target = Target(row["channel"], row["key_id"], row["sealed"])
            owner_id = found[row["job_id"]].owner_id
            given[place] = Given(
                place, owner_id, target, row["version"], row["state"], None, row["error"], row["tries"]
            )
            handed[place] = Handed(row["version"], row["sealed"], row["state"], row["due_at"])
        return Page(rows[0]["now"], found, given, handed, rows[0]["last"] if rows[0]["wanted"] == most else 0)

    async def is_used(self) -> bool:
        """Whether there is a channel that gets notifications ahead of their time."""
        return bool(await self._database.value("is_ahead_used"))

    def url(self, owner_id: int, target: Target) -> str | None:
        """Where it goes; None if no key opens it."""
        try:
            context = context_of(owner_id, target.name)
            return None if self._sealer is None else self._sealer.open(target.sealed, target.key_id, context)
        except CannotOpen:
            return None

    async def begin(self, given: Sequence[Given], lease: float) -> set[Place]:
        """Write down what is about to be done; what of it is ours for `lease` seconds."""
        rows = [one.row() for one in given]
        mine = await self._database.fetch("begin_handing", self._database.moment(), lease, *columns(rows, 8))
        return {(row["job_id"], row["scheduled_for"]) for row in mine}

    async def settle(self, kept: Sequence[Given], gone: Sequence[Place], alerts: Sequence[Alert]) -> None:
        """Write how it went: what ntfy has or may have, what it hasn't any more, and what has to be told."""
        now = self._database.moment()
        rows = [(*one.row(), one.wait, one.error) for one in kept]

        async def settle(connection: Connection) -> None:
            if rows:
                await connection.execute(query("settle_handing"), now, *columns(rows, 10))
            if gone:
                await connection.execute(query("forget_handed"), *columns(gone, 2))
            await raise_alerts(connection, now, alerts)

        await self._database.together(settle)
