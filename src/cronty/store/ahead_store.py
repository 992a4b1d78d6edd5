"""What ntfy is given ahead of its time: planned, claimed call by call, and settled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
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

PAGE: Final = 5000
"""How many messages are looked at in one statement."""

LEASE: Final = 60.0
"""Seconds that a call has; then another engine makes it again."""

ARRIVES_WITHIN: Final = 120.0
"""Seconds after which a call whose answer was lost isn't carried out any more."""


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
    """A claimed call about the message `id`. `was_there`: ntfy may have had it before; `was_recalled`: it may have been
    asked to take it back; `was_arriving`: until when it may be given what it was sent before. `kwargs` is None if the
    job has changed since it was planned, or is gone. `replaced`: its run was sent under its id to the same place.
    `coming`: its run is yet to be sent."""

    id: int
    place: Place
    owner_id: int
    owner: str
    target: Target
    version: int
    state: State
    tries: int
    failures: int
    was_there: bool
    was_recalled: bool
    was_arriving: datetime | None
    error: str | None
    now: datetime
    job_number: int
    name: str | None
    zone: str | None
    kwargs: dict[str, Any] | None
    replaced: bool
    coming: bool

    @property
    def row(self) -> tuple[object, ...]:
        sent_to = self.target
        whose = (self.owner_id, self.owner, sent_to.name, self.version, sent_to.key_id, sent_to.sealed)
        return (self.id, *self.place, *whose)

    @property
    def arriving_until(self) -> datetime:
        """Until when ntfy may be given what this call sends."""
        return self.now + timedelta(seconds=ARRIVES_WITHIN)


class Ended(NamedTuple):
    """How a call went. `gone`: ntfy hasn't got it, and nothing more is to be done. `there`: it may have it. `recalled`:
    a call to take it back may be on its way. `arriving`: until when one to give it may be carried out. `wait`: seconds
    until the next try, None if there is none."""

    call: Call
    held: bool = False
    gone: bool = False
    there: bool = False
    recalled: bool = False
    arriving: datetime | None = None
    wait: float | None = None
    error: str | None = None
    failed: bool = False
    alert: Alert | None = None

    @property
    def given(self) -> bool:
        """Whether ntfy has got it by this call, or may get it."""
        return self.held or self.arriving == self.call.arriving_until

    @property
    def key(self) -> tuple[object, ...]:
        return (self.call.id, self.call.tries, self.call.state, self.call.version)


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
        kept = columns([(row[0], row[1], row[5], row[7]) for row in rows], 4)

        async def write(connection: Connection) -> None:
            await connection.execute(query("drop_handing"), now, LEASE, [one.job.id for one, _ in planned], *kept)
            await connection.execute(query("plan_handing"), now, LEASE, *columns(rows, 8))

        await self._database.together(write)

    async def take_back(self, after: int, usual_limit: int) -> int | None:
        """Have taken back what isn't to ring as ntfy has it, among the next messages after this one; the last of them,
        None if there are no more."""
        given = (self._database.moment(), LEASE, usual_limit, after, PAGE)
        return cast("int | None", await self._database.value("take_back", *given))

    async def claim(
        self, most: int, share: int, waiting: Sequence[int], limited: Mapping[int, datetime] | None = None
    ) -> list[Call]:
        """Calls to make now, at most `share` of an owner, none of the owners that must wait, and nothing to give of
        those that are limited until then."""
        until = columns(list((limited or {}).items()), 2)
        seconds = (NEAREST.total_seconds(), ARRIVES_WITHIN)
        given = (self._database.moment(), most, LEASE, share, waiting, *seconds, *until)
        return [_call(row) for row in await self._database.fetch("claim_handings", *given)]

    def url(self, owner_id: int, target: Target) -> str | None:
        """Where it goes; None if no key opens it."""
        try:
            context = context_of(owner_id, target.name)
            return None if self._sealer is None else self._sealer.open(target.sealed, target.key_id, context)
        except CannotOpen:
            return None

    async def settle(self, ended: Sequence[Ended]) -> None:
        """Write how calls went, and raise the alerts about them. What is written already is left as it is, and what was
        given though its claim had been lost is looked after again."""
        now = self._database.moment()
        gone = [one.key for one in ended if one.gone]
        rows = [
            (*one.key, one.held, one.there, one.recalled, one.arriving, one.wait, one.failed, one.error)
            for one in ended
        ]  # fmt: skip

        async def settle(connection: Connection) -> None:
            settled = await connection.fetch(query("forget_handed"), *columns(gone, 4)) if gone else []
            settled += await connection.fetch(query("settle_handing"), now, *columns(rows, 11))
            new = {row["id"] for row in settled}
            if lost := [one.call.row for one in ended if one.given and one.call.id not in new]:
                await connection.execute(query("regain_handed"), now, *columns(lost, 9))
            await raise_alerts(connection, now, [one.alert for one in ended if one.alert and one.call.id in new])

        await self._database.together(settle)


def _target(row: Row) -> Target:
    return Target(row["channel"], row["key_id"], row["sealed"])


def _call(row: Row) -> Call:
    return Call(
        id=row["id"],
        place=(row["job_id"], row["scheduled_for"]),
        owner_id=row["owner_id"],
        owner=row["owner"],
        target=_target(row),
        version=row["version"],
        state=row["state"],
        tries=row["tries"],
        failures=row["failures"],
        was_there=row["was_there"],
        was_recalled=row["was_recalled"],
        was_arriving=row["was_arriving"],
        error=row["error"],
        now=row["now"],
        job_number=row["job_number"] or 0,
        name=row["name"],
        zone=row["zone"],
        kwargs=orjson.loads(row["arguments"])["kwargs"] if row["job_version"] == row["version"] else None,
        replaced=row["replaced"],
        coming=row["coming"],
    )
