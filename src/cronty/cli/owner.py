"""`cronty owner`: lists and erases owners; for the operator of an installation."""

from dataclasses import asdict
from typing import Annotated

import typer

from cronty.app import Cronty
from cronty.cli.connection import ask
from cronty.cli.output import Column, Json, print_json, refuse, say, show_rows, waiting
from cronty.contract.result import Err, Ok, Result
from cronty.store.owner_store import MOST_COUNTED, OwnerFigures, OwnerStore

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_owners(
    failing: Annotated[bool, typer.Option("--failing", help="Only those with runs that failed in 24 hours.")] = False,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many, by name.")] = 100,
    after: Annotated[str, typer.Option(metavar="NAME", help="Those after this one.")] = "",
    json: Json = False,
) -> None:
    """List the owners, with what each has, what runs and what failed. `cronty --owner NAME list` looks at one."""
    page = ask(lambda cronty: _page(cronty, after, count), json=json)
    found = [one for one in page if one.failed or not failing]
    if json:
        print_json({"owners": [{**asdict(one), "created_at": one.created_at.isoformat()} for one in found]})
        return
    if not found:
        say("No owner has a run that failed in 24 hours." if page else "There are no owners.")
    else:
        names = ("owner", "jobs", "stored", "running", "failed in 24 h", "since")
        show_rows([Column(name, whole=True) for name in names], [_row(one) for one in found])
    if len(page) == count:
        say(f"There may be more: --after {page[-1].name}")


def _row(one: OwnerFigures) -> tuple[str, ...]:
    marks = ", ".join([*(["own limits"] if one.limited else []), *(["being erased"] if one.erasing else [])])
    return (
        f"{one.name} ({marks})" if marks else one.name, str(one.jobs), f"{one.stored_bytes / 1e6:.1f} MB",
        _capped(one.running), _capped(one.failed), f"{one.created_at:%Y-%m-%d}",
    )  # fmt: skip


def _capped(number: int) -> str:
    return f"{number}" if number < MOST_COUNTED else f"{number} or more"


async def _page(cronty: Cronty, after: str, count: int) -> Result[list[OwnerFigures]]:
    return Ok(await OwnerStore(cronty.database).page(after, count))


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
