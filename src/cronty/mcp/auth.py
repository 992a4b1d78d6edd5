"""Finds the caller of each HTTP request from its bearer token."""

from collections.abc import Callable

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings

from cronty.contract.caller import Caller, read_scopes
from cronty.contract.result import Err
from cronty.scheduler.identity import Identity


class Verifier(TokenVerifier):
    """Asks `identity`, which checks signature, issuer, audience and time; the token itself goes no further."""

    def __init__(self, identity: Callable[[], Identity]) -> None:
        self._identity = identity

    async def verify_token(self, token: str) -> AccessToken | None:
        result = await self._identity().identify(token)
        if isinstance(result, Err):
            return None
        caller = result.value
        return AccessToken(
            token="",
            client_id=caller.agent or (f"key {caller.key_number}" if caller.key_number else caller.owner),
            scopes=sorted(caller.scopes),
            subject=caller.owner,
            claims={"agent": caller.agent, "key_id": caller.key_id, "key_number": caller.key_number},
        )


def current_caller() -> Caller:
    """The caller of the current request; there always is one on a server that requires tokens."""
    token = get_access_token()
    if token is None or token.subject is None:
        raise PermissionError("no caller")
    claims = token.claims or {}
    key = claims.get("key_id"), claims.get("key_number")
    return Caller(token.subject, read_scopes(token.scopes), claims.get("agent"), *key)


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
