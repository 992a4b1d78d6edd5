"""Compares the walls between owners that there should be with those that are there: a restore may have lost some."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cronty.store.database import Row

OFF: Final = (
    "is off: `cronty migrate` sets it up; where this user may not make roles, create cronty_app and cronty_engine "
    "(nologin) and grant both to it first"
)
REPAIRED: Final = "`cronty migrate`, with the login that owns the tables, repairs it"
MOST: Final = 3
"""How many things of a kind are named."""

ROLES: Final = ("cronty_app", "cronty_engine")
_ROLE, _WALL, _GRANT = "role ", "wall around ", "grant to "
_OURS: Final = tuple(f"{_GRANT}{role} on " for role in ROLES)


def wall_lines(lines: Iterable[str]) -> frozenset[str]:
    """Those about walls among the lines that describe a schema."""
    return frozenset(line for line in lines if line.startswith((_ROLE, _WALL, _GRANT)))


def are_off(there: Iterable[str]) -> bool:
    """Whether there are none at all, as where nobody may make roles."""
    return not any(line.startswith(_WALL) for line in there)


def lacking(wanted: frozenset[str], there: frozenset[str]) -> str | None:
    """What is wrong with row-level security, in words that follow its name; None if the walls stand."""
    gaps = sorted(wanted - there)
    more = sorted(line for line in there - wanted if _lets_in_more(line))
    if not gaps and not more:
        return None
    if are_off(there):
        return OFF
    lacks = _by_kind(gaps, "lacks")
    known = {name for names in lacks.values() for name in names}
    extra = {kind: [one for one in names if one not in known] for kind, names in _by_kind(more, "has other").items()}
    said = [f"{kind} {_some(names)}" for kind, names in (lacks | extra).items() if names]
    return f"{'; '.join(said)}: {REPAIRED}"


def outsider(rows: Sequence[Mapping[str, str] | Row]) -> str | None:
    """What to do about roles that a login isn't a member of, in a sentence; None if there are none."""
    if not rows:
        return None
    roles, login = ", ".join(row["role"] for row in rows), rows[0]["login"]
    return f"{login} isn't a member of {roles}, which Cronty works as. As an administrator: grant {roles} to {login}"


def _lets_in_more(line: str) -> bool:
    """A policy, or a right of one of our roles on a table; row-level security of one more table does no harm."""
    if line.startswith(_WALL):
        return " lets " in line
    return line.startswith(_OURS) and not line.endswith(": execute")


def _by_kind(lines: Sequence[str], what: str) -> dict[str, list[str]]:
    """What lines are about, by words that say what is wrong."""
    walls = [line.removeprefix(_WALL).split() for line in lines if line.startswith(_WALL)]
    grants = [line.removeprefix(_GRANT).partition(":")[0].split(" on ") for line in lines if line.startswith(_GRANT)]
    kinds = {
        f"{what} roles:": [line.removeprefix(_ROLE) for line in lines if line.startswith(_ROLE)],
        "is off for": [words[0] for words in walls if len(words) == 1],
        f"{what} policies of": [words[0] for words in walls if len(words) > 1],
        **{f"{what} rights of {role} on": [on for whose, on in grants if whose == role] for role, _ in grants},
    }
    return {kind: list(dict.fromkeys(names)) for kind, names in kinds.items() if names}


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST])} and {more} more"
