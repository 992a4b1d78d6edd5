"""Compares the schema this version needs with the database's, and decides whether it can be used."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from cronty.store.database import Database, Row
from cronty.store.walls import are_off, lacking, wall_lines

HOME: Final[Traversable] = files("cronty.store")
"""Where `migrations/`, `walls.sql` and `schema.sql` are."""

_OUTSIDE: Final = "-- outside a transaction"
_KEEPS_WORKING: Final = "-- older code: keeps working"


class SchemaProblem(Exception):
    """This version can't use this database; the text says what to do."""


class SchemaOutdated(SchemaProblem):
    """The database lacks migrations this version needs."""


class SchemaTooNew(SchemaProblem):
    """A newer version changed the database, and this version must not use it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered SQL file. Comments at its head say how to apply it and whether older versions can still run.

    `-- outside a transaction`: its statements run one by one; each can be repeated, and ends with a semicolon at the
    end of a line. `-- older code: keeps working`: versions that don't know this migration may go on; else they stop.
    """

    name: str
    text: str

    @property
    def outside(self) -> bool:
        return _OUTSIDE in self._head

    @property
    def older_code_works(self) -> bool:
        return _KEEPS_WORKING in self._head

    @property
    def _head(self) -> list[str]:
        lines = self.text.splitlines()
        end = next((number for number, line in enumerate(lines) if not line.startswith("--")), len(lines))
        return [line.strip() for line in lines[:end]]

    def statements(self) -> list[str]:
        code = "\n".join(line for line in self.text.splitlines() if not line.lstrip().startswith("--"))
        return [part.strip() for part in re.split(r";[ \t]*(?:\n|$)", code) if part.strip()]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What this version needs: its migrations in order, the text of `walls.sql`, and the walls in `schema.sql`."""

    migrations: tuple[Migration, ...]
    walls: str
    wall_lines: frozenset[str]

    @property
    def names(self) -> list[str]:
        return [migration.name for migration in self.migrations]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.walls.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SchemaState:
    """`missing`: migrations that `migrate` would apply. `newer`: those that this version doesn't know; `incompatible`:
    newer ones after which it must stop. `new_walls`: whether `walls.sql` has to be run. `walls`: what
    row-level security lacks, where that was looked at; `walls_off`: it is all of it, as where nobody may make roles.
    `outsider`: what to do where this login can't work as one of the roles."""

    missing: list[str]
    newer: list[str]
    incompatible: list[str]
    new_walls: bool
    walls: str | None = None
    walls_off: bool = False
    outsider: str | None = None

    def problem(self) -> SchemaProblem | None:
        """Why this version can't work with this database, if it can't."""
        if self.incompatible:
            return SchemaTooNew(
                f"The database was upgraded by a newer version ({', '.join(self.incompatible)}), and this one can't "
                "work with it. Upgrade Cronty here."
            )
        if self.missing:
            return SchemaOutdated(
                f"The database lacks {len(self.missing)} migration(s), {self.missing[0]} first. Run `cronty migrate`."
            )
        return None

    def require(self) -> None:
        """Raise the problem, if there is one."""
        if problem := self.problem():
            raise problem


def _in_order(name: str) -> tuple[int, str]:
    """By number: as texts, 10000 comes before 9999."""
    number = name.partition("_")[0]
    return int(number) if number.isdecimal() else 0, name


@cache
def wanted(home: Traversable = HOME) -> Wanted:
    """Read the files, once per process."""
    found = [file for file in (home / "migrations").iterdir() if file.name.endswith(".sql")]
    migrations = [Migration(file.name.removesuffix(".sql"), file.read_text(encoding="utf-8")) for file in found]
    migrations.sort(key=lambda one: _in_order(one.name))
    lines = wall_lines((home / "schema.sql").read_text(encoding="utf-8").splitlines())
    return Wanted(tuple(migrations), (home / "walls.sql").read_text(encoding="utf-8"), lines)


def compare(mine: Wanted, rows: Sequence[Row | Mapping[str, object]]) -> SchemaState:
    """Compare what this version needs with the rows of `cronty.migrations`.

    The row of a version's last migration has the digest of the `walls.sql` it ran. Only the newest version runs its
    walls: one that finds migrations it doesn't know doesn't. A different digest stops no process, so that two versions
    that differ only in their walls can run side by side.
    """
    applied = {row["name"]: row for row in rows}
    missing = [name for name in mine.names if name not in applied]
    newer = sorted((str(name) for name in applied.keys() - set(mine.names)), key=_in_order)
    incompatible = [name for name in newer if not applied[name]["older_code_works"]]
    built = applied[mine.names[-1]]["walls"] if not missing else None
    if not newer and built is None:
        missing = [*missing, "walls"]
    return SchemaState(missing, newer, incompatible, new_walls=not newer and built != mine.digest)


def with_walls(state: SchemaState, mine: Wanted, there: frozenset[str], outsider: str | None) -> SchemaState:
    """The state, and what its walls lack; they have to be built again if it is anything. What a newer version's should
    be isn't known."""
    if state.missing or state.newer:
        return state
    gaps, off = lacking(mine.wall_lines, there), are_off(there)
    state = replace(state, new_walls=state.new_walls or gaps is not None, walls=gaps, walls_off=off)
    return state if off else replace(state, outsider=outsider)


async def state_of(database: Database) -> SchemaState:
    """The state of the schema, through an open database; it reads only a few rows."""
    return compare(wanted(), await database.fetch("read_migrations"))
