"""`cronty watch`: shows runs as they happen."""

import asyncio
import os
import sys
from contextlib import nullcontext
from typing import Annotated, Final
from zoneinfo import ZoneInfo

import orjson
import typer
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from cronty.app import Cronty
from cronty.cli.connection import open_for
from cronty.cli.output import Column, Json, console, fit, say
from cronty.cli.runs import VERDICTS
from cronty.jobs.overview import RunEvent
from cronty.store.database import StoreUnavailable

LOOK: Final = 1.0
"""Seconds before a database that can't be reached is tried again."""

_COLUMNS: Final = (
    Column("at", whole=True),
    Column("job", whole=True),
    Column("name"),
    Column("verdict", whole=True),
    Column("why"),
)


def watch(
    lines: Annotated[bool, typer.Option("--lines", help="A line for each event, even on a terminal.")] = False,
    json: Json = False,
) -> None:
    out = console()
    try:
        open_for(lambda cronty: _watch(cronty, out, live=out.is_terminal and not (lines or json), json=json))
    except KeyboardInterrupt:
        return
    except BrokenPipeError:  # the reader has closed the pipe; without this Python would complain again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _watch(cronty: Cronty, out: Console, *, live: bool, json: bool) -> None:
    now, zone_name = await cronty.service.scheduler.clock(cronty.caller)
    zone = ZoneInfo(zone_name)
    shown: dict[str, RunEvent] = {}
    if not json:
        say(f"Runs from now on, in {zone_name} time; Ctrl-C ends it.", "dim", err=not live)
    picture = Live(console=out, auto_refresh=False) if live else nullcontext()
    with picture as table:
        async with cronty.service.overview.listen(cronty.caller, now) as listener:
            while True:
                try:
                    events = await listener.wait(LOOK)
                except StoreUnavailable as outage:
                    say(f"cronty: {outage} Trying again.", err=True)
                    await asyncio.sleep(LOOK)
                    continue
                for event in events:
                    shown.pop(event.run_id, None)
                    shown[event.run_id] = event
                if table is not None and events:
                    table.update(_picture(shown, zone, out), refresh=True)
                elif events:
                    _print_lines(events, zone, json=json)


def _picture(shown: dict[str, RunEvent], zone: ZoneInfo, out: Console) -> Group:
    """The latest event of each run, as many as there is room for."""
    lines: list[Text] = []
    room = max(out.height - 2, 3)
    latest = list(shown.values())[-room:]
    for gone in list(shown)[:-room]:
        del shown[gone]
    rows = [_row(event, zone) for event in latest]
    lines = list(fit(_COLUMNS, rows, out, [VERDICTS.get(event.verdict, "") for event in latest]))
    return Group(*lines[:1], *lines[1:][-room + 1 :])


def _row(event: RunEvent, zone: ZoneInfo) -> tuple[str, ...]:
    why = event.error or event.reason or ""
    tried = f"attempt {event.attempt}" if event.attempt > 1 else ""
    details = "; ".join(part for part in (why, tried) if part)
    return f"{event.at.astimezone(zone):%H:%M:%S}", str(event.job_number), event.name, event.verdict, details


def _print_lines(events: list[RunEvent], zone: ZoneInfo, *, json: bool) -> None:
    for event in events:
        if json:
            typer.echo(orjson.dumps(event).decode())
            continue
        at, job, name, verdict, why = _row(event, zone)
        say(f"{at}  job {job}  {verdict:<9}  {name}" + (f"  ({why})" if why else ""))
    sys.stdout.flush()
