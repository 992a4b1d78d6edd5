"""The entry point: the options that stand before a command, and how errors are told."""

import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Final

import typer

from cronty.cli.commands import Commands
from cronty.cli.output import say

app = typer.Typer(cls=Commands, invoke_without_command=True, add_completion=True)

START: Final = """Cronty reminds you, wakes agents and runs commands, with everything closed.

  cronty up                              run it in the background
  cronty channel add phone               where reminders go
  cronty add "tomorrow at 9" "Call Mom"  make a reminder
  cronty add "at 18:00" "…" --prompt     leave a prompt for an agent
  cronty setup                           add it to Claude, Codex, Cursor …
  cronty list                            what is planned
  cronty why "Call Mom"                  what became of it
  cronty open                            the dashboard

`cronty --help` lists all commands, `cronty add --help` explains one."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cronty {version('cronty')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(envvar="CRONTY_URL", help="Ask this server instead of the database; its key is in CRONTY_KEY."),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(envvar="CRONTY_OWNER", help="Act for this owner, at the database; a server knows it by its key."),
    ] = None,
) -> None:
    """Schedules that keep: reminders, prompts for agents, commands and tasks, on PostgreSQL."""
    if url:
        os.environ["CRONTY_URL"] = url
    if owner:
        os.environ["CRONTY_OWNER"] = owner
    if context.invoked_subcommand is None:
        typer.echo(START)


def main() -> None:
    """The console script; expected errors are printed in one line, without a traceback."""
    try:
        app()
    except Exception as error:
        # Imported only now: it brings the database driver with it, which `--help` doesn't need.
        told = import_module("cronty.cli.expected_errors").line_of(error)
        if told is None:
            raise
        line, code = told
        say(f"cronty: {line}", err=True)
        sys.exit(code)


if __name__ == "__main__":
    main()
