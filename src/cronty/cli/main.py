"""The commands of an operator: mcp, serve, work, migrate, doctor; and where the others are."""

import asyncio
import signal
import sys
from datetime import UTC, datetime
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from cronty.actions.agents import BadAgents
from cronty.app import Cronty
from cronty.cli import audit, channel, jobs, limits, token
from cronty.cli.loading import extra, load, set_up_logging
from cronty.cli.next import next_slots
from cronty.scheduler.identity import WeakSecret
from cronty.settings import Settings
from cronty.store.database import StoreUnavailable
from cronty.store.health import Health, look
from cronty.store.local import NoDatabase, start_local_server
from cronty.store.migrate import OLDEST_POSTGRES, SchemaOutdated, migrate, pending_migrations
from cronty.store.sealing import BadKey
from cronty.timing import tzdata_version

app = typer.Typer(no_args_is_help=True, add_completion=True, help="Durable schedules on PostgreSQL.")
out = Console(soft_wrap=True)
for name, command in jobs.COMMANDS.items():
    app.command(name)(command)
app.command("next")(next_slots)
app.add_typer(channel.app, name="channel")
app.command("key")(channel.key)
app.add_typer(token.app, name="token")
app.add_typer(audit.app, name="audit")
app.add_typer(limits.app, name="limits")


@app.callback()
def _root() -> None:
    """Durable schedules on PostgreSQL."""


@app.command()
def work(
    target: Annotated[str, typer.Argument(help="Where your Cronty is, as module:name, for example backup:cronty.")],
    concurrency: Annotated[int | None, typer.Option(min=1, max=10_000, help="How many runs at once.")] = None,
) -> None:
    """Run a worker: fire what is due, perform your tasks, until SIGTERM."""
    set_up_logging(_settings().log_level)
    cronty = load(target)
    cronty.run_jobs = cronty.die_when_stuck = True
    if concurrency is not None:
        cronty.settings = cronty.settings.model_copy(update={"concurrency": concurrency})
    asyncio.run(_work_until_told(cronty))


App = Annotated[str | None, typer.Option("--app", help="Where your own Cronty and its tasks are, as module:name.")]
Tools = Annotated[str, typer.Option(help="Which groups of tools to offer, comma-separated.")]
EVERY_TOOL = "jobs,notifications,agenda,inbox"


@app.command()
def mcp(target: App = None, tools: Tools = EVERY_TOOL) -> None:
    """Speak MCP over standard input and output: the command to give to Claude, Cursor and the others."""
    set_up_logging(_settings().log_level)
    extra("cronty.cli.serve", "mcp").speak(target, tools)


@app.command()
def serve(
    target: App = None,
    tools: Tools = EVERY_TOOL,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8125,
    name: Annotated[list[str] | None, typer.Option(help="Another host name clients may call it by.")] = None,
    auth: Annotated[bool, typer.Option("--auth", help="Ask every caller for a token.")] = False,
) -> None:
    """Serve MCP over HTTP at /mcp, with /health and /ready, and run the jobs."""
    set_up_logging(_settings().log_level)
    extra("cronty.cli.serve", "mcp").serve(target, tools, host, port, name or [], auth=auth)


@app.command("migrate")
def migrate_command() -> None:
    """Bring the database to the schema this version needs."""
    applied = asyncio.run(migrate(_url()))
    out.print(f"Applied: {', '.join(applied)}." if applied else "The schema is up to date.")


@app.command()
def doctor() -> None:
    """Look at the database, the clock, time zones, workers and overdue slots; exit 1 if something is wrong."""
    url = _url()
    missing = asyncio.run(pending_migrations(url))
    if missing:
        typer.echo(f"wrong  schema: {len(missing)} migration(s) to apply. Run `cronty migrate`.", err=True)
        raise typer.Exit(1)
    findings = _findings(asyncio.run(look(url)), datetime.now(UTC))
    table = Table(box=None, show_header=False, pad_edge=False)
    for good, what, said in findings:
        table.add_row("[green]good[/]" if good else "[red]wrong[/]", what, said)
    out.print(table)
    if not all(good for good, _, _ in findings):
        raise typer.Exit(1)


def _settings() -> Settings:
    return Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields


def _url() -> str:
    settings = _settings()
    return settings.database_url or start_local_server(settings.data_dir)


async def _work_until_told(cronty: Cronty) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, told.set)
    async with cronty:
        await told.wait()


def _findings(health: Health, here: datetime) -> list[tuple[bool, str, str]]:
    """Each thing looked at: whether it is good, what it is, and what was seen."""
    offset = (health.now - here).total_seconds()
    late = (health.now - health.oldest_overdue).total_seconds() if health.oldest_overdue else 0.0
    mine = tzdata_version()
    others = sorted(set(health.tzdata or []) - {mine})
    stale = ", ".join(health.stale_tasks or [])
    return [
        (health.version_number >= OLDEST_POSTGRES, "database", f"PostgreSQL {health.version}"),
        (abs(offset) < 1, "clock", f"this machine is {offset:+.3f} s from the database"),
        (
            not others,
            "time zones",
            f"tzdata {mine}" + (f"; workers use {', '.join(others)}" if others else ""),
        ),
        (
            health.workers > 0,
            "workers",
            f"{health.workers} alive" if health.workers else "none alive: nothing will fire",
        ),
        (
            not health.dead_workers,
            "leases",
            f"{health.dead_workers} worker(s) gone and not cleaned up for a minute"
            if health.dead_workers
            else "none overdue",
        ),
        (late < 60, "oldest overdue slot", f"{late:.1f} s late" if health.oldest_overdue else "none"),
        (
            not health.stale_queue,
            "queue",
            f"{health.stale_queue} run(s) due for over a minute; no worker takes: {stale}"
            if health.stale_queue
            else "nothing waits too long",
        ),
        (
            not health.set_aside,
            "set aside",
            f"{health.set_aside} job(s) can't be computed any more" if health.set_aside else "none",
        ),
        (
            health.walled,
            "walls",
            "row-level security keeps owners apart"
            if health.walled
            else "off, because this user may not make roles: create cronty_app and cronty_engine (nologin), grant both "
            "to it, and run `cronty migrate`",
        ),
    ]


def main() -> None:
    """The console script; expected faults are said in a line, without a trace."""
    try:
        app()
    except (StoreUnavailable, SchemaOutdated, NoDatabase, BadKey, BadAgents, WeakSecret) as error:
        typer.echo(f"cronty: {error}", err=True)
        sys.exit(2)
    except ValidationError as error:
        wrong = error.errors()[0]
        typer.echo(f"cronty: CRONTY_{str(wrong['loc'][0]).upper()} is {wrong['input']!r}: {wrong['msg']}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
