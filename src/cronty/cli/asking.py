"""What commands that ask an open Cronty share: asking, and durations in words."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import typer

from cronty.app import Cronty
from cronty.cli.saying import REFUSED, UNCLEAR, print_json, refuse
from cronty.cli.service_place import Place
from cronty.client import AsyncClient
from cronty.contract.answers import to_json
from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import CrontyError, Err, Result
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

type Face = Cronty | AsyncClient
"""The same calls, in this process or of a server."""


def ask[T](question: Callable[[Cronty], Awaitable[Result[T]]], *, json: bool = False) -> T:
    """The answer of an open Cronty that runs no jobs; an `Err` is said in a line, and ends the command."""
    answer = open_for(question)
    if isinstance(answer, Err):
        refuse(answer.message, hint=answer.hint, json=json)
    return answer.value


def call[T](question: Callable[[Face], Awaitable[T]], *, json: bool = False) -> T:
    """The answer to a call of the contract, printed as JSON if asked for; a refusal ends the command.

    With CRONTY_URL (or `cronty --url`) it is asked of that server, with the key in CRONTY_KEY.
    """
    try:
        url = os.environ.get("CRONTY_URL")
        answer = open_for(question) if not url else asyncio.run(_ask_server(url, question))
    except CrontyError as refused:
        refuse(refused.message, UNCLEAR if refused.code == "ambiguous" else REFUSED, hint=refused.hint, json=json)
    if json:
        print_json({} if answer is None else to_json(answer))
    return answer


def open_for[T](question: Callable[[Cronty], Awaitable[T]]) -> T:
    async def open_and_ask() -> T:
        cronty = _at_home(Cronty(run_jobs=False))
        cronty.surface = "cli"
        async with cronty:
            return await question(cronty)

    return asyncio.run(open_and_ask())


def caller_for(owner: str) -> Caller:
    """The person at this machine, who may act for every owner."""
    return local_caller(owner, "cli", trusted=True)


async def _ask_server[T](url: str, question: Callable[[Face], Awaitable[T]]) -> T:
    async with AsyncClient(url, os.environ.get("CRONTY_KEY")) as client:
        return await question(client)


def _at_home(cronty: Cronty) -> Cronty:
    """The same, knowing where the service of this machine is reached, if nobody says otherwise: tokens are for that."""
    settings = cronty.settings
    wish = Place(settings.data_dir).wish()
    if wish is not None and "public_url" not in settings.model_fields_set:
        url = wish.environment.get("CRONTY_PUBLIC_URL", f"{wish.url}/mcp")
        cronty.settings = settings.model_copy(update={"public_url": url})
    return cronty


def read_duration(text: str, option: str) -> timedelta:
    """How long `30d`, `12h` or `2 weeks` is."""
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        lasts = read_instant(f"in {text}", "UTC", now) - now
    except BadTrigger:
        lasts = timedelta(0)
    if lasts <= timedelta(0):
        raise typer.BadParameter(f"{text!r} isn't a length of time: use 30d, 12h or '2 weeks'.", param_hint=option)
    return lasts
