"""The trail (audit log): writing entries, reading them, and verifying that they weren't changed.

Every entry is written in the transaction of the change it records, without waiting for a lock. It is sealed a little
later, by an engine or by the next read of its owner's trail: numbered, and linked to the entry before it by its hash.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, cast

import orjson

from cronty.contract.caller import Caller
from cronty.jobs.job import Job
from cronty.store.archiving import Archiving, entry_of, snapshot
from cronty.store.chain import BEGINNING, Chain, Link
from cronty.store.database import Connection, Database, Row, query
from cronty.store.kept_heads import KeptHeads
from cronty.store.month_file import Checkpoint, month_name
from cronty.store.signing import PublicKeys, Signer
from cronty.timing import to_stored
from cronty.timing.slot_changes import changes_to_json

OPERATOR: Final = 0
"""The owner id of the installation's own trail; no owner has it."""

MAX_SEALED: Final = 1000
"""How many entries one statement seals; few, so that a reader doesn't wait long."""


def who(caller: Caller) -> tuple[str, str]:
    """The actor and the client as JSON, the form that statements take."""
    return _json(caller.actor()), _json(caller.via())


async def note(
    connection: Connection,
    now: datetime | None,
    caller: Caller,
    what: str,
    job: tuple[int, int],
    before: Mapping[str, object] | None,
    after: Mapping[str, object] | None,
) -> None:
    """Write an entry about a job; `job` is its owner's id and its own."""
    texts = [_json(side) if side else None for side in (before, after)]
    await connection.execute(query("note"), now, *job, what, *who(caller), *texts)


def changes(before: Job, after: Job) -> tuple[dict[str, object], dict[str, object]]:
    """The fields of a job that differ: their old and their new values."""
    old, new = _shown(before), _shown(after)
    other = [name for name in old if old[name] != new[name]]
    return {name: old[name] for name in other}, {name: new[name] for name in other}


def _shown(job: Job) -> dict[str, object]:
    """The fields of a job that the trail records; a trigger replaces the arguments with their hash."""
    return {
        "name": job.name,
        "task": job.action.task,
        "arguments": {"args": list(job.action.args), "kwargs": dict(job.action.kwargs)},
        "trigger": to_stored(job.trigger),
        "changes": changes_to_json(job.changes_to_come),
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
    """The end of an owner's chain. If it is kept elsewhere, it proves later that no entry before it was changed.

    Entries up to `archived_through` are in files, the last one in the file of `archived_month`.
    """

    owner: str
    number: int
    hash: str
    archived_through: int | None = None
    archived_month: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A break in an owner's chain."""

    owner: str
    why: str


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, the latest first; older ones, up to the number `archived_through`, are in files."""

    entries: list[dict[str, object]]
    archived_through: int | None


class AuditStore:
    """Reads the trail of one owner, or of all. Without a `signer` it can't tell whether a checkpoint is ours."""

    def __init__(self, database: Database, signer: Signer | None = None, heads: Path | None = None) -> None:
        """`heads` is the folder in which signed heads are kept."""
        self._all = database.for_the_operator().for_display()
        self._database = database
        self.signer = signer
        self.archiving = Archiving(database, signer)
        self.kept = KeptHeads(database, heads, signer) if heads is not None and signer is not None else None

    async def note_sign_in(self, caller: Caller) -> None:
        """Write an entry about a caller who signs in to the dashboard."""
        theirs = self._database.of(caller.owner)
        await theirs.change("ensure_owner", caller.owner)
        await theirs.change("note_sign_in", self._database.moment(), caller.owner, *who(caller))

    async def note_refused(self, reasons: Mapping[str, int]) -> None:
        """Write an entry about tokens that were refused, into the installation's own chain: how many, by reason."""
        given = _json({"refused": sum(reasons.values()), "reasons": reasons})
        await self._database.for_the_operator().change("note_refused", self._database.moment(), OPERATOR, given)

    async def seal_some(self, *, patient: bool = False, owner: str | None = None) -> int:
        """Seal a batch of entries; how many. If another session is sealing, `patient` waits for it."""
        moment = self._database.moment()
        return cast(
            "int", await self._database.for_the_engine(owner).value("seal_audit", MAX_SEALED, patient, moment, owner)
        )

    async def seal(self, owner: str | None = None) -> int:
        """Seal all entries of one owner, or of all owners; how many."""
        sealed = step = await self.seal_some(patient=True, owner=owner)
        while step == MAX_SEALED:
            sealed += (step := await self.seal_some(patient=True, owner=owner))
        return sealed

    async def unsealed(self, owner: str | None = None) -> int:
        """How many entries aren't sealed yet."""
        return cast("int", await self._all.value("count_unsealed", owner))

    async def read(self, owner: str, limit: int, before: int | None = None) -> Page:
        """An owner's entries, the latest first; `before` is the number of the last entry of the previous page."""
        await self.seal(owner)
        rows = await self._database.of(owner).for_display().fetch("read_audit", owner, limit, before)
        entries = [_entry(row) for row in rows if row["number"] is not None]
        return Page(entries, rows[0]["archived_through"] if rows else None)

    async def heads(self, owner: str | None = None) -> list[Head]:
        """The head of each chain, as the database has it."""
        await self.seal(owner)
        rows = await self._all.fetch("audit_ends", owner)
        heads = [_head(row) for row in rows if row["head_number"] is not None]
        return sorted(heads, key=lambda head: head.owner)

    async def verify(self, owner: str | None = None, keys: PublicKeys | None = None) -> list[Broken]:
        """Every break in a chain, in order; none if nothing was tampered with.

        A chain that was archived begins at its checkpoint, which must be signed with our key or one of `keys`.
        Owners that are being erased are left out.
        """
        await self.seal(owner)
        trusted = (keys or PublicKeys([])) | (self.signer.public_keys if self.signer else PublicKeys([]))
        found: list[Broken] = []
        async with snapshot(self._all) as connection:
            ends = aiter(connection.cursor(query("audit_ends"), owner, prefetch=500))
            entries = aiter(connection.cursor(query("audit_chains"), owner, prefetch=500))
            entry, end = await _next(entries), await _next(ends)
            while entry is not None or end is not None:
                owner_id = min(row["owner_id"] for row in (entry, end) if row is not None)
                mine = end if end is not None and end["owner_id"] == owner_id else None
                flaws = _flaws_of_checkpoint(mine, trusted) if mine is not None else []
                chain, head = _chain(mine)
                while entry is not None and entry["owner_id"] == owner_id:
                    flaws += chain.add(entry_of(entry), head)
                    entry = await _next(entries)
                flaws += chain.end(head)
                name = mine["owner"] if mine is not None else f"owner {owner_id}"
                found += [Broken(name, flaw) for flaw in flaws]
                end = end if mine is None else await _next(ends)
        return found + await self._unlike_what_was_kept(owner, trusted)

    async def _unlike_what_was_kept(self, owner: str | None, trusted: PublicKeys) -> list[Broken]:
        if self.kept is None:
            return []
        names = {row["owner_id"]: row["owner"] for row in await self._all.fetch("audit_ends", owner)}
        only = None if owner is None else next(iter(names), -1)
        flaws = await self.kept.flaws(only, trusted)
        return [Broken(names.get(owner_id, f"owner {owner_id}"), flaw) for owner_id, flaw in flaws]

    async def being_erased(self, owner: str | None = None) -> list[str]:
        """Owners that are being erased: what is left of their trail can't be verified."""
        return [row["name"] for row in await self._all.fetch("owners_being_erased", owner)]

    async def hash_of(self, owner: str, number: int) -> str | None:
        """The hash of one entry, to compare with a hash that was kept elsewhere."""
        return cast("str | None", await self._all.value("audit_entry", owner, number))

    async def erase(self, owner_id: int, most: int = MAX_SEALED) -> int:
        """Delete up to `most` entries of an owner that is being erased; how many."""
        return cast("int", await self._database.for_the_operator().value("erase_audit", owner_id, most))

    async def export(self, owner: str | None = None, since: datetime | None = None) -> AsyncGenerator[bytes]:
        """All entries as lines of JSON, owner by owner, in the order of their chains."""
        await self.seal(owner)
        async with snapshot(self._all) as connection:
            async for row in connection.cursor(query("export_audit"), owner, since, prefetch=500):
                yield orjson.dumps(_line(row), option=orjson.OPT_APPEND_NEWLINE)


async def _next(rows: AsyncIterator[Row]) -> Row | None:
    return await anext(rows, None)


def _chain(end: Row | None) -> tuple[Chain, Link]:
    """An owner's chain, starting at its checkpoint, and its head; `BEGINNING` for what it doesn't have."""
    if end is None:
        return Chain(BEGINNING), BEGINNING
    start = BEGINNING if end["number"] is None else Link(end["number"], end["hash"])
    head = BEGINNING if end["head_number"] is None else Link(end["head_number"], end["head_hash"])
    return Chain(start), head


def _flaws_of_checkpoint(end: Row, keys: PublicKeys) -> list[str]:
    if end["number"] is None:
        return []
    point = Checkpoint(month_name(end["month"]), end["owner_id"], end["number"], end["hash"], end["count"])
    why = keys.why_not(point.signed_text(), end["key_id"], end["signature"])
    return [] if why is None else [f"the checkpoint of {point.month} can't be trusted: {why}"]


def _head(row: Row) -> Head:
    month = None if row["month"] is None else month_name(row["month"])
    return Head(row["owner"], row["head_number"], row["head_hash"].hex(), row["number"], month)


def _line(row: Row) -> dict[str, object]:
    raw = ("actor", "client", "before", "after")
    return {name: orjson.Fragment(value) if name in raw and value else value for name, value in row.items()}


def _entry(row: Row) -> dict[str, object]:
    raw = ("actor", "client", "before", "after")
    shown = {name: orjson.loads(value) if name in raw and value else value for name, value in row.items()}
    del shown["archived_through"]
    return shown
