"""`cronty limits`: how much an owner may have and do."""

from typing import Annotated

import orjson
import typer

from cronty.cli.asking import ask, show_table
from cronty.jobs.result import Ok, Result
from cronty.scheduler.allowance import Allowance

app = typer.Typer(no_args_is_help=True, help="How much an owner may have and do; docs/reference/limits.md says more.")

type Shown = dict[str, dict[str, object]]

Owner = Annotated[str, typer.Option(help="Whose limits.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]


@app.command()
def show(owner: Owner = "local", as_json: AsJson = False) -> None:
    """An owner's limits, and what is used of them."""
    _say(ask(lambda cronty: _shown(cronty.scheduler.allowance, owner)), as_json=as_json)


@app.command("set")
def set_limits(
    changes: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE…", help="For example jobs=50000; 0 is no limit, jobs= takes it back."),
    ],
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Give an owner limits of its own; those not named stay as they are. Running engines follow in ten seconds."""
    given = dict(_read(change) for change in changes)
    _say(ask(lambda cronty: _changed(cronty.scheduler.allowance, owner, given)), as_json=as_json)


async def _shown(allowance: Allowance, owner: str) -> Result[Shown]:
    return Ok(await allowance.show(owner))


async def _changed(allowance: Allowance, owner: str, given: dict[str, object]) -> Result[Shown]:
    own = {**(await allowance.standing(owner)).limits, **given}
    answer = await allowance.set(owner, {name: value for name, value in own.items() if value is not None})
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


def _say(shown: Shown, *, as_json: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps(shown).decode())
        return
    limits, used = shown["limits"], shown["used"]
    rows = [(name, str(value or "none"), str(used.get(name, ""))) for name, value in limits.items()]
    rows += [(name, "", str(count)) for name, count in used.items() if name not in limits]
    show_table(("limit", "allowed", "used"), rows)
