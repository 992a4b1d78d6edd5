"""API keys: the hash, the owner and the scopes of each."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from cronty.contract.caller import Caller
from cronty.store.audit_store import who
from cronty.store.database import Connection, Database, Row, StoreUnavailable, query
from cronty.store.orphans import pause_orphaned

MAX_KEYS: Final = 100
"""Good keys of one owner."""

_RANDOM_BITS: Final = 52
"""How many bits of a key's id are random; the server's number follows them."""
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key as its owner sees it; the secret is shown only once, when it is made."""

    number: int
    name: str
    scopes: list[str]
    agent: str | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class KeyStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        caller: Caller,
        name: str,
        hashed: bytes,
        scopes: Sequence[str],
        agent: str | None,
        expires_at: datetime | None,
    ) -> tuple[int, int] | Literal["too many", "revoked"]:
        """The new key's id, which is part of its text, and its number within its owner. The caller's key is its parent.

        Not if there are `MAX_KEYS` good ones, or if that one was revoked meanwhile.
        """
        owner = caller.owner
        theirs = self._database.of(owner)
        given = (owner, name, hashed, scopes, agent, self._database.moment(), expires_at)

        async def add(connection: Connection) -> Row | None:
            await connection.fetchval(query("hold_owner"), owner)
            if await connection.fetchval(query("count_keys"), self._database.moment(), owner) >= MAX_KEYS:
                return None
            key_id = secrets.randbits(_RANDOM_BITS)
            return await connection.fetchrow(query("add_key"), *given, *who(caller), key_id, caller.key_id)

        for _ in range(_TRIES):  # its random id may be taken
            row = await theirs.together(add)
            if row is not None:
                return row["id"], row["number"]
            if caller.key_id is not None and await self.ended([caller.key_id]):
                return "revoked"
            if await theirs.value("count_keys", self._database.moment(), owner) >= MAX_KEYS:
                return "too many"
            await theirs.change("ensure_owner", owner)
        raise StoreUnavailable("No free number for the key was found; try again.")

    async def find(self, key_id: int) -> Row | None:
        """A key that is neither revoked nor expired."""
        return await self._database.one("find_key", self._database.moment(), key_id)

    async def ended(self, key_ids: Sequence[int]) -> set[int]:
        """Which of these keys are no longer good, whosever they are."""
        rows = await self._database.for_the_engine().fetch("ended_keys", self._database.moment(), key_ids)
        return {row["id"] for row in rows}

    async def touch(self, owner: str, key_id: int) -> None:
        await self._database.of(owner).change("touch_key", self._database.moment(), key_id)

    async def of_owner(self, owner: str) -> list[KeyInfo]:
        rows = await self._database.of(owner).fetch("list_keys", owner)
        return [KeyInfo(**dict(row)) for row in rows]

    async def revoke(self, caller: Caller, number: int) -> bool:
        """Revoke a key and all that were made with it, pause the jobs that were made with any of them, and stop their
        runs; if there are many, engines do the rest."""
        theirs, moment = self._database.of(caller.owner), self._database.moment()

        async def revoke(connection: Connection) -> bool:
            key_id = await connection.fetchval(query("revoke_key"), moment, caller.owner, number, *who(caller))
            if key_id is None:
                return False
            # Again until there are none: another statement sees the keys that were being made with one of these.
            while await connection.execute(query("revoke_children"), moment, key_id, *who(caller)) != "INSERT 0 0":
                pass
            return True

        revoked = await theirs.together(revoke)
        if revoked:
            await theirs.together(lambda connection: pause_orphaned(connection, moment, None))
        return revoked
