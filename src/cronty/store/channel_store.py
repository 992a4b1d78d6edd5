"""The channels of owners. Their URLs are stored encrypted, and never shown."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, cast

from cronty.contract.caller import Caller
from cronty.store.audit_store import who
from cronty.store.database import Connection, Database, Row, query
from cronty.store.sealing import HOW_TO_MAKE_A_KEY, CannotOpen, Sealer

MAX_CHANNELS: Final = 100
"""The most channels of one owner."""

MAX_NAMES: Final = 1000
"""The most names of one owner, with those of removed channels, which stay taken."""


class NoKey(Exception):
    """There is no key to encrypt or decrypt with."""

    def __init__(self) -> None:
        super().__init__(f"Channels need a key to encrypt their URLs with. {HOW_TO_MAKE_A_KEY}")


@dataclass(frozen=True, slots=True)
class Channel:
    """The parts of a channel that may be shown."""

    name: str
    scheme: str
    hint: str
    created_at: datetime
    replaced: bool = False
    ahead: bool = False
    """Whether ntfy is given notifications ahead of their time."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A channel and its URL; `url` is None if the channel was removed."""

    name: str
    url: str | None = field(repr=False)


class ChannelStore:
    """Without a sealer a channel can be listed and removed, but neither added nor used."""

    def __init__(self, database: Database, sealer: Sealer | None) -> None:
        self._database = database
        self._sealer = sealer

    async def save(
        self, caller: Caller, name: str, url: str, scheme: str, hint: str, *, ahead: bool = False
    ) -> Channel | None:
        """Add a channel, or replace the one of that name; None if the owner has too many."""
        sealer, owner = self._require_sealer(), caller.owner
        theirs = self._database.of(owner)
        if (owner_id := cast("int | None", await theirs.value("owner_id", owner))) is None:
            await theirs.change("ensure_owner", owner)
            owner_id = cast("int", await theirs.value("owner_id", owner))
        sealed = sealer.seal(url, context_of(owner_id, name))
        given = (owner_id, name, scheme, hint, sealer.key_id, sealed, self._database.moment(), MAX_CHANNELS)

        async def save(connection: Connection) -> Row | None:
            await connection.fetchval(query("hold_owner"), owner)
            return await connection.fetchrow(query("save_channel"), *given, *who(caller), MAX_NAMES, ahead)

        row = await theirs.together(save)
        if row is None:
            return None
        return Channel(name, scheme, hint, row["created_at"], bool(row["replaced"]), ahead)

    async def list(self, owner: str) -> list[Channel]:
        return [Channel(**dict(row)) for row in await self._database.of(owner).fetch("list_channels", owner)]

    async def names(self, owner: str) -> dict[str, bool]:
        """All names, and whether there is a channel behind each; a removed one keeps its name."""
        rows = await self._database.of(owner).fetch("channel_names", owner)
        return {row["name"]: row["there"] for row in rows}

    async def remove(self, caller: Caller, name: str) -> bool:
        """Delete a channel's URL; its name stays taken."""
        given = (caller.owner, name, self._database.moment(), *who(caller))
        return await self._database.of(caller.owner).change("remove_channel", *given) > 0

    async def find(self, owner: str, name: str) -> Destination | None:
        return self._opened(await self._database.of(owner).one("find_channel", owner, name))

    async def find_of_id(self, owner_id: int, name: str) -> Destination | None:
        """The same by the owner's id, which is what a run has."""
        return self._opened(await self._database.for_the_engine().one("find_channel_of_owner", owner_id, name))

    async def reseal(self) -> tuple[int, int]:
        """Encrypt all channels with the first key; how many were, and how many no key could decrypt."""
        sealer = self._require_sealer()
        done = lost = 0
        operator = self._database.for_the_operator()
        for row in await operator.fetch("channels_of_other_keys", sealer.key_id):
            context = context_of(row["owner_id"], row["name"])
            try:
                sealed = sealer.seal(sealer.open(row["sealed"], row["key_id"], context), context)
            except CannotOpen:
                lost += 1
                continue
            done += await operator.change(
                "reseal_channel", row["owner_id"], row["name"], row["sealed"], sealer.key_id, sealed
            )
        for row in await operator.fetch("handed_of_other_keys", sealer.key_id):
            context = context_of(row["owner_id"], row["name"])
            with suppress(CannotOpen):
                sealed = sealer.seal(sealer.open(row["sealed"], row["key_id"], context), context)
                given = (row["owner_id"], row["name"], row["sealed"], sealer.key_id, sealed)
                await operator.change("reseal_handed", *given)
        return done, lost

    def _opened(self, row: Row | None) -> Destination | None:
        if row is None:
            return None
        if row["sealed"] is None:
            return Destination(row["name"], None)
        context = context_of(row["owner_id"], row["name"])
        return Destination(row["name"], self._require_sealer().open(row["sealed"], row["key_id"], context))

    def _require_sealer(self) -> Sealer:
        if self._sealer is None:
            raise NoKey
        return self._sealer


def context_of(owner_id: int, name: str) -> str:
    """What a channel's URL is encrypted for."""
    return f"cronty channel {owner_id} {name}"
