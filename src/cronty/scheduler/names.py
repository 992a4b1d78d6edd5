"""Finds the job that a caller means by its name. An id or a number is taken as it is, whatever jobs are called."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from cronty.contract.caller import Caller
from cronty.contract.result import Choice, Err, Ok, Result
from cronty.jobs.ids import job_id_text, read_job_id
from cronty.jobs.job import Filter, Job
from cronty.jobs.storable import storable
from cronty.scheduler.decisions import MAX_NAME, not_found
from cronty.store.job_store import JobStore
from cronty.timing import Calendar, describe, zone
from cronty.timing.near import near

_MOST: Final = 20
_NEAR: Final = 3
_COMPARED: Final = 200
"""How many jobs have their names compared with one that none has."""


async def job_named(store: JobStore, caller: Caller, text: str, *, deleted: bool = False) -> Result[str]:
    """The id of the only job with this name. One that has not ended is meant before any that has.

    Which other jobs may be meant is told to those who may read them.
    """
    owner = caller.owner
    name = text.strip()
    if read_job_id(name) is not None or not name or not storable(name):
        return Ok(text)
    if len(name) > MAX_NAME:  # no job is called that
        return not_found(text)
    found = await store.jobs_by_name(owner, name, _MOST, deleted=deleted)
    meant = [job for job in found if job.status in ("pending", "running")] or found
    if len(meant) == 1:
        return Ok(job_id_text(meant[0].number, meant[0].created_at))
    if meant:
        return _several(name, meant, caller)
    if not caller.may("read"):
        return not_found(text)
    like, _ = await store.list_jobs(owner, Filter(name=name), _NEAR)
    if not like:
        known, _ = await store.list_jobs(owner, Filter(), _COMPARED)
        alike = near(name.lower(), {job.name.lower() for job in known}, _NEAR)
        like = [job for job in known if job.name.lower() in alike][:_NEAR]
    if not like:
        return not_found(text)
    listed = ", ".join(f"{job.number} ({job.name})" for job in like)
    hint = f"Did you mean {listed}? Give its number or its whole name."
    return Err("not_found", f"Job not found: {text}", hint, "job_id", _choices(like))


async def say_rules(jobs: Iterable[Job]) -> None:
    """Put the rules of these jobs in words, with others' turn between them: the longest take milliseconds."""
    for job in jobs:
        if isinstance(job.trigger, Calendar) and job.trigger.words is None:
            await asyncio.sleep(0)
            describe(job.trigger, job.zone)


def _several(name: str, jobs: list[Job], caller: Caller) -> Err:
    jobs = sorted(jobs, key=lambda job: job.number)
    numbers = ", ".join(str(job.number) for job in jobs)
    message = f'{len(jobs)} jobs are called "{name}": {numbers}.'
    return Err(
        "ambiguous", message, "Name one of them by its number.", "job_id", _choices(jobs) if caller.may("read") else ()
    )


def _choices(jobs: list[Job]) -> tuple[Choice, ...]:
    return tuple(Choice(str(job.number), _described(job), _next(job)) for job in jobs)


def _described(job: Job) -> str:
    return f"{job.name}, {describe(job.trigger, job.zone)}, {'paused' if job.state == 'paused' else job.status}"


def _next(job: Job) -> datetime | None:
    return None if job.next_run is None else job.next_run.astimezone(zone(job.zone))
