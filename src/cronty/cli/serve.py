"""`cronty mcp` and `cronty serve`: the MCP server over stdio and over HTTP."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, redirect_stdout, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import cast, override

import typer
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route

from cronty.app import Cronty
from cronty.app.keys import with_the_key
from cronty.cli.local_key import local_key_of
from cronty.cli.service_absences import log_absences
from cronty.cli.service_folder import url_of
from cronty.cli.service_of_client import AfterClosing, Wanted
from cronty.cli.startup import check_reach, extra, load, opened, probed, set_metrics_port
from cronty.cli.stdin import make_stdin_end_when_told
from cronty.contract.caller import local_caller
from cronty.contract.http import PREFIX
from cronty.mcp.auth import Callers, Verifier, auth_settings, current_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import GROUPS, Auth, CrontyServer
from cronty.mcp.tool import Group
from cronty.store.sealing import read_keys
from cronty.web.callers import FindCaller, LocalKey, by_token
from cronty.web.connections import KEPT_ALIVE, bounded_protocol, most_connections
from cronty.web.health import health_routes
from cronty.web.hosts import Hosts
from cronty.web.presses import press_routes
from cronty.web.refusals import Refusals
from cronty.web.sessions import Sessions
from cronty.web.under_way import TOO_MANY, UnderWay


def serve_stdio(app: str | None, tools: str, wanted: Wanted | None, *, read_only: bool = False) -> None:
    """MCP over standard input and output, until the client hangs up; then the service goes on, if it is `wanted`.

    `read_only`: the client may look and change nothing.
    """
    with redirect_stdout(sys.stderr):  # the user's module may print while it is loaded
        cronty = _cronty(app)
    groups = _groups(tools)
    with suppress(BrokenPipeError):  # the client is gone
        asyncio.run(_serve_stdio(cronty, groups, wanted, read_only=read_only))


def serve(
    app: str | None, tools: str, host: str, port: int, names: Sequence[str], metrics_port: int | None, *, auth: bool
) -> None:
    """MCP over HTTP, until told to stop. `names`: other host names of this server."""
    check_reach(host, auth=auth)
    cronty = _cronty(app)
    set_metrics_port(cronty, metrics_port)
    if "public_url" not in cronty.settings.model_fields_set:
        cronty.settings = cronty.settings.model_copy(update={"public_url": f"{url_of(host, port)}/mcp"})
    local = None if auth else LocalKey(local_key_of(cronty.settings.data_dir), cronty.owner, url_of(host, port))
    asgi = http_app(cronty, _groups(tools), [f"{host}:{port}", f"localhost:{port}", *names], local)
    most = most_connections()
    config = uvicorn.Config(
        asgi, host=host, port=port, log_config=None, access_log=False,
        http=bounded_protocol(most), timeout_keep_alive=KEPT_ALIVE, backlog=most // 4,  # so many are accepted at once
        timeout_graceful_shutdown=2,  # or a client that listens for changes would keep the server from stopping
    )  # fmt: skip
    asyncio.run(_serve(cronty, _Server(config, local)))


class _Server(uvicorn.Server):
    """Says when it has its address."""

    def __init__(self, config: uvicorn.Config, local: LocalKey | None) -> None:
        super().__init__(config)
        self._local = local

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._local is not None:
            self._local.begin()


def http_app(cronty: Cronty, groups: Sequence[Group], hosts: Sequence[str], local: LocalKey | None = None) -> Starlette:
    """One ASGI application over an open Cronty: health, readiness, REST, the dashboard and MCP.

    Every caller needs a token; whoever has the `local` key is the owner of that Cronty.
    """
    settings = cronty.settings
    refusals, under_way = Refusals(), UnderWay(most_connections() // 2)
    who = under_way.counted(refusals.counted(by_token(lambda: cronty.service.identity, local)))
    auth = Auth(Verifier(), auth_settings(settings.public_url, settings.oidc_issuer))
    server = CrontyServer(ToolContext(cronty, current_caller), groups, auth)
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    security = TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=origins)
    mcp_app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        noting = asyncio.create_task(refusals.keep_noting(lambda: cronty.service))
        async with server.session_manager.run():
            yield
        noting.cancel()
        await refusals.note(cronty.service)

    # Where others may get the port while we are away, browsers send them the cookie: it ends with this process.
    keys = None if local is not None else with_the_key(settings, read_keys)
    rest = extra("cronty.web.rest", "web")
    routes: list[BaseRoute] = [
        *health_routes(cronty.why_not_ready, cronty.frozen),
        rest.metrics_route(lambda: cronty.service, who, cronty.metrics),
        Mount(PREFIX, rest.rest_app(lambda: cronty.service, who)),
        *press_routes(lambda: cronty.service, under_way.count),
        *_dashboard(cronty, who, Sessions(keys[0] if keys else None), local),
        Mount("/", Callers(mcp_app, who)),
    ]
    middleware = [Middleware(Hosts, hosts), Middleware(under_way.until_answered)]
    # A path with a line break matches no route; it gets the same 404 as any other.
    refused = {404: rest.refused, TOO_MANY: rest.refused}
    return Starlette(routes=routes, lifespan=lifespan, middleware=middleware, exception_handlers=refused)


def _dashboard(cronty: Cronty, who: FindCaller, sessions: Sessions, local: LocalKey | None) -> list[BaseRoute]:
    """The pages; without the extra they need, one line that says how to get them."""
    if find_spec("jinja2") is None:

        def say_how(_request: Request) -> PlainTextResponse:
            return PlainTextResponse("There is no dashboard here: it needs pip install 'cronty[web]'.\n", 404)

        return [Route(path, say_how) for path in ("/", "/sign-in")]
    return extra("cronty.web.dashboard", "web").dashboard_routes(lambda: cronty.service, who, sessions, local)


async def _serve(cronty: Cronty, server: uvicorn.Server) -> None:
    """Open before serving, so that an unreachable database is reported in one line and not as a traceback."""
    began = datetime.now(UTC)
    async with probed(cronty), opened(cronty) as stopping:

        async def stop_server() -> None:
            # While serving, the server handles signals itself and raises them again when it is done.
            await stopping.wait()
            server.should_exit = True

        background = [asyncio.ensure_future(one) for one in (stop_server(), log_absences(cronty, began))]
        try:
            await server.serve()
        finally:
            for one in background:
                one.cancel()


async def _serve_stdio(cronty: Cronty, groups: Sequence[Group], wanted: Wanted | None, *, read_only: bool) -> None:
    """Tools are listed at once, while the database is still being started; the first call waits for it."""
    hang_up = make_stdin_end_when_told()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, hang_up)
    cronty.when_outgrown = hang_up
    opening = asyncio.ensure_future(cronty.__aenter__())
    after = AfterClosing(cronty, wanted)
    caller = local_caller(cronty.owner)
    caller = replace(caller, scopes=frozenset({"read"})) if read_only else caller
    context = ToolContext(cronty, lambda: caller, lambda: asyncio.shield(opening), after.warning)
    serving = asyncio.ensure_future(CrontyServer(context, groups, read_only=read_only).run_stdio_async())
    try:
        await asyncio.wait({opening, serving}, return_when=asyncio.FIRST_COMPLETED)
        await opening  # raises if opening failed
        await serving
    finally:
        hang_up()
        await asyncio.wait({opening, serving})
        if opening.exception() is None:
            await cronty.__aexit__()


def _cronty(target: str | None) -> Cronty:
    return load(target) if target is not None else Cronty()


def _groups(text: str) -> list[Group]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in GROUPS]
    if unknown or not names:
        wrong = ", ".join(unknown) or "nothing"
        raise typer.BadParameter(f"{wrong}: use any of {', '.join(GROUPS)}.", param_hint="--tools")
    return cast("list[Group]", names)
