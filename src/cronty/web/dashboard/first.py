"""The page of a new owner, in place of Now: connect an agent, add a phone, make the first reminder."""

import hashlib
import hmac
from typing import Final

from starlette.responses import Response

from cronty.contract.result import Ok
from cronty.web.dashboard.qr import draw_qr
from cronty.web.dashboard.visit import Visit

CLIENTS: Final = (
    ("Claude Code", "claude mcp add cronty -- cronty mcp"),
    ("Codex", "codex mcp add cronty -- cronty mcp"),
    ("Another", "cronty mcp"),
)
"""How an agent is connected, as the README says."""
SERVER: Final = "ntfy.sh"
_LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"


async def show_first(visit: Visit) -> Response:
    now, zone_name = await visit.clock()
    admin = visit.caller.may("admin")
    found = await visit.service.channels.list(visit.caller) if admin else None
    channels = found.value if isinstance(found, Ok) else []
    keys = await visit.service.identity.keys(visit.caller) if admin else []
    topic = topic_of(visit)
    return visit.page(
        "first.html",
        now=now,
        zone=zone_name,
        clients=CLIENTS,
        agents=[key.agent for key in keys if key.agent],
        channels=channels,
        topic=topic,
        server=SERVER,
        code=draw_qr(f"https://{SERVER}/{topic}"),
        admin=admin,
        once=topic,
        message=_SAID.get(visit.query.get("done", "")),
    )


_SAID: Final = {"added": "The channel is saved.", "sent": "A test message is on its way."}


def topic_of(visit: Visit) -> str:
    """A topic of ntfy's that nobody guesses; always the same in one browser, so that a phone may come later."""
    digest = hmac.digest(visit.browser.encode(), f"ntfy topic of {visit.owner}".encode(), hashlib.sha256)
    letters = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:16])
    return "cronty-" + "-".join(letters[place : place + 4] for place in range(0, 16, 4))
