"""`create` or `edit` an owner's jobs through the door of whatever version this runs from; answers in a line of JSON."""

import argparse
import asyncio
import json

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.operation import UNSET
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Ok


async def create(
    cronty: Cronty, owner: str, jobs: int, runs: int, crons: int, policy: dict[str, object]
) -> list[object]:
    """Jobs that fire `runs` times, once a second, `crons` of them at the next full minute; id, first slot and runs."""
    made: list[object] = []
    for number in range(jobs):
        cron = number < crons
        request = ScheduleJob(
            f"{owner} {number}", "plain", "cron" if cron else "interval",
            {"expression": "* * * * *"} if cron else {"seconds": 1},
            timezone="Europe/Berlin", policy=policy, max_runs=1 if cron else runs,
        )  # fmt: skip
        result = await cronty.service.scheduler.schedule(local_caller(owner), request)
        assert isinstance(result, Ok), result
        assert result.value.next_slot is not None
        made.append((result.value.id, result.value.next_slot.isoformat(), 1 if cron else runs))
    return made


async def edit(cronty: Cronty, owner: str) -> int:
    """Rename every job, and change the policy of every second one."""
    found = await cronty.service.scheduler.list_jobs(local_caller(owner))
    assert isinstance(found, Ok), found
    for number, job in enumerate(found.value.jobs):
        policy = {"backoff": 7} if number % 2 else UNSET
        changes = EditJob(str(job.number), name=f"{job.name}, edited", policy=policy)
        result = await cronty.service.scheduler.edit(local_caller(owner), changes)
        assert isinstance(result, Ok) or result.code == "not_editable", result
    return len(found.value.jobs)


async def perform(asked: argparse.Namespace) -> object:
    async with Cronty(run_jobs=False) as cronty:
        if asked.act == "create":
            return await create(cronty, asked.owner, asked.jobs, asked.runs, asked.crons, json.loads(asked.policy))
        return await edit(cronty, asked.owner)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=("create", "edit"))
    parser.add_argument("owner")
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--crons", type=int, default=0)
    parser.add_argument("--policy", default="{}")
    print(json.dumps(asyncio.run(perform(parser.parse_args()))))
