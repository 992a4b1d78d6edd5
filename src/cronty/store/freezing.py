"""Freezes and thaws the whole installation. The statements that claim something look at the same row."""

from cronty.jobs.frozen import Frozen
from cronty.store.database import Database, Row


async def freeze(database: Database, because: str) -> Frozen:
    """Nothing is claimed from now on; what was claimed before goes on to its end."""
    row = await database.for_the_operator().one("freeze", database.moment(), because)
    assert row is not None
    return Frozen(row["frozen_at"], row["frozen_because"])


async def thaw(database: Database) -> Frozen | None:
    """What it was; None if it wasn't frozen. What ntfy was given ahead of its time it is given again: of a restored
    copy nobody knows what ntfy still has."""
    row = await database.for_the_operator().one("thaw", database.moment())
    return None if row is None else read_frozen(row)


async def frozen(database: Database) -> Frozen | None:
    row = await database.for_the_operator().one("frozen")
    return None if row is None else read_frozen(row)


def read_frozen(row: Row) -> Frozen | None:
    if row["frozen_at"] is None:
        return None
    return Frozen(row["frozen_at"], row["frozen_because"] or "")
