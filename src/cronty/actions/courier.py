"""Bringing a message to the URL of a channel: to ntfy by ourselves, to everything else through Apprise."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from re import compile as pattern
from time import monotonic
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from cronty.actions.fence import unlogged
from cronty.actions.ntfy import PROBE, Ahead, publish, take_back
from cronty.actions.outbound import MAX_URL, CallFailed, CallRefused, CallRejected, Outbound
from cronty.actions.relay import Relay
from cronty.actions.tasks import PermanentError

KNOWN_FOR: Final = 3600.0
"""Seconds for which it is remembered that a server takes an owner's messages back."""

NTFY_SCHEMES: Final = frozenset({"ntfy", "ntfys"})

_SCHEME: Final = pattern(r"([a-z][a-z0-9]{1,19})://.+")
_NTFY: Final = pattern(r"(ntfys?)://(?:([A-Za-z0-9_-]{1,200})@)?([^@/?#]+)/([-_A-Za-z0-9]{1,64})/?")


def is_ntfy(url: str | None) -> bool:
    """Whether a channel's URL leads to ntfy; None is an ntfy topic."""
    return url is None or url.partition("://")[0] in NTFY_SCHEMES


class ChannelSummary(NamedTuple):
    """What may be shown of a channel's URL."""

    scheme: str
    hint: str


class _Ntfy(NamedTuple):
    server: str
    token: str | None
    topic: str


class Courier:
    """`schemes` are those of Apprise that may be used; ntfy always is."""

    def __init__(self, outbound: Outbound, schemes: Collection[str] = (), **options: Any) -> None:
        self._outbound = outbound
        self._relay = Relay(outbound, frozenset(schemes) - NTFY_SCHEMES, **options)
        self._takes_back: dict[tuple[str | None, _Ntfy], float] = {}

    async def check(self, url: str, owner: str | None = None) -> ChannelSummary:
        """Check a channel's URL; what may be shown of it. Raises `PermanentError`, whose message never has the URL."""
        try:
            return await self._checked(url, self._scheme(url), owner)
        except CallRefused as refused:  # don't quote the host: in a malformed URL it may be a password
            raise PermanentError(f"We don't call its host: {refused.reason}.") from None
        except CallFailed as failed:
            raise PermanentError(f"Its host can't be reached ({failed.category}).") from None

    async def _checked(self, url: str, scheme: str, owner: str | None) -> ChannelSummary:
        if scheme not in NTFY_SCHEMES:
            return ChannelSummary(scheme, await self._relay.check(url, owner))
        ntfy = self._ntfy(url, owner)
        server = urlsplit(ntfy.server)
        host, secure = server.hostname or "", server.scheme == "https"
        await self._outbound.permit(host, server.port or (443 if secure else 80), encrypted=secure, owner=owner)
        return ChannelSummary(scheme, f"{'public ntfy topic' if secure and not ntfy.token else 'ntfy'} at {host}")

    async def deliver(
        self, url: str, fields: Mapping[str, object], owner: str | None = None, *, sequence: str | None = None
    ) -> dict[str, object]:
        """`fields` are the arguments of `notify`; `fields["topic"]` is the channel's name. `sequence` is the id of the
        message at ntfy that it replaces, if that isn't the run's."""
        if self._scheme(url) in NTFY_SCHEMES:
            ntfy = self._ntfy(url, owner)
            sent = {**fields, "topic": ntfy.topic}
            with unlogged():
                facts = await publish(
                    self._outbound, ntfy.server, ntfy.token, sent, owner=owner, confidential=True, sequence=sequence
                )
            return {"id": facts["id"], "channel": fields["topic"], "time": facts["time"]}
        await self._relay.send(
            url,
            str(fields.get("title") or ""),
            as_text(fields),
            markdown=bool(fields.get("markdown")),
            urgent=cast("int", fields.get("priority") or 3) > 3,
            owner=owner,
        )
        return {"channel": fields["topic"], "time": int(datetime.now(UTC).timestamp())}

    async def hand_over(self, url: str, fields: Mapping[str, object], ahead: Ahead, owner: str | None) -> None:
        """Give ntfy a message ahead of its time. A server that couldn't take it back isn't given any."""
        ntfy = self._ntfy(url, owner)
        with unlogged():
            if monotonic() >= self._takes_back.get((owner, ntfy), 0):
                try:
                    await take_back(self._outbound, *ntfy, PROBE, owner=owner)
                except CallRejected as refused:
                    raise CallRejected(f"{refused} It takes no message back that it was given ahead.") from None
                now = monotonic()
                self._takes_back = {known: until for known, until in self._takes_back.items() if until > now}
                self._takes_back[owner, ntfy] = now + KNOWN_FOR
            sent = {**fields, "topic": ntfy.topic}
            await publish(self._outbound, ntfy.server, ntfy.token, sent, owner=owner, confidential=True, ahead=ahead)

    async def take_back(self, url: str, sequence: str, owner: str | None) -> None:
        """Have ntfy forget a message that it was given ahead."""
        with unlogged():
            await take_back(self._outbound, *self._ntfy(url, owner), sequence, owner=owner)

    async def aclose(self) -> None:
        await self._relay.aclose()

    def _scheme(self, url: str) -> str:
        if len(url) > MAX_URL or not url.isprintable() or " " in url:
            raise PermanentError(f"A channel's URL is one word of at most {MAX_URL} characters.")
        found = _SCHEME.fullmatch(url)
        if not found or found[1] not in self._relay.schemes | NTFY_SCHEMES:
            accepted = ", ".join(sorted(self._relay.schemes | NTFY_SCHEMES))
            raise PermanentError(f"A channel's URL begins with one of these and ://, in lower case: {accepted}.")
        return found[1]

    def _ntfy(self, url: str, owner: str | None) -> _Ntfy:
        found = _NTFY.fullmatch(url)
        if not found:
            raise PermanentError("An ntfy channel is written ntfy://host/topic, or ntfy://token@host/topic.")
        scheme, token, netloc, topic = found.groups()
        plain, secure = f"http://{netloc}/", f"https://{netloc}/"
        if scheme == "ntfy":
            try:
                self._outbound.check(plain, owner)  # plain HTTP only for hosts that an operator allowed
            except CallRefused:
                pass
            else:
                return _Ntfy(plain, token, topic)
        self._outbound.check(secure, owner)
        return _Ntfy(secure, token, topic)


def as_text(fields: Mapping[str, object]) -> str:
    """The message, and below it the links that other services have no place for."""
    links = [str(fields[name]) for name in ("click", "attach") if fields.get(name)]
    for button in cast("list[Mapping[str, object]]", fields.get("actions") or []):
        if button.get("action") == "view":
            links.append(f"{button['label']}: {button['url']}")
    return "\n".join([str(fields["message"]), *([""] if links else []), *links])
