"""How commands reach a Cronty: opened in this process, or a server over HTTP."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import Any, cast

import typer

from cronty.app import Cronty
from cronty.cli.output import REFUSED, UNCLEAR, can_ask, choose, print_json, refuse, refuse_choice
from cronty.cli.service_folder import ServiceFolder
from cronty.client import AsyncClient
from cronty.contract.answers import to_json
from cronty.contract.caller import Caller, local_caller
from cronty.contract.operation import AsyncApi, Operation
from cronty.contract.operations import Operations
from cronty.contract.result import CrontyError, Err, Result
from cronty.store.owner_store import OwnerStore
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant


class Api(AsyncApi, Operations):
    """The operations, in this process or on a server. `chosen` are the words that a person at the terminal has chosen
    where those of a field were unclear."""

    def __init__(self, inner: Cronty | AsyncClient, chosen: Mapping[str, str]) -> None:
        self._inner = inner
        self._chosen = chosen

    @property
    def local(self) -> Cronty | None:
        """The Cronty in this process; None if a server is asked."""
        return self._inner if isinstance(self._inner, Cronty) else None

    async def ask[R, A](self, operation: Operation[..., R, A], request: R, /) -> A:
        return await self._inner.ask(operation, self._with_choices(operation, request))

    def _with_choices[R](self, operation: Operation[..., R, Any], request: R) -> R:
        known = {operation.wire_names.get(one.name, one.name): one.name for one in fields(cast("Any", request))}
        chosen: dict[str, object] = {known[name]: words for name, words in self._chosen.items() if name in known}
        if "trigger_config" in chosen:
            chosen |= {"trigger_type": "words", "trigger_config": {"text": chosen["trigger_config"]}}
        return replace(cast("Any", request), **chosen) if chosen else request


def ask[T](question: Callable[[Cronty], Awaitable[Result[T]]], *, json: bool = False, makes_owner: bool = False) -> T:
    """The answer of a Cronty opened in this process; an `Err` is printed and ends the command."""
    answer = open_for(question, makes_owner=makes_owner)
    if isinstance(answer, Err):
        refuse(answer.message, hint=answer.hint, json=json)
    return answer.value


def call[T](question: Callable[[Api], Awaitable[T]], *, json: bool = False, show: bool = True) -> T:
    """The answer of an operation, printed as JSON if `json` and `show`; a refusal ends the command.

    With CRONTY_URL (or `cronty --url`) that server is asked, with the key in CRONTY_KEY.
    """
    chosen: dict[str, str] = {}
    while True:
        try:
            answer = _answer(question, chosen)
            break
        except CrontyError as refused:
            err = refused.err
            if err.choices and err.field and err.field not in chosen and can_ask(json=json):
                chosen[err.field] = choose(err)
                continue
            if err.choices and err.code == "ambiguous":
                refuse_choice(err, json=json)
            refuse(err.message, UNCLEAR if err.code == "ambiguous" else REFUSED, hint=err.hint, json=json)
    if json and show:
        print_json({} if answer is None else to_json(answer))
    return answer


def is_remote() -> bool:
    return bool(os.environ.get("CRONTY_URL"))


def _answer[T](question: Callable[[Api], Awaitable[T]], chosen: Mapping[str, str]) -> T:
    url = os.environ.get("CRONTY_URL")
    if url and os.environ.get("CRONTY_OWNER"):
        raise typer.BadParameter("A server knows the owner by its key: set CRONTY_KEY instead.", param_hint="--owner")
    if url:
        return asyncio.run(_ask_server(url, lambda client: question(Api(client, chosen))))
    return open_for(lambda cronty: question(Api(cronty, chosen)))


def open_for[T](question: Callable[[Cronty], Awaitable[T]], *, makes_owner: bool = False) -> T:
    async def open_and_ask() -> T:
        owner = os.environ.get("CRONTY_OWNER")
        cronty = _with_service_url(Cronty(owner=owner or "local", run_jobs=False))
        cronty.surface = "cli"
        async with cronty:
            if owner and not makes_owner and not await OwnerStore(cronty.database).exists(owner):
                command = f"cronty token add laptop --owner {quote(owner)}"
                hint = f"`cronty owner list` shows them; `{command}` makes a new one."
                refuse(f"There is no owner {owner}.", hint=hint)
            return await question(cronty)

    return asyncio.run(open_and_ask())


def caller_for(owner: str) -> Caller:
    """A user of this machine, who may act for every owner."""
    return local_caller(owner, "cli", trusted=True)


async def _ask_server[T](url: str, question: Callable[[AsyncClient], Awaitable[T]]) -> T:
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
