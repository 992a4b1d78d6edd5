"""Finds the caller of each HTTP request from its bearer token."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cronty.contract.caller import Caller
from cronty.contract.result import Ok, Result
from cronty.mcp.answers import sentence
from cronty.scheduler.service import AWAY, StoreUnavailable

_found: ContextVar[Caller | None] = ContextVar("cronty_caller", default=None)


class Callers:
    """Middleware before the SDK's own: finds the caller, and says so if the database that knows them is away.

    `arrived` waits for the body of a known caller: a request that is cut the SDK would take for a fault.
    """

    def __init__(
        self,
        app: ASGIApp,
        find_caller: Callable[[str], Awaitable[Result[Caller]]],
        arrived: Callable[[Receive], Awaitable[Receive]],
    ) -> None:
        self._app = app
        self._find_caller = find_caller
        self._arrived = arrived

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
            try:
                known = await self._find_caller(token) if scheme.lower() == "bearer" else None
            except StoreUnavailable:
                said = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": sentence(AWAY)}}
                await JSONResponse(said, 503, {"retry-after": "5"})(scope, receive, send)
                return
            _found.set(known.value if isinstance(known, Ok) else None)
            if isinstance(known, Ok) and scope["method"] == "POST":
                receive = await self._arrived(receive)
        await self._app(scope, receive, send)


class Verifier(TokenVerifier):
    """Hands the caller that `Callers` found to the SDK; the token itself goes no further."""

    async def verify_token(self, token: str) -> AccessToken | None:
        caller = _found.get()
        if caller is None:
            return None
        return AccessToken(
            token="",
            client_id=caller.agent or (f"key {caller.key_number}" if caller.key_number else caller.owner),
            scopes=sorted(caller.scopes),
            subject=caller.owner,
            claims={"caller": caller},
        )


def current_caller() -> Caller:
    """The caller of the current request; there always is one on a server that requires tokens."""
    token = get_access_token()
    caller = None if token is None or token.claims is None else token.claims.get("caller")
    if not isinstance(caller, Caller):
        raise PermissionError("no caller")
    return caller


def auth_settings(public_url: str, issuer: str | None) -> AuthSettings:
    """What clients without a token are told: which issuer to ask for one, and for which resource."""
    return AuthSettings.model_validate(
        {
            # As text: a URL object would add a slash at the end, and clients compare issuers letter by letter.
            "issuer_url": issuer or public_url,
            "resource_server_url": public_url,
            "validate_token_resource": False,  # the audience is checked where the token is read
        }
    )
