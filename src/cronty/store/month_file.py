"""A month of the trail as a file: lines of JSON that can be verified with only the public key.

The first line names the month. Then come each owner's entries, in the order of their chain, followed by the owner's
checkpoint: the signed end of the chain in that month. The last line has the counts, and a signature of the digest of
all lines before it. An entry's hash covers the 32 bytes of `previous`, then the bytes of the value of `entry`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from cronty.store.chain import Chain, Entry, Link
from cronty.store.signing import PublicKeys, Signer

_FORMAT: Final = 1
_ENTRY: Final = re.compile(
    rb'\{"kind":"entry","hash":"([0-9a-f]{64})","previous":"([0-9a-f]{64}|)","entry":(\{.*\})\}\n', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The end of an owner's chain in a month; `count` is how many of its entries the month has."""

    month: str
    owner_id: int
    number: int
    hash: bytes
    count: int

    def signed_text(self) -> bytes:
        """The text that is signed; it can be rebuilt from the line."""
        return _signed("cronty audit checkpoint", self.fields())

    def fields(self) -> dict[str, object]:
        return {**asdict(self), "hash": self.hash.hex()}


@dataclass(slots=True)
class MonthFile:
    """The contents of a file, as written or as read; `broken` says what is wrong with it."""

    month: str
    entries: int = 0
    digest: bytes = b""
    checkpoints: list[tuple[Checkpoint, bytes]] = field(default_factory=list[tuple[Checkpoint, bytes]])
    """Each with its signature."""
    broken: list[str] = field(default_factory=list[str])


def file_name(month: str) -> str:
    return f"audit-{month}.jsonl"


def month_name(month: date) -> str:
    return f"{month:%Y-%m}"


class Writer:
    """Writes a month; entries come in the order of owners and numbers."""

    def __init__(self, file: BinaryIO, month: str, signer: Signer) -> None:
        self._file = file
        self._signer = signer
        self._digest = sha256()
        self._last: Entry | None = None
        self._count = 0
        self._made = MonthFile(month)
        self._write(orjson.dumps({"kind": "month", "month": month, "format": _FORMAT}))

    def add(self, entry: Entry) -> None:
        if self._last is not None and entry.owner_id != self._last.owner_id:
            self._checkpoint(self._last)
        self._last = entry
        self._count += 1
        self._made.entries += 1
        head = f'{{"kind":"entry","hash":"{entry.hash.hex()}","previous":"{entry.previous.hex()}","entry":'
        self._write(head.encode() + entry.text + b"}")

    def end(self) -> MonthFile:
        made = self._made
        if self._last is not None:
            self._checkpoint(self._last)
        fields = _end_fields(made.month, made.entries, len(made.checkpoints), self._digest.digest())
        self._write(self._signed_line("end", fields, self._signer.sign(_signed("cronty audit month", fields))))
        made.digest = self._digest.digest()
        return made

    def _checkpoint(self, last: Entry) -> None:
        made = Checkpoint(self._made.month, last.owner_id, last.number, last.hash, self._count)
        signature = self._signer.sign(made.signed_text())
        self._made.checkpoints.append((made, signature))
        self._write(self._signed_line("checkpoint", made.fields(), signature))
        self._count = 0

    def _signed_line(self, kind: str, fields: dict[str, object], signature: bytes) -> bytes:
        return orjson.dumps({"kind": kind, **fields, "key_id": self._signer.key_id, "signature": signature.hex()})

    def _write(self, line: bytes) -> None:
        self._digest.update(line + b"\n")
        self._file.write(line + b"\n")


def read_month(path: Path, keys: PublicKeys, start_of: Callable[[int], Link | None]) -> MonthFile:
    """Read a file and verify it. `start_of` gives the entry that an owner's first one must follow, if known."""
    reader = _Reader(keys, start_of)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                reader.take(line)
            except (ValueError, KeyError, TypeError, AttributeError):  # the line may contain anything
                reader.found.broken.append(f"line {number} can't be read")
    return reader.end()


def read_months(paths: Iterable[Path], keys: PublicKeys) -> list[tuple[Path, MonthFile]]:
    """Verify files, and that each continues where the one before ends."""
    ends: dict[int, Link] = {}
    found: list[tuple[Path, MonthFile]] = []
    for path in sorted(paths, key=_month_of):
        read = read_month(path, keys, ends.get)
        if any(read.month == other.month for _, other in found):
            read.broken.append(f"there is another file of {read.month}")
        ends |= {one.owner_id: Link(one.number, one.hash) for one, _ in read.checkpoints}
        found.append((path, read))
    return found


def _month_of(path: Path) -> str:
    with path.open("rb") as file:
        try:
            return str(orjson.loads(file.readline())["month"])
        except (ValueError, KeyError, TypeError):
            return ""


class _Reader:
    def __init__(self, keys: PublicKeys, start_of: Callable[[int], Link | None]) -> None:
        self._keys = keys
        self._start_of = start_of
        self._digest = sha256()
        self._chain: Chain | None = None
        self._owner_id = 0
        self._ended = False
        self.found = MonthFile("")

    def take(self, line: bytes) -> None:
        parts = _ENTRY.fullmatch(line)
        before = b"" if parts else self._digest.digest()
        self._digest.update(line)
        if self._ended:
            self.found.broken.append("there is more after its end")
        elif parts:
            self._entry(parts)
        else:
            self._other(orjson.loads(line), before)

    def end(self) -> MonthFile:
        self._close()
        if not self._ended:
            self.found.broken.append("its end is missing: it was cut off")
        self.found.digest = self._digest.digest()
        return self.found

    def _other(self, fields: dict[str, Any], so_far: bytes) -> None:
        match fields["kind"]:
            case "month" if not self.found.month:
                if fields["format"] != _FORMAT:
                    self.found.broken.append(f"it is of format {fields['format']}, which this version doesn't know")
                self.found.month = fields["month"]
            case "checkpoint":
                self._checkpoint(fields)
            case "end":
                self._close()
                self._ended = True
                made = _end_fields(self.found.month, self.found.entries, len(self.found.checkpoints), so_far)
                if any(made[name] != fields[name] for name in made):
                    self.found.broken.append("its end was written for another content")
                self._signature("its end", _signed("cronty audit month", {name: fields[name] for name in made}), fields)
            case kind:
                raise ValueError(kind)

    def _entry(self, parts: re.Match[bytes]) -> None:
        fields: dict[str, Any] = orjson.loads(parts[3])
        entry = Entry(
            int(fields["owner_id"]), int(fields["number"]), bytes.fromhex(parts[2].decode()),
            bytes.fromhex(parts[1].decode()), parts[3],
        )  # fmt: skip
        if self._chain is None or self._owner_id != entry.owner_id:
            self._close()
            self._owner_id = entry.owner_id
            self._chain = Chain(self._start_of(entry.owner_id))
        self._tell(self._chain.add(entry))
        if not fields["sealed_at"].startswith(self.found.month):
            self._tell([f"entry {entry.number} was sealed in another month"])
        self.found.entries += 1

    def _checkpoint(self, fields: dict[str, Any]) -> None:
        made = Checkpoint(
            fields["month"], fields["owner_id"], fields["number"], bytes.fromhex(fields["hash"]), fields["count"]
        )
        chain, self._chain = self._chain, None
        owner_id, self._owner_id = self._owner_id, made.owner_id
        self._signature(f"owner {made.owner_id}: its checkpoint", made.signed_text(), fields)
        last = chain and chain.last
        if chain is None or owner_id != made.owner_id or last is None:
            self._tell(["there is a checkpoint without entries"])
        elif (made.number, made.hash, made.count, made.month) != (*last, chain.count, self.found.month):
            self._tell(["its checkpoint is of other entries than those before it"])
        self.found.checkpoints.append((made, bytes.fromhex(fields["signature"])))

    def _close(self) -> None:
        if self._chain is not None:
            self._tell(["its checkpoint is missing"])
            self._chain = None

    def _signature(self, what: str, text: bytes, fields: dict[str, Any]) -> None:
        why = self._keys.why_not(text, str(fields["key_id"]), bytes.fromhex(fields["signature"]))
        if why is not None:
            self.found.broken.append(f"{what} can't be trusted: {why}")

    def _tell(self, flaws: list[str]) -> None:
        self.found.broken += [f"owner {self._owner_id}: {flaw}" for flaw in flaws]


def _signed(purpose: str, fields: dict[str, object]) -> bytes:
    return orjson.dumps({"purpose": purpose, **fields})


def _end_fields(month: str, entries: int, owners: int, digest: bytes) -> dict[str, object]:
    return {"month": month, "entries": entries, "owners": owners, "sha256": digest.hex()}
