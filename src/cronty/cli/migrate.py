"""The command migrate."""

import asyncio
from typing import Annotated

import typer

from cronty.cli.output import REFUSED, Json, print_json, say, waiting
from cronty.settings import Settings
from cronty.store.connecting import place_of
from cronty.store.database import Database, StoreMisnamed, StoreUnavailable
from cronty.store.local import start_local_server
from cronty.store.migrate import migrate, schema_state


def migrate_command(
    server: Annotated[
        int | None,
        typer.Option(min=0, max=1023, help="Which of several database servers this one is; can't be changed later."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if the schema won't do or something is missing.")
    ] = False,
    json: Json = False,
) -> None:
    asyncio.run(_refuse_two_databases())
    if check:
        _check_schema(json=json)
        return
    number = _settings().server_number if server is None else server
    with waiting("Applying …"):
        applied = asyncio.run(migrate(_url(), server=number))
    state = asyncio.run(schema_state(_url()))
    if state.incompatible:  # by a newer version, and this one can't work with it
        _check_schema(json=json)
    if json:
        print_json({"applied": applied, "database": place_of(_url())})
    else:
        say(f"Database: {place_of(_url())}")
        say(f"Applied: {', '.join(applied)}." if applied else "The schema is up to date.")
    if state.walls:
        say(f"cronty: Row-level security {state.walls}.", err=True)


def _check_schema(*, json: bool) -> None:
    state = asyncio.run(schema_state(_url()))
    problem = state.problem()
    if not json:
        say(f"Database: {place_of(_url())}")
    if json:
        found = {"missing": state.missing, "newer": state.newer, "incompatible": state.incompatible}
        print_json({**found, "walls": state.walls, "database": place_of(_url())})
    elif problem:
        say(f"Missing: {', '.join(state.missing)}." if state.missing and not state.incompatible else str(problem))
    elif state.newer:
        say(f"Nothing is missing. The database is newer, and this version can use it: {', '.join(state.newer)}.")
    else:
        walls = f"Row-level security {state.walls}." if state.walls else None
        say(walls or state.outsider or "Nothing is missing.")
    if problem or state.outsider or (state.walls and not state.walls_off):
        raise typer.Exit(REFUSED)


async def _refuse_two_databases() -> None:
    """Services would go on with one that wasn't migrated. A pooler that doesn't answer yet is no reason to wait."""
    settings = _settings()
    if settings.database_url and settings.direct_url:
        database = Database(settings.database_url, direct=settings.direct_url, size=1, operator=True)
        try:
            await database.open()  # which compares the two
        except StoreMisnamed:
            raise
        except StoreUnavailable:
            return
        finally:
            await database.close()


def _settings() -> Settings:
    return Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields


def _url() -> str:
    settings = _settings()
    return settings.direct_url or settings.database_url or start_local_server(settings.data_dir)
