"""The jobs dialect (third seed), and what can be done with any job."""

from typing import Annotated, Any, Literal

from mcp.types import CallToolResult
from pydantic import Field

from cronty.actions.notify import undeliverable
from cronty.jobs.action import Action
from cronty.jobs.answers import failed_answer, run_answer, scheduled_answer, status_answer, summary_answer
from cronty.jobs.result import Err
from cronty.mcp.answers import answer, as_error
from cronty.mcp.desk import Desk
from cronty.mcp.origin import origin
from cronty.mcp.shapes import Cancelled, JobList, JobStatus, Redriven, Runs, Scheduled, Started, Tasks
from cronty.mcp.tool import Spec
from cronty.mcp.when import tidy
from cronty.scheduler import JobChanges, JobRequest
from cronty.scheduler.moments import read_span
from cronty.scheduler.requests import changed_action
from cronty.store.job_store import Filter

# Not a `type` alias: that would become a `$ref`, which not every client follows.
TriggerType = Literal["once", "interval", "cron", "words"]

JobId = Annotated[str, Field(description="The job's id, as schedule_job or list_jobs gave it.")]
TriggerConfig = Annotated[
    dict[str, Any],
    Field(
        description='once: {"run_at": "2027-01-31T09:00:00+01:00"}; interval: {"seconds","minutes","hours","days"}; '
        'cron: {"expression": "0 */2 * * *"}; words: {"text": "every weekday at 8:30"}.'
    ),
]
Timezone = Annotated[
    str | None,
    Field(description="IANA time zone of the schedule, e.g. Europe/Berlin. Default: the owner's, else UTC."),
]
Policy = Annotated[
    dict[str, Any] | None,
    Field(
        description="Only what differs from the default: attempts, backoff, timeout (seconds), overlap "
        "(skip, queue, allow, cancel_previous), catch_up (latest, all, none), spread (seconds)."
    ),
]
Tags = Annotated[list[str] | None, Field(description="Labels to find it by.")]
EndsAt = Annotated[str | None, Field(description="No run after this moment (ISO 8601).")]


class JobTools:
    """Thin over the door: arguments in, the seed's fields out."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def specs(self) -> list[Spec]:
        return [
            Spec(self.schedule_job, "Schedule a job", "jobs", tidy=tidy),
            Spec(self.list_jobs, "List jobs", "jobs", "read", read_only=True),
            Spec(self.cancel_job, "Cancel a job", "jobs", destructive=True, idempotent=True),
            Spec(self.job_status, "Look at a job", "jobs", "read", read_only=True),
            Spec(self.edit_job, "Change a job", "jobs", destructive=True, idempotent=True, tidy=tidy),
            Spec(self.run_job_now, "Run a job now", "jobs", "run", open_world=True),
            Spec(self.list_runs, "Why did it run, or not", "jobs", "read", read_only=True),
            Spec(self.redrive_runs, "Try failed runs again", "jobs", "run", open_world=True),
            Spec(self.list_tasks, "What can be scheduled", "jobs", "read", read_only=True),
        ]

    async def schedule_job(
        self,
        name: Annotated[str, Field(description="A name people recognise, e.g. nightly_backup.")],
        task: Annotated[
            str, Field(description="A registered task (see list_tasks), or notify, prompt, webhook: always there.")
        ],
        trigger_type: Annotated[TriggerType, Field(description="Which kind of trigger_config it is.")],
        trigger_config: TriggerConfig,
        args: Annotated[list[Any] | None, Field(description="Positional arguments of the task.")] = None,
        kwargs: Annotated[
            dict[str, Any] | None,
            Field(description='Keyword arguments of the task, e.g. {"message": "Stand-up", "topic": "ann-phone"}.'),
        ] = None,
        max_runs: Annotated[int | None, Field(description="Stop after so many runs. Default: no limit.")] = None,
        timezone: Timezone = None,
        policy: Policy = None,
        idempotency_key: Annotated[
            str | None, Field(description="The same key never makes a second job; use it when you may repeat the call.")
        ] = None,
        tags: Tags = None,
        starts_at: Annotated[str | None, Field(description="No run before this moment (ISO 8601).")] = None,
        ends_at: EndsAt = None,
    ) -> Annotated[CallToolResult, Scheduled]:
        """Schedule a recurring or one-off job: run a registered task, send a reminder or call a webhook later,
        on a cron, an interval or at one time. It is durable: it fires with every client closed.
        Don't use it for a simple reminder to a phone (schedule_notification) or a prompt for yourself (schedule).
        Each call makes a new job. The answer says the schedule in words and the next three runs: read them back.
        Example: {"name": "hourly_cleanup", "task": "cleanup_temp_files", "trigger_type": "interval",
        "trigger_config": {"hours": 1}, "max_runs": 24}"""
        action = Action(task, tuple(args or ()), dict(kwargs or {}))
        if flaw := undeliverable(action):
            return as_error(flaw)
        request = JobRequest(
            name,
            action,
            trigger_type,
            trigger_config,
            timezone=timezone,
            policy=policy or {},
            max_runs=max_runs,
            tags=tags or (),
            starts_at=starts_at,
            ends_at=ends_at,
            idempotency_key=idempotency_key,
            origin=origin(),
            key_id=self._desk.key_id,
        )
        result = await self._desk.ask(self._desk.door.schedule(self._desk.owner, request))
        return as_error(result) if isinstance(result, Err) else answer(scheduled_answer(result.value))

    async def list_jobs(
        self,
        status: Annotated[
            str | None, Field(description="pending, running, completed, failed or cancelled. Default: all.")
        ] = None,
        limit: Annotated[int, Field(description="How many, up to 1000.")] = 20,
        cursor: Annotated[str | None, Field(description="The cursor of the page before.")] = None,
        name: Annotated[str | None, Field(description="Only jobs whose name has this in it.")] = None,
        tag: Annotated[str | None, Field(description="Only jobs with this tag.")] = None,
        from_: Annotated[str | None, Field(description="Only jobs that fire at or after this time or date.")] = None,
        to: Annotated[str | None, Field(description="Only jobs that fire at or before this time or date.")] = None,
    ) -> Annotated[CallToolResult, JobList]:
        """List scheduled jobs, reminders and prompts, those that fire next first; total counts matches, up to 10,000.
        Use it to find a job's id or to see what is planned. Example: {"status": "failed"}"""
        span = await self._desk.ask(read_span(self._desk.door, self._desk.owner, from_, to))
        if isinstance(span, Err):
            return as_error(span)
        wanted = Filter(status, name, tag, None, span.value.since, span.value.until)
        result = await self._desk.ask(self._desk.door.list_jobs(self._desk.owner, wanted, limit, cursor))
        if isinstance(result, Err):
            return as_error(result)
        page = result.value
        jobs = [summary_answer(job) for job in page.jobs]
        return answer({"jobs": jobs, "total": page.total, "cursor": page.cursor})

    async def cancel_job(self, job_id: JobId) -> Annotated[CallToolResult, Cancelled]:
        """Cancel a job so that it never fires again; it stays listed as cancelled. Repeating it is harmless.
        To stop for a while use pause_schedule. Example: {"job_id": "job_1_1738764000"}"""
        result = await self._desk.ask(self._desk.door.cancel(self._desk.owner, job_id))
        if isinstance(result, Err):
            why = {} if result.code == "not_found" else {"error": result.message}
            return answer({"cancelled": False, "job_id": job_id, **why})
        return answer({"cancelled": True, "job_id": job_id})

    async def job_status(self, job_id: JobId) -> Annotated[CallToolResult, JobStatus]:
        """Show one job in full: status, last and next run, its last error, and its last ten runs, each with its
        verdict and the reason. Example: {"job_id": "job_1_1738764000"}"""
        desk = self._desk
        result = await desk.ask(desk.door.show(desk.owner, job_id))
        if isinstance(result, Err):
            return as_error(result)
        runs = await desk.ask(desk.door.list_runs(desk.owner, job_id, limit=10))
        return answer(status_answer(result.value, [] if isinstance(runs, Err) else runs.value))

    async def edit_job(
        self,
        job_id: JobId,
        expected_version: Annotated[
            int | None, Field(description="Refuse if the job has changed since it had this version.")
        ] = None,
        name: Annotated[str | None, Field(description="A new name.")] = None,
        trigger_type: Annotated[TriggerType | None, Field(description="With trigger_config: a new schedule.")] = None,
        trigger_config: Annotated[
            dict[str, Any] | None, Field(description="As in schedule_job, e.g. {'text': 'every day at 9'}.")
        ] = None,
        timezone: Timezone = None,
        task: Annotated[str | None, Field(description="Another registered task.")] = None,
        args: Annotated[list[Any] | None, Field(description="New positional arguments.")] = None,
        kwargs: Annotated[dict[str, Any] | None, Field(description="New keyword arguments, all of them.")] = None,
        max_runs: Annotated[int | None, Field(description="Stop after so many runs in all.")] = None,
        policy: Policy = None,
        tags: Tags = None,
        ends_at: EndsAt = None,
    ) -> Annotated[CallToolResult, Scheduled]:
        """Change a scheduled job, reminder or prompt, recurring ones too, from its next run on: move it, rename it,
        change what it does. Only what is given changes.
        Example: {"job_id": "job_1_1738764000", "trigger_type": "words",
        "trigger_config": {"text": "every weekday at 9:00"}}"""
        desk = self._desk
        shown = await desk.ask(desk.door.show(desk.owner, job_id))
        if isinstance(shown, Err):
            return as_error(shown)
        action = changed_action(shown.value.action, task, args, kwargs)
        if action is not None and (flaw := undeliverable(action)):
            return as_error(flaw)
        changes = JobChanges(
            name=name,
            action=action,
            trigger_type=trigger_type,
            trigger_config=trigger_config,
            timezone=timezone,
            policy=policy,
            max_runs=max_runs,
            tags=tags,
            ends_at=ends_at,
        )
        if changes == JobChanges():
            return as_error(Err("bad_change", "Nothing to change was given.", "Name at least one field to change."))
        version = shown.value.version if expected_version is None else expected_version
        result = await desk.ask(desk.door.edit(desk.owner, job_id, changes, version, key_id=desk.key_id))
        return as_error(result) if isinstance(result, Err) else answer(scheduled_answer(result.value))

    async def run_job_now(self, job_id: JobId) -> Annotated[CallToolResult, Started]:
        """Run a scheduled job once, right now, beside its schedule, which stays as it is. Look at what became of it
        with list_runs. Example: {"job_id": "job_1_1738764000"}"""
        result = await self._desk.ask(self._desk.door.run_now(self._desk.owner, job_id))
        return as_error(result) if isinstance(result, Err) else answer({"run_id": result.value, "job_id": job_id})

    async def list_runs(
        self,
        job_id: Annotated[
            str | None, Field(description="The job's id. Left out: what failed lately, over all jobs.")
        ] = None,
        limit: Annotated[int, Field(description="How many, newest first, up to 1000.")] = 20,
        verdict: Annotated[
            str | None,
            Field(description="waiting, running, done, failed, cancelled, skipped, coalesced, missed or quarantined."),
        ] = None,
    ) -> Annotated[CallToolResult, Runs]:
        """The history of a job: every planned moment with its verdict and the reason, and when a waiting one is tried
        next. Answers "why did it not run?". Example: {"job_id": "job_1_1738764000", "limit": 5}"""
        desk = self._desk
        if job_id is None:
            failed = await desk.ask(desk.runs.failed(desk.owner, limit))
            if isinstance(failed, Err):
                return as_error(failed)
            return answer({"runs": [failed_answer(one) for one in failed.value]})
        shown = await desk.ask(desk.door.show(desk.owner, job_id))
        if isinstance(shown, Err):
            return as_error(shown)
        result = await desk.ask(desk.door.list_runs(desk.owner, job_id, limit, state=verdict))
        if isinstance(result, Err):
            return as_error(result)
        runs = [run_answer(run, shown.value.zone, shown.value.trigger) for run in result.value]
        return answer({"job_id": job_id, "runs": runs})

    async def redrive_runs(
        self,
        run_ids: Annotated[list[str], Field(description="Failed runs, as list_runs names them.")],
    ) -> Annotated[CallToolResult, Redriven]:
        """Try failed runs again, now, each under its own id and with a new round of attempts. Use it after the cause
        is mended. Example: {"run_ids": ["run_12_1789462800000000"]}"""
        desk = self._desk
        result = await desk.ask(desk.runs.redrive(desk.owner, run_ids))
        if isinstance(result, Err):
            return as_error(result)
        refused = [run for run, accepted in result.value.items() if not accepted]
        facts: dict[str, object] = {"redriven": [run for run in result.value if run not in refused]}
        if refused:
            facts |= {"refused": refused, "hint": "Only failed or quarantined runs of a live job can be tried again."}
        return answer(facts)

    async def list_tasks(self) -> Annotated[CallToolResult, Tasks]:
        """What schedule_job can run: the names of the registered tasks, their parameters and what they do."""
        tasks = await self._desk.door.list_tasks()
        return answer({"tasks": [{"name": one.name, "parameters": one.parameters, "doc": one.doc} for one in tasks]})
