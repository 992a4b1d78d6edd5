"""Makes a job in a transaction that the caller has opened, on its own connection.

The caller's role may not write our tables. It may execute one function, which takes only what was checked and signed
here, for that transaction alone. So whoever has the role can't make a job of their own.
"""

from hashlib import sha256
from typing import Any, cast

import orjson

from cronty.store.database import Database, query
from cronty.store.their_transaction import elsewhere, no_transaction, value_in


class Enqueuing:
    """One per process and database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._here: str | None = None
        self._key = b""

    async def add(self, connection: object, row: dict[str, object]) -> dict[str, Any]:
        """What `cronty.add_job` answers; `CannotJoin` if the connection is on another database or in no transaction."""
        place = orjson.loads(await value_in(connection, query("place")))
        if place["database"] != self._here and place["database"] != await self._look():
            raise elsewhere()
        given = orjson.dumps(row | {"transaction": place["transaction"]})
        answer = orjson.loads(await value_in(connection, query("enqueue"), given.decode(), self._sign(given)))
        if (refused := answer.get("refused")) is None:
            return answer
        self._here = None
        raise no_transaction(connection) if refused == "transaction" else elsewhere()

    async def _look(self) -> str:
        """Where we are: another place when the server is started anew."""
        self._key = cast("bytes", await self._database.value("enqueue_key"))
        place = orjson.loads(await self._database.value("place"))
        self._here = cast("str", place["database"])
        return self._here

    def _sign(self, given: bytes) -> str:
        """HMAC in all but its pads, which PostgreSQL can't compute without an extension."""
        return sha256(self._key + sha256(self._key + given).digest()).hexdigest()
