"""The lists of days off that a schedule may name: the owner's own, and the public holidays of countries."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from cronty.contract.caller import Caller
from cronty.contract.result import Err
from cronty.store.calendar_store import MAX_CALENDARS, CalendarStore
from cronty.timing.calendar import MAX_CALENDARS as MAX_NAMED
from cronty.timing.errors import BadTrigger
from cronty.timing.lists_in_words import said_lists, split_lists
from cronty.timing.named_calendar import NamedCalendar
from cronty.timing.public_holidays import country_code, is_country, public_holidays, source_of

_MAX_WORDS: Final = 500
TOO_MANY = Err("too_many_calendars", f"There are {MAX_CALENDARS} calendars already.", "Remove one of them.")


@dataclass(frozen=True, slots=True)
class KnownDays:
    """Lists by their names in lower case; `made` are public holidays that aren't stored yet, for the year `year`;
    `stored` is how many lists are.

    `config` is the schedule, with the codes of countries in place of their names; `said` are the words as given.
    """

    config: Mapping[str, Any]
    lists: Mapping[str, NamedCalendar] = field(default_factory=dict[str, NamedCalendar])
    made: Mapping[str, NamedCalendar] = field(default_factory=dict[str, NamedCalendar])
    year: int = 0
    stored: int = 0
    said: str | None = None


async def known_days(
    store: CalendarStore, clock: Callable[[], Awaitable[datetime]], caller: Caller, config: Mapping[str, Any]
) -> KnownDays:
    """What a schedule may name; looked at only for one that names a list. Public holidays that can't be had are refused
    with `BadTrigger`."""
    names = named_in(config)
    if not names:
        return KnownDays(config)
    if len(names) > MAX_NAMED:  # before any of them is looked for: each may be computed
        raise BadTrigger(f"Too many calendars: {len(names)}", f"At most {MAX_NAMED}.")
    rows, year = await store.list(caller.owner), (await clock()).year
    own = {row.name for row in rows if row.source is None}
    codes = {name: name if name.lower() in own else await _code(name, config) for name in names}
    countries = {code.lower(): code for code in codes.values() if is_country(code)}
    lists = {row.name: row.days for row in rows if row.source is None or row.name in countries}
    made = {
        lower: await asyncio.to_thread(public_holidays, code, year)
        for lower, code in countries.items()
        if lower not in lists
    }
    said = " ".join(config["text"].split()) if "text" in config else None
    return KnownDays(_with_codes(config, tuple(codes.values())), {**lists, **made}, made, year, len(rows), said)


def named_in(config: Mapping[str, Any]) -> list[str]:
    """The names of lists in a schedule, or in its words; none in words that are refused when they are read."""
    said, text = config.get("calendars"), config.get("text")
    if isinstance(text, str):
        try:
            return list(split_lists(text[:_MAX_WORDS])[1])
        except BadTrigger:
            return []
    names = cast("Sequence[object]", said) if isinstance(said, list | tuple) else ()
    return [name for name in names if isinstance(name, str)]


async def _code(name: str, config: Mapping[str, Any]) -> str:
    """The code of a country or region that is named in words; any other name as it is."""
    if "text" not in config or is_country(name):
        return name
    return await asyncio.to_thread(country_code, name) or name


def _with_codes(config: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    if "text" not in config:
        return config
    return {**config, "text": split_lists(config["text"])[0] + said_lists(names)}


async def keep_days(store: CalendarStore, caller: Caller, known: KnownDays) -> Err | None:
    """Store the public holidays that a job is going to name: all of them, or none."""
    if known.made and known.stored + len(known.made) > MAX_CALENDARS:
        return TOO_MANY
    for name, days in known.made.items():
        if await store.save(caller, name, days, source_of(known.year)) is None and not any(
            row.name == name for row in await store.list(caller.owner)
        ):
            return TOO_MANY
    return None
