"""How commands reach a Cronty: opened in this process, or a server over HTTP."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import typer

from cronty.app import Cronty
from cronty.cli.output import REFUSED, UNCLEAR, print_json, refuse, refuse_choice
from cronty.cli.service_folder import ServiceFolder
from cronty.client import AsyncClient
from cronty.contract.answers import to_json
from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import CrontyError, Err, Result
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

type Api = Cronty | AsyncClient
"""The operations, in this process or on a server."""


def ask[T](question: Callable[[Cronty], Awaitable[Result[T]]], *, json: bool = False) -> T:
    """The answer of a Cronty opened in this process; an `Err` is printed and ends the command."""
    answer = open_for(question)
    if isinstance(answer, Err):
        refuse(answer.message, hint=answer.hint, json=json)
    return answer.value


def call[T](question: Callable[[Api], Awaitable[T]], *, json: bool = False) -> T:
    """The answer of an operation, printed as JSON if `json`; a refusal ends the command.

    With CRONTY_URL (or `cronty --url`) that server is asked, with the key in CRONTY_KEY.
    """
    try:
        url = os.environ.get("CRONTY_URL")
        answer = open_for(question) if not url else asyncio.run(_ask_server(url, question))
    except CrontyError as refused:
        if refused.choices:
            refuse_choice(refused.err, json=json)
        refuse(refused.message, UNCLEAR if refused.code == "ambiguous" else REFUSED, hint=refused.hint, json=json)
    if json:
        print_json({} if answer is None else to_json(answer))
    return answer


def open_for[T](question: Callable[[Cronty], Awaitable[T]]) -> T:
    async def open_and_ask() -> T:
        cronty = _with_service_url(Cronty(run_jobs=False))
        cronty.surface = "cli"
        async with cronty:
            return await question(cronty)

    return asyncio.run(open_and_ask())


def caller_for(owner: str) -> Caller:
    """A user of this machine, who may act for every owner."""
    return local_caller(owner, "cli", trusted=True)


async def _ask_server[T](url: str, question: Callable[[Api], Awaitable[T]]) -> T:
    async with AsyncClient(url, os.environ.get("CRONTY_KEY")) as client:
        return await question(client)


def _with_service_url(cronty: Cronty) -> Cronty:
    """Use the URL of this machine's service as the public URL, unless one is set: tokens are issued for it."""
    settings = cronty.settings
    spec = ServiceFolder(settings.data_dir).spec()
    if spec is not None and "public_url" not in settings.model_fields_set:
        url = spec.environment.get("CRONTY_PUBLIC_URL", f"{spec.url}/mcp")
        cronty.settings = settings.model_copy(update={"public_url": url})
    return cronty


def read_duration(text: str, option: str) -> timedelta:
    """The length of `30d`, `12h` or `2 weeks`."""
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        lasts = read_instant(f"in {text}", "UTC", now) - now
    except BadTrigger:
        lasts = timedelta(0)
    if lasts <= timedelta(0):
        raise typer.BadParameter(f"{text!r} isn't a length of time: use 30d, 12h or '2 weeks'.", param_hint=option)
    return lasts
