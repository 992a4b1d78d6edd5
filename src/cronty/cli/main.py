"""The entry point: the options that stand before a command, and how errors are told."""

import os
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from cronty.cli.commands import Commands
from cronty.cli.output import MISUSED, say

app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=True)


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


def main() -> None:
    """The console script; expected errors are printed in one line, without a traceback."""
    try:
        app()
    except Exception as error:
        # Imported only now: it brings the database driver with it, which `--help` doesn't need.
        line = import_module("cronty.cli.expected_errors").line_of(error)
        if line is None:
            raise
        say(f"cronty: {line}", err=True)
        sys.exit(MISUSED)


if __name__ == "__main__":
    main()
