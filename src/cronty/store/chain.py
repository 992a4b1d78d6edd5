"""Whether entries of the trail are a chain: each with its hash, and after the one before it. Pure."""

from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson


class Link(NamedTuple):
    """A place in an owner's chain: an entry's number and hash."""

    number: int
    hash: bytes


BEGINNING: Final = Link(0, b"")


class Entry(NamedTuple):
    """`text` is what is hashed, after the hash of the entry before: the entry as PostgreSQL spells it in JSON."""

    owner_id: int
    number: int
    previous: bytes
    hash: bytes
    text: bytes


class Chain:
    """Takes an owner's entries in the order of their numbers, and says what is wrong with each.

    `start` is the entry they must follow. None: that isn't known, and the first one is believed.
    """

    def __init__(self, start: Link | None) -> None:
        self._start = start
        self.last = start
        self.count = 0

    def add(self, entry: Entry, head: Link | None = None) -> list[str]:
        """What is wrong with the next entry; `head` is where the chain is said to end."""
        last = self.last or (BEGINNING if entry.number == 1 else Link(entry.number - 1, entry.previous))
        changed = sha256(entry.previous + entry.text).digest() != entry.hash
        found: list[str] = []
        if entry.number > last.number + 1:
            found.append(missing(last.number + 1, entry.number - 1))
        if head is not None and entry.number > head.number:
            found.append(f"{_said(entry)} is beyond the head: it was added by other means than an act")
        if changed:
            found.append(f"{_said(entry)} was changed: it no longer has its hash")
        if entry.number <= last.number:
            archived = self._start is not None and entry.number <= self._start.number
            why = "was archived before" if archived else "is there twice"
            return [*found, f"{_said(entry)} {why}: it was added by other means than an act"]
        if entry.number == last.number + 1 and entry.previous != last.hash and not changed:
            found.append(f"{_said(entry)} doesn't follow the entry before it: that one was rewritten")
        if head is not None and entry.number == head.number and entry.hash != head.hash and not changed:
            found.append(f"{_said(entry)} isn't the one the chain ended with: it was rewritten")
        self.last = Link(entry.number, entry.hash)
        self.count += 1
        return found

    def end(self, head: Link) -> list[str]:
        """What is wrong if this was the last entry, and the chain is said to end at `head`."""
        last = self.last or BEGINNING
        if head.number > last.number:
            return [f"{missing(last.number + 1, head.number)}: the end was cut off"]
        if self._start is not None and head.number < self._start.number:
            return [f"the head is before entry {self._start.number}, which was archived: it was put back"]
        if self._start == last and head.number == last.number and head.hash != last.hash:
            return [f"entry {last.number}, which was archived, isn't the one the chain ended with: it was rewritten"]
        return []


def missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"entries {first} to {last} are missing"


def _said(entry: Entry) -> str:
    fields: dict[str, Any] = orjson.loads(entry.text)
    at = datetime.fromisoformat(fields["at"])
    return f"entry {entry.number} ({fields['what']}, {at:%Y-%m-%d %H:%M:%S} UTC)"
