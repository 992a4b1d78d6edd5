"""The trail: what the stores note in it, reading it, and finding out whether it was changed afterwards.

Every entry is written in the transaction of the act itself, and waits for nobody. It is sealed a little later: numbered
and linked to the entry before it, by the engine's duty or by the next reader, whichever comes first.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

import orjson

from cronty.jobs.caller import who_acts
from cronty.jobs.job import Job
from cronty.store.database import Connection, Database, Row, query
from cronty.timing import to_json

MOST_SEALED: Final = 1000
"""In one statement, so that whoever waits for it doesn't wait long."""


def who(owner: str) -> tuple[str, str]:
    """Who acts on what is `owner`'s, and through what, as statements take them."""
    acting = who_acts()
    return _json(acting.actor(owner)), _json(acting.via)


async def note(
    connection: Connection,
    now: datetime | None,
    owner: tuple[str, int],
    what: str,
    job_id: int,
    before: Mapping[str, object] | None,
    after: Mapping[str, object] | None,
) -> None:
    """An entry about a job of `owner` (name and number)."""
    texts = [_json(side) if side else None for side in (before, after)]
    await connection.execute(query("note"), now, owner[1], job_id, what, *who(owner[0]), *texts)


def changes(before: Job, after: Job) -> tuple[dict[str, object], dict[str, object]]:
    """What of a job is another now: as it was, as it is."""
    old, new = _shown(before), _shown(after)
    other = [name for name in old if old[name] != new[name]]
    return {name: old[name] for name in other}, {name: new[name] for name in other}


def _shown(job: Job) -> dict[str, object]:
    """What the trail says of a job; the database keeps only a hash of its arguments."""
    return {
        "name": job.name,
        "task": job.action.task,
        "arguments": {"args": list(job.action.args), "kwargs": dict(job.action.kwargs)},
        "trigger": to_json(job.trigger),
        "zone": job.zone,
        "policy": orjson.loads(job.policy.dump()),
        "tags": list(job.tags),
        "max_runs": job.max_runs,
        "ends_at": job.ends_at,
        "state": job.state,
        "reason": job.reason,
        "next_slot": job.next_slot,
        "held_slot": job.held_slot,
    }


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


@dataclass(frozen=True, slots=True)
class Head:
    """Where an owner's chain ends. Kept elsewhere, it proves later that nothing up to it was rewritten."""

    owner: str
    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A place at which an owner's chain doesn't hold."""

    owner: str
    number: int
    why: str


class AuditStore:
    """Reads the trail of one owner, or of all."""

    def __init__(self, database: Database) -> None:
        self._all = database.for_the_operator()
        self._sealer = database.for_the_engine()
        self._database = database

    async def seal_some(self, *, patient: bool = False) -> int:
        """Seal a step's worth of entries; how many. Unless `patient`, none if another session is at it."""
        return cast("int", await self._sealer.value("seal_audit", MOST_SEALED, patient))

    async def seal(self) -> int:
        """Seal all there are; how many."""
        sealed = step = await self.seal_some(patient=True)
        while step == MOST_SEALED:
            sealed += (step := await self.seal_some(patient=True))
        return sealed

    async def unsealed(self, owner: str | None = None) -> int:
        """How many entries have no seal yet."""
        return cast("int", await self._all.value("count_unsealed", owner))

    async def read(self, owner: str, limit: int, before: int | None = None) -> list[dict[str, object]]:
        """An owner's own entries, the latest first; `before` is the number of an entry to go on after."""
        await self.seal()
        return [_entry(row) for row in await self._database.of(owner).fetch("read_audit", owner, limit, before)]

    async def heads(self, owner: str | None = None) -> list[Head]:
        """Where each chain ends, as the database says."""
        await self.seal()
        return [Head(**dict(row)) for row in await self._all.fetch("audit_heads", owner)]

    async def verify(self, owner: str | None = None) -> list[Broken]:
        """Every place at which a chain doesn't hold, in order; none if nothing was tampered with."""
        await self.seal()
        return [_broken(row) for row in await self._all.fetch("verify_audit", owner)]

    async def hash_of(self, owner: str, number: int) -> str | None:
        """The hash of one entry, to be compared with one that was kept elsewhere."""
        return cast("str | None", await self._all.value("audit_hash", owner, number))

    async def erase(self, owner_id: int, most: int = MOST_SEALED) -> int:
        """Take up to so many entries of an owner that is being erased out of the trail; how many there were."""
        return cast("int", await self._all.value("erase_audit", owner_id, most))

    async def export(self, owner: str | None = None, since: datetime | None = None) -> AsyncGenerator[bytes]:
        """Entries as lines of JSON, an owner after the other, in the order of their chains; however many there are."""
        await self.seal()
        async with self._all.transaction() as connection:
            # Whoever reads the export may take their time; it holds no lock that others need.
            await connection.execute("set local idle_in_transaction_session_timeout = 0")
            async for row in connection.cursor(query("export_audit"), owner, since, prefetch=500):
                yield orjson.dumps(_line(row), option=orjson.OPT_APPEND_NEWLINE)


def _line(row: Row) -> dict[str, object]:
    raw = ("actor", "client", "before", "after")
    return {name: orjson.Fragment(value) if name in raw and value else value for name, value in row.items()}


def _entry(row: Row) -> dict[str, object]:
    raw = ("actor", "client", "before", "after")
    return {name: orjson.loads(value) if name in raw and value else value for name, value in row.items()}


def _broken(row: Row) -> Broken:
    number, last, kind = row["number"], row["last"], row["kind"]
    named = f"{number}" if number == last else f"{number} to {last}"
    some = "entry" if number == last else "entries"
    said = f"entry {number} ({row['what']}, {row['at']:%Y-%m-%d %H:%M:%S} UTC)" if row["what"] else f"{some} {named}"
    why = {
        "changed": f"{said} was changed: it no longer has its hash",
        "missing": f"{some} {named} {'is' if number == last else 'are'} missing",
        "unlinked": f"{said} doesn't follow the entry before it: that one was rewritten",
        "cut off": f"{some} {named} {'is' if number == last else 'are'} missing: the end was cut off",
        "added": f"{said} is beyond the head: it was added by other means than an act",
        "another head": f"{said} isn't the one the chain ended with: it was rewritten",
    }
    return Broken(row["owner"], number, why[kind])
