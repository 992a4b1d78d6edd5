"""`cronty plan`: what starting a program would do to the schedules that it declares."""

import asyncio
from typing import Annotated, Final

import typer

from cronty.app import Cronty
from cronty.app.declared import CHANGES, Step, plan
from cronty.cli.output import Column, Json, counted, print_json, refuse, say, show_rows
from cronty.cli.startup import load
from cronty.contract.result import CrontyError

MEANING: Final = {
    "new": "will be made",
    "changed": "will be changed",
    "back": "will be resumed",
    "gone": "will be paused",
    "edited": "was changed by hand, and stays so",
    "other": "is another program's of this name, and stays",
    "same": "stays",
}
"""What starting the program does with a schedule."""


def plan_schedules(
    target: Annotated[str, typer.Argument(help="Where your Cronty is, as module:name, for example backup:cronty.")],
    json: Json = False,
) -> None:
    program = load(target)
    try:
        steps = asyncio.run(_look(program))
    except CrontyError as refused:
        refuse(refused.err.message, hint=refused.err.hint, json=json)
    except (TypeError, ValueError) as wrong:
        refuse(str(wrong), json=json)
    if json:
        print_json({"schedules": [_facts(one) for one in steps]})
        return
    if not steps:
        say(f"{target} declares no schedules.")
        return
    meaning = MEANING | ({"gone": "will be deleted"} if program.when_gone == "delete" else {})
    columns = [Column("schedule", fold=True), Column("what happens", whole=True), Column("in the code"), Column("now")]
    rows = [(one.name, meaning[one.change], _declared(one) or "-", _stored(one) or "-") for one in steps]
    show_rows(columns, rows)
    changes = sum(one.change in CHANGES for one in steps)
    say(f"{counted(changes, 'change')} when the program starts." if changes else "Starting it changes nothing.")


async def _look(program: Cronty) -> list[Step]:
    """Not with the program itself: opening that would publish its tasks."""
    settings = program.settings
    url, folder = settings.database_url, settings.data_dir
    async with Cronty(url, owner=program.owner, run_jobs=False, data_dir=folder) as cronty:
        return await plan(cronty, program)


def _facts(step: Step) -> dict[str, object]:
    job = step.job.job_id if step.job else None
    return {"name": step.name, "change": step.change, "job_id": job, "declared": _declared(step), "now": _stored(step)}


def _declared(step: Step) -> str | None:
    return step.schedule.when if step.schedule else None


def _stored(step: Step) -> str | None:
    return (step.job.said or step.job.schedule) if step.job else None
