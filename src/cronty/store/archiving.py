"""Moves old months of the trail into files, and drops a month once its file is verified.

A month is closed first: no more entries are sealed into it. Then its file is written, flushed to disk, read back and
checked. Only then are the checkpoints stored and the partition dropped, in one transaction. It can be interrupted
anywhere and done again: the same entries make the same file.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import date
from hashlib import file_digest
from itertools import batched
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import BinaryIO, Final, cast

from cronty.contract.result import Err, Ok, Result
from cronty.store.chain import BEGINNING, Entry, Link
from cronty.store.database import Bound, Connection, Database, Row, StoreBusy, query
from cronty.store.month_file import MonthFile, Writer, file_name, month_name, read_month
from cronty.store.sealing import HOW_TO_MAKE_A_KEY
from cronty.store.signing import Signer

PATIENCE: Final = 600.0
PAUSE: Final = 1.0
"""Seconds for which dropping a month is tried while other transactions read the trail, and between two tries."""

LEFT_OPEN: Final = "10min"
"""How long a reader of the trail may be idle, such as while a slow disk is written. Meanwhile it holds up vacuum."""

_BATCH: Final = 10_000

NO_KEY: Final = Err("no_key", "Checkpoints are signed, and there is no CRONTY_SECRET_KEY", HOW_TO_MAKE_A_KEY)


@dataclass(frozen=True, slots=True)
class Archived:
    """A month that is in a file now."""

    month: str
    path: Path
    entries: int
    owners: int


class Archiving:
    """For the operator of the installation: row-level security doesn't apply."""

    def __init__(self, database: Database, signer: Signer | None, *, patience: float = PATIENCE) -> None:
        self._all = database.for_the_operator()
        self._moment = database.moment
        self._signer = signer
        self._patience = patience

    async def months(self, before: date) -> list[date]:
        """Months before `before` that are still in the database, the oldest first."""
        return [row["month"] for row in await self._all.fetch("months_to_archive", before)]

    async def archive(self, month: date, folder: Path) -> Result[Archived | None]:
        """Do all the steps for the oldest month; None if another process has just done so."""
        if not await self.close(month):
            return Err("not_over", f"{month_name(month)} isn't over", "Name the running month or an earlier one.")
        written = await self.write(month, folder)
        if isinstance(written, Err):
            return written
        if written.value is None:
            return Ok(None)
        path, made = written.value
        refused = await self.drop(month, made)
        return refused or Ok(Archived(made.month, path, made.entries, len(made.checkpoints)))

    async def close(self, month: date) -> bool:
        """Close the month, so that no more entries are sealed into it; False if it isn't over."""
        return cast("bool", await self._all.value("close_audit_month", month, self._moment()))

    async def write(self, month: date, folder: Path) -> Result[tuple[Path, MonthFile] | None]:
        """Write a closed month to its file, read it back and check it; None if it was archived meanwhile."""
        if self._signer is None:
            return NO_KEY
        path = _prepare(folder) / file_name(month_name(month))
        with NamedTemporaryFile("wb", dir=folder, prefix=f".{path.name}.", delete_on_close=False) as fresh:
            made, starts = await self._write(month, cast("BinaryIO", fresh), self._signer)
            fresh.flush()
            os.fsync(fresh.fileno())
            fresh.close()
            if await self._all.value("archived_month", month) is not None:  # its entries may have been gone already
                return Ok(None)
            read = read_month(Path(fresh.name), self._signer.public_keys, lambda owner: starts.get(owner, BEGINNING))
            if read.broken or read.digest != made.digest:
                why = "; ".join(read.broken[:3]) or "what was read back differs from what was written"
                return Err(
                    "broken", f"{made.month} isn't whole: {why}", "Nothing was dropped. Run `cronty audit verify`."
                )
            if not _keep(fresh.name, path, made.digest):
                return Err("other_file", f"{path} holds something else", "Give another folder, or move it away.")
        return Ok((path, made))

    async def drop(self, month: date, made: MonthFile) -> Err | None:
        """Store the checkpoints and drop the month; wait for transactions that read the trail."""
        ends = monotonic() + self._patience
        while True:
            try:
                async with self._all.transaction() as connection:
                    return await self._drop(connection, month, made)
            except StoreBusy as busy:
                if monotonic() > ends:
                    hint = "Something reads the trail, such as a backup. Try again later; the file stays good."
                    return Err("busy", f"{made.month} couldn't be dropped: {busy}", hint)
            await asyncio.sleep(PAUSE)

    async def joined(self, file: MonthFile) -> list[str]:
        """How an archived file and the database disagree; empty if they don't."""
        month = date.fromisoformat(f"{file.month}-01")
        digest = await self._all.value("archived_month", month)
        if digest is None:
            return [f"the database doesn't say that {file.month} was archived"]
        found = [] if digest == file.digest else ["it isn't the file that was archived: its digest is another"]
        ends = {one.owner_id: one for one, _ in file.checkpoints}
        async with snapshot(self._all) as connection:
            checkpoints = await _checkpoints_of(connection, list(ends))
        for stored in checkpoints:
            mine = ends[stored["owner_id"]]
            if stored["month"] < month:
                found.append(
                    f"owner {mine.owner_id}: the database's checkpoint is of an earlier month: it was put back"
                )
            elif stored["month"] == month and (stored["number"], stored["hash"]) != (mine.number, mine.hash):
                found.append(f"owner {mine.owner_id}: the database's checkpoint is of another entry")
        return found

    async def _write(self, month: date, file: BinaryIO, signer: Signer) -> tuple[MonthFile, dict[int, Link]]:
        """What was written, and where its chains begin, from the same snapshot: an owner may be erased meanwhile."""
        writer = Writer(file, month_name(month), signer)
        async with snapshot(self._all) as connection:
            async for row in connection.cursor(query("audit_month"), month, prefetch=500):
                writer.add(entry_of(row))
            made = writer.end()
            return made, await self._starts(connection, made)

    async def _drop(self, connection: Connection, month: date, made: MonthFile) -> Err | None:
        if not await connection.fetchval(query("lock_audit_month"), month):
            return None  # another process has just done it
        assert self._signer is not None
        for some in batched(made.checkpoints, _BATCH):
            points = [one for one, _ in some]
            await connection.execute(
                query("save_checkpoints"), month, [one.owner_id for one in points], [one.number for one in points],
                [one.hash for one in points], [one.count for one in points], [signature for _, signature in some],
                self._signer.key_id,
            )  # fmt: skip
        await connection.execute("set local lock_timeout = '100ms'")
        await connection.execute(query("drop_audit_month"), month, self._moment(), made.entries, made.digest)
        return None

    async def _starts(self, connection: Connection, made: MonthFile) -> dict[int, Link]:
        rows = await _checkpoints_of(connection, [one.owner_id for one, _ in made.checkpoints])
        return {row["owner_id"]: Link(row["number"], row["hash"]) for row in rows}


@asynccontextmanager
async def snapshot(bound: Bound) -> AsyncGenerator[Connection]:
    """A transaction that sees one state of the trail, however long reading takes. It blocks no other transaction."""
    async with bound.transaction() as connection:
        await connection.execute("set transaction isolation level repeatable read, read only")
        await connection.execute(f"set local idle_in_transaction_session_timeout = '{LEFT_OPEN}'")
        yield connection


async def _checkpoints_of(connection: Connection, owner_ids: Sequence[int]) -> list[Row]:
    found: list[Row] = []
    for some in batched(owner_ids, _BATCH):
        found += await connection.fetch(query("checkpoints_of"), some)
    return found


def entry_of(row: Row) -> Entry:
    """A row of `audit_month` or `audit_chains`."""
    return Entry(row["owner_id"], row["number"], row["previous"], row["hash"], row["text"].encode())


def _prepare(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _keep(fresh: str, path: Path, digest: bytes) -> bool:
    """Give a finished file its final name. False if a different file has that name; the same file is fine."""
    if path.exists():
        with path.open("rb") as there:
            if file_digest(there, "sha256").digest() != digest:
                return False
    os.replace(fresh, path)
    with suppress(OSError):  # flush the folder, so that the name survives a crash; not all systems can or need to
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return True
