"""Refuses a task that a living worker of another program performs: each would perform runs of the other."""

from typing import TYPE_CHECKING, Final

import orjson

from cronty import telemetry
from cronty.app.programs import home_of
from cronty.contract.result import CrontyError, Err
from cronty.jobs.performers import Performer, Performs, compared
from cronty.store.job_store import JobStore

if TYPE_CHECKING:
    from cronty.app.cronty import Cronty

NAMED: Final = 10
"""How many tasks a message names."""


def performs(cronty: "Cronty") -> Performs:
    """What a worker of this program performs, without what every worker does."""
    own = {task.name: home_of(task.function) for task in cronty.registry.own()} if cronty.run_jobs else {}
    return Performs(None if cronty.program is None else cronty.program.name, own)


async def refuse_namesakes(cronty: "Cronty", jobs: JobStore, worker: int | None = None) -> None:
    """CrontyError if another program performs a task of this one. What only may be another is warned of, before this
    program has a `worker` of its own."""
    program, own = ours = performs(cronty)
    if not own:
        return
    by_place = cronty.settings.database_url is None
    found = [
        (compared(program, own[one.task], one, by_place=by_place), one)
        for one in await jobs.performers(list(own), worker or 0)
    ]
    if others := [one for verdict, one in found if verdict == "other"]:
        raise CrontyError(_taken(others, ours))
    if worker is None:
        unsure = {one.task for verdict, one in found if verdict == "unsure"}
        unnamed = {one.task for _, one in found if program is None or one.program is None}
        if shared := sorted(unsure | unnamed & await _described_otherwise(cronty, jobs)):
            telemetry.task_names_shared(shared)


async def _described_otherwise(cronty: "Cronty", jobs: JobStore) -> set[str]:
    """The tasks whose published parameters or description aren't those that they have here."""
    known = {one.name: (one.parameters, one.doc) for one in await jobs.list_tasks(cronty.owner)}
    own = {task.name: (orjson.loads(orjson.dumps(task.parameters)), task.doc) for task in cronty.registry.own()}
    return {name for name, said in own.items() if known.get(name, said) != said}


def _taken(others: list[Performer], ours: Performs) -> Err:
    first = others[0]
    mine = ours.program or ours.tasks[first.task].package
    tasks = ", ".join(sorted({one.task for one in others})[:NAMED])
    where = f"{first.name}, in another folder" if first.name == mine else first.name
    return Err(
        "task_taken",
        f"Another program performs {tasks} too: {where} (worker {first.worker}). Workers take runs by the task's name, "
        f"so each would perform runs of the other.",
        f'Rename one, as in @cronty.task(name="{mine}.{first.task}"). If both are one program, give both its name, '
        f'Cronty(program="{mine}").',
    )
