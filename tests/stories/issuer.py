"""An authorization server on loopback: metadata, keys, authorization code with PKCE, client credentials.

Its keys and signatures are joserfc's and its PKCE is Authlib's, so that nothing of ours proves our own reading of them.
"""

import base64
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import uvicorn
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # pyright: ignore[reportUnknownVariableType]
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "nightly-agent", "only-the-agent-knows"
REDIRECT = "http://localhost:9999/callback"


@dataclass
class Issuer:
    """Everybody who asks is ann; `granted` is what the last token was for."""

    port: int
    user: str = "ann"
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, auto_kid=True))
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    granted: list[str] = field(default_factory=list[str])
    asked_for_keys: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rotate(self) -> None:
        self.key = RSAKey.generate_key(2048, auto_kid=True)

    def claims(self, audience: str, scope: str = "read schedule run prompts") -> dict[str, Any]:
        now = int(time.time())
        return {"iss": self.url, "sub": self.user, "aud": audience, "iat": now, "exp": now + 300, "scope": scope}

    def sign(self, claims: dict[str, Any], key: RSAKey | None = None) -> str:
        by = key or self.key
        return jwt.encode({"alg": "RS256", "kid": by.kid}, claims, by)

    async def metadata(self, _request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "client_credentials"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def keys(self, _request: Request) -> Response:
        self.asked_for_keys += 1
        return JSONResponse({"keys": [{**self.key.as_dict(private=False), "use": "sig", "alg": "RS256"}]})

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["code_challenge_method"] == "S256"
        assert asked["redirect_uri"] == REDIRECT
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        said = urlencode({"code": code, "state": asked["state"], "iss": self.url})
        return RedirectResponse(f"{REDIRECT}?{said}", 302)

    async def token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        if form["grant_type"] == "client_credentials":
            given = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
            if given != f"{CLIENT}:{SECRET}":
                return JSONResponse({"error": "invalid_client"}, 401)
            asked = form
        else:
            asked = self.codes.pop(form["code"])
            if create_s256_code_challenge(form["code_verifier"]) != asked["code_challenge"]:
                return JSONResponse({"error": "invalid_grant"}, 400)
        text = self.sign(self.claims(asked["resource"], asked.get("scope", "read schedule run prompts")))
        self.granted.append(text)
        return JSONResponse({"access_token": text, "token_type": "Bearer", "expires_in": 300})


def run(issuer: Issuer) -> tuple[uvicorn.Server, threading.Thread]:
    """In a thread; it answers when this returns."""
    routes = [
        Route("/.well-known/oauth-authorization-server", issuer.metadata),
        Route("/keys", issuer.keys),
        Route("/authorize", issuer.authorize),
        Route("/token", issuer.token, methods=["POST"]),
    ]
    config = uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=issuer.port, log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    return server, thread
