"""`cronty freeze` and `cronty thaw`: hold back everything of an installation; for its operator."""

from typing import Annotated

import typer

from cronty.app import Cronty
from cronty.cli.connection import is_remote, open_for
from cronty.cli.output import Json, counted, print_json, refuse, say
from cronty.jobs.frozen import Frozen
from cronty.store import freezing
from cronty.store.connecting import place_of
from cronty.store.fleet_store import Figures, FleetStore

PATIENCE = 10.0


def freeze(
    because: Annotated[str, typer.Option(metavar="TEXT", help="Why; everybody who looks is told.")] = "",
    json: Json = False,
) -> None:
    async def hold(cronty: Cronty) -> tuple[Frozen, Figures | None, str]:
        await cronty.database.check_direct()
        return await freezing.freeze(cronty.database, because.strip()), await _figures(cronty), _place(cronty)

    _at_the_database(json=json)
    held, figures, place = open_for(hold)
    running = figures.running if figures else 0
    if json:
        found = {"frozen_since": held.since.isoformat(), "because": held.because, "running": running}
        print_json({**found, "database": place})
        return
    say(f"Database: {place}")
    say(held.sentence)
    if running:
        say(f"{counted(running, 'run')} that had started will end.")


def thaw(json: Json = False) -> None:
    async def release(cronty: Cronty) -> tuple[Frozen | None, Figures | None, str]:
        await cronty.database.check_direct()
        return await freezing.thaw(cronty.database), await _figures(cronty), _place(cronty)

    _at_the_database(json=json)
    was, figures, place = open_for(release)
    overdue = figures.overdue if figures else 0
    if json:
        print_json({"frozen_since": was.since.isoformat() if was else None, "overdue": overdue, "database": place})
        return
    say(f"Database: {place}")
    if was is None:
        say("It wasn't frozen.")
    else:
        late = f" {counted(overdue, 'job')} overdue: slots that passed get their verdict by each job's policy."
        say(f"Thawed; it was frozen since {was.since:%Y-%m-%d %H:%M} UTC.{late if overdue else ''}")


def _at_the_database(*, json: bool) -> None:
    """It must not be another installation that is frozen, or thawed."""
    if is_remote():
        hint = "Run it where the database can be reached, with CRONTY_DATABASE_URL and without --url or CRONTY_URL."
        refuse("Freezing isn't done over HTTP: it is for whoever runs the installation.", hint=hint, json=json)


def _place(cronty: Cronty) -> str:
    return place_of(cronty.database.url)


async def _figures(cronty: Cronty) -> Figures | None:
    return await FleetStore(cronty.database, PATIENCE).look()
