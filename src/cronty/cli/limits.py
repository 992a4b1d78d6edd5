"""`cronty limits`: shows and sets an owner's limits."""

from typing import Annotated

import orjson
import typer

from cronty.cli.connection import ask, caller_for
from cronty.cli.output import Column, Json, print_json, show_rows
from cronty.contract.result import Ok, Result
from cronty.scheduler.allowance import Allowance

app = typer.Typer(no_args_is_help=True)

type Shown = dict[str, dict[str, object]]

Owner = Annotated[str, typer.Option(envvar="CRONTY_OWNER", help="Whose limits.")]


@app.command()
def show(owner: Owner = "local", json: Json = False) -> None:
    """Show an owner's limits, and how much of them is used."""
    _print(ask(lambda cronty: _shown(cronty.service.scheduler.allowance, owner), json=json), json=json)


@app.command("set")
def set_limits(
    changes: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE…", help="For example jobs=50000; 0 means no limit, jobs= restores the default."
        ),
    ],
    owner: Owner = "local",
    json: Json = False,
) -> None:
    """Set limits of an owner; the others stay as they are. Running engines apply them within ten seconds."""
    given = dict(_read(change) for change in changes)
    _print(ask(lambda cronty: _changed(cronty.service.scheduler.allowance, owner, given), json=json), json=json)


async def _shown(allowance: Allowance, owner: str) -> Result[Shown]:
    return Ok(await allowance.show(owner))


async def _changed(allowance: Allowance, owner: str, given: dict[str, object]) -> Result[Shown]:
    caller = caller_for(owner)
    own = {**(await allowance.standing(caller)).limits, **given}
    answer = await allowance.set(caller, {name: value for name, value in own.items() if value is not None})
    return await _shown(allowance, owner) if isinstance(answer, Ok) else answer


def _read(change: str) -> tuple[str, object]:
    name, sign, text = change.partition("=")
    if not sign:
        raise typer.BadParameter(f"{change!r} isn't of the form NAME=VALUE, such as jobs=50000.")
    if not text:
        return name, None
    try:
        return name, orjson.loads(text)
    except orjson.JSONDecodeError:
        return name, text


def _print(shown: Shown, *, json: bool) -> None:
    if json:
        print_json(shown)
        return
    limits, used = shown["limits"], shown["used"]
    rows = [(name, str(value or "none"), str(used.get(name, ""))) for name, value in limits.items()]
    rows += [(name, "", str(count)) for name, count in used.items() if name not in limits]
    show_rows([Column("limit", whole=True), Column("allowed", whole=True), Column("used", whole=True)], rows)
