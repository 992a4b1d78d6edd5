"""Puts each HTTP request into the trace of its caller."""

from starlette.types import ASGIApp, Receive, Scope, Send

from cronty import tracing

_HEADER = tracing.TRACEPARENT.encode()


class InTheirTrace:
    """Middleware for the header `traceparent`. Two of them say nothing; what MCP has in `_meta` goes before it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = [value for name, value in scope["headers"] if name == _HEADER] if scope["type"] == "http" else []
        with tracing.within(given[0].decode("latin-1") if len(given) == 1 else None):
            await self._app(scope, receive, send)
