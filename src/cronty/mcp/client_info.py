"""The name and version of the calling client, stored with every job that the call makes, and whether it has gone."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final

from mcp.server.mcpserver import Context
from starlette.requests import Request

MOST: Final = 100

_client: ContextVar[Mapping[str, object] | None] = ContextVar("cronty_mcp_client", default=None)
_gone: ContextVar[Callable[[], Awaitable[bool]] | None] = ContextVar("cronty_mcp_client_gone", default=None)


def client_info() -> Mapping[str, object] | None:
    """Name and version of the client of the current call."""
    return _client.get()


def client_gone() -> Callable[[], Awaitable[bool]] | None:
    """Tells whether the client of the current call has gone; None if it has no connection of its own, as over stdio."""
    return _gone.get()


def note_client(context: Context[Any, Any] | None) -> None:
    """Remember the client's name and version, from the handshake or from the request's `_meta`, each on one line."""
    try:
        asked = None if context is None else context.request_context
    except ValueError:  # called outside of a request
        asked = None
    params = None if asked is None else asked.session.client_params
    known = None if params is None else params.client_info
    _client.set(None if known is None else {"name": _one_line(known.name), "version": _one_line(known.version)})
    request = None if asked is None else asked.request
    _gone.set(request.is_disconnected if isinstance(request, Request) else None)


def _one_line(text: str) -> str:
    shown = "".join(one if one.isprintable() else " " for one in text[:MOST])
    return shown.encode(errors="replace").decode()
