"""Compares the schema this version was written for with the one the database has, and says whether it may go on."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from cronty.store.database import Database, Row

HOME: Final[Traversable] = files("cronty.store")
"""Where `migrations/` and `walls.sql` are."""

_OUTSIDE: Final = "-- outside a transaction"
_KEEPS_WORKING: Final = "-- older code: keeps working"


class SchemaProblem(Exception):
    """This version and this database don't fit together; the text says what to do."""


class SchemaOutdated(SchemaProblem):
    """The database lacks migrations this version needs."""


class SchemaTooNew(SchemaProblem):
    """A newer version changed the database so that this one must not use it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A numbered file of SQL. Comments at its head say how it is applied and who may work beside it.

    `-- outside a transaction`: its statements run one by one, each can be repeated, and each ends with a semicolon at
    the end of a line. `-- older code: keeps working`: versions that don't know it may go on; without it they stop.
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
    """What this version needs: its migrations in order, and the walls that stand when they are applied."""

    migrations: tuple[Migration, ...]
    walls: str

    @property
    def names(self) -> list[str]:
        return [migration.name for migration in self.migrations]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.walls.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SchemaState:
    """`missing`: what `migrate` would apply. `newer`: what this version doesn't know; `incompatible`: those of them
    that say that it must stop. `new_walls`: whether the walls have to be built, or built anew."""

    missing: list[str]
    newer: list[str]
    incompatible: list[str]
    new_walls: bool

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


@cache
def wanted(home: Traversable = HOME) -> Wanted:
    """Read the files; they don't change while a process lives."""
    found = sorted((file.name, file) for file in (home / "migrations").iterdir() if file.name.endswith(".sql"))
    migrations = [Migration(name.removesuffix(".sql"), file.read_text(encoding="utf-8")) for name, file in found]
    return Wanted(tuple(migrations), (home / "walls.sql").read_text(encoding="utf-8"))


def compare(mine: Wanted, rows: Sequence[Row | Mapping[str, object]]) -> SchemaState:
    """Hold what this version knows against the rows of `cronty.migrations`.

    The row of a version's last migration holds the digest of the walls it built. Walls are the business of the newest
    version: one that finds migrations it doesn't know leaves them alone. Walls of another digest don't stop anybody,
    or two versions that differ in nothing else could not take turns.
    """
    applied = {row["name"]: row for row in rows}
    missing = [name for name in mine.names if name not in applied]
    newer = sorted(str(name) for name in applied.keys() - set(mine.names))
    incompatible = [name for name in newer if not applied[name]["older_code_works"]]
    built = applied[mine.names[-1]]["walls"] if not missing else None
    if not newer and built is None:
        missing = [*missing, "walls"]
    return SchemaState(missing, newer, incompatible, new_walls=not newer and built != mine.digest)


async def state_of(database: Database) -> SchemaState:
    """How the schema stands, asked by a process that is at work: a handful of rows."""
    return compare(wanted(), await database.fetch("read_migrations"))
