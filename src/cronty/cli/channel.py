"""`cronty channel`: where reminders go; and `cronty key`, which makes encryption keys."""

import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from cronty.cli.connection import ask, caller_for
from cronty.cli.output import Column, Json, print_json, say, show_rows
from cronty.contract.result import Result
from cronty.scheduler.channels import Channels
from cronty.store.sealing import new_key

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="What you call it, for example phone or team-slack.")]
Owner = Annotated[str, typer.Option(envvar="CRONTY_OWNER", help="Whose channels.")]


@app.command()
def add(
    name: Name,
    url: Annotated[
        str | None,
        typer.Argument(
            help="Where it leads. Left out: you are prompted for it, so it stays out of the shell's history."
        ),
    ] = None,
    ahead: Annotated[
        bool | None,
        typer.Option(
            "--ahead/--no-ahead",
            help="Give ntfy reminders up to three days ahead, so that they ring with this machine off. "
            "Default: yes with the local database.",
        ),
    ] = None,
    owner: Owner = "local",
    json: Json = False,
) -> None:
    """Name a destination, such as ntfy://ntfy.sh/topic or mailtos://user:password@example.com; replaces an old one."""
    given = url if url is not None else _prompt_for_url()
    saved = _ask(lambda channels: channels.add(caller_for(owner), name, given, ahead=ahead), json=json)
    if json:
        print_json({"name": saved.name, "leads_to": saved.hint, "ahead": saved.ahead, "replaced": saved.replaced})
        return
    done = "Replaced" if saved.replaced else "Added"
    early = ", also with this machine off" if saved.ahead else ""
    say(f"{done} {saved.name}: {saved.hint}{early}. Try it: cronty channel test {name}")


@app.command("list")
def list_channels(owner: Owner = "local", json: Json = False) -> None:
    """Show the names, and where each one leads, without secrets."""
    found = _ask(lambda channels: channels.list(caller_for(owner)), json=json)
    if json:
        shown = [
            {"name": one.name, "leads_to": one.hint, "ahead": one.ahead, "since": one.created_at.isoformat()}
            for one in found
        ]
        print_json({"channels": shown})
        return
    if not found:
        say("There are no channels yet. Add one: cronty channel add phone")
        return
    rows = [(one.name, one.hint, "yes" if one.ahead else "no", f"{one.created_at:%Y-%m-%d}") for one in found]
    columns = [Column("name", whole=True), Column("leads to"), Column("ahead", whole=True), Column("since", whole=True)]
    show_rows(columns, rows)


@app.command()
def remove(name: Name, owner: Owner = "local", json: Json = False) -> None:
    """Forget where a name leads; messages still sent to it fail, and go nowhere else."""
    _ask(lambda channels: channels.remove(caller_for(owner), name), json=json)
    _done(f"Removed {name}. Reminders for it will fail until it is added again.", {"removed": name}, json=json)


@app.command("test")
def try_out(name: Name, owner: Owner = "local", json: Json = False) -> None:
    """Send a test message there now."""
    _ask(lambda channels: channels.test(caller_for(owner), name), json=json)
    _done(f"Sent a message to {name}.", {"sent_to": name}, json=json)


@app.command()
def reseal(json: Json = False) -> None:
    """Encrypt every channel with the first key of CRONTY_SECRET_KEY; after that the old keys can go."""
    done = _ask(lambda channels: channels.reseal(), json=json)
    _done(f"Encrypted again: {done}. Every channel uses the first key now.", {"resealed": done}, json=json)


def key(json: Json = False) -> None:
    made = new_key()
    if json:
        print_json({"key": made})
    else:
        typer.echo(made)


def _done(text: str, answer: dict[str, object], *, json: bool) -> None:
    if json:
        print_json(answer)
    else:
        say(text)


def _prompt_for_url() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("URL (not shown)", hide_input=True, err=True))
    return sys.stdin.readline().strip()


def _ask[T](question: Callable[[Channels], Awaitable[Result[T]]], *, json: bool) -> T:
    return ask(lambda cronty: question(cronty.service.channels), json=json)
