"""One ASGI application with REST, the dashboard and MCP: `cronty serve` serves it, and your own app can mount it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from cronty.app import Cronty
from cronty.app.keys import with_the_key
from cronty.contract.http import PREFIX
from cronty.mcp.auth import Callers, Verifier, auth_settings, current_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import GROUPS, Auth, CrontyServer
from cronty.mcp.tool import Group
from cronty.store.sealing import read_keys
from cronty.web.callers import FindCaller, LocalKey, by_token
from cronty.web.connections import most_connections
from cronty.web.health import Prove, health_routes
from cronty.web.hosts import Hosts
from cronty.web.leaving import arrived, without_who_left
from cronty.web.presses import press_routes
from cronty.web.refusals import Refusals
from cronty.web.rest import metrics_route, refused, rest_app
from cronty.web.rest.request import MAX_BODY
from cronty.web.sessions import Sessions
from cronty.web.traces import InTheirTrace
from cronty.web.under_way import TOO_MANY, UnderWay

__all__ = ["HttpApp"]


class HttpApp:
    """Everything that `cronty serve --auth` serves, to mount in FastAPI, Starlette or beside Django.

    `web = HttpApp(cronty)`, `app = FastAPI(lifespan=web.lifespan)`, `app.mount("/cronty", web)`. Every caller needs a
    key. `hosts` are the names it answers to; without them it leaves that to the app around it.
    """

    def __init__(self, cronty: Cronty, *, hosts: Sequence[str] | None = None) -> None:
        self._cronty = cronty
        self._app = http_app(cronty, GROUPS, hosts)
        self._alone = Starlette(lifespan=self.lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._alone if scope["type"] == "lifespan" else self._app
        await app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncGenerator[None]:
        """Opens the Cronty, and MCP over it. An app that mounts this one has it as its lifespan, or enters it there."""
        async with self._cronty, self._app.router.lifespan_context(self._app):
            yield


def http_app(
    cronty: Cronty,
    groups: Sequence[Group],
    hosts: Sequence[str] | None,
    local: LocalKey | None = None,
    prove: Prove | None = None,
) -> Starlette:
    """One ASGI application over an open Cronty: health, readiness, REST, the dashboard and MCP.

    Every caller needs a token; whoever has the `local` key is the owner of that Cronty. Without `hosts` any name will
    do: no browser sends another site's page a token of ours. `prove` answers whoever asks `/ready` for a proof.
    """
    settings = cronty.settings
    refusals, under_way = Refusals(), UnderWay(most_connections() // 2)
    who = under_way.counted(refusals.counted(by_token(lambda: cronty.service.identity, local)))
    auth = Auth(Verifier(), auth_settings(settings.public_url, settings.oidc_issuer))
    server = CrontyServer(ToolContext(cronty, current_caller), groups, auth)
    mcp_app = server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=MAX_BODY,
        transport_security=_security(hosts),
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        noting = asyncio.create_task(refusals.keep_noting(lambda: cronty.service))
        async with server.session_manager.run():
            yield
        noting.cancel()
        await refusals.note(cronty.service)

    # Where others may get the port while we are away, browsers send them the cookie: it ends with this process.
    keys = None if local is not None else with_the_key(settings, read_keys)
    routes: list[BaseRoute] = [
        *health_routes(cronty.why_not_ready, cronty.frozen, prove),
        metrics_route(lambda: cronty.service, who, cronty.metrics),
        Mount(PREFIX, rest_app(lambda: cronty.service, who)),
        *press_routes(lambda: cronty.service, under_way.count),
        *_dashboard(cronty, who, Sessions(keys[0] if keys else None), local),
        Mount("/", Callers(mcp_app, who, lambda receive: arrived(receive, MAX_BODY))),
    ]
    middleware = [Middleware(without_who_left), Middleware(under_way.until_answered), Middleware(InTheirTrace)]
    if hosts is not None:
        middleware.insert(0, Middleware(Hosts, hosts))
    # A path with a line break matches no route; it gets the same 404 as any other.
    handlers = {404: refused, TOO_MANY: refused}
    return Starlette(routes=routes, lifespan=lifespan, middleware=middleware, exception_handlers=handlers)


def _security(hosts: Sequence[str] | None) -> TransportSecuritySettings:
    if hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=origins)


def _dashboard(cronty: Cronty, who: FindCaller, sessions: Sessions, local: LocalKey | None) -> list[BaseRoute]:
    """The pages; without the extra they need, one line that says how to get them."""
    if find_spec("jinja2") is None:

        def say_how(_request: Request) -> PlainTextResponse:
            return PlainTextResponse("There is no dashboard here: it needs pip install 'cronty[web]'.\n", 404)

        return [Route(path, say_how) for path in ("/", "/sign-in")]
    return import_module("cronty.web.dashboard").dashboard_routes(lambda: cronty.service, who, sessions, local)
