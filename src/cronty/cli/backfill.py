"""`cronty backfill`: runs slots of a past range that passed without a run."""

from collections.abc import Mapping
from shlex import quote
from typing import Annotated

import typer

from cronty.cli.completion import Id
from cronty.cli.connection import Api, call
from cronty.cli.output import Json, clock, counted, print_json, say
from cronty.cli.workers import warn_if_idle, with_workers
from cronty.contract.answers import Backfill, to_json


def backfill(
    job: Id,
    since: Annotated[
        str, typer.Option("--from", help='The first day or time: "2026-11-01", "last monday", "3 days ago".')
    ],
    until: Annotated[str, typer.Option("--to", help="The last day, which belongs to it, or the last time.")],
    again: Annotated[bool, typer.Option("--again", help="Also those that were run already.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Run them; without it nothing runs.")] = False,
    json: Json = False,
) -> None:
    found, armed = call(
        lambda api: with_workers(api, _asked(api, job, since, until, again=again, yes=yes)), json=json, show=False
    )
    if json:
        print_json(to_json(found) | {"armed": armed})
        return
    _show(found)
    if found.next_from is not None:
        rest = found.next_from.replace(tzinfo=None)
        say(f'That is as much as one call takes. The rest begins at: --from "{rest}".')
    if found.dry_run and found.runs:
        say("Nothing was run. Repeat it with --yes.")
    elif found.runs:
        say(f"`cronty runs {quote(job)}` shows what comes of them.")
        warn_if_idle(armed)


async def _asked(api: Api, job: str, since: str, until: str, *, again: bool, yes: bool) -> Backfill:
    if not yes:
        return await api.backfill_job(job, since, until, again=again)
    as_of = (await api.backfill_job(job, since, until, again=True)).as_of if again else None
    return await api.backfill_job(job, since, until, dry_run=False, again=again, as_of=as_of)


def _show(found: Backfill) -> None:
    if found.first is None or found.last is None:
        say("No slot of that range is left to run.")
    else:
        done = "Would run" if found.dry_run else "Queued"
        span = clock(found.first, seconds=True)
        span += f" to {clock(found.last, seconds=True)}" if found.runs > 1 else ""
        say(f"{done} {counted(found.runs, 'slot')}: {span}, {found.timezone} ({_in_words(found.before)}).")
    if found.left_out:
        say(f"Left out: {_in_words(found.left_out)}.")
    for one in [*found.costs, *([found.note] if found.note else [])]:
        say(one)


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counts.items())
