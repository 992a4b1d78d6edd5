"""The name and version of the calling client, stored with every job that the call makes."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final

from mcp.server.mcpserver import Context

MOST: Final = 100

_client: ContextVar[Mapping[str, object] | None] = ContextVar("cronty_mcp_client", default=None)


def client_info() -> Mapping[str, object] | None:
    """Name and version of the client of the current call."""
    return _client.get()


def note_client(context: Context[Any, Any] | None) -> None:
    """Remember the client's name and version, from the handshake or from the request's `_meta`, each on one line."""
    try:
        params = None if context is None else context.request_context.session.client_params
    except ValueError:  # called outside of a request
        params = None
    known = None if params is None else params.client_info
    _client.set(None if known is None else {"name": _one_line(known.name), "version": _one_line(known.version)})


def _one_line(text: str) -> str:
    shown = "".join(one if one.isprintable() else " " for one in text[:MOST])
    return shown.encode(errors="replace").decode()
