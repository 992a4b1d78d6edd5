"""The entry point: mcp, serve, work and migrate; the other commands are added from their modules."""

import asyncio
import os
import sys
from importlib.metadata import version
from typing import Annotated, Final

import typer
from pydantic import ValidationError

from cronty.actions.agents import BadAgents
from cronty.actions.secrecy import hide_process, take_from_environment
from cronty.actions.shell import BadCommands
from cronty.app import Cronty
from cronty.cli import audit, channel, crontab, jobs, limits, owner, service, token
from cronty.cli.call import call_operation
from cronty.cli.crontab_export import export
from cronty.cli.doctor import doctor
from cronty.cli.next import next_slots
from cronty.cli.open import open_dashboard
from cronty.cli.output import MISUSED, REFUSED, Json, print_json, say, waiting
from cronty.cli.startup import extra, load, opened, set_up_logging
from cronty.cli.watch import watch
from cronty.cli.webhook_secret import webhook_secret
from cronty.scheduler.identity import WeakSecret
from cronty.settings import SECRET_VARIABLES, BadSetting, Settings, remember
from cronty.store.database import StoreUnavailable
from cronty.store.local import NoDatabase, start_local_server
from cronty.store.migrate import migrate, schema_state
from cronty.store.private_file import BadPrivateFile
from cronty.store.schema import SchemaProblem
from cronty.store.sealing import BadKey
from cronty.store.server import WrongServer

app = typer.Typer(no_args_is_help=True, add_completion=True, help="Durable schedules on PostgreSQL.")
for name, command in jobs.COMMANDS.items():
    app.command(name)(command)
app.command("next")(next_slots)
app.command("open")(open_dashboard)
app.command("call")(call_operation)
app.add_typer(crontab.app, name="import")
app.command("export")(export)
for command in (watch, service.up, service.down, service.status, doctor):
    app.command()(command)
app.add_typer(channel.app, name="channel")
app.command("key")(channel.key)
app.command("webhook-secret")(webhook_secret)
app.add_typer(token.app, name="token")
app.add_typer(audit.app, name="audit")
app.add_typer(limits.app, name="limits")
app.add_typer(owner.app, name="owner")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cronty {version('cronty')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(envvar="CRONTY_URL", help="Ask this server instead of the database; its key is in CRONTY_KEY."),
    ] = None,
) -> None:
    """Durable schedules on PostgreSQL."""
    if url:
        os.environ["CRONTY_URL"] = url


@app.command()
def work(
    target: Annotated[str, typer.Argument(help="Where your Cronty is, as module:name, for example backup:cronty.")],
    concurrency: Annotated[int | None, typer.Option(min=1, max=10_000, help="How many runs at once.")] = None,
) -> None:
    """Run a worker: fire what is due, perform your tasks, until SIGTERM."""
    _begin()
    cronty = load(target)
    cronty.run_jobs = cronty.die_when_stuck = True
    if concurrency is not None:
        cronty.settings = cronty.settings.model_copy(update={"concurrency": concurrency})
    asyncio.run(_work_until_stopped(cronty))


App = Annotated[str | None, typer.Option("--app", help="Where your own Cronty and its tasks are, as module:name.")]
Tools = Annotated[str, typer.Option(help="Which groups of tools to offer, comma-separated.")]
EVERY_TOOL = "jobs,notifications,agenda,inbox"


@app.command()
def mcp(target: App = None, tools: Tools = EVERY_TOOL) -> None:
    """Speak MCP over standard input and output: the command to give to Claude, Cursor and the others."""
    _begin()
    service.restart_if_gone(_settings())
    extra("cronty.cli.serve", "mcp").serve_stdio(target, tools)


@app.command()
def serve(
    target: App = None,
    tools: Tools = EVERY_TOOL,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8125,
    name: Annotated[list[str] | None, typer.Option(help="Another host name clients may call it by.")] = None,
    auth: Annotated[bool, typer.Option("--auth", help="Others can reach it: each needs a key of their own.")] = False,
) -> None:
    """Serve the dashboard, REST at /api/v1 and MCP at /mcp over HTTP, and run the jobs."""
    _begin()
    extra("cronty.cli.serve", "mcp").serve(target, tools, host, port, name or [], auth=auth)


@app.command("migrate")
def migrate_command(
    server: Annotated[
        int | None,
        typer.Option(min=0, max=1023, help="Which of several database servers this one is; can't be changed later."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if this version can't work with the schema.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring the database to the schema this version needs, while workers keep running."""
    if check:
        _check_schema(json=json)
        return
    number = _settings().server_number if server is None else server
    with waiting("Applying …"):
        applied = asyncio.run(migrate(_url(), server=number))
    if json:
        print_json({"applied": applied})
        return
    say(f"Applied: {', '.join(applied)}." if applied else "The schema is up to date.")


def _check_schema(*, json: bool) -> None:
    state = asyncio.run(schema_state(_url()))
    problem = state.problem()
    if json:
        print_json({"missing": state.missing, "newer": state.newer, "incompatible": state.incompatible})
    elif problem:
        say(f"Missing: {', '.join(state.missing)}." if state.missing and not state.incompatible else str(problem))
    elif state.newer:
        say(f"Nothing is missing. The database is newer, and this version can use it: {', '.join(state.newer)}.")
    else:
        say("Nothing is missing.")
    if problem:
        raise typer.Exit(REFUSED)


def _begin() -> None:
    """What every process does first that stays: nobody else of the same user reads its secrets from now on."""
    hide_process()
    remember(take_from_environment(SECRET_VARIABLES))
    settings = _settings()
    set_up_logging(settings.log_level, settings.log_format)


def _settings() -> Settings:
    return Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields


def _url() -> str:
    settings = _settings()
    return settings.database_url or start_local_server(settings.data_dir)


async def _work_until_stopped(cronty: Cronty) -> None:
    async with opened(cronty) as stopping:
        await stopping.wait()


_EXPECTED: Final = (
    StoreUnavailable,
    SchemaProblem,
    WrongServer,
    NoDatabase,
    BadKey,
    BadAgents,
    BadCommands,
    BadSetting,
    BadPrivateFile,
    WeakSecret,
)


def main() -> None:
    """The console script; expected errors are printed in one line, without a traceback."""
    try:
        app()
    except _EXPECTED as error:
        say(f"cronty: {error}", err=True)
        sys.exit(MISUSED)
    except ValidationError as error:
        wrong = error.errors()[0]
        say(f"cronty: CRONTY_{str(wrong['loc'][0]).upper()} is {wrong['input']!r}: {wrong['msg']}", err=True)
        sys.exit(MISUSED)


if __name__ == "__main__":
    main()
