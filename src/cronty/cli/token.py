"""`cronty token`: makes API keys and signed tokens for callers of `cronty serve --auth`."""

from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Annotated

import typer

from cronty.cli.connection import ask, caller_for, read_duration
from cronty.cli.output import Column, Json, print_json, say, show_rows
from cronty.contract.caller import MEANINGS, SCOPES
from cronty.contract.http import PREFIX
from cronty.contract.result import Ok, Result
from cronty.scheduler.identity import NewKey
from cronty.store.key_store import KeyInfo

app = typer.Typer(no_args_is_help=True)

_SCOPES = "; ".join(f"{scope}: {meaning}" for scope, meaning in MEANINGS.items())

Scope = Annotated[
    list[str] | None, typer.Option(help=f"What it allows; may be repeated, all of them if left out. {_SCOPES}.")
]
Agent = Annotated[str | None, typer.Option(help="The agent it is for, if any.")]
Owner = Annotated[str, typer.Option(envvar="CRONTY_OWNER", help="Whose jobs its bearer sees and makes.")]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="What you call it, for example laptop.")],
    owner: Owner = "local",
    scope: Scope = None,
    agent: Agent = None,
    expires_in: Annotated[
        str | None, typer.Option(help="How long it is valid, such as 30d. Left out: it never expires.")
    ] = None,
    json: Json = False,
) -> None:
    """Make an API key. It is shown only once, and can be revoked."""
    lasts = None if expires_in is None else read_duration(expires_in, "--expires-in")
    ends = None if lasts is None else datetime.now(UTC) + lasts
    made: NewKey = ask(
        lambda cronty: cronty.service.identity.add_key(
            caller_for(owner), name, scope or SCOPES, agent=agent, expires_at=ends
        ),
        json=json,
        makes_owner=True,
    )
    if json:
        print_json({"id": made.number, "key": made.text, "owner": owner, "expires_at": ends and ends.isoformat()})
        return
    say(f"Key {made.number} of {owner}{_until(ends)}. It is shown only once:", err=True)
    typer.echo(made.text)
    if scope == ["agenda"]:
        say(f"To subscribe to the agenda, give a calendar the server's address and {PREFIX}/agenda/<key>.ics", err=True)


@app.command()
def issue(
    email: Annotated[str, typer.Option(help="Who it is for: the owner whose jobs its bearer sees and makes.")],
    expires_in: Annotated[str, typer.Option(help="How long it is valid, such as 30d or 12h.")],
    scope: Scope = None,
    agent: Agent = None,
    json: Json = False,
) -> None:
    """Sign a token (JWT) with CRONTY_JWT_SECRET. It can't be revoked: give it a short life, or make a key with add."""
    lasts = read_duration(expires_in, "--expires-in")
    text = ask(lambda cronty: _at_once(cronty.service.identity.issue(email, lasts, scope or SCOPES, agent)), json=json)
    ends = datetime.now(UTC) + lasts
    if json:
        print_json({"token": text, "owner": email, "expires_at": ends.isoformat()})
        return
    say(f"Token of {email}{_until(ends)}:", err=True)
    typer.echo(text)


@app.command("list")
def list_keys(owner: Owner = "local", json: Json = False) -> None:
    """Show an owner's API keys: never the keys themselves."""
    found = ask(lambda cronty: _as_result(cronty.service.identity.keys(caller_for(owner))), json=json)
    if json:
        print_json({"keys": found})
        return
    if not found:
        say(f"{owner} has no keys yet. Make one: cronty token add laptop --owner {owner}")
        return
    columns = [Column("id", whole=True), Column("name"), Column("allows"), Column("agent"), Column("used", whole=True)]
    show_rows([*columns, Column("state", whole=True)], [_row(key, datetime.now(UTC)) for key in found])


@app.command()
def revoke(
    number: Annotated[int, typer.Argument(metavar="ID", help="The key's number, as list shows it.")],
    owner: Owner = "local",
    json: Json = False,
) -> None:
    """Revoke an API key at once; the jobs it made pause."""
    ask(lambda cronty: cronty.service.identity.revoke(caller_for(owner), number), json=json)
    if json:
        print_json({"revoked": number})
        return
    say(f"Revoked key {number}. The jobs it made are paused.")


async def _as_result[T](call: Awaitable[T]) -> Result[T]:
    return Ok(await call)


async def _at_once[T](answer: Result[T]) -> Result[T]:
    return answer


def _until(ends: datetime | None) -> str:
    return "" if ends is None else f", good until {ends:%Y-%m-%d %H:%M} UTC"


def _row(key: KeyInfo, now: datetime) -> tuple[str, ...]:
    allows = "everything" if set(key.scopes) == set(SCOPES) else ", ".join(key.scopes)
    used = f"{key.last_used_at:%Y-%m-%d}" if key.last_used_at else "never"
    if key.revoked_at:
        state = f"revoked {key.revoked_at:%Y-%m-%d}"
    elif key.expires_at:
        state = f"{'expired' if key.expires_at <= now else 'good until'} {key.expires_at:%Y-%m-%d}"
    else:
        state = "good"
    return str(key.number), key.name, allows, key.agent or "", used, state
