"""Which of several database servers this one is: said once, before it has any owner."""

import asyncpg

from cronty.store.database import query


class WrongServer(Exception):
    """The database is another server than it is said to be."""


async def be_server(connection: asyncpg.Connection, number: int | None) -> None:
    """Give the database its server's number, which is in the last ten bits of every id it makes; None leaves it."""
    if number is None:
        return
    try:
        await connection.execute(query("be_server"), number)
    except asyncpg.ObjectNotInPrerequisiteStateError as refused:
        raise WrongServer(f"The database's server number can't be changed. {refused}") from None
