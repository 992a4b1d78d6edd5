"""Mail and chat through Apprise, which knows the services; we say which of them, with which options, and how far.

An Apprise URL is a small program of its owner's: it names hosts, and some options name files, or switch checks off. So
each service we offer has its list of options, whatever else is given is refused, and Apprise works inside a fence.
"""

import asyncio
import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from cronty.actions.addresses import Address
from cronty.actions.fence import Fence
from cronty.actions.outbound import CallFailed, CallRefused, Outbound
from cronty.actions.shares import Shares
from cronty.actions.tasks import PermanentError

TIME_LIMIT: Final = 20.0
MAX_SUBJECT: Final = 80
MAIL_PORTS: Final = frozenset({25, 465, 587, 2525})
WEB_PORTS: Final = frozenset({80, 443})


@dataclass(frozen=True, slots=True)
class AppriseService:
    """`host` if the URL names the one to connect to; else the service is where it always is."""

    title: str
    options: frozenset[str]
    host: bool = False


_MAIL: Final = frozenset({"to", "from", "name", "cc", "bcc", "reply", "smtp", "mode", "user", "pass", "format"})
_PLAIN: Final = frozenset({"to", "format"})
SERVICES: Final[Mapping[str, AppriseService]] = {
    "mailto": AppriseService("mail", _MAIL, host=True),
    "mailtos": AppriseService("mail", _MAIL, host=True),
    "slack": AppriseService("Slack", _PLAIN | {"footer", "image", "blocks"}),
    "discord": AppriseService("Discord", _PLAIN | {"avatar", "footer", "image", "thread", "tts"}),
    "tgram": AppriseService("Telegram", _PLAIN | {"image", "preview", "silent", "topic", "thread", "mdv"}),
    "workflows": AppriseService("Teams", _PLAIN | {"id", "sig", "ver", "pa", "route", "image"}, host=True),
    "pover": AppriseService("Pushover", _PLAIN | {"priority", "sound"}),
    "gotify": AppriseService("Gotify", _PLAIN | {"priority"}, host=True),
    "gotifys": AppriseService("Gotify", _PLAIN | {"priority"}, host=True),
}

NEVER: Final = frozenset({
    "dbus", "qt", "kde", "glib", "gio", "gnome", "macosx", "windows", "syslog", "rsyslog", "blink1", "growl", "file",
})  # fmt: skip
"""They act on the machine we run on, or by means the fence doesn't see."""


class Relay:
    """One per process; `schemes` are those of Apprise that an operator offers."""

    def __init__(self, outbound: Outbound, schemes: Collection[str], *, time_limit: float = TIME_LIMIT) -> None:
        if wrong := sorted(NEVER.intersection(schemes)):
            raise ValueError(f"CRONTY_CHANNEL_SCHEMES can't hold {wrong[0]!r}: it acts on the machine itself.")
        self.schemes = frozenset(schemes)
        self._outbound = outbound
        self._time_limit = time_limit
        self._shares = Shares("cronty-channel")

    async def check(self, url: str, owner: str | None = None) -> str:
        """What may be shown of the URL; raises `PermanentError` with a sentence if it can't be a channel."""
        scheme = url.partition("://")[0].lower()
        server, _ = await self._prepared(url, scheme, owner)
        service = SERVICES.get(scheme)
        if service is None:
            return scheme
        if service.title == "mail":
            return f"mail to {_recipient(server)}"
        return f"{service.title} at {server.host}" if service.host else service.title

    async def send(
        self, url: str, title: str, body: str, *, markdown: bool, urgent: bool, owner: str | None = None
    ) -> None:
        """Raises `CallFailed` if it may go better another time; Apprise says no more than that it didn't work."""
        scheme = url.partition("://")[0].lower()
        server, addresses = await self._prepared(url, scheme, owner)
        apprise = await self._apprise(owner)
        crowd = apprise.Apprise(asset=_asset(apprise))
        crowd.add(server)
        subject = body.strip().partition("\n")[0][:MAX_SUBJECT] if scheme.startswith("mailto") else ""

        def deliver() -> bool:
            kind = apprise.NotifyType.WARNING if urgent else apprise.NotifyType.INFO
            form = apprise.NotifyFormat.MARKDOWN if markdown else apprise.NotifyFormat.TEXT
            return bool(crowd.notify(body=body, title=title or subject, notify_type=kind, body_format=form))

        if not await self._inside(Fence(addresses), deliver, owner):
            raise CallFailed(f"The service behind the {scheme} channel didn't take the message.", "undelivered")

    async def aclose(self) -> None:
        self._shares.close()

    async def _prepared(self, url: str, scheme: str, owner: str | None) -> tuple[Any, Sequence[tuple[Address, int]]]:
        """Apprise's object for the URL, and where the host it names is."""
        apprise = await self._apprise(owner)
        server = await self._inside(Fence(), lambda: _server(apprise, url, scheme), owner)
        service = SERVICES.get(scheme)
        if service is None or not service.host:
            return server, ()  # where it leads is decided inside; the fence holds it to public addresses
        if service.title == "mail":
            secure, host, port, ports = server.secure_mode != "insecure", server.smtp_host, server.port, MAIL_PORTS
        else:
            secure, host, ports = bool(server.secure), server.host, WEB_PORTS
            port = server.port or (443 if secure else 80)
        addresses = await self._outbound.permit(host, port, ports=ports, encrypted=secure, owner=owner)
        return server, [(address, port) for address in addresses]

    async def _apprise(self, owner: str | None) -> Any:
        return await self._shares.run(owner, _load_apprise)

    async def _inside[T](self, fence: Fence, call: Callable[[], T], owner: str | None) -> T:
        """In a thread of the owner's share, for no longer than the limit."""
        try:
            async with asyncio.timeout(self._time_limit):
                result = await self._shares.run(owner, lambda: fence.run(call))
        except TimeoutError:
            raise CallFailed("The channel's service gave no complete answer in time.", "timeout") from None
        finally:
            fence.cut()  # even if we were cancelled: a thread that waits forever would keep the process from ending
        if fence.refused:
            raise CallRefused("the channel's host", "it led to a place that isn't open to us")
        return result


@cache
def _load_apprise() -> Any:
    """Late: it may be missing, and is never quick. With all of its services, so that none is loaded inside a fence."""
    try:
        apprise = importlib.import_module("apprise")
    except ModuleNotFoundError:
        raise PermanentError("This kind of channel needs Apprise: pip install 'cronty[apprise]'") from None
    apprise.Apprise.instantiate("mailto://user@localhost")
    return apprise


def _asset(apprise: Any) -> Any:
    """No redirects, no files, no threads: what is left of Apprise's own behaviour is sending."""
    alone = {"storage_mode": "memory", "async_mode": False, "service_timeout": 0, "http_redirects": False}
    return apprise.AppriseAsset(app_id="Cronty", app_desc="Cronty", **alone)


def _server(apprise: Any, url: str, scheme: str) -> Any:
    """Checked in Apprise's own reading, so that nothing means one thing to us and another to it."""
    try:
        read = apprise.plugins.url_to_dict(url, secure_logging=True)
        if read is None or read.get("schema") != scheme:
            raise ValueError
        accepted = SERVICES[scheme].options if scheme in SERVICES else _PLAIN
        _check_options(read, accepted)
        server = apprise.Apprise.instantiate(read, asset=_asset(apprise))
    except PermanentError:
        raise
    except Exception:  # whatever a parser trips over; its text may hold the URL
        server = None
    if server is None:
        raise PermanentError(
            f"The URL isn't complete, or isn't one of {scheme}; Apprise's pages say how it is written."
        )
    return server


def _check_options(read: Mapping[str, Any], accepted: frozenset[str]) -> None:
    given: set[str] = set(read.get("qsd", {}))
    special = any(read.get(kind) for kind in ("qsd+", "qsd-", "qsd:"))
    if special or given - accepted:
        raise PermanentError(
            f"The URL has an option that isn't accepted here; these are: {', '.join(sorted(accepted))}."
        )


def _recipient(server: Any) -> str:
    address = str(server.targets[0][1]) if server.targets else ""
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}…@{domain}" if name else "somebody"
