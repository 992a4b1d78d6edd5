"""Public holidays of a country or one of its regions, such as DE or DE-BY, from the package `holidays`."""

import importlib
import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib import metadata
from typing import Any, Final, cast

from cronty.timing.country_names import CODES_BY_NAME
from cronty.timing.days_off import MAX_DAY_NAME
from cronty.timing.errors import BadTrigger, shown
from cronty.timing.named_calendar import NamedCalendar

YEARS_AHEAD: Final = 12
"""A schedule looks ten years ahead; a list is made anew each year."""
_CODE: Final = re.compile(r"[A-Z]{2}(-[A-Z0-9]{1,3})?")
_OWN: Final = "or keep a list of your own (save_calendar)"


def is_country(name: str) -> bool:
    """Whether a name is written as that of a country or region; a list of the owner's own may have the same one."""
    return _CODE.fullmatch(name) is not None


def country_code(name: str) -> str | None:
    """Return the code of a country or region by its English name, or by its code in lower case; None if it has none.

    Refused if there are several. Loads the package, as below, for a name that isn't kept here.
    """
    if (codes := CODES_BY_NAME.get(name.lower())) is not None:
        code, *others = codes
        if others:
            said = '" or "'.join(f"holidays in {each}" for each in codes)
            raise BadTrigger(f"{shown(name)} may be several places: {', '.join(codes)}", f'Say "{said}".')
        return code
    plain = name.lower().replace(" ", "_")
    known: Any = importlib.import_module("holidays.registry").COUNTRIES if _package() else {}
    if len(plain) == 2:
        return next((entry[1] for entry in known.values() if entry[1] == plain.upper()), None)
    return known[plain][1] if plain in known else None


def public_holidays(name: str, year: int) -> NamedCalendar:
    """Return the public holidays from the year before on; refused if there is no such country, or no package.

    The first call loads the package, which takes about half a second.
    """
    country, _, region = name.partition("-")
    years = range(year - 1, year + YEARS_AHEAD)
    try:
        found = _package().country_holidays(country, subdiv=region or None, years=years, language="en_US")
    except NotImplementedError:
        raise BadTrigger(
            f"No public holidays are known for {shown(name)}",
            f"Use the codes of a country and a region, such as DE, DE-BY or US-CA, {_OWN}.",
        ) from None
    days = cast("Mapping[date, str]", found)
    return NamedCalendar({day: f"holiday ({_printable(days[day])})" for day in sorted(days)})


def holidays_version() -> tuple[int, ...] | None:
    """Return which version of the package there is, if any."""
    try:
        return tuple(int(part) for part in metadata.version("holidays").split(".") if part.isdecimal())
    except metadata.PackageNotFoundError:
        return None


def source_of(year: int) -> str:
    """Return where the holidays that are made now come from."""
    return f"holidays {'.'.join(map(str, holidays_version() or ()))} {year}"


def is_outdated(source: str, year: int) -> bool:
    """Whether this process has a newer package than the one that holidays come from, or a later year."""
    mine = holidays_version()
    said = source.split()
    if mine is None or len(said) != 3 or not said[2].isdecimal():
        return False
    version = tuple(int(part) for part in said[1].split(".") if part.isdecimal())
    return (mine, year) > (version, int(said[2])) and mine >= version and year >= int(said[2])


@cache
def _package() -> Any:
    """Late: it may be missing, and isn't quick."""
    try:
        return importlib.import_module("holidays")
    except ModuleNotFoundError:
        raise BadTrigger(
            "Public holidays need the package holidays", f"Where Cronty runs: pip install 'cronty[holidays]', {_OWN}."
        ) from None


def _printable(name: str) -> str:
    return "".join(letter for letter in name if letter.isprintable()).strip()[:MAX_DAY_NAME] or "public holiday"
