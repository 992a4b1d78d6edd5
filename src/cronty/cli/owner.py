"""`cronty owner`: what whoever runs an installation does about an owner as a whole."""

from typing import Annotated

import typer

from cronty.app import Cronty
from cronty.cli.asking import ask
from cronty.cli.saying import Json, print_json, refuse, say, waiting
from cronty.contract.result import Err, Ok, Result
from cronty.store.owner_store import OwnerStore

app = typer.Typer(no_args_is_help=True, help="Owners, for whoever runs the installation.")


@app.command()
def erase(
    name: Annotated[str, typer.Argument(help="The owner whose jobs, history, channels, keys and trail are to go.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for the name once more.")] = False,
    json: Json = False,
) -> None:
    """Erase an owner with everything of it. It can't be taken back; interrupted, it is started again."""
    if not yes and typer.prompt(f"Everything of {name} will be gone. Type the owner's name to go on", err=True) != name:
        refuse("Nothing was erased: that isn't the name.", json=json)
    with waiting("Erasing …"):
        counts = ask(lambda cronty: _erased(cronty, name), json=json)
    if json:
        print_json({"erased": name, **counts})
        return
    jobs, rows, entries = counts["jobs"], counts["rows"], counts["entries"]
    say(f"Erased {name}: {jobs} jobs, {rows} runs and the like, {entries} entries of the trail.")


async def _erased(cronty: Cronty, name: str) -> Result[dict[str, int]]:
    counts = await OwnerStore(cronty.database).erase(name)
    if counts is None:
        return Err("not_found", f"Owner not found: {name}", "The name must be spelled as in the owner's tokens.")
    return Ok(counts)
