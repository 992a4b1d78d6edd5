"""A team's server: callers come with tokens of an identity provider, found and fetched as OAuth 2.1 says."""

import asyncio
import base64
import json
import os
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx2
import pytest
from joserfc.jwk import RSAKey
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from cronty import Cronty
from cronty.asgi import http_app
from cronty.mcp.server import GROUPS
from cronty.scheduler import identity
from cronty.store.migrate import migrate
from tests.clients.serving import Served, environment, free_port, serving
from tests.conftest import TRAIL, with_database
from tests.mcp.caller import ERAS, Caller, until
from tests.patience import PATIENCE
from tests.stories.issuer import CLIENT, REDIRECT, SECRET, Issuer, run

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    made = Issuer(free_port())
    server, thread = run(made)
    yield made
    server.should_exit = True
    thread.join(PATIENCE)


@dataclass
class Outside:
    """Whom jobs call: remembers every request, headers and all."""

    port: int = 0
    requests: list[str] = field(default_factory=list[str])


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    seen = Outside()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.requests.append(f"{self.requestline}\n{self.headers}\n{body.decode()}")
            answer = b'{"id": "msg1", "time": 1794721607, "topic": "t"}'
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        @override
        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield seen
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass(frozen=True)
class Team:
    served: Served
    issuer: Issuer
    outside: Outside
    database_url: str

    @property
    def mcp(self) -> str:
        return f"{self.served.url}/mcp"

    def post(self, token: str | None) -> httpx2.Response:
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        return httpx2.post(self.mcp, json=LIST, headers={**JSON, **bearer}, timeout=PATIENCE)


@pytest.fixture(scope="module")
def team_url(server_url: str) -> str:
    """A database that no other test empties."""
    name = f"cronty_team_{os.getpid()}"

    async def make() -> str:
        connection = await asyncpg.connect(server_url)
        await connection.execute(f"drop database if exists {name}")
        await connection.execute(f"create database {name}")
        await connection.close()
        await migrate(with_database(server_url, name))
        return with_database(server_url, name)

    return asyncio.run(make())


@pytest.fixture(scope="module")
def team(team_url: str, issuer: Issuer, outside: Outside, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    port = free_port()
    with serving(
        tmp_path_factory.mktemp("team"), "--auth", port=port,
        database_url=team_url, public_url=f"http://127.0.0.1:{port}/mcp",
        oidc_issuer=issuer.url, oidc_jwks_url=f"{issuer.url}/keys",
        ntfy_url=f"http://127.0.0.1:{outside.port}",
        allowed_hosts=f"127.0.0.1:{issuer.port},127.0.0.1:{outside.port}@*",
    ) as served:  # fmt: skip
        yield Team(served, issuer, outside, team_url)


class Memory:
    """What a client remembers between calls."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def by_browser(team: Team) -> OAuthClientProvider:
    """A client that sends its user to the authorization server; the user says yes at once."""
    answers: list[AuthorizationCodeResult] = []

    async def redirect(url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            location = (await browser.get(url)).headers["location"]
        said = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        answers.append(AuthorizationCodeResult(**said))

    async def come_back() -> AuthorizationCodeResult:
        return answers.pop()

    memory = Memory()
    uris = [AnyUrl(REDIRECT)]
    memory.client = OAuthClientInformationFull(
        client_id="desktop", redirect_uris=uris, token_endpoint_auth_method="none", issuer=team.issuer.url
    )
    metadata = OAuthClientMetadata(redirect_uris=uris, token_endpoint_auth_method="none", scope="read schedule run")
    return OAuthClientProvider(team.mcp, metadata, memory, redirect, come_back)


def by_machine(team: Team) -> OAuthClientProvider:
    return ClientCredentialsOAuthProvider(
        team.mcp, Memory(), CLIENT, SECRET, scope="read schedule run", issuer=team.issuer.url
    )


@asynccontextmanager
async def client_with(team: Team, era: str, **how: Any) -> AsyncGenerator[Caller]:
    async with (
        httpx2.AsyncClient(timeout=PATIENCE, **how) as http,
        Client(streamable_http_client(team.mcp, http_client=http), mode=ERAS[era]) as client,
    ):
        assert client.protocol_version == era
        yield Caller(client)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("provider", [by_browser, by_machine])
async def test_a_client_finds_the_provider_gets_a_token_and_is_served(team: Team, provider: Any, era: str) -> None:
    async with client_with(team, era, auth=provider(team)) as caller:
        made = await caller.ask(
            "schedule_job", name="tidy", task="webhook", trigger_type="once", trigger_config={"run_at": "in 3 days"},
            kwargs={"url": f"http://127.0.0.1:{team.outside.port}/hook"},
        )  # fmt: skip
        assert made["job_id"] in await caller.said("list_jobs")
    entry = await _entry(team)
    assert json.loads(entry["actor"]) == {"owner": f"{team.issuer.url}|ann"}, "its subject, as that provider knows it"
    via = json.loads(entry["client"])
    assert (via["surface"], via["operation"]) == ("mcp", "schedule_job")
    # Without sessions the older era says who it is in its first request only, and that one makes no jobs.
    assert via.get("client") == ({"name": "mcp", "version": "0.1.0"} if era == "2026-07-28" else None)


async def _entry(team: Team) -> asyncpg.Record:
    connection = await asyncpg.connect(team.database_url)
    try:
        row = await connection.fetchrow(f"select * from {TRAIL} order by at desc limit 1")
    finally:
        await connection.close()
    assert row is not None
    return row


def test_without_a_token_a_caller_is_told_where_to_get_one(team: Team) -> None:
    answer = team.post(None)
    assert answer.status_code == 401
    said = answer.headers["www-authenticate"]
    where = f"{team.served.url}/.well-known/oauth-protected-resource/mcp"
    assert said.startswith("Bearer ")
    assert f'resource_metadata="{where}"' in said
    document = httpx2.get(where).json()
    assert document["resource"] == team.mcp
    assert document["authorization_servers"] == [team.issuer.url]


def _unsigned(claims: dict[str, Any]) -> str:
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


@pytest.mark.parametrize(
    "how",
    [
        "another audience",
        "no audience",
        "another issuer",
        "expired",
        "not signed",
        "another's key",
        "another's, our kid",
    ],
)
def test_a_token_that_is_not_good_for_us_is_refused_in_the_same_words(team: Team, how: str) -> None:
    issuer = team.issuer
    good = issuer.claims(team.mcp)
    stranger = RSAKey.generate_key(2048, auto_kid=True)
    disguised = RSAKey.generate_key(2048, {"kid": issuer.key.kid or ""})
    tokens = {
        "another audience": issuer.sign({**good, "aud": "https://other.example.com/mcp"}),
        "no audience": issuer.sign({name: value for name, value in good.items() if name != "aud"}),
        "another issuer": issuer.sign({**good, "iss": "https://evil.example.com"}),
        "expired": issuer.sign({**good, "exp": int(time.time()) - 60}),
        "not signed": _unsigned(good),
        "another's key": issuer.sign(good, stranger),
        "another's, our kid": issuer.sign(good, disguised),
    }
    assert team.post(issuer.sign(good)).status_code == 200
    answer = team.post(tokens[how])
    assert answer.status_code == 401
    assert answer.json() == {"error": "invalid_token", "error_description": "Authentication required"}


@pytest.mark.parametrize("era", ERAS)
async def test_a_token_without_the_scope_is_told_which_one_is_missing(team: Team, era: str) -> None:
    token = team.issuer.sign(team.issuer.claims(team.mcp, "read openid profile"))
    async with client_with(team, era, headers={"authorization": f"Bearer {token}"}) as caller:
        await caller.ask("list_jobs")
        said = await caller.refused(
            "schedule_job", name="x", task="webhook", trigger_type="interval", trigger_config={"hours": 1}
        )
    assert said.startswith("schedule_job needs the scope schedule, which the token lacks. Use a token with the scope")


@pytest.mark.parametrize("era", ERAS)
async def test_a_callers_token_goes_nowhere_else(team: Team, era: str) -> None:
    token = team.issuer.sign(team.issuer.claims(team.mcp))
    team.outside.requests.clear()
    async with client_with(team, era, headers={"authorization": f"Bearer {token}"}) as caller:
        made = await caller.ask(
            "schedule_job", name="call", task="webhook", trigger_type="interval", trigger_config={"hours": 1},
            kwargs={"url": f"http://127.0.0.1:{team.outside.port}/hook", "body": {"word": "hello"}},
        )  # fmt: skip
        await caller.ask("run_job_now", job_id=made["job_id"])
        await caller.ask("send_push_notification", message="hello", notification_topic="ann-phone")
        await until(_seen(team), lambda seen: len(seen) >= 2)
    for request in team.outside.requests:
        assert "authorization" not in request.lower()
        assert token not in request
    connection = await asyncpg.connect(team.database_url)
    for table in ("jobs", "runs", "attempts", "audit", "audit_unsealed", "owners", "api_keys"):
        rows = await connection.fetch(f"select t::text from cronty.{table} t")
        assert not any(token in row[0] for row in rows), table
    await connection.close()
    assert token not in team.served.log.read_text()


def _seen(team: Team) -> Any:
    async def look() -> list[str]:
        return team.outside.requests

    return look


async def test_a_new_key_of_the_provider_is_fetched_and_one_that_is_away_does_not_lock_everybody_out(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = Issuer(free_port())
    server, thread = await asyncio.to_thread(run, issuer)
    for name, value in environment(
        database_url=url, oidc_issuer=issuer.url, oidc_jwks_url=f"{issuer.url}/keys",
        allowed_hosts=f"127.0.0.1:{issuer.port}", public_url="http://here/mcp",
    ).items():  # fmt: skip
        if name.startswith("CRONTY_"):
            monkeypatch.setenv(name, value)
    async with Cronty(url, run_jobs=False) as cronty:
        app = http_app(cronty, GROUPS, ["here"])
        async with app.router.lifespan_context(app):
            http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here", headers=JSON)

            async def ask() -> int:
                token = issuer.sign(issuer.claims("http://here/mcp"))
                answer = await http.post("/mcp", json=LIST, headers={"authorization": f"Bearer {token}"})
                return answer.status_code

            assert [await ask(), await ask()] == [200, 200]
            assert issuer.asked_for_keys == 1
            issuer.rotate()
            assert await ask() == 401, "callers can't make us ask as often as they like"
            assert issuer.asked_for_keys == 1
            monkeypatch.setattr(identity, "ASK_AGAIN_AFTER", 0)
            assert await ask() == 200
            assert issuer.asked_for_keys == 2
            server.should_exit = True
            await asyncio.to_thread(thread.join, 10)
            monkeypatch.setattr(identity, "KEYS_FOR", 0)
            assert await ask() == 200, "its keys are still known"
            issuer.rotate()
            assert await ask() == 401, "a key nobody can tell us about is no key"
            await http.aclose()
