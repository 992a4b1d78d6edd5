"""Schedules declared in code. Opening the program makes them, changes them, and pauses those that are gone.

A job that was declared has two tags: one names the program, the other is a digest of the declaration. So a program
knows its own jobs, tells a changed declaration from a job that was edited by hand, and leaves other programs' jobs
alone. Several processes may open at once: one after the other brings the jobs in line, so that those of two versions
don't get mixed.
"""

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from cronty.contract.answers import JobSummary
from cronty.contract.result import CrontyError
from cronty.jobs.policy import make_policy
from cronty.store.turns import one_at_a_time

if TYPE_CHECKING:
    from cronty.app.cronty import Cronty
    from cronty.app.tasks import Schedulable

PROGRAM: Final = "code:"
DIGEST: Final = "code-version:"
GONE: Final = f"{DIGEST}gone"
PAGE: Final = 1000
PATIENCE: Final = 60.0
"""Seconds that a program waits for its database while it brings its schedules in line."""

ENDED: Final = frozenset({"cancelled", "completed"})

type Change = Literal["new", "changed", "gone", "edited", "same"]
type WhenGone = Literal["pause", "delete"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as a program declares it; its name is its identity within the program."""

    when: str
    task: "Schedulable[..., Any]"
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        return self.task.given.name or self.task.name

    @property
    def zone(self) -> str | None:
        return self.task.given.zone

    @property
    def program(self) -> str:
        """The program that declares it: the package its function is from, or the name of a script."""
        return program_of(self.task.module)

    @property
    def policy(self) -> Mapping[str, Any]:
        """All of it, so that what is no longer said has its usual value again."""
        whole = asdict(make_policy({**self.task.usual_policy, **(self.task.given.policy or {})}))
        return {name: value for name, value in whole.items() if name != "unread"}

    @property
    def digest(self) -> str:
        given = self.task.given
        said = [
            self.name, self.when, self.task.name, self.zone, list(given.tags or ()), self.policy,
            *self.task.stored(self.args, self.kwargs), given.max_runs, str(given.starts_at), str(given.ends_at),
        ]  # fmt: skip
        return f"{DIGEST}{sha256(orjson.dumps(said)).hexdigest()[:12]}"

    @property
    def tags(self) -> list[str]:
        return [*(self.task.given.tags or ()), self.program, self.digest]

    @property
    def call(self) -> str:
        """What it calls and when, as it stands in a message."""
        args, kwargs = self.task.stored(self.args, self.kwargs)
        given = [*(orjson.dumps(one).decode() for one in args)]
        given += [f"{name}={orjson.dumps(one).decode()}" for name, one in kwargs.items()]
        return f"{self.task.name}({', '.join(given)})"[:200] + f" {self.when}"


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one schedule: `edited` ones were changed by hand, and stay so until the code changes."""

    change: Change
    name: str
    schedule: Schedule | None = None
    job: JobSummary | None = None


def program_of(module: str) -> str:
    package = module.partition(".")[0]
    if package == "__main__":
        package = Path(getattr(sys.modules["__main__"], "__file__", None) or "main").stem
    return f"{PROGRAM}{package}"[:50]


def refuse_same_names(declared: Iterable[Schedule]) -> None:
    """A name is a schedule's identity: of two that share one, one would be lost."""
    known: dict[tuple[str, str], Schedule] = {}
    for one in declared:
        if (other := known.setdefault((one.program, one.name), one)) is not one:
            raise ValueError(
                f"There are two schedules called {one.name!r}: {other.call}, and {one.call}. Give each a name of its "
                f"own: {one.task.name}.options(name=…).every(…)."
            )


async def plan(cronty: "Cronty", program: "Cronty | None" = None) -> list[Step]:
    """What has to be done so that the stored schedules are those of the program, or of `cronty` itself."""
    program = program or cronty
    refuse_same_names(program.declared)
    stored = {(name, job.name): job for name in program.programs for job in await _jobs(cronty, name)}
    steps = [_step(one, stored.pop((one.program, one.name), None)) for one in program.declared]
    gone = [job for job in stored.values() if GONE not in job.tags and job.status not in ENDED]
    return [*steps, *(Step("gone", job.name, job=job) for job in gone)]


async def sync(cronty: "Cronty") -> list[Step]:
    """Do it; returns what was done. Doing it again is harmless, so a database that is away is waited for."""
    ends = monotonic() + PATIENCE
    while True:
        try:
            return await _sync(cronty)
        except CrontyError as refused:
            if refused.code != "unavailable" or monotonic() > ends:
                raise
        await asyncio.sleep(1)


async def _sync(cronty: "Cronty") -> list[Step]:
    """While no other process does."""
    async with one_at_a_time(cronty.database, f"schedules of {cronty.owner}"):
        steps = await plan(cronty)
        for step in steps:
            try:
                await _take(cronty, step)
            except CrontyError as refused:
                if refused.code not in ("version_conflict", "key_taken"):  # a person is changing it right now
                    raise
        return steps


async def _jobs(cronty: "Cronty", program: str) -> list[JobSummary]:
    found: list[JobSummary] = []
    cursor: str | None = None
    while True:
        page = await cronty.list_jobs(tag=program, limit=PAGE, cursor=cursor)
        found += page.jobs
        cursor = page.cursor
        if cursor is None:  # one that has ended is told only if no other has its name
            return sorted(found, key=lambda job: job.status not in ENDED)


def _step(one: Schedule, job: JobSummary | None) -> Step:
    if job is None:
        return Step("new", one.name, one)
    if one.digest not in job.tags:
        return Step("new" if job.status in ENDED else "changed", one.name, one, job)
    return Step("edited" if job.said != one.when or job.status == "cancelled" else "same", one.name, one, job)


async def _take(cronty: "Cronty", step: Step) -> None:
    match step:
        case Step("new", _, Schedule() as one):
            # With its digest, because a job that was cancelled keeps its key.
            key = f"{one.program}:{one.name[:150]}:{one.digest}"
            await one.task.options(name=one.name, tags=one.tags, idempotency_key=key).schedule(
                one.when, *one.args, **one.kwargs
            )
        case Step("changed", _, Schedule() as one, JobSummary() as job):
            now = await cronty.job_status(job.job_id)
            zone = one.zone or (await cronty.service.scheduler.clock(cronty.caller))[1]
            args, kwargs = one.task.stored(one.args, one.kwargs)
            await cronty.edit_job(
                job.job_id, expected_version=now.version, trigger_type="words", trigger_config={"text": one.when},
                timezone=zone, task=one.task.name, args=args, kwargs=kwargs, tags=one.tags,
                policy=one.policy, max_runs=one.task.given.max_runs, ends_at=one.task.given.ends_at,
            )  # fmt: skip
            if GONE in job.tags and job.paused:
                await cronty.resume_job(job.job_id)
        case Step("gone", _, None, JobSummary() as job) if cronty.when_gone == "delete":
            await cronty.delete_job(job.job_id)
        case Step("gone", _, None, JobSummary() as job):
            now = await cronty.job_status(job.job_id)
            tags = [tag for tag in job.tags if not tag.startswith(DIGEST)]
            await cronty.edit_job(job.job_id, expected_version=now.version, tags=[*tags, GONE])
            await cronty.pause_job(job.job_id)
        case _:
            pass
