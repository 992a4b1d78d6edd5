"""An owner's channels: named destinations of reminders. Their URLs are never shown."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Final

from cronty.actions.courier import NTFY_SCHEMES, Courier
from cronty.actions.notify import Notify
from cronty.actions.tasks import PermanentError, RetryAfter
from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.dashed_name import RULE, is_dashed_name
from cronty.store.channel_store import MAX_CHANNELS, MAX_NAMES, Channel, ChannelStore, Destination, NoKey
from cronty.store.sealing import CannotOpen
from cronty.timing.near import near

TEST_MESSAGE: Final = "This is a test from Cronty: the channel works."

TOO_MANY: Final = f"There are {MAX_CHANNELS} channels already, or {MAX_NAMES} names with those of removed ones."

NOT_AHEAD: Final = "this service gives ntfy nothing ahead of its time, because it isn't switched off."
SET_AHEAD: Final = "Leave out `ahead`; or whoever runs it sets CRONTY_AHEAD=true."


class Channels:
    """A removed channel keeps its name, so that messages to it fail instead of going to a public topic of that name."""

    def __init__(self, store: ChannelStore, courier: Courier, notify: Notify, *, ahead: bool = False) -> None:
        """`ahead`: ntfy channels get notifications ahead of their time, unless one says no; else none may."""
        self._ahead = ahead
        self._store = store
        self._courier = courier
        self._notify = notify

    async def add(self, caller: Caller, name: str, url: str, *, ahead: bool | None = None) -> Result[Channel]:
        """Add a channel, or replace the one with this name. `ahead`: ntfy gets notifications ahead of their time."""
        if not is_dashed_name(name):
            return Err("bad_name", f"Invalid channel name: {name[:80]!r}.", f"Use {RULE}, such as 'team-slack'.")
        try:
            scheme, hint = await self._courier.check(url.strip(), caller.owner)
            if ahead and scheme not in NTFY_SCHEMES:
                return Err("bad_channel", f"Channel {name!r} wasn't saved: only ntfy keeps messages until their time.")
            if ahead and not self._ahead:
                return Err("bad_channel", f"Channel {name!r} wasn't saved: {NOT_AHEAD}", SET_AHEAD, "ahead")
            early = scheme in NTFY_SCHEMES and self._ahead and ahead is not False
            saved = await self._store.save(caller, name, url.strip(), scheme, hint, ahead=early)
        except (PermanentError, RetryAfter) as wrong:
            return Err("bad_channel", f"Channel {name!r} wasn't saved: {wrong}")
        except NoKey as missing:
            return Err("no_key", str(missing))
        if saved is None:
            return Err("too_many_channels", TOO_MANY, "Use a name that was used before.")
        return Ok(saved)

    async def list(self, caller: Caller) -> Result[list[Channel]]:
        return Ok(await self._store.list(caller.owner))

    async def about(self, caller: Caller, names: Sequence[str]) -> Result[str | None]:
        """What a caller must know about where messages to these names go; refused if one is nearly a channel's."""
        return self.about_known(caller, names, await self._store.names(caller.owner)) if names else Ok(None)

    def about_known(self, caller: Caller, names: Sequence[str], known: Mapping[str, bool]) -> Result[str | None]:
        """The same, if the names of the owner's channels are known."""
        others = [name for name in names if name not in known]
        there = [name for name, has_url in known.items() if has_url]
        for name in others:
            if (found := near(name, there)) and not caller.may("read"):
                message = f"There is no channel {name[:80]!r}, but one has a similar name."
                return Err("unknown_channel", message, "list_channels shows it, with the scope read.")
            if found:
                message = f"There is no channel {name[:80]!r}. Did you mean {found[0]!r}?"
                return Err("unknown_channel", message, f"Your channels: {', '.join(sorted(there)[:20])}.")
        host = self._notify.public_at(caller.owner)
        if not others or host is None:
            return Ok(None)
        said = f"{others[0]} isn't a channel of yours but a public ntfy topic at {host}"
        return Ok(f"{said}: everybody who knows its name can read it.")

    async def remove(self, caller: Caller, name: str) -> Result[None]:
        """Forget the URL. Messages to the name fail until it is added again."""
        gone = is_dashed_name(name) and await self._store.remove(caller, name)
        return Ok(None) if gone else _not_found(name)

    async def test(self, caller: Caller, name: str) -> Result[dict[str, object]]:
        """Send a test message now."""
        try:
            url = await self.url(caller, name)
            if url is None:
                return _not_found(name)
            fields = {"topic": name, "title": "Cronty", "message": TEST_MESSAGE}
            return Ok(await self._courier.deliver(url, fields, caller.owner))
        except (PermanentError, RetryAfter) as failed:
            return Err("not_sent", f"Nothing arrived: {failed}")

    async def reseal(self) -> Result[int]:
        """Encrypt the channels of every owner with the first key; returns how many were changed."""
        try:
            done, lost = await self._store.reseal()
        except NoKey as missing:
            return Err("no_key", str(missing))
        if lost:
            return Err(
                "cannot_open",
                f"{done} channels are encrypted with the first key now; {lost} can't be opened by any key given.",
                "Add the key they were made with to CRONTY_SECRET_KEY, after a comma, and repeat.",
            )
        return Ok(done)

    async def url(self, caller: Caller, name: str) -> str | None:
        """The URL for this name; None if it never was a channel. For sending only: never show it."""
        return await _url(name, self._store.find(caller.owner, name)) if is_dashed_name(name) else None

    async def url_of_id(self, owner_id: int, name: str) -> str | None:
        """The same for a run, which knows its owner by id."""
        return await _url(name, self._store.find_of_id(owner_id, name))


async def _url(name: str, finding: Awaitable[Destination | None]) -> str | None:
    """Raises `PermanentError` for a channel that can't be used: a public topic instead would leak the message."""
    try:
        found = await finding
    except NoKey as missing:
        raise PermanentError(f"Channel {name!r} can't be used. {missing}") from None
    except CannotOpen as sealed:
        raise PermanentError(f"Channel {name!r} can't be opened. {sealed}") from None
    if found is None:
        return None
    if found.url is None:
        raise PermanentError(f"Channel {name!r} was removed. Add it again, or send to another.")
    return found.url


def _not_found(name: str) -> Err:
    return Err("not_found", f"There is no channel {name[:80]!r}.", "`cronty channel list` shows yours.")
