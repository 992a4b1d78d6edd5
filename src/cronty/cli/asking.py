"""What commands that ask an open Cronty share: asking, and durations in words."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import typer

from cronty.app import Cronty
from cronty.cli.saying import REFUSED, UNCLEAR, print_json, refuse
from cronty.cli.service_place import Place
from cronty.jobs.caller import acting
from cronty.jobs.result import Err, Result
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

type Answer = dict[str, Any]


def ask[T](question: Callable[[Cronty], Awaitable[Result[T]]], *, json: bool = False) -> T:
    """The answer of an open Cronty that runs no jobs; an `Err` is said in a line, and ends the command."""
    answer = open_for(question)
    if isinstance(answer, Err):
        refuse(answer.message, hint=answer.hint, json=json)
    return answer.value


def ask_api(question: Callable[[Cronty], Awaitable[Answer]], *, json: bool = False) -> Answer:
    """The same for what answers with a dictionary, which is printed if so wished."""
    answer = open_for(question)
    if answer.get("error") and "job_id" not in answer:
        refuse(answer["error"], code_of(answer["error"]), hint=answer.get("hint", ""), json=json)
    if json:
        print_json(answer)
    return answer


def open_for[T](question: Callable[[Cronty], Awaitable[T]]) -> T:
    async def open_and_ask() -> T:
        with acting(None, {"surface": "cli"}):
            async with _at_home(Cronty(run_jobs=False)) as cronty:
                return await question(cronty)

    return asyncio.run(open_and_ask())


def _at_home(cronty: Cronty) -> Cronty:
    """The same, knowing where the service of this machine is reached, if nobody says otherwise: tokens are for that."""
    settings = cronty.settings
    wish = Place(settings.data_dir).wish()
    if wish is not None and "public_url" not in settings.model_fields_set:
        url = wish.environment.get("CRONTY_PUBLIC_URL", f"{wish.url}/mcp")
        cronty.settings = settings.model_copy(update={"public_url": url})
    return cronty


def code_of(error: str) -> int:
    return UNCLEAR if "may mean" in error else REFUSED


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
