"""Compares the walls between owners that there should be with those that are there: a restore may have lost some."""

from collections.abc import Iterable, Sequence
from typing import Final

OFF: Final = (
    "is off: `cronty migrate` sets it up; where this user may not make roles, create cronty_app and cronty_engine "
    "(nologin) and grant both to it first"
)
MOST: Final = 3
"""How many things of a kind are named."""

_ROLE, _WALL, _GRANT = "role ", "wall around ", "grant to "


def wall_lines(lines: Iterable[str]) -> frozenset[str]:
    """Those about walls among the lines that describe a schema. What a policy says is left out: PostgreSQL writes it
    differently by the search path."""
    return frozenset(line.partition(" at ")[0] for line in lines if line.startswith((_ROLE, _WALL, _GRANT)))


def are_off(there: Iterable[str]) -> bool:
    """Whether there are none at all, as where nobody may make roles."""
    return not any(line.startswith(_WALL) for line in there)


def lacking(wanted: frozenset[str], there: frozenset[str]) -> str | None:
    """What row-level security lacks, in words that follow its name; None if the walls stand."""
    gaps = sorted(wanted - there)
    if not gaps:
        return None
    if are_off(there):
        return OFF
    walls = [gap.removeprefix(_WALL).split() for gap in gaps if gap.startswith(_WALL)]
    grants = [gap.removeprefix(_GRANT).partition(":")[0].split(" on ") for gap in gaps if gap.startswith(_GRANT)]
    kinds = {
        "the roles": [gap.removeprefix(_ROLE) for gap in gaps if gap.startswith(_ROLE)],
        "row-level security of": [words[0] for words in walls if len(words) == 1],
        "policies of": [words[0] for words in walls if len(words) > 1],
        **{f"rights of {role} on": [on for whose, on in grants if whose == role] for role, _ in grants},
    }
    said = [f"{kind} {_some(list(dict.fromkeys(names)))}" for kind, names in kinds.items() if names]
    return f"lacks {'; '.join(said)}: `cronty migrate` repairs it"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST])} and {more} more"
