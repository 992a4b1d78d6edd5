"""`cronty mcp` and `cronty serve`: the MCP server over stdio and over HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import cast

import typer
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Mount

from cronty.app import Cronty
from cronty.cli.loading import load
from cronty.jobs.caller import local_caller
from cronty.mcp.auth import Verifier, auth_settings, current_caller
from cronty.mcp.desk import Desk
from cronty.mcp.server import GROUPS, Auth, CrontyServer
from cronty.mcp.tool import Group
from cronty.store.database import StoreUnavailable
from cronty.web.health import health_routes


def speak(app: str | None, tools: str) -> None:
    """MCP over standard input and output, until the client hangs up."""
    asyncio.run(_speak(_cronty(app), _groups(tools)))


def serve(app: str | None, tools: str, host: str, port: int, names: Sequence[str], *, auth: bool) -> None:
    """MCP over HTTP, until told to stop. `names`: what else clients may call this server."""
    if not auth and not _is_loopback(host):
        raise typer.BadParameter(
            f"{host} can be reached by others: without tokens anybody could schedule anything. Add --auth (and make "
            "tokens with `cronty token`), or listen on 127.0.0.1.",
            param_hint="--host",
        )
    hosts = [f"{host}:{port}", f"localhost:{port}", *names]
    asgi = http_app(_cronty(app), _groups(tools), hosts, auth=auth)
    uvicorn.run(asgi, host=host, port=port, log_config=None, access_log=False)


def http_app(cronty: Cronty, groups: Sequence[Group], hosts: Sequence[str], *, auth: bool = False) -> Starlette:
    """One ASGI application: health, readiness and MCP; the engine runs as long as it does.

    Without `auth` everybody who can reach it is the owner of this Cronty.
    """
    settings = cronty.settings
    if auth:
        verified = Auth(Verifier(lambda: cronty.identity), auth_settings(settings.public_url, settings.oidc_issuer))
        server = CrontyServer(Desk(cronty, current_caller), groups, verified)
    else:
        server = CrontyServer(Desk(cronty, lambda: local_caller(cronty.owner)), groups)
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    security = TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=origins)
    mcp_app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with cronty, server.session_manager.run():
            yield

    async def not_ready() -> str | None:
        try:
            await cronty.scheduler.clock(cronty.owner)
        except StoreUnavailable as away:
            return str(away)
        return None

    return Starlette(routes=[*health_routes(not_ready), Mount("/", mcp_app)], lifespan=lifespan)


async def _speak(cronty: Cronty, groups: Sequence[Group]) -> None:
    """Tools are listed at once, while the database is still being started; the first call waits for it."""
    opening = asyncio.ensure_future(cronty.__aenter__())
    desk = Desk(cronty, lambda: local_caller(cronty.owner), lambda: asyncio.shield(opening))
    speaking = asyncio.ensure_future(CrontyServer(desk, groups).run_stdio_async())
    try:
        await asyncio.wait({opening, speaking}, return_when=asyncio.FIRST_COMPLETED)
        await opening  # if that failed there is nothing to speak about
        await speaking
    finally:
        speaking.cancel()
        if opening.done() and opening.exception() is None:
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


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
