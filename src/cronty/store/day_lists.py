"""Triggers as they are stored, read with the days of the lists that they name.

Days are kept in memory by the digest of their list, so that a trigger that is read again costs one look at the digests.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Final, cast

import orjson

from cronty.store.database import Connection, Row, query
from cronty.timing import Trigger, from_stored
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.slot_changes import SlotChange, changes_from_json

type Fetch = Callable[..., Awaitable[list[Row]]]
"""Runs a statement by its name."""

_MAX_KEPT: Final = 500_000
"""Days, of all lists together."""
_MAX_BUILT: Final = 4096
"""Triggers, of all owners together."""


_LONG: Final = 400
"""Characters; other triggers than calendars have fewer."""


class _Kept:
    """The lists of all owners, each in its latest version, and the triggers that go by them.

    A trigger refers to its lists, so an owner's are forgotten with a version that is replaced.
    """

    def __init__(self) -> None:
        self._lists: dict[tuple[int, str], tuple[str, NamedCalendar]] = {}
        self._days = 0
        self._built: dict[int, dict[tuple[str, tuple[NamedCalendar, ...]], Trigger]] = {}

    def find(self, owner_id: int, name: str, digest: str) -> NamedCalendar | None:
        kept = self._lists.get((owner_id, name))
        return kept[1] if kept is not None and kept[0] == digest else None

    def keep(self, owner_id: int, name: str, digest: str, days: NamedCalendar) -> NamedCalendar:
        if self._days + _size(days) > _MAX_KEPT:
            self._lists.clear()
            self._built.clear()
            self._days = 0
        if before := self._lists.pop((owner_id, name), None):
            self._days -= _size(before[1])
            self._built.pop(owner_id, None)
        self._lists[owner_id, name] = digest, days
        self._days += _size(days)
        return days

    def trigger(self, owner_id: int, stored: str, lists: Mapping[str, NamedCalendar]) -> Trigger:
        key = stored, tuple(lists.values())
        if (found := self._built.get(owner_id, {}).get(key)) is None:
            if sum(map(len, self._built.values())) >= _MAX_BUILT:
                self._built.clear()
            found = from_stored(orjson.loads(stored), lists)
            self._built.setdefault(owner_id, {})[key] = found
        return found


_kept: Final = _Kept()


def within(connection: Connection) -> Fetch:
    """Run statements in an open transaction."""

    async def fetch(name: str, *arguments: object) -> list[Row]:
        return await connection.fetch(query(name), *arguments)

    return fetch


async def read_triggers(fetch: Fetch, stored: Sequence[tuple[int, str]]) -> list[Trigger]:
    """The triggers of these owners' jobs, from their JSON."""
    names = [_names(text) for _, text in stored]
    wanted = {(owner, name) for (owner, _), some in zip(stored, names, strict=True) for name in some}
    lists = await _lists(fetch, sorted(wanted))
    found: list[Trigger] = []
    for (owner, text), some in zip(stored, names, strict=True):
        if some or is_long(text):
            await asyncio.sleep(0)  # others' turn: rules and days may be very many
        if some:
            found.append(
                _kept.trigger(owner, text, {each: lists[owner, each] for each in some if (owner, each) in lists})
            )
        else:
            found.append(_calendar(text) if is_long(text) else from_stored(orjson.loads(text)))
    return found


def is_long(stored: str) -> bool:
    """Whether a stored trigger takes so long to read that others have their turn first, and that it is kept."""
    return len(stored) > _LONG


@lru_cache(maxsize=4096)
def _calendar(stored: str) -> Trigger:
    return from_stored(orjson.loads(stored))


def read_changes(stored: str) -> tuple[SlotChange, ...]:
    """What was said of single slots, from the JSON of a trigger."""
    return changes_from_json(orjson.loads(stored).get("changes")) if '"changes"' in stored else ()


def names_lists(stored: str) -> bool:
    """Whether a stored trigger may name lists; a quick look, for the many that don't."""
    return '"calendars"' in stored


@lru_cache(maxsize=4096)
def _names(stored: str) -> Sequence[str]:
    """The lists that a stored trigger names, in lower case."""
    if not names_lists(stored):
        return ()
    value = orjson.loads(stored).get("calendars")
    return tuple(each.lower() for each in cast("list[object]", value) if isinstance(each, str)) if value else ()


async def _lists(fetch: Fetch, wanted: Sequence[tuple[int, str]]) -> Mapping[tuple[int, str], NamedCalendar]:
    if not wanted:
        return {}
    owners, names = [owner for owner, _ in wanted], [name for _, name in wanted]
    digests = {(row["owner_id"], row["name"]): row["digest"] for row in await fetch("digests_of_lists", owners, names)}
    found = {one: kept for one, digest in digests.items() if (kept := _kept.find(*one, digest)) is not None}
    if missing := sorted(digests.keys() - found.keys()):
        pairs = [owner for owner, _ in missing], [name for _, name in missing]
        for row in await fetch("days_of_lists", *pairs):
            found[row["owner_id"], row["name"]] = await days_in(row)
    return found


async def days_in(row: Row) -> NamedCalendar:
    """A list from its row, as it is kept; with others' turn before its days are read."""
    place = row["owner_id"], row["name"], row["digest"]
    if _kept.find(*place) is None:
        await asyncio.sleep(0)
    return _kept.find(*place) or _kept.keep(*place, read_days(row["days"]))


def _size(days: NamedCalendar) -> int:
    return len(days.off) + len(days.on)


def read_days(stored: str) -> NamedCalendar:
    """A list of days off, from its JSON."""
    said = orjson.loads(stored)
    same: dict[str, str] = {}  # many days of a list have one reason
    return NamedCalendar(
        {date.fromisoformat(day): same.setdefault(reason, reason) for day, reason in said["off"].items()},
        frozenset(map(date.fromisoformat, said["on"])),
    )


def write_days(days: NamedCalendar) -> str:
    """A list of days off as JSON, the same text for the same days."""
    off = {day.isoformat(): reason for day, reason in sorted(days.off.items())}
    return orjson.dumps({"off": off, "on": [day.isoformat() for day in sorted(days.on)]}).decode()
