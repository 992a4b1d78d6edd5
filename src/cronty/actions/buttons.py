"""The buttons under a reminder on a phone, and the signed links behind them.

A link says whose run it is about, what pressing it does and until when it is good, and all of that is signed with a key
made for the buttons of that owner alone. Whoever has the link may press it, and can do nothing else with it.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import ip_address
from re import compile as pattern
from typing import Final, cast
from urllib.parse import urlsplit

from cronty.actions.signatures import Keys, derived
from cronty.actions.tasks import CurrentRun
from cronty.jobs.press import LABELS, LASTS, PATH, Act, Press
from cronty.jobs.run import read_message_id

_LINK: Final = pattern(r"(done|snooze|tomorrow)\.([0-9]{1,19})\.(msg_[0-9_]{3,40})\.([0-9]{1,12})\.([A-Za-z0-9_-]{43})")


class ReminderButtons:
    """Makes buttons for phones that reach this server at `address`; none without an address or without a key."""

    def __init__(self, keys: Keys, address: str | None) -> None:
        self._keys = keys
        self._address = address

    def under(self, run: CurrentRun, now: datetime) -> list[dict[str, object]] | None:
        """The buttons of a run's reminder as ntfy takes them; None if there can't be any."""
        keys = self._keys() if self._address is not None else ()
        if self._address is None or not keys:
            return None
        expires_at = max(now, run.scheduled_for) + LASTS
        presses = [Press(act, run.owner_id, run.job_id, run.scheduled_for, expires_at) for act in LABELS]
        return [_button(one.act, self._address + PATH + link_of(one, keys[0])) for one in presses]


def link_of(press: Press, key: bytes) -> str:
    """The last part of the link's path."""
    return f"{press.said}.{_signature(press, key)}"


def read_link(text: str, keys: Sequence[bytes]) -> Press | None:
    """What a link says; None if none of these keys has signed it. Whether it is still good is for the caller to see."""
    found = _LINK.fullmatch(text)
    run = read_message_id(found[3]) if found else None
    if found is None or run is None or int(found[2]) >= 2**63:
        return None
    expires_at = (
        datetime.fromtimestamp(int(found[4]), UTC) if int(found[4]) < 2**34 else datetime.max.replace(tzinfo=UTC)
    )
    press = Press(cast("Act", found[1]), int(found[2]), *run, expires_at)
    good = [hmac.compare_digest(_signature(press, key), found[5]) for key in keys]
    return press if any(good) else None


def phone_address(public_url: str | None) -> str | None:
    """Where a phone reaches this server, from the URL of its MCP endpoint; None if it is this machine's alone."""
    parts = urlsplit(public_url or "")
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host or host == "localhost" or host.endswith(".localhost"):
        return None
    try:
        address = ip_address(host)
    except ValueError:
        pass
    else:
        if address.is_loopback or address.is_unspecified:
            return None
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/mcp')}"


def _button(act: Act, url: str) -> dict[str, object]:
    """Apps call https by themselves, but not plain http: there a button opens the page that asks."""
    if url.startswith("https://"):
        return {"action": "http", "label": LABELS[act], "url": url, "method": "POST", "clear": True}
    return {"action": "view", "label": LABELS[act], "url": url}


def _signature(press: Press, key: bytes) -> str:
    own = derived(key, "button", str(press.owner_id))
    return urlsafe_b64encode(hmac.new(own, press.said.encode(), sha256).digest()).decode().rstrip("=")
