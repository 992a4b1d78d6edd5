"""Jobs and runs in the words of the third seed: the exact fields it promises, and added ones after them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import orjson

from cronty.jobs.action import PROMPT
from cronty.jobs.ids import job_id_text
from cronty.jobs.job import UNDELETED_FOR, Job
from cronty.jobs.run import AttemptRecord, FailedRun, Run
from cronty.timing import Cron, Trigger, describe, nominal, zone

LATE = timedelta(minutes=1)


def moment_text(moment: datetime | None, zone_name: str = "UTC") -> str | None:
    """ISO 8601 with an offset, in the zone that the job thinks in."""
    return None if moment is None else moment.astimezone(zone(zone_name)).isoformat()


def local_text(moment: datetime, zone_name: str) -> str:
    """A moment as people say it, with the zone it is said in: `Mon 16 Nov 2026 09:00, Europe/Berlin`."""
    local = moment.astimezone(zone(zone_name))
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%a} {local.day} {local:%b %Y} {clock}, {zone_name}"


def upcoming(job: Job, count: int) -> list[datetime]:
    """The next slots of a job, as far as they can be known."""

    def slots() -> Iterable[datetime]:
        slot = job.next_slot
        while slot is not None and (job.ends_at is None or slot <= job.ends_at):
            yield slot
            slot = job.trigger.after(slot)

    return list(islice(slots(), count if job.remaining is None else min(count, job.remaining)))


def scheduled_answer(job: Job) -> dict[str, object]:
    """What `schedule_job` answers."""
    zone_name = job.zone
    return {
        "job_id": job_id_text(job.number, job.created_at),
        "name": job.name,
        "next_run": moment_text(job.next_slot, zone_name),
        "status": job.status,
        "schedule": describe(job.trigger, job.zone),
        "timezone": zone_name,
        "next_runs": [
            {"local": moment_text(slot, zone_name), "utc": moment_text(slot.astimezone(UTC))}
            for slot in upcoming(job, 3)
        ],
        "version": job.version,
    }


def summary_answer(job: Job) -> dict[str, object]:
    """One job in `list_jobs`."""
    zone_name = job.zone
    return {
        "job_id": job_id_text(job.number, job.created_at),
        "name": job.name,
        "status": job.status,
        "trigger_type": job.trigger_type,
        "next_run": moment_text(job.next_slot, zone_name),
        "run_count": job.run_count,
        "last_run": moment_text(job.last_run, zone_name),
        "paused": job.state == "paused",
        "tags": list(job.tags),
    }


def deleted_answer(job: Job) -> dict[str, object]:
    """One job in `list_deleted_jobs`: until when it can be brought back."""
    gone_at = None if job.deleted_at is None else job.deleted_at + UNDELETED_FOR
    return {
        "job_id": job_id_text(job.number, job.created_at),
        "name": job.name,
        "schedule": describe(job.trigger, job.zone),
        "run_count": job.run_count,
        "tags": list(job.tags),
        "deleted_at": moment_text(job.deleted_at, job.zone),
        "until": moment_text(gone_at, job.zone),
    }


def status_answer(job: Job, runs: Sequence[Run]) -> dict[str, object]:
    """What `job_status` answers."""
    zone_name = job.zone
    return {
        "job_id": job_id_text(job.number, job.created_at),
        "name": job.name,
        "status": job.status,
        "trigger_type": job.trigger_type,
        "created_at": moment_text(job.created_at, zone_name),
        "last_run": moment_text(job.last_run, zone_name),
        "next_run": moment_text(job.next_slot, zone_name),
        "run_count": job.run_count,
        "max_runs": job.max_runs,
        "error": job.reason if job.state == "set_aside" else job.last_error,
        "paused": job.state == "paused",
        "paused_because": job.reason if job.state == "paused" else None,
        "schedule": describe(job.trigger, job.zone),
        "timezone": zone_name,
        "task": PROMPT if job.action.kind == "prompt" else job.action.task,
        "tags": list(job.tags),
        "success_count": job.success_count,
        "failure_count": job.failure_count,
        "version": job.version,
        "runs": [run_answer(run, zone_name, job.trigger) for run in runs],
    }


def _lateness(run: Run) -> str | None:
    """A first attempt that began well after its slot says so: nothing was running, or everything was busy."""
    if run.started_at is None or run.attempt > 1 or run.started_at - run.scheduled_for < LATE:
        return None
    return f"started {str(run.started_at - run.scheduled_for).split('.')[0]} late"


def failed_answer(failed: FailedRun) -> dict[str, object]:
    """A failed run among those of other jobs: it names its job."""
    facts: dict[str, object] = {"job_id": job_id_text(failed.run.job_number, failed.created_at), "name": failed.name}
    return facts | run_answer(failed.run, failed.zone)


def attempt_answer(attempt: AttemptRecord, zone_name: str) -> dict[str, object]:
    """An attempt before a run's last."""
    return {
        "attempt": attempt.attempt,
        "started_at": moment_text(attempt.started_at, zone_name),
        "ended_at": moment_text(attempt.ended_at, zone_name),
        "outcome": attempt.outcome,
        "error": attempt.error,
    }


def run_answer(run: Run, zone_name: str = "UTC", trigger: Trigger | None = None) -> dict[str, object]:
    """One slot with its verdict and the reason for it; a slot that a clock change has moved says from where."""
    answer: dict[str, object] = {
        "run_id": run.run_id,
        "scheduled_for": moment_text(run.scheduled_for, zone_name),
        "verdict": run.state,
        "reason": run.reason or _lateness(run),
        "attempt": run.attempt,
        "started_at": moment_text(run.started_at, zone_name),
        "finished_at": moment_text(run.finished_at, zone_name),
        "error": run.error,
        "result": None if run.result is None else orjson.loads(run.result),
    }
    if run.next_attempt_at is not None:
        answer["next_attempt_at"] = moment_text(run.next_attempt_at.replace(microsecond=0), zone_name)
    if run.slots > 1:
        answer |= {"slots": run.slots, "through": moment_text(run.through, zone_name)}
    if run.manual:
        answer["manual"] = True
    if isinstance(trigger, Cron) and (meant := nominal(trigger, run.scheduled_for)) is not None:
        answer["moved_from"] = f"{meant:%H:%M}"
    return answer
