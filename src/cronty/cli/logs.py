"""`cronty logs`: what the background service has logged."""

import os
import time
from typing import Annotated, Final

import typer

from cronty.cli.output import Json, print_json, refuse, say
from cronty.cli.service_folder import ServiceFolder
from cronty.settings import Settings

_MOST: Final = 1024 * 1024
"""Bytes of the log that are read from its end."""

_LOOK: Final = 0.5


def logs(
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=10_000, help="How many lines.")] = 40,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with new lines, until Ctrl-C.")] = False,
    json: Json = False,
) -> None:
    folder = ServiceFolder(Settings().data_dir)  # pyright: ignore[reportCallIssue] -- its defaults are fields
    if not folder.log.exists():
        refuse("There is no log: the service has not run here.", hint="`cronty up` starts it.", json=json)
    with open(folder.log, "rb") as opened:
        opened.seek(max(0, os.fstat(opened.fileno()).st_size - _MOST))
        lines = [line for line in opened.read().decode(errors="replace").splitlines() if line.strip()]
        if json:
            print_json({"log": str(folder.log), "lines": lines[-count:]})
            return
        for line in lines[-count:]:
            say(line)
        if follow:
            _follow(opened.tell(), folder)


def _follow(place: int, folder: ServiceFolder) -> None:
    try:
        while True:
            time.sleep(_LOOK)
            size = folder.log.stat().st_size
            place = 0 if size < place else place  # it was rotated
            with open(folder.log, "rb") as opened:
                opened.seek(place)
                found = opened.read()
            whole, end, _ = found.rpartition(b"\n")
            place += len(whole) + len(end)
            for line in whole.decode(errors="replace").splitlines():
                say(line)
    except KeyboardInterrupt:
        return
