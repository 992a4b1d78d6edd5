"""The public class `Cronty`: jobs and the agenda, asked for in the words of the seeds."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any

from cronty.actions.tasks import running_in
from cronty.app.opening import Opening
from cronty.jobs.action import Action
from cronty.jobs.answers import (
    deleted_answer,
    failed_answer,
    run_answer,
    scheduled_answer,
    status_answer,
    summary_answer,
)
from cronty.jobs.job import Job
from cronty.jobs.result import Err, Result
from cronty.scheduler import JobChanges, JobRequest
from cronty.scheduler.agenda import NOT_PENDING, Agenda
from cronty.store.job_store import Filter

type Answer = dict[str, object]


class Cronty(Opening):
    """A scheduler in your program: register tasks, open it, schedule."""

    # -- jobs, as the third seed says them ----------------------------------------------------------------------

    async def schedule_job(
        self,
        name: str,
        task: str,
        trigger_type: str,
        trigger_config: Mapping[str, object],
        args: Sequence[object] | None = None,
        kwargs: Mapping[str, object] | None = None,
        max_runs: int | None = None,
        *,
        timezone: str | None = None,
        policy: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        tags: Sequence[str] = (),
        starts_at: datetime | str | None = None,
        ends_at: datetime | str | None = None,
    ) -> Answer:
        """Make a job from a registered task and a trigger: `once`, `interval` or `cron`."""
        request = JobRequest(
            name,
            Action(task, tuple(args or ()), dict(kwargs or {})),
            trigger_type,
            trigger_config,
            timezone=timezone,
            policy=policy or {},
            max_runs=max_runs,
            tags=tags,
            starts_at=starts_at,
            ends_at=ends_at,
            idempotency_key=idempotency_key,
            origin=_origin(),
        )
        result = await self.scheduler.schedule(self.owner, request)
        return _error(result) if isinstance(result, Err) else scheduled_answer(result.value)

    async def list_jobs(
        self,
        status: str | None = None,
        *,
        limit: int = 100,
        cursor: str | None = None,
        name: str | None = None,
        tag: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Answer:
        """Jobs, those that fire next first, and how many match in all, up to 10,000."""
        wanted = Filter(status, name, tag, None, since, until)
        result = await self.scheduler.list_jobs(self.owner, wanted, limit, cursor)
        if isinstance(result, Err):
            return _error(result)
        page = result.value
        return {
            "jobs": [summary_answer(job) for job in page.jobs],
            "total": page.total,
            "cursor": page.cursor,
        }

    async def job_status(self, job_id: str | int) -> Answer:
        """A job in full, with its last runs."""
        result = await self.scheduler.show(self.owner, job_id)
        if isinstance(result, Err):
            return _error(result)
        runs = await self.scheduler.list_runs(self.owner, job_id, limit=10)
        return status_answer(result.value, [] if isinstance(runs, Err) else runs.value)

    async def cancel_job(self, job_id: str | int) -> Answer:
        """End a job; true also if it had ended already."""
        result = await self.scheduler.cancel(self.owner, job_id)
        return {"cancelled": result.is_ok, "job_id": str(job_id)}

    async def pause_job(self, job_id: str | int) -> Answer:
        return await self._status_after(self.scheduler.pause, job_id)

    async def resume_job(self, job_id: str | int) -> Answer:
        return await self._status_after(self.scheduler.resume, job_id)

    async def delete_job(self, job_id: str | int) -> Answer:
        """End a job and hide it; for 30 days it can be undeleted, then it goes with its runs."""
        result = await self.scheduler.delete(self.owner, job_id)
        return _error(result) if isinstance(result, Err) else {"deleted": True, "job_id": str(job_id)}

    async def undelete_job(self, job_id: str | int) -> Answer:
        """Bring a deleted job back as it was; one that was to go on does so with its next slot from now."""
        return await self._status_after(self.scheduler.undelete, job_id)

    async def list_deleted_jobs(self, *, limit: int = 20, before: datetime | None = None) -> Answer:
        """Jobs that can be brought back, the latest deleted first."""
        result = await self.scheduler.list_deleted(self.owner, limit, before)
        return _error(result) if isinstance(result, Err) else {"jobs": [deleted_answer(job) for job in result.value]}

    async def edit_job(self, job_id: str | int, *, expected_version: int | None = None, **changes: Any) -> Answer:
        """Change a job; the keywords are the fields of `JobChanges`, and `task`, `args`, `kwargs`."""
        shown = await self.scheduler.show(self.owner, job_id)
        if isinstance(shown, Err):
            return _error(shown)
        parts = {key: changes.pop(key) for key in ("task", "args", "kwargs") if key in changes}
        if parts:
            action = shown.value.action
            changes["action"] = Action(
                parts.get("task", action.task),
                tuple(parts.get("args", action.args)),
                parts.get("kwargs", action.kwargs),
            )
        result = await self.scheduler.edit(self.owner, job_id, JobChanges(**changes), expected_version)
        return _error(result) if isinstance(result, Err) else scheduled_answer(result.value)

    async def run_job_now(self, job_id: str | int) -> Answer:
        """Run a job once, now, beside its schedule."""
        result = await self.scheduler.run_now(self.owner, job_id)
        return _error(result) if isinstance(result, Err) else {"run_id": result.value, "job_id": str(job_id)}

    async def list_runs(self, job_id: str | int, *, limit: int = 20, state: str | None = None) -> Answer:
        """The slots of a job, newest first, each with its verdict and reason."""
        shown = await self.scheduler.show(self.owner, job_id)
        result = await self.scheduler.list_runs(self.owner, job_id, limit, state=state)
        if isinstance(result, Err) or isinstance(shown, Err):
            return _error(result if isinstance(result, Err) else shown)  # pyright: ignore[reportArgumentType]
        return {"runs": [run_answer(run, shown.value.zone, shown.value.trigger) for run in result.value]}

    async def list_failed_runs(self, *, limit: int = 20, before: datetime | None = None) -> Answer:
        """What failed for good over all jobs, the latest first."""
        result = await self.runs.failed(self.owner, limit, before)
        return _error(result) if isinstance(result, Err) else {"runs": [failed_answer(one) for one in result.value]}

    async def redrive_runs(self, run_ids: Sequence[str]) -> Answer:
        """Try failed runs again, each under its own id; which of them will be."""
        result = await self.runs.redrive(self.owner, run_ids)
        if isinstance(result, Err):
            return _error(result)
        again = [run for run, accepted in result.value.items() if accepted]
        return {"redriven": again, "refused": [run for run in result.value if run not in again]}

    async def list_tasks(self) -> Answer:
        """What may be scheduled."""
        tasks = await self.scheduler.list_tasks()
        return {"tasks": [{"name": task.name, "parameters": task.parameters, "doc": task.doc} for task in tasks]}

    async def _status_after(
        self, act: Callable[[str, str | int], Coroutine[Any, Any, object]], job_id: str | int
    ) -> Answer:
        result = await act(self.owner, job_id)
        return _error(result) if isinstance(result, Err) else await self.job_status(job_id)

    # -- the agenda, as the second seed says it -----------------------------------------------------------------

    async def schedule_prompt(self, at: datetime, prompt: str) -> int:
        """Put a prompt for an agent on the agenda; answers with its number."""
        return _or_raise(await self._agenda.add(self.owner, prompt, ("once", {"run_at": at}), origin=_origin())).number

    async def list_scheduled_tasks(
        self, status: str = "pending", since: datetime | None = None, until: datetime | None = None
    ) -> list[Job]:
        """The agenda by status and range, ordered by fire time."""
        return _or_raise(await self._agenda.list(self.owner, status, since, until))

    async def update_scheduled_task(
        self, task_id: int, *, fire_at: datetime | None = None, prompt: str | None = None
    ) -> int:
        """Change an item that is still pending; how many rows changed, so 0 if there is none to edit."""
        if fire_at is None and prompt is None:
            raise ValueError("Give at least one of fire_at and prompt.")
        when = None if fire_at is None else ("once", {"run_at": fire_at})
        return _rows_changed(await self._agenda.edit(self.owner, task_id, prompt, when))

    async def cancel_scheduled_task(self, task_id: int) -> int:
        """Cancel an item that is still pending; how many rows changed."""
        return _rows_changed(await self._agenda.cancel(self.owner, task_id))

    @property
    def _agenda(self) -> Agenda:
        return Agenda(self.scheduler)


def _origin() -> dict[str, object]:
    """Who asks: this program, or the run that it is performing."""
    run = running_in()
    return {"surface": "python"} if run is None else {"surface": "python", "asked_in": run}


def _or_raise[T](result: Result[T]) -> T:
    if isinstance(result, Err):
        raise ValueError(result.message)
    return result.value


def _rows_changed(result: Result[Job]) -> int:
    if result is NOT_PENDING:
        return 0
    _or_raise(result)
    return 1


def _error(err: Err) -> Answer:
    """The one place that turns an `Err` into the shape of the third seed."""
    return {"error": err.message, "hint": err.hint} if err.hint else {"error": err.message}
