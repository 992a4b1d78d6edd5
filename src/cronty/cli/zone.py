"""`cronty zone`: in which time zone your words are read and your times are shown."""

from typing import Annotated

import typer

from cronty.app.machine_zone import machine_zone
from cronty.cli.connection import call
from cronty.cli.output import Json, clock, say


def zone(
    name: Annotated[
        str | None, typer.Argument(help="The new one, such as America/New_York. Left out: show it.")
    ] = None,
    json: Json = False,
) -> None:
    if name is None:
        _show(json=json)
        return
    made = call(lambda api: api.set_zone(name), json=json)
    if json:
        return
    say(f"Your time zone is {made.timezone}, where it is {clock(made.now)}.")
    if made.before not in (None, made.timezone):
        say(f"It was {made.before}. {made.note} `cronty list` names them beside their jobs.", "dim")


def _show(*, json: bool) -> None:
    found = call(lambda api: api.get_current_time(), json=json)
    if json:
        return
    say(f"{found.timezone}, where it is {clock(found.datetime)}.")
    here = machine_zone()
    if here not in (None, found.timezone):
        say(f"The clock of this machine is in {here}: `cronty zone {here}` makes it yours.", "dim")
