"""`cronty mcp` and `cronty serve`: the MCP server over stdio and over HTTP."""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

import typer
import uvicorn

from cronty.app import Cronty
from cronty.cli.listening import listen_at_last
from cronty.cli.local_key import local_key_of
from cronty.cli.service_absences import log_absences
from cronty.cli.service_folder import ServiceFolder, url_of
from cronty.cli.service_of_client import AfterClosing, Wanted
from cronty.cli.startup import check_reach, extra, opened, probed, set_metrics_port
from cronty.cli.stdin import make_stdin_end_when_told
from cronty.contract.caller import local_caller
from cronty.contract.local_key import ready_proof
from cronty.mcp.context import ToolContext
from cronty.mcp.server import GROUPS, CrontyServer
from cronty.mcp.tool import Group
from cronty.store.private_file import BadPrivateFile
from cronty.web.callers import LocalKey
from cronty.web.connections import KEPT_ALIVE, bounded_protocol, most_connections


def serve_stdio(cronty: Cronty, tools: str, wanted: Wanted | None, *, read_only: bool = False) -> None:
    """MCP over standard input and output, until the client hangs up; then the service goes on, if it is `wanted`.

    `read_only`: the client may look and change nothing.
    """
    groups = _groups(tools)
    with suppress(BrokenPipeError):  # the client is gone
        asyncio.run(_serve_stdio(cronty, groups, wanted, read_only=read_only))


def serve(
    cronty: Cronty, tools: str, host: str, port: int, names: Sequence[str], metrics_port: int | None, *, auth: bool
) -> None:
    """MCP over HTTP, until told to stop. `names`: other host names of this server."""
    check_reach(host, auth=auth)
    set_metrics_port(cronty, metrics_port)
    if "public_url" not in cronty.settings.model_fields_set:
        cronty.settings = cronty.settings.model_copy(update={"public_url": f"{url_of(host, port)}/mcp"})
    data_dir, url, service = cronty.settings.data_dir, url_of(host, port), _service(cronty.settings.data_dir)
    key = None if auth and service is None else local_key_of(data_dir)
    local = None if auth or key is None else LocalKey(key, cronty.owner, url)
    prove = None if key is None else partial(ready_proof, key, url)
    hosts = [f"{host}:{port}", f"localhost:{port}", *names]
    asgi = extra("cronty.asgi", "web").http_app(cronty, _groups(tools), hosts, local, prove)
    most = most_connections()
    config = uvicorn.Config(
        asgi, host=host, port=port, log_config=None, access_log=False,
        http=bounded_protocol(most), timeout_keep_alive=KEPT_ALIVE, backlog=most // 4,  # so many are accepted at once
        timeout_graceful_shutdown=2,  # or a client that listens for changes would keep the server from stopping
    )  # fmt: skip
    asyncio.run(_serve(cronty, uvicorn.Server(config), local, service))


def _service(data_dir: Path) -> ServiceFolder | None:
    """The folder of the background service, if this process is its server."""
    try:
        folder = ServiceFolder(data_dir)
    except BadPrivateFile:
        return None
    return folder if folder.is_served_by_us() else None


async def _serve(cronty: Cronty, server: uvicorn.Server, local: LocalKey | None, service: ServiceFolder | None) -> None:
    """Open before serving, so that an unreachable database is reported in one line and not as a traceback. The service
    opens whoever has the port, so that jobs fire; any other server doesn't join the fleet if its port is taken."""
    began, config = datetime.now(UTC), server.config
    if service is None:
        for one in await listen_at_last(config.host, config.port, config.backlog, None, asyncio.Event()):
            one.close()  # until the database is open, nobody should be kept waiting
    async with probed(cronty), opened(cronty) as stopping:

        async def stop_server() -> None:
            # While serving, the server handles signals itself and raises them again when it is done.
            await stopping.wait()
            server.should_exit = True

        background = [asyncio.ensure_future(one) for one in (stop_server(), log_absences(cronty, began))]
        try:
            sockets = await listen_at_last(config.host, config.port, config.backlog, service, stopping)
            if local is not None:
                local.begin()
            if sockets:
                await server.serve(sockets)
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


def _groups(text: str) -> list[Group]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in GROUPS]
    if unknown or not names:
        wrong = ", ".join(unknown) or "nothing"
        raise typer.BadParameter(f"{wrong}: use any of {', '.join(GROUPS)}.", param_hint="--tools")
    return cast("list[Group]", names)
