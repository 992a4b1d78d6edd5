"""`cronty mcp` and `cronty serve`: the MCP server over stdio and over HTTP."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, redirect_stdout, suppress
from datetime import UTC, datetime
from typing import cast

import typer
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount

from cronty.app import Cronty
from cronty.app.keys import with_the_key
from cronty.cli.local_key import local_key_of
from cronty.cli.service_absences import log_absences
from cronty.cli.service_folder import url_of
from cronty.cli.startup import check_reach, extra, load, opened
from cronty.cli.stdin import make_stdin_end_when_told
from cronty.contract.caller import local_caller
from cronty.contract.http import PREFIX
from cronty.mcp.auth import Callers, Verifier, auth_settings, current_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import GROUPS, Auth, CrontyServer
from cronty.mcp.tool import Group
from cronty.store.sealing import read_keys
from cronty.web.callers import LocalKey, by_token
from cronty.web.connections import KEPT_ALIVE, bounded_protocol, most_connections
from cronty.web.health import health_routes
from cronty.web.hosts import Hosts
from cronty.web.refusals import Refusals
from cronty.web.sessions import Sessions


def serve_stdio(app: str | None, tools: str) -> None:
    """MCP over standard input and output, until the client hangs up."""
    with redirect_stdout(sys.stderr):  # the user's module may print while it is loaded
        cronty = _cronty(app)
    with suppress(BrokenPipeError):  # the client is gone
        asyncio.run(_serve_stdio(cronty, _groups(tools)))


def serve(app: str | None, tools: str, host: str, port: int, names: Sequence[str], *, auth: bool) -> None:
    """MCP over HTTP, until told to stop. `names`: other host names of this server."""
    check_reach(host, auth=auth)
    cronty = _cronty(app)
    if "public_url" not in cronty.settings.model_fields_set:
        cronty.settings = cronty.settings.model_copy(update={"public_url": f"{url_of(host, port)}/mcp"})
    local = None if auth else local_key_of(cronty.settings.data_dir)
    asgi = http_app(cronty, _groups(tools), [f"{host}:{port}", f"localhost:{port}", *names], local)
    most = most_connections()
    config = uvicorn.Config(
        asgi, host=host, port=port, log_config=None, access_log=False,
        http=bounded_protocol(most), timeout_keep_alive=KEPT_ALIVE, backlog=most // 4,  # so many are accepted at once
        timeout_graceful_shutdown=2,  # or a client that listens for changes would keep the server from stopping
    )  # fmt: skip
    asyncio.run(_serve(cronty, config))


def http_app(cronty: Cronty, groups: Sequence[Group], hosts: Sequence[str], local_key: str | None = None) -> Starlette:
    """One ASGI application over an open Cronty: health, readiness, REST, the dashboard and MCP.

    Every caller needs a token; whoever has the `local_key` is the owner of that Cronty.
    """
    settings = cronty.settings
    local = None if local_key is None else LocalKey(local_key, cronty.owner)
    refusals = Refusals()
    who = refusals.counted(by_token(lambda: cronty.service.identity, local))
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

    keys = with_the_key(settings, read_keys)
    rest = extra("cronty.web.rest", "web")
    routes: list[BaseRoute] = [
        *health_routes(cronty.why_not_ready),
        Mount(PREFIX, rest.rest_app(lambda: cronty.service, who)),
        *extra("cronty.web.dashboard", "web").dashboard_routes(
            lambda: cronty.service, who, Sessions(keys[0] if keys else None), local
        ),
        Mount("/", Callers(mcp_app, who)),
    ]
    middleware = [Middleware(Hosts, hosts)]
    # A path with a line break matches no route; it gets the same 404 as any other.
    return Starlette(routes=routes, lifespan=lifespan, middleware=middleware, exception_handlers={404: rest.refused})


async def _serve(cronty: Cronty, config: uvicorn.Config) -> None:
    """Open before serving, so that an unreachable database is reported in one line and not as a traceback."""
    server = uvicorn.Server(config)
    began = datetime.now(UTC)
    async with opened(cronty) as stopping:

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


async def _serve_stdio(cronty: Cronty, groups: Sequence[Group]) -> None:
    """Tools are listed at once, while the database is still being started; the first call waits for it."""
    hang_up = make_stdin_end_when_told()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, hang_up)
    cronty.when_outgrown = hang_up
    opening = asyncio.ensure_future(cronty.__aenter__())
    context = ToolContext(cronty, lambda: local_caller(cronty.owner), lambda: asyncio.shield(opening))
    serving = asyncio.ensure_future(CrontyServer(context, groups).run_stdio_async())
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
