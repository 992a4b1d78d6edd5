"""`cronty up`, `down` and `status`: a service in the background that stays up."""

import asyncio
import os
import re
import shlex
import socket
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import urlsplit

import typer

from cronty.actions.agents import read_agents
from cronty.cli import service_keeper, service_units
from cronty.cli.local_key import key_file
from cronty.cli.output import REFUSED, Json, print_json, say
from cronty.cli.own_copy import lasting_python, remove_other_copies
from cronty.cli.ready import is_ready
from cronty.cli.service_folder import Kept, ServiceFolder, ServiceSpec, url_of
from cronty.cli.service_status import PORTLESS, show_status, status_of
from cronty.cli.startup import MetricsPort, check_reach
from cronty.settings import Settings
from cronty.store.local import has_local_server

PATIENCE: Final = 120.0
"""Seconds that a first start may take: it may have to create a database."""

_KEPT: Final = re.compile(
    r"CRONTY_.*|PYTHON.*|LC_.*|XDG_.*|PATH|HOME|LANG|USER|LOGNAME|SHELL|TMPDIR|TZ|SSL_CERT_.*|(https?|all|no)_proxy",
    re.IGNORECASE,
)
"""Environment variables passed to the service, besides those named in the agents file."""

Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]


def up(
    target: Annotated[str | None, typer.Option("--app", help="Where your own Cronty is, as module:name.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Port = 8125,
    name: Annotated[list[str] | None, typer.Option(help="Another host name clients may call it by.")] = None,
    metrics_port: MetricsPort = None,
    auth: Annotated[bool, typer.Option("--auth", help="Others can reach it: each needs a key of their own.")] = False,
    background: Annotated[
        bool, typer.Option("--background", help="Run it in the background, without systemd or launchd.")
    ] = False,
    json: Json = False,
) -> None:
    check_reach(host, auth=auth)
    settings = _settings()
    folder = ServiceFolder(settings.data_dir)
    folder.make()
    kept: Kept = "background" if background else service_units.keeper_of_this_system()
    arguments = ["--host", host, "--port", str(port), *(["--app", target] if target else [])]
    arguments += [part for each in name or [] for part in ("--name", each)] + (["--auth"] if auth else [])
    arguments += [] if metrics_port is None else ["--metrics-port", str(metrics_port)]
    tell = _quietly if json else _say_stage
    with folder.lock("starting"):
        python = lasting_python(settings.data_dir)
        facts = (arguments, url_of(host, port), kept, str(Path.cwd()), environment_of(settings), python)
        spec = ServiceSpec(*facts, version("cronty"))
        already = _is_same_service(folder, spec)
        flaw = bring_up(folder, spec, already=already, tell=tell)
    if flaw is not None:
        _say_why_not(flaw, folder, json=json)
        raise typer.Exit(REFUSED)
    answer: dict[str, Any] = {"up": True, "already": already, "url": spec.url, "mcp": f"{spec.url}/mcp"}
    answer |= {"kept_by": kept} | ({} if auth else {"key_file": str(key_file(settings.data_dir))})
    if json:
        print_json(answer | {"log": str(folder.log)})
        return
    say(f"Cronty {'was up already' if already else 'is up'} at {spec.url}; MCP at {spec.url}/mcp.")
    if not auth:
        say("`cronty open` shows the dashboard. Clients that call it over HTTP send the key of this machine's user:")
        say(f"Authorization: Bearer $(cat {shlex.quote(answer['key_file'])})", indent=2)
    say("Reminders fire with every client closed. `cronty status` shows its state, `cronty down` stops it.")
    if kept == "systemd" and not _lingers():
        say("It stops when you log out: `loginctl enable-linger` lets it stay, and start with the machine.")


class Flaw(NamedTuple):
    """Why the service isn't up; `logged` if its log says more, `fires` if only its port is missing."""

    text: str
    logged: bool = False
    fires: bool = False


def _say_why_not(flaw: Flaw, folder: ServiceFolder, *, json: bool) -> None:
    lines = folder.last_lines() if flaw.logged else []
    if json:
        print_json({"up": False, "fires": flaw.fires, "error": flaw.text, "last_lines": lines, "log": str(folder.log)})
        return
    say(f"cronty: It {'' if flaw.fires else "isn't up: "}{flaw.text}", err=True)
    for line in lines:
        say(line, err=True, indent=2)
    if lines:
        say(f"(the end of {folder.log})", err=True)


def down(json: Json = False) -> None:
    folder = ServiceFolder(_settings().data_dir)
    was_up = _was_up(folder)
    if folder.path.exists():
        with folder.lock():
            spec = folder.spec()
            folder.remove_spec()
            folder.mark_unwanted(True)
        if spec is not None:
            service_units.remove(spec.kept_by, folder)
        service_keeper.end(folder, "keeper")
        service_keeper.end(folder, "serving")
    if json:
        print_json({"up": False, "was_up": was_up})
        return
    say("Cronty is down. Nothing fires until it runs again." if was_up else "Cronty wasn't up.")


def status(json: Json = False) -> None:
    settings = _settings()
    folder = ServiceFolder(settings.data_dir)
    found: dict[str, Any] = asyncio.run(status_of(folder))
    if json:
        print_json(found)
    else:
        show_status(found, own_database=settings.database_url is not None)
    if not found["up"]:
        raise typer.Exit(1)


def _say_stage(stage: str) -> None:
    say(f"{stage} …", "dim", err=True)


def _quietly(_: str) -> None:
    pass


def bring_up(
    folder: ServiceFolder, spec: ServiceSpec, *, already: bool, tell: Callable[[str], None] = _quietly
) -> Flaw | None:
    """Bring the service up; why it isn't up, or None. `tell` is called with each stage as it begins."""
    if not already:
        before = folder.spec()
        moved = before is None or before.url != spec.url
        if before is not None:
            service_units.remove(before.kept_by, folder)
        service_keeper.end(folder, "keeper")
        service_keeper.end(folder, "serving")
        if moved and is_taken(spec.url):  # where it was before, it fires until it has its port back
            return Flaw(f"the port of {spec.url} is taken by another program. Name another one: cronty up --port 8126")
        with folder.lock():
            folder.save_spec(spec)
            folder.mark_unwanted(False)
        try:
            _start(folder, spec)
        except service_units.UnitRefused as refused:
            folder.remove_spec()
            return Flaw(f"{refused}. `cronty up --background` runs without it.")
    flaw = wait_for(folder, spec, _quietly if already else tell)
    if flaw is None:
        remove_other_copies(folder.path.parent, spec.python)
    if flaw is not None and not flaw.fires and not already:  # otherwise it would keep trying
        folder.remove_spec()
        service_units.remove(spec.kept_by, folder)
        service_keeper.end(folder, "keeper")
    return flaw


def _start(folder: ServiceFolder, spec: ServiceSpec) -> None:
    if spec.kept_by == "background":
        service_keeper.start(folder)
    else:
        service_units.install(spec.kept_by, service_keeper.command(folder), folder)


def wait_for(folder: ServiceFolder, spec: ServiceSpec, tell: Callable[[str], None] = _quietly) -> Flaw | None:
    """Wait until it answers; why it doesn't, or None. Gives up after two servers have exited."""
    ends = time.monotonic() + PATIENCE
    seen: set[int] = set()
    stage = ""
    while time.monotonic() < ends:
        serving = folder.alive("serving")
        if (now := _stage(folder, spec)) != stage:
            tell(stage := now)
        if serving is not None:
            seen.add(serving.pid)
            if is_ready(spec.url, folder.path.parent):
                return None
            if folder.is_portless():
                return Flaw(f"{PORTLESS.format(port=urlsplit(spec.url).port)}.", fires=True)
        elif len(seen) > 1:
            return Flaw("it exits right after its start. Its log:", logged=True)
        time.sleep(0.05)
    return Flaw(f"it doesn't answer within {PATIENCE:g} s. Its log:", logged=True)


def _stage(folder: ServiceFolder, spec: ServiceSpec) -> str:
    """What the service is doing until it answers."""
    if "CRONTY_DATABASE_URL" in spec.environment or has_local_server(folder.path.parent):
        return "Starting"
    return "Making its database, this once"


def _is_same_service(folder: ServiceFolder, spec: ServiceSpec) -> bool:
    before = folder.spec()
    return before is not None and before.same_as(spec) and _was_up(folder) and folder.alive("keeper") is not None


def _was_up(folder: ServiceFolder) -> bool:
    return folder.alive("keeper") is not None or folder.alive("serving") is not None


def environment_of(settings: Settings) -> dict[str, str]:
    named = set[str]()
    if settings.agents_file is not None:
        named = {name for agent in read_agents(settings.agents_file).values() for name in agent.environment}
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name) or name in named}
    kept.pop("CRONTY_RUN", None)
    return kept | {"CRONTY_DATA_DIR": str(settings.data_dir.expanduser().resolve())}


def is_taken(url: str) -> bool:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), 1):
            return True
    except OSError:
        return False


def _lingers() -> bool:
    return Path("/var/lib/systemd/linger", os.environ.get("USER", "")).is_file()


def _settings() -> Settings:
    return Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields
