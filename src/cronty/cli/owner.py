"""`cronty owner`: lists and erases owners; for the operator of an installation."""

from typing import Annotated, Final

import typer

from cronty.app import Cronty
from cronty.cli.connection import ask, call, open_for
from cronty.cli.output import Column, Json, print_json, refuse, say, show_rows, waiting
from cronty.contract.answers import to_json
from cronty.contract.answers_of_owner import OwnerFigures
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.overview import MOST_OF_OWNER
from cronty.store.owner_store import OwnerStore

app = typer.Typer(no_args_is_help=True)
_COLUMNS: Final = ("owner", "jobs", "stored", "running", "in 1 h", "in 24 h", "failed in 24 h", "held by", "overdue")


@app.command("list")
def list_owners(
    failing: Annotated[bool, typer.Option("--failing", help="Only those with runs that failed in 24 hours.")] = False,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many, by name.")] = 100,
    after: Annotated[str, typer.Option(metavar="NAME", help="Those after this one.")] = "",
    json: Json = False,
) -> None:
    """List the owners: what each has and runs, what failed, which limit holds it, and what is overdue.

    `cronty --owner NAME list` looks at one."""
    page = call(lambda api: api.list_owners(limit=count, after=after), json=json, show=False)
    found = [one for one in page.owners if one.failed or not failing]
    if json:
        print_json({**to_json(page), "owners": to_json(found)})
        return
    if not found:
        say("No owner has a run that failed in 24 hours." if page.owners else "There are no owners.")
    else:
        show_rows([Column(name, whole=True) for name in _COLUMNS], [_row(one) for one in found])
    if page.cursor is not None:
        say(f"There may be more: --after {page.cursor}")


def _row(one: OwnerFigures) -> tuple[str, ...]:
    marks = ", ".join([*(["own limits"] if one.limited else []), *(["being erased"] if one.erasing else [])])
    late = "-"
    if one.oldest_overdue is not None:
        late = f"{one.overdue}, the first since {one.oldest_overdue:%Y-%m-%d %H:%M:%S} UTC"
    return (
        f"{one.name} ({marks})" if marks else one.name, str(one.jobs), f"{one.stored_bytes / 1e6:.1f} MB",
        _capped(one.running), _capped(one.runs_in_hour), _capped(one.runs_in_day), _capped(one.failed),
        ", ".join(one.held_by) or "-", late,
    )  # fmt: skip


def _capped(number: int) -> str:
    return f"{number}" if number < MOST_OF_OWNER else f"{number} or more"


@app.command()
def erase(
    name: Annotated[str, typer.Argument(help="The owner whose jobs, history, channels, keys and trail are erased.")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for the name again.")] = False,
    json: Json = False,
) -> None:
    """Erase an owner and all its data. It can't be undone. If interrupted, run it again."""
    if not yes:
        open_for(lambda cronty: OwnerStore(cronty.database).check_right_to_erase())
        if typer.prompt(f"All data of {name} will be erased. Type the owner's name to continue", err=True) != name:
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
