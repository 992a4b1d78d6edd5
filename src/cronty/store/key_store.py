"""API keys: a hash each, and whose they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from cronty.store.audit_store import who
from cronty.store.database import Database, Row


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key as its owner may see it again."""

    id: int
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
        owner: str,
        name: str,
        hashed: bytes,
        scopes: Sequence[str],
        agent: str | None,
        expires_at: datetime | None,
    ) -> int:
        await self._database.change("ensure_owner", owner)
        moment = self._database.moment()
        given = (owner, name, hashed, scopes, agent, moment, expires_at)
        return cast("int", await self._database.value("add_key", *given, *who(owner)))

    async def find(self, key_id: int) -> Row | None:
        """A key that is neither revoked nor run out."""
        return await self._database.one("find_key", self._database.moment(), key_id)

    async def touch(self, key_id: int) -> None:
        await self._database.change("touch_key", self._database.moment(), key_id)

    async def of_owner(self, owner: str) -> list[KeyInfo]:
        rows = await self._database.fetch("list_keys", owner)
        return [KeyInfo(**dict(row)) for row in rows]

    async def revoke(self, owner: str, key_id: int) -> bool:
        moment = self._database.moment()
        revoked = await self._database.change("revoke_key", moment, owner, key_id, *who(owner)) > 0
        if revoked:
            await self.pause_orphaned()
        return revoked

    async def pause_orphaned(self) -> list[tuple[int, str]]:
        """Pause jobs made with a key that is no longer good; which ones, and why."""
        rows = await self._database.fetch("pause_orphaned", self._database.moment(), 1000)
        return [(row["id"], row["reason"]) for row in rows]
