"""Schedules declared in code. Opening the program makes them, changes them, and pauses those that are gone.

A job that was declared has two tags: one names the program, the other is a digest of the declaration. So a program
knows its own jobs, tells a changed declaration from a job that was edited by hand, and leaves other programs' jobs
alone. Several processes may open at once: a new job has an idempotency key, and a change is refused if the job has
another version by then.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from cronty.app.tasks import Schedulable
from cronty.contract.answers import JobSummary
from cronty.contract.result import CrontyError

if TYPE_CHECKING:
    from cronty.app.cronty import Cronty

PROGRAM: Final = "code:"
DIGEST: Final = "code-version:"
GONE: Final = f"{DIGEST}gone"
PAGE: Final = 1000

type Change = Literal["new", "changed", "gone", "edited", "same"]


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule as the program says it; its name is its identity within the program."""

    name: str
    when: str
    task: Schedulable[..., Any]
    zone: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The program that declares it: the package its function is from, or the name of a script."""
        package = self.task.module.partition(".")[0]
        if package == "__main__":
            package = Path(getattr(sys.modules["__main__"], "__file__", None) or "main").stem
        return f"{PROGRAM}{package}"[:50]

    @property
    def digest(self) -> str:
        said = [self.name, self.when, self.task.name, self.zone, self.tags, self.task.usual_policy]
        return f"{DIGEST}{sha256(orjson.dumps(said)).hexdigest()[:12]}"

    @property
    def all_tags(self) -> list[str]:
        return [*self.tags, self.program, self.digest]


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one schedule: `edited` ones were changed by hand, and stay so until the code changes."""

    change: Change
    name: str
    declared: Declared | None = None
    job: JobSummary | None = None


async def plan(cronty: "Cronty", declared: Sequence[Declared]) -> list[Step]:
    """What has to be done so that the stored schedules are those that are declared."""
    stored = {(program, job.name): job for program in _programs(declared) for job in await _jobs(cronty, program)}
    steps = [_step(one, stored.pop((one.program, one.name), None)) for one in declared]
    gone = [job for job in stored.values() if GONE not in job.tags and job.status != "cancelled"]
    return [*steps, *(Step("gone", job.name, job=job) for job in gone)]


async def sync(cronty: "Cronty", declared: Sequence[Declared]) -> list[Step]:
    """Do it; returns what was done."""
    steps = await plan(cronty, declared)
    for step in steps:
        try:
            await _take(cronty, step)
        except CrontyError as refused:
            if refused.code not in ("version_conflict", "key_taken"):  # another process is doing it
                raise
    return steps


def _programs(declared: Sequence[Declared]) -> list[str]:
    return sorted({one.program for one in declared})


async def _jobs(cronty: "Cronty", program: str) -> list[JobSummary]:
    found: list[JobSummary] = []
    cursor: str | None = None
    while True:
        page = await cronty.list_jobs(tag=program, limit=PAGE, cursor=cursor)
        found += page.jobs
        cursor = page.cursor
        if cursor is None:
            return found


def _step(one: Declared, job: JobSummary | None) -> Step:
    if job is None:
        return Step("new", one.name, one)
    if one.digest not in job.tags:
        return Step("changed", one.name, one, job)
    return Step("edited" if job.said != one.when or job.status == "cancelled" else "same", one.name, one, job)


async def _take(cronty: "Cronty", step: Step) -> None:
    match step:
        case Step("new", _, Declared() as one):
            key = f"{one.program}:{one.name}"[:200]
            await one.task.options(
                name=one.name, zone=one.zone, tags=one.all_tags, idempotency_key=key
            ).schedule(one.when)  # fmt: skip
        case Step("changed", _, Declared() as one, JobSummary() as job):
            now = await cronty.job_status(job.job_id)
            await cronty.edit_job(
                job.job_id, expected_version=now.version, trigger_type="words", trigger_config={"text": one.when},
                timezone=one.zone or now.timezone, task=one.task.name, args=[], kwargs={}, tags=one.all_tags,
                policy=one.task.usual_policy,
            )  # fmt: skip
            if GONE in job.tags and job.paused:
                await cronty.resume_job(job.job_id)
        case Step("gone", _, None, JobSummary() as job):
            now = await cronty.job_status(job.job_id)
            tags = [tag for tag in job.tags if not tag.startswith(DIGEST)]
            await cronty.edit_job(job.job_id, expected_version=now.version, tags=[*tags, GONE])
            await cronty.pause_job(job.job_id)
        case _:
            pass
