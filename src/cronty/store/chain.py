"""Verifies that entries of the trail form a chain: each has its hash and follows the one before. Pure."""

from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

import orjson


class Link(NamedTuple):
    """A position in an owner's chain: an entry's number and hash."""

    number: int
    hash: bytes


BEGINNING: Final = Link(0, b"")


class Entry(NamedTuple):
    """The hash covers `previous` and `text`, which is the entry as PostgreSQL writes it in JSON."""

    owner_id: int
    number: int
    previous: bytes
    hash: bytes
    text: bytes


class Chain:
    """Takes an owner's entries in the order of their numbers, and returns what is wrong with each.

    `start` is the entry they must follow; if it is None, the first one is trusted.
    """

    def __init__(self, start: Link | None) -> None:
        self._start = start
        self.last = start
        self.count = 0

    def add(self, entry: Entry, head: Link | None = None) -> list[str]:
        """What is wrong with the next entry; `head` is the recorded end of the chain."""
        last = self.last or (BEGINNING if entry.number == 1 else Link(entry.number - 1, entry.previous))
        changed = sha256(entry.previous + entry.text).digest() != entry.hash
        found: list[str] = []
        if entry.number > last.number + 1:
            found.append(missing(last.number + 1, entry.number - 1))
        if head is not None and entry.number > head.number:
            found.append(f"{_name(entry)} is beyond the head: it wasn't added by Cronty")
        if changed:
            found.append(f"{_name(entry)} was changed: it no longer has its hash")
        if entry.number <= last.number:
            archived = self._start is not None and entry.number <= self._start.number
            why = "was archived before" if archived else "is there twice"
            return [*found, f"{_name(entry)} {why}: it wasn't added by Cronty"]
        if entry.number == last.number + 1 and entry.previous != last.hash and not changed:
            found.append(f"{_name(entry)} doesn't follow the entry before it: that one was rewritten")
        if head is not None and entry.number == head.number and entry.hash != head.hash and not changed:
            found.append(f"{_name(entry)} isn't the one the chain ended with: it was rewritten")
        self.last = Link(entry.number, entry.hash)
        self.count += 1
        return found

    def end(self, head: Link) -> list[str]:
        """What is wrong if that was the last entry; `head` is the recorded end of the chain."""
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


def _name(entry: Entry) -> str:
    fields: dict[str, Any] = orjson.loads(entry.text)
    at = datetime.fromisoformat(fields["at"])
    return f"entry {entry.number} ({fields['what']}, {at:%Y-%m-%d %H:%M:%S} UTC)"
