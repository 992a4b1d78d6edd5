"""Keeps signed heads of the trail in files, where whoever owns the database can't change them.

Each line of `heads-2026-11.jsonl` is the end of an owner's chain at some moment. A chain only grows, so a head that was
kept once is in it forever: if it isn't, the end of the chain was cut off, or the chain was written anew.
"""

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import orjson

from cronty.store.chain import missing
from cronty.store.database import Database
from cronty.store.signing import PublicKeys, Signer

OVERLAP: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class KeptHead:
    kept_at: str
    owner_id: int
    number: int
    hash: str

    def signed_text(self) -> bytes:
        return orjson.dumps({"purpose": "cronty audit head", **asdict(self)})


class KeptHeads:
    """The heads in one folder; several processes may write there."""

    def __init__(self, database: Database, folder: Path, signer: Signer) -> None:
        self._operator = database.for_the_operator()
        self._folder = folder
        self._signer = signer
        self._since: datetime | None = None
        self._recent: dict[int, int] = {}

    async def keep(self) -> int:
        """Write the heads that have moved since the last call; how many."""
        rows = await self._operator.fetch("heads_since", self._since)
        at = datetime.now(UTC)
        heads = [
            KeptHead(at.isoformat(), row["owner_id"], row["number"], row["hash"].hex())
            for row in rows
            if self._recent.get(row["owner_id"]) != row["number"]
        ]
        if heads:
            self._append(f"heads-{at:%Y-%m}.jsonl", map(self._line, heads))
        if rows:  # what is sealed at the same time may be committed later
            self._since = max(row["sealed_at"] for row in rows) - OVERLAP
            self._recent = {row["owner_id"]: row["number"] for row in rows if row["sealed_at"] >= self._since}
        return len(heads)

    async def flaws(self, owner_id: int | None, keys: PublicKeys) -> list[tuple[int, str]]:
        """What is wrong, by owner: heads that are no longer in the trail, and lines of the files that aren't ours."""
        latest: dict[int, KeptHead] = {}
        found: list[tuple[int, str]] = []
        for path in sorted(self._folder.glob("heads-*.jsonl")):
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                head = _read(line, keys)
                if isinstance(head, str):
                    found.append((0, f"line {number} of {path} can't be trusted: {head}"))
                elif head.owner_id not in latest or head.number > latest[head.owner_id].number:
                    latest[head.owner_id] = head
        for head in latest.values():
            if owner_id in (None, head.owner_id) and (flaw := await self._flaw(head)):
                found.append((head.owner_id, flaw))
        return found

    async def _flaw(self, head: KeptHead) -> str | None:
        row = await self._operator.one("compare_head", head.owner_id, head.number)
        assert row is not None
        if row["erased"] or (row["hash"] is None and head.number < (row["archived"] or 0)):
            return None
        last = row["last"] or 0
        if last < head.number:
            return f"{missing(last + 1, head.number)}, which the head kept at {head.kept_at} has: the end was cut off"
        if row["hash"] is None or row["hash"].hex() != head.hash:
            return f"entry {head.number} isn't the one that was kept at {head.kept_at}: the chain was rewritten"
        return None

    def _line(self, head: KeptHead) -> bytes:
        signature = self._signer.sign(head.signed_text()).hex()
        return orjson.dumps({**asdict(head), "key_id": self._signer.key_id, "signature": signature}) + b"\n"

    def _append(self, name: str, lines: Iterable[bytes]) -> None:
        """On disk before it is counted as kept."""
        self._folder.mkdir(parents=True, exist_ok=True)
        file = os.open(self._folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            os.write(file, b"".join(lines))
            os.fsync(file)
        finally:
            os.close(file)


def _read(line: bytes, keys: PublicKeys) -> KeptHead | str:
    """The head in a line, or why it can't be trusted."""
    try:
        fields = orjson.loads(line)
        key_id, signature = fields.pop("key_id"), bytes.fromhex(fields.pop("signature"))
        head = KeptHead(**fields)
    except (ValueError, TypeError, KeyError, AttributeError):
        return "it can't be read"
    return keys.why_not(head.signed_text(), key_id, signature) or head
