"""Refuses requests with a foreign Host or Origin, which a hostile page could make a browser send."""

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from cronty.contract.result import Err
from cronty.web.problems import problem

ANY_NAME: Final = frozenset({"/health", "/ready"})
"""Health checks call by IP address, and the answer says nothing about an owner."""


class Hosts:
    """Middleware for the whole application. `hosts` are the allowed names; `name:*` allows any port."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(_plain(host) for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in ANY_NAME:
            refused = self._refusal(Headers(scope=scope))
            if refused is not None:
                await problem(refused)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> Err | None:
        names, origins = headers.getlist("host"), headers.getlist("origin")
        if len(names) != 1 or not self._is_ours(names[0]):
            name = names[0][:100] if names else "nothing"
            hint = "Call it by a name it knows; `cronty serve --name` adds one."
            return Err("misdirected", f"This server isn't called {name}.", hint)
        for origin in origins:
            scheme, _, host = origin.partition("://")
            if scheme not in ("http", "https") or not self._is_ours(host):
                return Err(
                    "foreign_origin",
                    f"Pages of {origin[:100]} may not call this server.",
                    "Call it from a program, or from its own pages.",
                )
        return None

    def _is_ours(self, host: str) -> bool:
        plain = _plain(host)
        return plain in self._hosts or f"{plain.rpartition(':')[0]}:*" in self._hosts


def _plain(host: str) -> str:
    """`[::1]:8125` and `::1:8125` are the same; names have no case."""
    return host.strip().lower().replace("[", "").replace("]", "")
