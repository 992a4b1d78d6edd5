"""The number of this database server, set once, before it has any owner."""

import asyncpg

from cronty.store.database import query


class WrongServer(Exception):
    """The database already has another server number."""


async def be_server(connection: asyncpg.Connection, number: int | None) -> None:
    """Set the server's number, which is in the last ten bits of every id it makes; None changes nothing."""
    if number is None:
        return
    try:
        await connection.execute(query("be_server"), number)
    except asyncpg.ObjectNotInPrerequisiteStateError as refused:
        raise WrongServer(f"The database's server number can't be changed. {refused}") from None
