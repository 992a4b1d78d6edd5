"""`cronty owner`: erases an owner; for the operator of an installation."""

from typing import Annotated

import typer

from cronty.app import Cronty
from cronty.cli.connection import ask
from cronty.cli.output import Json, print_json, refuse, say, waiting
from cronty.contract.result import Err, Ok, Result
from cronty.store.owner_store import OwnerStore

app = typer.Typer(no_args_is_help=True)


@app.command()
def erase(
    name: Annotated[str, typer.Argument(help="The owner whose jobs, history, channels, keys and trail are erased.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for the name again.")] = False,
    json: Json = False,
) -> None:
    """Erase an owner and all its data. It can't be undone. If interrupted, run it again."""
    if (
        not yes
        and typer.prompt(f"All data of {name} will be erased. Type the owner's name to continue", err=True) != name
    ):
        refuse("Nothing was erased: that isn't the name.", json=json)
    with waiting("Erasing …"):
        counts = ask(lambda cronty: _erased(cronty, name), json=json)
    if json:
        print_json({"erased": name, **counts})
        return
    jobs, rows, entries = counts["jobs"], counts["rows"], counts["entries"]
    say(f"Erased {name}: {jobs} jobs, {rows} runs and other rows, {entries} entries of the trail.")


async def _erased(cronty: Cronty, name: str) -> Result[dict[str, int]]:
    counts = await OwnerStore(cronty.database).erase(name)
    if counts is None:
        return Err("not_found", f"Owner not found: {name}", "The name must be spelled as in the owner's tokens.")
    return Ok(counts)
