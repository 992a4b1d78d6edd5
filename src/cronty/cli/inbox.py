"""`cronty inbox`: the prompts that wait for an agent, and settling one by hand."""

from datetime import datetime
from typing import Annotated, Any

import typer

from cronty.app import Cronty
from cronty.cli.connection import ask
from cronty.cli.output import Column, Json, clock, counted, print_json, say, show_rows
from cronty.contract.answers import to_json
from cronty.contract.requests import MAX_READ
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.envelope import Envelope
from cronty.scheduler.answers import inbox_item
from cronty.scheduler.inbox import outcome_of

type Look = tuple[list[Envelope], datetime]


def inbox(
    done: Annotated[str | None, typer.Option(metavar="RUN", help="Settle this prompt as done.")] = None,
    failed: Annotated[str | None, typer.Option(metavar="RUN", help="Settle this prompt as failed.")] = None,
    report: Annotated[str | None, typer.Option(help="What came of it; it is kept with the run.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=MAX_READ, help="How many.")] = 20,
    json: Json = False,
) -> None:
    if done is not None and failed is not None:
        raise typer.BadParameter("Give --done or --failed, not both.")
    if done is not None or failed is not None:
        run, outcome = (done, "done") if done is not None else (failed, "failed")
        settled = ask(lambda cronty: _settle(cronty, str(run), outcome, report), json=json)
        print_json(settled) if json else say(f"Settled {run} as {outcome}.")
        return
    items, now = ask(lambda cronty: _look(cronty, count), json=json)
    if json:
        found = [to_json(inbox_item(item)) for item in items]
        print_json({"items": found, "count": len(found)})
        return
    if not items:
        say("No prompt is waiting.")
        return
    columns = [Column("run", whole=True), Column("planned for", whole=True), Column("for", whole=True)]
    show_rows([*columns, Column("prompt", fold=True)], [_row(item, now) for item in items])
    say(f"{counted(len(items), 'prompt')}. An agent takes them with read_inbox; `cronty inbox --done RUN` settles one.")


def _row(item: Envelope, now: datetime) -> tuple[str, ...]:
    held = f" (held or snoozed until {item.deadline:%H:%M} UTC)" if item.deadline > now else ""
    planned = inbox_item(item).scheduled_for
    return item.run_id, clock(planned), item.agent or "anyone", f"{item.prompt}{held}"


async def _look(cronty: Cronty, count: int) -> Result[Look]:
    found = await cronty.service.inbox.peek(cronty.caller, count)
    if isinstance(found, Err):
        return found
    now, _ = await cronty.service.scheduler.clock(cronty.caller)
    return Ok((found.value, now))


async def _settle(cronty: Cronty, run: str, outcome: str, report: str | None) -> Result[dict[str, Any]]:
    clock_now = await cronty.service.scheduler.clock(cronty.caller)
    verdict = outcome_of(outcome, report, None, clock_now)
    settled = verdict if isinstance(verdict, Err) else await cronty.service.inbox.settle(cronty.caller, [run], verdict)
    if isinstance(settled, Err):
        return settled
    if not all(settled.value.values()):
        return Err("not_found", f"No prompt waits as {run}.", "`cronty inbox` shows which do.")
    return Ok({"settled": run, "outcome": outcome})
