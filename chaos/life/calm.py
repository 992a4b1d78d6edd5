"""What must hold when nothing has gone wrong for a while: whatever was due is done, and nothing is left lying."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

from chaos.life.product import KEEP_DAYS
from chaos.life.server import Monitor
from chaos.life.stage import Stage, Violation
from chaos.life.truth import Key, Truth

_OVERDUE: Final = (
    "select d.job_id, o.name, d.next_at from cronty.due d join cronty.owners o on o.id = d.owner_id"
    " where d.next_at < $1 order by d.next_at"
)
_RUNNING: Final = (
    "select job_id, scheduled_for, attempt, worker from cronty.runs where state = 'running' and started_at < $1"
)
_NOT_QUEUED: Final = (
    "select r.job_id, r.scheduled_for, r.attempt from cronty.runs r where r.state = 'waiting'"
    " and not exists (select from cronty.queue q where q.job_id = r.job_id and q.scheduled_for = r.scheduled_for)"
)
_PARKED: Final = (
    "select q.job_id, q.scheduled_for, 0 from cronty.queue q where q.due_at is null and q.scheduled_for < $1"
    " and not exists (select from cronty.runs r where r.job_id = q.job_id and r.scheduled_for <> q.scheduled_for"
    " and (r.state = 'running' or exists (select from cronty.queue b"
    " where b.job_id = r.job_id and b.scheduled_for = r.scheduled_for and b.due_at is not null)))"
)
_RECORDED: Final = (
    "select job_id, scheduled_for, attempt from cronty.runs"
    " union select job_id, scheduled_for, attempt from cronty.attempts"
)
_SEQUENCES: Final = (
    "select sequencename, last_value, max_value from pg_sequences where schemaname = 'cronty' and last_value > 20"
)


async def check_calm(stage: Stage, truth: Truth, monitor: Monitor, held: Collection[Key], slack: float) -> None:
    """`held` is what engines have in their hands; `slack` is for how many seconds nothing may have been left lying."""
    late = stage.now() - timedelta(seconds=slack)

    def report(kind: str, text: str) -> None:
        stage.report(Violation(kind, text))

    if rows := await monitor.ask(_OVERDUE, late):
        owners = sorted({row["name"] for row in rows})
        said = (
            f"{len(rows)} jobs of {', '.join(owners)}, the first since {rows[0]['next_at']} (job {rows[0]['job_id']})"
        )
        report("overdue", f"{said}, though nothing has gone wrong for {slack:.0f} s")
    await _check_runs(held, monitor, late, report)
    recorded = {Key(*row) for row in await monitor.ask(_RECORDED)}
    kept_since = stage.now() - timedelta(days=KEEP_DAYS - 2)  # older ones are pruned
    if missing := [key for key in truth.unrecorded(recorded) if key.slot > kept_since]:
        report("unrecorded", f"{missing[0]} was performed and is nowhere")
    for name, last, limit in await monitor.ask(_SEQUENCES):
        if stage.days() and last / stage.days() * 365 > limit:
            report("runs-out", f"{name} is at {last} of {limit} after {stage.days():.1f} days")


async def _check_runs(
    held: Collection[Key], monitor: Monitor, late: datetime, report: Callable[[str, str], None]
) -> None:
    for job, slot, attempt, worker in await monitor.ask(_RUNNING, late):
        key = Key(job, slot, attempt)
        if key not in held:
            report("stuck", f"{key} belongs to worker {worker}, and no engine knows of it")
    for job, slot, attempt in await monitor.ask(_NOT_QUEUED):
        report("stuck", f"{Key(job, slot, attempt)} waits and isn't in the queue")
    for job, slot, attempt in await monitor.ask(_PARKED, late):
        report("stuck", f"{Key(job, slot, attempt)} is parked behind nothing")
