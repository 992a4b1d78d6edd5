"""API keys: a hash each, and whose they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from cronty.store.alerts import change_jobs
from cronty.store.audit_store import who
from cronty.store.database import Database, Row

MOST_PAUSED: Final = 1000
"""In one statement."""


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
        theirs = self._database.of(owner)
        await theirs.change("ensure_owner", owner)
        moment = self._database.moment()
        given = (owner, name, hashed, scopes, agent, moment, expires_at)
        return cast("int", await theirs.value("add_key", *given, *who(owner)))

    async def find(self, key_id: int) -> Row | None:
        """A key that is neither revoked nor run out."""
        return await self._database.one("find_key", self._database.moment(), key_id)

    async def touch(self, owner: str, key_id: int) -> None:
        await self._database.of(owner).change("touch_key", self._database.moment(), key_id)

    async def of_owner(self, owner: str) -> list[KeyInfo]:
        rows = await self._database.of(owner).fetch("list_keys", owner)
        return [KeyInfo(**dict(row)) for row in rows]

    async def revoke(self, owner: str, key_id: int) -> bool:
        """Take a key back, and pause the jobs that were made with it; the engine pauses what is left of them."""
        theirs, moment = self._database.of(owner), self._database.moment()
        revoked = await theirs.change("revoke_key", moment, owner, key_id, *who(owner)) > 0
        if revoked:
            await theirs.together(lambda c: change_jobs(c, moment, "pause_orphaned", moment, MOST_PAUSED, None))
        return revoked
