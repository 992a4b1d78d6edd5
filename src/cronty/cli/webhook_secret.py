"""`cronty webhook-secret`: what a receiver verifies our calls with."""

from typing import Annotated

import typer

from cronty.actions.signatures import secrets_of
from cronty.cli.output import Json, print_json, refuse
from cronty.settings import Settings
from cronty.store.sealing import HOW_TO_MAKE_A_KEY, key_of_folder, read_keys


def webhook_secret(
    owner: Annotated[
        str, typer.Option(envvar="CRONTY_OWNER", help="Whose webhooks it is for, as in the owner's tokens.")
    ] = "local",
    agent: Annotated[str | None, typer.Option(help="Instead: the agent that is woken by a webhook.")] = None,
    json: Json = False,
) -> None:
    settings = Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields
    if settings.secret_key is not None:
        text = settings.secret_key.get_secret_value()
    elif settings.database_url is None:
        text = key_of_folder(settings.data_dir.expanduser())
    else:
        refuse(f"Nothing is signed, because there is no secret key. {HOW_TO_MAKE_A_KEY}", json=json)
    secrets = (
        secrets_of(read_keys(text), "webhook", owner) if agent is None else secrets_of(read_keys(text), "wake", agent)
    )
    if json:
        print_json({"owner": owner if agent is None else None, "agent": agent, "secrets": secrets})
        return
    for secret in secrets:
        typer.echo(secret)
