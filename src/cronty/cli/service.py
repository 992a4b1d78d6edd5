"""`cronty up`, `down` and `status`: a service in the background that stays up."""

import asyncio
import http.client
import logging
import os
import re
import socket
import time
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import urlsplit

import typer

from cronty.actions.agents import read_agents
from cronty.cli import service_keeper, service_units
from cronty.cli.loading import check_reach
from cronty.cli.saying import REFUSED, Json, print_json, say, waiting
from cronty.cli.service_place import Kept, Place, Wish, url_of
from cronty.cli.service_standing import show_standing, standing_of
from cronty.settings import Settings

PATIENCE: Final = 120.0
"""Seconds that a first start may take: it may have to make a database."""

_KEPT: Final = re.compile(
    r"CRONTY_.*|PYTHON.*|LC_.*|XDG_.*|PATH|HOME|LANG|USER|LOGNAME|SHELL|TMPDIR|TZ|SSL_CERT_.*|(https?|all|no)_proxy",
    re.IGNORECASE,
)
"""What of the environment the service sees, besides what the agents file names."""

log = logging.getLogger("cronty.service")

Port = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]


def up(
    target: Annotated[str | None, typer.Option("--app", help="Where your own Cronty is, as module:name.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Port = 8125,
    name: Annotated[list[str] | None, typer.Option(help="Another host name clients may call it by.")] = None,
    auth: Annotated[bool, typer.Option("--auth", help="Ask every caller for a token.")] = False,
    background: Annotated[
        bool, typer.Option("--background", help="Leave it in the background, without systemd or launchd.")
    ] = False,
    json: Json = False,
) -> None:
    """Run Cronty in the background from now on: the jobs, and `cronty serve`. Doing it twice does no harm."""
    check_reach(host, auth=auth)
    settings = _settings()
    place = Place(settings.data_dir)
    place.make()
    kept: Kept = "background" if background else service_units.keeper_of_this_system()
    arguments = ["--host", host, "--port", str(port), *(["--app", target] if target else [])]
    arguments += [part for each in name or [] for part in ("--name", each)] + (["--auth"] if auth else [])
    wish = Wish(arguments, url_of(host, port), kept, str(Path.cwd()), _environment(settings))
    with waiting("Starting …"):
        already = _is_as_wished(place, wish)
        flaw = _bring_up(place, wish, already=already)
    if flaw is not None:
        _say_why_not(flaw, place, json=json)
        raise typer.Exit(REFUSED)
    answer = {"up": True, "already": already, "url": wish.url, "mcp": f"{wish.url}/mcp", "kept_by": kept}
    if json:
        print_json(answer | {"log": str(place.log)})
        return
    say(f"Cronty {'was up already' if already else 'is up'} at {wish.url}; MCP at {wish.url}/mcp.")
    say("Reminders fire with every client closed. `cronty status` looks, `cronty down` stops it.")
    if kept == "systemd" and not _lingers():
        say("It stops when you log out: `loginctl enable-linger` lets it stay, and start with the machine.")


class Flaw(NamedTuple):
    """Why it isn't up; `logged` if its log says more."""

    text: str
    logged: bool = False


def _say_why_not(flaw: Flaw, place: Place, *, json: bool) -> None:
    lines = place.last_lines() if flaw.logged else []
    if json:
        print_json({"up": False, "error": flaw.text, "last_lines": lines, "log": str(place.log)})
        return
    say(f"cronty: It isn't up: {flaw.text}", err=True)
    for line in lines:
        say(line, err=True, indent=2)
    if lines:
        say(f"(the end of {place.log})", err=True)


def down(json: Json = False) -> None:
    """Stop the service; what is planned stays planned, and is caught up on by policy when something runs again."""
    place = Place(_settings().data_dir)
    was_up = _was_up(place)
    if place.folder.exists():
        with place.turn():
            wish = place.wish()
            place.ask_for_nothing()
        if wish is not None:
            service_units.remove(wish.kept_by, place)
        service_keeper.end(place, "keeper")
        service_keeper.end(place, "serving")
    if json:
        print_json({"up": False, "was_up": was_up})
        return
    say("Cronty is down. Nothing fires until something runs again." if was_up else "Cronty wasn't up.")


def status(json: Json = False) -> None:
    """Say whether the service is up, since when and where, what comes next and what it did; exit 1 if it isn't."""
    place = Place(_settings().data_dir)
    found: dict[str, Any] = asyncio.run(standing_of(place, is_ready))
    if json:
        print_json(found)
    else:
        show_standing(found)
    if not found["up"]:
        raise typer.Exit(1)


def mend(settings: Settings) -> None:
    """Bring back a service that was asked for and is gone, as after a restart of a machine without systemd."""
    place = Place(settings.data_dir)
    wish = place.wish()
    if wish is not None and wish.kept_by == "background" and place.alive("keeper") is None:
        log.warning("the service that `cronty up` started is gone; starting it again. `cronty down` ends it for good")
        service_keeper.start(place)


def is_ready(url: str) -> bool:
    """Whether a Cronty answers there; asked directly, whatever proxies are set."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _bring_up(place: Place, wish: Wish, *, already: bool) -> Flaw | None:
    """See to it that it is as wished; why it isn't, or None."""
    if not already:
        before = place.wish()
        if before is not None:
            service_units.remove(before.kept_by, place)
        service_keeper.end(place, "keeper")
        service_keeper.end(place, "serving")
        if _is_taken(wish.url):
            return Flaw(f"the port of {wish.url} is taken by another program. Name another one: cronty up --port 8126")
        with place.turn():
            place.ask_for(wish)
        try:
            _start(place, wish)
        except service_units.UnitRefused as refused:
            place.ask_for_nothing()
            return Flaw(f"{refused}. `cronty up --background` does without.")
    flaw = _wait(place, wish)
    if flaw is not None and not already:  # it must not go on trying for ever
        place.ask_for_nothing()
        service_units.remove(wish.kept_by, place)
        service_keeper.end(place, "keeper")
    return flaw


def _start(place: Place, wish: Wish) -> None:
    if wish.kept_by == "background":
        service_keeper.start(place)
    else:
        service_units.install(wish.kept_by, service_keeper.command(place), place)


def _wait(place: Place, wish: Wish) -> Flaw | None:
    """Wait until it answers; why it doesn't, or None. Two servers that have ended tell enough."""
    ends = time.monotonic() + PATIENCE
    seen: set[int] = set()
    while time.monotonic() < ends:
        serving = place.alive("serving")
        if serving is not None:
            seen.add(serving.pid)
            if is_ready(wish.url):
                return None
        elif len(seen) > 1:
            return Flaw("it ends as soon as it has started. It says:", logged=True)
        time.sleep(0.05)
    return Flaw(f"it doesn't answer within {PATIENCE:g} s. It says:", logged=True)


def _is_as_wished(place: Place, wish: Wish) -> bool:
    before = place.wish()
    return before is not None and before.same_as(wish) and _was_up(place) and place.alive("keeper") is not None


def _was_up(place: Place) -> bool:
    return place.alive("keeper") is not None or place.alive("serving") is not None


def _environment(settings: Settings) -> dict[str, str]:
    named = set[str]()
    if settings.agents_file is not None:
        named = {name for agent in read_agents(settings.agents_file).values() for name in agent.environment}
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name) or name in named}
    kept.pop("CRONTY_RUN", None)
    return kept | {"CRONTY_DATA_DIR": str(settings.data_dir.expanduser().resolve())}


def _is_taken(url: str) -> bool:
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
