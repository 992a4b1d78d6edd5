"""Schedules declared in code. Opening the program makes them, changes them, and pauses those that are gone.

A job that was declared has tags: one names the program, another has digests of the schedule's name and of the whole
declaration. So a program knows its own jobs, also those that were renamed, tells a changed declaration from a job that
was edited by hand, and leaves other programs' jobs alone. Several processes may open at once: one after the other
brings the jobs in line, so that those of two versions don't get mixed.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast, get_args

import orjson

from cronty.app.programs import Program
from cronty.contract.answers import JobSummary
from cronty.contract.operations import Operations
from cronty.contract.requests import PreviewSchedule
from cronty.contract.result import CrontyError, Err, value_of
from cronty.jobs.job import Filter, Job
from cronty.jobs.policy import make_policy
from cronty.scheduler import answers
from cronty.scheduler.decisions import check_fields, refusal
from cronty.store.turns import one_at_a_time
from cronty.timing import BadTrigger, zone
from cronty.timing.errors import given_in
from cronty.timing.rule import read_bound

if TYPE_CHECKING:
    from cronty.app.cronty import Cronty
    from cronty.app.tasks import Schedulable

DIGEST: Final = "code-version:"
GONE: Final = f"{DIGEST}gone"
PAGE: Final = 1000
PATIENCE: Final = 60.0
"""Seconds that a program waits for its database while it brings its schedules in line."""

ENDED: Final = frozenset({"cancelled", "completed"})

type Change = Literal["new", "changed", "back", "gone", "edited", "other", "same"]
WhenGone = Literal["pause", "delete"]
CHANGES: Final = frozenset({"new", "changed", "back", "gone"})


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as a program declares it; its name is its identity within the program."""

    when: str
    task: "Schedulable[..., Any]"
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    written: str = ""
    """`when` as it stands in the code."""

    @property
    def name(self) -> str:
        return self.task.given.name or self.task.name

    @property
    def zone(self) -> str | None:
        return self.task.given.zone

    @property
    def program(self) -> Program:
        """The program that declares it."""
        return self.task.program

    @property
    def policy(self) -> Mapping[str, Any]:
        """All of it, so that what is no longer said has its usual value again."""
        whole = asdict(make_policy({**self.task.usual_policy, **(self.task.given.policy or {})}))
        return {name: value for name, value in whole.items() if name != "unread"}

    @property
    def stored(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return self.task.stored(self.args, self.kwargs)

    @property
    def mark(self) -> str:
        """How the tag begins that its job keeps, also when that is renamed."""
        return f"{DIGEST}{sha256(self.name.encode()).hexdigest()[:8]}-"

    @property
    def digest(self) -> str:
        given = self.task.given
        said = [
            self.name, self.when, self.task.name, self.zone, list(given.tags or ()), self.program.tags, self.policy,
            *self.stored, given.max_runs, str(given.starts_at), str(given.ends_at),
        ]  # fmt: skip
        return f"{self.mark}{sha256(orjson.dumps(said)).hexdigest()[:12]}"

    @property
    def tags(self) -> list[str]:
        return [*(self.task.given.tags or ()), *self.program.tags, self.digest]

    @property
    def call(self) -> str:
        """What it calls and when, as it stands in a message."""
        args, kwargs = self.stored
        given = [*(orjson.dumps(one).decode() for one in args)]
        given += [f"{name}={orjson.dumps(one).decode()}" for name, one in kwargs.items()]
        return f"{self.task.name}({', '.join(given)})"[:200] + f" {self.when}"


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one schedule: `edited` ones were changed by hand, and stay so until the code changes; `other`
    ones are of a program of the same name in another folder."""

    change: Change
    name: str
    schedule: Schedule | None = None
    job: JobSummary | None = None


class _Stored(NamedTuple):
    job: Job
    shown: JobSummary

    @property
    def ended(self) -> bool:
        return self.shown.status in ENDED


def check_declared(cronty: "Cronty", declared: Sequence[object]) -> list[Schedule]:
    """The schedules, if that is what they are; ValueError or TypeError says what else."""
    for one in declared:
        if isinstance(one, Schedule):
            if one.task.cronty is not cronty:
                raise ValueError(f"The schedule {one.name!r} is of a task of another Cronty: declare it with that one.")
            continue
        is_call = isinstance(one, Coroutine)
        if is_call:
            cast("Coroutine[Any, Any, Any]", one).close()
        raise TypeError(
            'cronty.schedules takes what task.every(…) returns, as in [report.every("monday at 7:00", "sales")], '
            f"and not a {type(one).__name__}." + (" task.schedule(…) makes a job at once." if is_call else "")
        )
    schedules = [one for one in declared if isinstance(one, Schedule)]
    _refuse_same_names(schedules)
    return schedules


def check_gone(gone: object) -> None:
    if gone not in get_args(WhenGone):
        raise ValueError(f'gone is {gone!r}: say "pause" or "delete".')


def _refuse_same_names(declared: Iterable[Schedule]) -> None:
    """A name is a schedule's identity: of two that share one, one would be lost."""
    known: dict[tuple[Program, str], Schedule] = {}
    for one in declared:
        if (other := known.setdefault((one.program, one.name), one)) is not one:
            raise ValueError(
                f"There are two schedules called {one.name!r}: {other.call}, and {one.call}. Give each a name of its "
                f"own: {one.task.name}.options(name=…).every(…)."
            )


async def plan(cronty: "Cronty", program: "Cronty | None" = None) -> list[Step]:
    """What has to be done so that the stored schedules are those of the program, or of `cronty` itself.

    CrontyError if one of those to make or change can't be read; it names each.
    """
    program = program or cronty
    declared = check_declared(program, program.declared)
    stored = {one: await _jobs(cronty, one.tag) for one in program.programs}
    former = [job for one in program.former for job in await _jobs(cronty, one.tag) if one.may_have_made(job.job.tags)]
    marks = [one.mark for one in declared]
    steps: list[Step] = []
    for one in declared:
        job = _pick(one, stored.get(one.program, []), marks) or _pick(one, former, marks)
        steps.append(_step(one, job))
    await _check(cronty, [one.schedule for one in steps if one.schedule and one.change in CHANGES])
    for one, left in stored.items():
        for job in left:
            if GONE not in job.job.tags and not job.ended:
                change: Change = "gone" if one.may_have_made(job.job.tags) else "other"
                steps.append(Step(change, job.shown.name, job=job.shown))
    return steps


def _pick(one: Schedule, jobs: list[_Stored], marks: Sequence[str]) -> _Stored | None:
    """Take its job out of the list: one that hasn't ended if there is one, by its mark, or by its name."""
    for ended in (False, True):
        for by_mark in (True, False):
            for job in jobs:
                mine = _has_mark(job, [one.mark])
                if not by_mark:
                    mine = job.shown.name == one.name and not _has_mark(job, marks)
                if mine and job.ended == ended:
                    jobs.remove(job)
                    return job
    return None


def _has_mark(job: _Stored, marks: Sequence[str]) -> bool:
    return any(tag.startswith(tuple(marks)) for tag in job.job.tags)


async def _check(cronty: "Cronty", declared: Sequence[Schedule]) -> None:
    wrong = [(one, err) for one in declared if (err := await _why_not(cronty, one)) is not None]
    if wrong:
        raise CrontyError(Err(wrong[0][1].code, "\n".join(_sentence(one, err) for one, err in wrong)))


async def _why_not(cronty: "Cronty", one: Schedule) -> Err | None:
    """Why a schedule can't be used, as far as can be known before it is made."""
    given = one.task.given
    if wrong := check_fields(one.name, one.tags, given.max_runs):
        return wrong
    try:
        shown = await cronty.ask(Operations.preview_schedule, PreviewSchedule(one.when, timezone=one.zone, count=1))
        now = (await cronty.service.scheduler.clock(cronty.caller))[0]
        for name in ("starts_at", "ends_at"):
            if (bound := getattr(given, name)) is not None:
                with given_in(name):
                    read_bound(bound, shown.timezone, now, last=name == "ends_at")
    except CrontyError as refused:
        if refused.code == "unavailable":
            raise
        return refused.err
    except BadTrigger as bad:
        return refusal(bad)
    return None


def _sentence(one: Schedule, err: Err) -> str:
    said = err.message
    if one.when != one.written:  # `every` was added, and hours have two digits: what is quoted is what was written
        said = said.replace(f'"{one.when}', f'"{one.written}').replace(f": {one.when}", f": {one.written}")
    function = one.task.registered.function
    where = f"{one.task.module}.{getattr(function, '__qualname__', one.task.name)}"
    end = "" if said.endswith((".", "?")) else "."
    return f"The schedule {one.name!r} of {where} can't be used: {said}{end} {err.hint}".strip()


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
                if refused.code in ("version_conflict", "key_taken"):  # a person is changing it right now
                    continue
                if step.schedule is None or refused.code == "unavailable":
                    raise
                raise CrontyError(Err(refused.code, _sentence(step.schedule, refused.err))) from refused
        return steps


async def _jobs(cronty: "Cronty", tag: str) -> list[_Stored]:
    scheduler, found = cronty.service.scheduler, list[_Stored]()
    cursor: str | None = None
    while True:
        page = value_of(await scheduler.list_jobs(cronty.caller, Filter(tag=tag), PAGE, cursor))
        found += map(_Stored, page.jobs, answers.job_list(page, "UTC").jobs)
        cursor = page.cursor
        if cursor is None:
            return found


def _step(one: Schedule, stored: _Stored | None) -> Step:
    if stored is None:
        return Step("new", one.name, one)
    job = stored.shown
    if one.digest in job.tags:
        return Step("edited" if _edited(one, stored) else "same", one.name, one, job)
    if stored.ended:
        return Step("new", one.name, one, job)
    return Step("back" if GONE in job.tags and job.paused else "changed", one.name, one, job)


def _edited(one: Schedule, stored: _Stored) -> bool:
    """Whether a person has changed what the code says."""
    job, shown = stored
    policy = {name: value for name, value in asdict(job.policy).items() if name != "unread"}
    given = [list(job.action.args), dict(job.action.kwargs)]
    return (
        shown.status == "cancelled"
        or (shown.name, shown.said, shown.task) != (one.name, one.when, one.task.name)
        or policy != one.policy
        or given != orjson.loads(orjson.dumps(one.stored))
        or (one.zone is not None and zone(one.zone).key != job.zone)
    )


async def _take(cronty: "Cronty", step: Step) -> None:
    match step:
        case Step("new", _, Schedule() as one):
            # With its digest, because a job that was cancelled keeps its key.
            key = f"{one.program.tag}:{one.name[:120]}:{one.digest}"
            await one.task.options(name=one.name, tags=one.tags, idempotency_key=key).schedule(
                one.when, *one.args, **one.kwargs
            )
        case Step("changed" | "back", _, Schedule() as one, JobSummary() as job):
            now = await cronty.job_status(job.job_id)
            zone_name = one.zone or (await cronty.service.scheduler.clock(cronty.caller))[1]
            args, kwargs = one.stored
            await cronty.edit_job(
                job.job_id, expected_version=now.version, name=one.name, trigger_type="words",
                trigger_config={"text": one.when}, timezone=zone_name, task=one.task.name, args=args,
                kwargs=kwargs, tags=one.tags, policy=one.policy,
                max_runs=one.task.given.max_runs, ends_at=one.task.given.ends_at,
            )  # fmt: skip
            if GONE in job.tags and job.paused:
                await cronty.resume_job(job.job_id)
        case Step("gone", _, None, JobSummary() as job) if cronty.when_gone == "delete":
            await cronty.delete_job(job.job_id)
        case Step("gone", _, None, JobSummary() as job):
            now = await cronty.job_status(job.job_id)
            # It keeps its mark, so that it is found if the schedule comes back, by whatever name.
            tags = [f"{tag.rpartition('-')[0]}-" if tag.startswith(DIGEST) else tag for tag in job.tags]
            await cronty.edit_job(job.job_id, expected_version=now.version, tags=[*tags, GONE])
            await cronty.pause_job(job.job_id)
        case _:
            pass
