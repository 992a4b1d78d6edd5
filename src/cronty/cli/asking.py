"""What commands that ask an open Cronty share: asking, durations in words, and tables that fit."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import typer
from rich.console import Console
from rich.table import Table

from cronty.app import Cronty
from cronty.jobs.caller import acting
from cronty.jobs.result import Err, Result
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant


def ask[T](question: Callable[[Cronty], Awaitable[Result[T]]]) -> T:
    """The answer of an open Cronty that runs no jobs; an `Err` is said in a line, and ends the command."""

    async def open_and_ask() -> Result[T]:
        with acting(None, {"surface": "cli"}):
            async with Cronty(run_jobs=False) as cronty:
                return await question(cronty)

    return answer_of(asyncio.run(open_and_ask()))


def answer_of[T](answer: Result[T]) -> T:
    if isinstance(answer, Err):
        typer.echo(f"cronty: {answer.message} {answer.hint}".rstrip(), err=True)
        raise typer.Exit(1)
    return answer.value


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


def show_table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)
