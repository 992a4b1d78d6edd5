"""Who a call comes from, as far as the protocol says: kept with every job that the call makes."""

from contextvars import ContextVar
from typing import Any, Final

from mcp.server.mcpserver import Context

MOST: Final = 100

_origin: ContextVar[dict[str, object]] = ContextVar("cronty_mcp_origin", default={"surface": "mcp"})  # noqa: B039


def origin() -> dict[str, object]:
    """What is known of the client whose call is being answered."""
    return _origin.get()


def note_origin(context: Context[Any, Any] | None, agent: str | None = None) -> None:
    """Name and version, from the handshake or from the request's own `_meta`; whatever a client says, on one line.

    `agent` is the one that the token was made for.
    """
    try:
        params = None if context is None else context.request_context.session.client_params
    except ValueError:  # called outside of a request
        params = None
    known: dict[str, object] = {"surface": "mcp"}
    if params is not None:
        client = params.client_info
        known["client"] = {"name": _said(client.name), "version": _said(client.version)}
    if agent is not None:
        known["agent"] = agent
    _origin.set(known)


def _said(text: str) -> str:
    shown = "".join(one if one.isprintable() else " " for one in text[:MOST])
    return shown.encode(errors="replace").decode()
