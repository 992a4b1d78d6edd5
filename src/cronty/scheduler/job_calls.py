"""The operations on jobs, runs and the clock."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from cronty import tracing
from cronty.contract.answers import (
    CurrentTime,
    DeletedJobs,
    FailedRuns,
    JobDetail,
    JobList,
    RedrivenRuns,
    RunDetail,
    RunList,
    ScheduledJob,
    SchedulePreview,
    StartedRun,
    TaskDetail,
    TaskList,
)
from cronty.contract.caller import Caller
from cronty.contract.operation import Handler
from cronty.contract.operations import Operations
from cronty.contract.requests import (
    CancelJob,
    ChangeSlot,
    DeleteJob,
    EditJob,
    GetCurrentTime,
    ListDeletedJobs,
    ListFailedRuns,
    ListJobs,
    ListRuns,
    ListTasks,
    PauseJob,
    PreviewSchedule,
    RedriveRuns,
    ResumeJob,
    RunJobNow,
    ScheduleJob,
    ShowJob,
    ShowRun,
    StopRun,
    UndeleteJob,
)
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import Action, kind_of
from cronty.jobs.ids import job_id_text, read_job_id
from cronty.jobs.job import Filter, Job
from cronty.jobs.run import run_id
from cronty.scheduler import answers
from cronty.scheduler.backfills import Backfills
from cronty.scheduler.channels import Channels
from cronty.scheduler.decisions import USE_CURSOR, given, names_of
from cronty.scheduler.moments import read_span
from cronty.scheduler.permission import may_see, not_for, not_to_change, not_to_tell
from cronty.scheduler.runs import Runs
from cronty.scheduler.scheduler import Scheduler
from cronty.store.limit_store import Standing
from cronty.timing import BadTrigger, zone
from cronty.timing.reading import read_moment

LAST_RUNS: Final = 10


class JobCalls:
    def __init__(self, scheduler: Scheduler, runs: Runs, channels: Channels, backfills: Backfills) -> None:
        self._scheduler = scheduler
        self._backfills = backfills
        self._runs = runs
        self._channels = channels

    def handlers(self) -> Iterator[Handler]:
        yield Operations.schedule_job.by(self.schedule)
        yield Operations.list_jobs.by(self.list_jobs)
        yield Operations.job_status.by(self.show)
        yield Operations.edit_job.by(self.edit)
        yield Operations.pause_job.by(self.pause)
        yield Operations.resume_job.by(self.resume)
        yield Operations.cancel_job.by(self.cancel)
        yield Operations.delete_job.by(self.delete)
        yield Operations.undelete_job.by(self.undelete)
        yield Operations.list_deleted_jobs.by(self.list_deleted)
        yield Operations.change_slot.by(self.change_slot)
        yield Operations.run_job_now.by(self.run_now)
        yield Operations.backfill_job.by(self._backfills.backfill)
        yield Operations.list_runs.by(self.list_runs)
        yield Operations.list_failed_runs.by(self.list_failed_runs)
        yield Operations.show_run.by(self.show_run)
        yield Operations.stop_run.by(self.stop_run)
        yield Operations.redrive_runs.by(self.redrive)
        yield Operations.preview_schedule.by(self.preview)
        yield Operations.get_current_time.by(self.current_time)
        yield Operations.list_tasks.by(self.list_tasks)

    # -- jobs ---------------------------------------------------------------------------------------------------

    async def schedule(self, caller: Caller, request: ScheduleJob) -> Result[ScheduledJob]:
        with tracing.scheduling(kind_of(request.task)) as span:
            made = await self._schedule(caller, request)
            tracing.answered(span, *_told(made))
        return made

    async def _schedule(self, caller: Caller, request: ScheduleJob) -> Result[ScheduledJob]:
        ready = await self._ready(caller, request)
        if isinstance(ready, Err):
            return ready
        standing, note = ready.value
        made = await self._scheduler.schedule(caller, request, standing)
        return made if isinstance(made, Err) else Ok(answers.scheduled_job(made.value, note))

    async def enqueue(
        self, caller: Caller, request: ScheduleJob, unique: bool | str, connection: object | None
    ) -> Result[StartedRun]:
        with tracing.scheduling(kind_of(request.task)) as span:
            made = await self._enqueue(caller, request, unique, connection)
            tracing.answered(span, *_told(made))
        return made

    async def _enqueue(
        self, caller: Caller, request: ScheduleJob, unique: bool | str, connection: object | None
    ) -> Result[StartedRun]:
        ready = await self._ready(caller, request)
        if isinstance(ready, Err):
            return ready
        added = await self._scheduler.enqueue(caller, request, unique, connection, ready.value[0])
        if isinstance(added, Err):
            return added
        number, created_at = added.value.number, added.value.created_at
        return Ok(StartedRun(run_id=run_id(number, added.value.slot), job_id=job_id_text(number, created_at)))

    async def _ready(self, caller: Caller, request: ScheduleJob) -> Result[tuple[Standing, str | None]]:
        """What to know before a job is made, and what to say about where its messages go; one statement."""
        names = names_of(request.task, request.args, request.kwargs, request.policy)
        standing = await self._scheduler.standing(caller, request, channels=bool(names))
        if isinstance(standing, Err):
            return standing
        note = self._channels.about_known(caller, names, standing.value.channels)
        return note if isinstance(note, Err) else Ok((standing.value, note.value))

    async def list_jobs(self, caller: Caller, request: ListJobs) -> Result[JobList]:
        span = await read_span(self._scheduler, caller, _as_text(request.since), _as_text(request.until))
        if isinstance(span, Err):
            return span
        since, until = span.value.since, span.value.until
        wanted = Filter(request.status, request.name, request.tag, request.task, since, until, request.topic)
        found = await self._scheduler.list_jobs(caller, wanted, request.limit, request.cursor)
        return found if isinstance(found, Err) else Ok(answers.job_list(found.value, await self._zone(caller)))

    async def show(self, caller: Caller, request: ShowJob) -> Result[JobDetail]:
        return await self._in_full(caller, await self._scheduler.show(caller, request.job_id))

    async def edit(self, caller: Caller, request: EditJob) -> Result[ScheduledJob]:
        note = await self._noted(caller, request)
        if isinstance(note, Err):
            return note
        edited = await self._scheduler.edit(caller, request)
        return edited if isinstance(edited, Err) else Ok(answers.scheduled_job(edited.value, note.value))

    async def _noted(self, caller: Caller, request: EditJob) -> Result[str | None]:
        """What to say about where the messages of a changed job go; looked at by those who may change it."""
        args, kwargs, policy = given(request.args), given(request.kwargs), given(request.policy)
        if not names_of(given(request.task) or "notify", args, kwargs, policy):  # the job's own task may be that
            return Ok(None)
        shown = await self._scheduler.show(caller, request.job_id)
        if isinstance(shown, Err):
            return shown
        task = given(request.task) or shown.value.action.task
        if wrong := not_to_change(caller, shown.value) or not_for(caller, Action(task)) or not_to_tell(caller, policy):
            return wrong
        return await self._channels.about(caller, names_of(task, args, kwargs, policy))

    async def pause(self, caller: Caller, request: PauseJob) -> Result[JobDetail]:
        return await self._in_full(caller, await self._scheduler.pause(caller, request.job_id))

    async def resume(self, caller: Caller, request: ResumeJob) -> Result[JobDetail]:
        resumed = await self._scheduler.resume(caller, request.job_id)
        return await self._in_full(caller, resumed)

    async def cancel(self, caller: Caller, request: CancelJob) -> Result[JobDetail]:
        return await self._in_full(caller, await self._scheduler.cancel(caller, request.job_id))

    async def delete(self, caller: Caller, request: DeleteJob) -> Result[None]:
        return await self._scheduler.delete(caller, request.job_id)

    async def undelete(self, caller: Caller, request: UndeleteJob) -> Result[JobDetail]:
        undeleted = await self._scheduler.undelete(caller, request.job_id)
        return await self._in_full(caller, undeleted)

    async def list_deleted(self, caller: Caller, request: ListDeletedJobs) -> Result[DeletedJobs]:
        before = _cursor(request.before)
        if isinstance(before, Err):
            return before
        found = await self._scheduler.list_deleted(caller, request.limit, before)
        return Ok(answers.deleted_jobs(found, request.limit, await self._zone(caller)))

    async def change_slot(self, caller: Caller, request: ChangeSlot) -> Result[ScheduledJob]:
        changed = await self._scheduler.change_slot(caller, request)
        return changed if isinstance(changed, Err) else Ok(answers.scheduled_job(changed.value.job, changed.value.note))

    async def run_now(self, caller: Caller, request: RunJobNow) -> Result[StartedRun]:
        return await self._scheduler.run_now(caller, request.job_id)

    async def _in_full(self, caller: Caller, found: Result[Job]) -> Result[JobDetail]:
        if isinstance(found, Err):
            return found
        if not may_see(caller, found.value):
            return Ok(answers.confirmed_job(found.value))
        runs = await self._scheduler.list_runs(caller, found.value, LAST_RUNS)
        return Ok(answers.job_detail(found.value, [] if isinstance(runs, Err) else runs.value))

    async def _zone(self, caller: Caller) -> str:
        """The owner's, in which lists are shown."""
        return (await self._scheduler.clock(caller))[1]

    # -- runs ---------------------------------------------------------------------------------------------------

    async def list_runs(self, caller: Caller, request: ListRuns) -> Result[RunList]:
        before = _cursor(request.before)
        if isinstance(before, Err):
            return before
        shown = await self._scheduler.show(caller, request.job_id)
        if isinstance(shown, Err):
            return shown
        found = await self._scheduler.list_runs(caller, shown.value, request.limit, before, request.verdict)
        return found if isinstance(found, Err) else Ok(answers.run_list(shown.value, found.value, request.limit))

    async def list_failed_runs(self, caller: Caller, request: ListFailedRuns) -> Result[FailedRuns]:
        found = await self._runs.failed(caller, request.limit, request.before)
        if isinstance(found, Err):
            return found
        return Ok(answers.failed_runs(found.value, request.limit, await self._zone(caller)))

    async def show_run(self, caller: Caller, request: ShowRun) -> Result[RunDetail]:
        found = await self._runs.show(caller, request.run_id)
        if isinstance(found, Err):
            return found
        run, job, attempts, told = found.value.run, found.value.job, found.value.attempts, found.value.told
        if not may_see(caller, job):
            return Ok(answers.confirmed_run(run, job))
        return Ok(answers.run_detail(run, job, attempts, told))

    async def stop_run(self, caller: Caller, request: StopRun) -> Result[RunDetail]:
        stopped = await self._runs.stop(caller, request.run_id)
        return stopped if isinstance(stopped, Err) else await self.show_run(caller, ShowRun(request.run_id))

    async def redrive(self, caller: Caller, request: RedriveRuns) -> Result[RedrivenRuns]:
        tried = await self._runs.redrive(caller, request.run_ids)
        if isinstance(tried, Err):
            return tried
        refused = [run for run, accepted in tried.value.items() if not accepted]
        hint = "Only failed or quarantined runs of a live job can be tried again." if refused else None
        if hint is not None and caller.is_agent:
            hint += " An agent must wait a minute after a notification, webhook or prompt has failed."
        again = [run for run, accepted in tried.value.items() if accepted]
        return Ok(RedrivenRuns(redriven=again, refused=refused, hint=hint))

    # -- time ---------------------------------------------------------------------------------------------------

    async def preview(self, caller: Caller, request: PreviewSchedule) -> Result[SchedulePreview]:
        words = {"text": request.schedule}
        found = await self._scheduler.preview(caller, "words", words, request.timezone, request.count)
        return found if isinstance(found, Err) else Ok(answers.preview_of(found.value))

    async def current_time(self, caller: Caller, request: GetCurrentTime) -> Result[CurrentTime]:
        now, usual = await self._scheduler.clock(caller)
        try:
            return Ok(answers.current_time(now, zone(request.timezone or usual)))
        except BadTrigger as bad:
            return Err("bad_timezone", bad.message, bad.hint, "timezone")

    async def list_tasks(self, caller: Caller, _request: ListTasks) -> Result[TaskList]:
        tasks = await self._scheduler.list_tasks(caller)
        return Ok(TaskList(tasks=[TaskDetail(name=one.name, parameters=one.parameters, doc=one.doc) for one in tasks]))


def _told(made: Result[ScheduledJob] | Result[StartedRun]) -> tuple[str, int | None]:
    """What a span says about an answer: `made` or the code of the refusal, and the job's number."""
    return (made.code, None) if isinstance(made, Err) else ("made", read_job_id(made.value.job_id))


def _as_text(moment: str | datetime | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment


def _cursor(before: str | datetime | None) -> datetime | Err | None:
    """The time at which the previous page ended."""
    if before is None or isinstance(before, datetime):
        return before
    try:
        return read_moment(before.strip(), "UTC")
    except BadTrigger as bad:
        return Err("bad_cursor", f"Invalid before: {bad.message}", USE_CURSOR, "before")
