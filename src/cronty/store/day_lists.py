"""Triggers as they are stored, read with the days of the lists that they name.

Days are kept in memory by the digest of their list, so that a trigger that is read again costs one look at the digests.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Final, cast

import orjson

from cronty.store.database import Connection, Row, query
from cronty.timing import Trigger, from_stored
from cronty.timing.days_off import NamedCalendar
from cronty.timing.slot_changes import SlotChange, changes_from_json

type Fetch = Callable[..., Awaitable[list[Row]]]
"""Runs a statement by its name."""

_MAX_KEPT: Final = 500_000
"""Days, of all lists together."""
_kept: dict[tuple[int, str], NamedCalendar] = {}


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
    return [
        _built(text, tuple((name, lists[owner, name]) for name in some if (owner, name) in lists))
        if some
        else from_stored(orjson.loads(text))
        for (owner, text), some in zip(stored, names, strict=True)
    ]


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


@lru_cache(maxsize=4096)
def _built(stored: str, lists: tuple[tuple[str, NamedCalendar], ...]) -> Trigger:
    return from_stored(orjson.loads(stored), dict(lists))


async def _lists(fetch: Fetch, wanted: Sequence[tuple[int, str]]) -> Mapping[tuple[int, str], NamedCalendar]:
    if not wanted:
        return {}
    owners, names = [owner for owner, _ in wanted], [name for _, name in wanted]
    digests = {(row["owner_id"], row["name"]): row["digest"] for row in await fetch("digests_of_lists", owners, names)}
    found = {one: _kept[one[0], digest] for one, digest in digests.items() if (one[0], digest) in _kept}
    if missing := sorted(digests.keys() - found.keys()):
        pairs = [owner for owner, _ in missing], [name for _, name in missing]
        for row in await fetch("days_of_lists", *pairs):
            found[row["owner_id"], row["name"]] = _keep(row["owner_id"], row["digest"], read_days(row["days"]))
    return found


def _keep(owner_id: int, digest: str, days: NamedCalendar) -> NamedCalendar:
    if sum(_sizes(_kept.values())) + len(days.off) > _MAX_KEPT:
        _kept.clear()
    return _kept.setdefault((owner_id, digest), days)


def _sizes(lists: Iterable[NamedCalendar]) -> Iterable[int]:
    return (len(each.off) + len(each.on) for each in lists)


def read_days(stored: str) -> NamedCalendar:
    """A list of days off, from its JSON."""
    said = orjson.loads(stored)
    return NamedCalendar(
        {date.fromisoformat(day): reason for day, reason in said["off"].items()},
        frozenset(map(date.fromisoformat, said["on"])),
    )


def write_days(days: NamedCalendar) -> str:
    """A list of days off as JSON, the same text for the same days."""
    off = {day.isoformat(): reason for day, reason in sorted(days.off.items())}
    return orjson.dumps({"off": off, "on": [day.isoformat() for day in sorted(days.on)]}).decode()
