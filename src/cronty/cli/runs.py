"""`cronty runs` and `cronty why`: how slots ended, and why."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer

from cronty.app import Cronty
from cronty.cli.completion import Id, complete_jobs
from cronty.cli.connection import ask, call
from cronty.cli.output import Column, Json, clock, print_json, say, show_rows
from cronty.contract.answers import Run, RunOfJob, to_json
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.moments import local_text
from cronty.jobs.run import Run as RunRecord
from cronty.scheduler.answers import run_of
from cronty.timing import BadTrigger, Calendar, Changed
from cronty.timing.rule import read_instant

VERDICTS: Final = {"done": "green", "failed": "red", "quarantined": "red", "missed": "yellow", "running": "cyan"}
_EVERYTHING: Final = 1000
_CLOCK: Final = re.compile(r"\d{1,2}:\d\d(:\d\d)?")

Slot = Annotated[str, typer.Argument(help='When it should have run: "2027-01-31 09:00", or 9:00 for today.')]


def runs(
    job: Annotated[
        str | None,
        typer.Argument(help="The job. Left out: what failed, over all jobs.", autocompletion=complete_jobs),
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=_EVERYTHING, help="How many.")] = 20,
    json: Json = False,
) -> None:
    """List the planned moments of a job, each with its verdict and the reason; or everything that failed."""
    if job is None:
        found = call(lambda api: api.list_failed_runs(limit=count), json=json)
    else:
        found = call(lambda api: api.list_runs(job, limit=count), json=json)
    if json:
        return
    if not found.runs:
        say("Nothing has failed." if job is None else "It has not run yet.")
        return
    show_runs(found.runs)


def show_runs(found: Sequence[Run]) -> None:
    named = any(isinstance(one, RunOfJob) for one in found)
    columns = [Column("planned for", whole=True), Column("verdict", whole=True), Column("try", whole=True)]
    rows = [
        (*([one.name if isinstance(one, RunOfJob) else ""] if named else []), clock(one.scheduled_for), one.verdict,
         str(one.attempt or ""), _reason(one))
        for one in found
    ]  # fmt: skip
    styles = [VERDICTS.get(one.verdict, "") for one in found]
    show_rows([*([Column("job")] if named else []), *columns, Column("why", fold=True)], rows, styles=styles)


def _reason(one: Run) -> str:
    reason = one.error or one.reason or ""
    if one.next_attempt_at and one.attempt:
        return f"{reason}; tried again {clock(one.next_attempt_at)}".lstrip("; ")
    return reason


def why(job: Id, slot: Slot, json: Json = False) -> None:
    """Explain how one planned run of a job ended, and why."""
    found = ask(lambda cronty: _explained(cronty, job, slot), json=json)
    if json:
        print_json(found)
    else:
        say(found["in_words"])


async def _explained(cronty: Cronty, job: str, text: str) -> Result[dict[str, Any]]:
    shown = await cronty.service.scheduler.show(cronty.caller, job)
    if isinstance(shown, Err):
        return shown
    now, _ = await cronty.service.scheduler.clock(cronty.caller)
    try:
        moment = _read(text, shown.value.zone, now)
    except BadTrigger as bad:
        return Err("bad_time", bad.message, bad.hint)
    facts: dict[str, Any] = {"slot": moment.isoformat()}
    found = await cronty.service.scheduler.list_runs(cronty.caller, job, 1, moment + timedelta(microseconds=1))
    if not isinstance(found, Err) and found.value and _covers(found.value[0], moment):
        run = found.value[0]
        because = f": {run.reason or run.error}" if run.reason or run.error else ""
        words = f"{run.state}{because} (attempt {run.attempt}, {run.run_id})"
        return Ok(facts | {"run": to_json(run_of(run, shown.value.zone, shown.value.trigger)), "in_words": words})
    slots = shown.value.slots
    due = slots.after(moment - timedelta(microseconds=1))
    if due == moment:
        taken = slots.taken(moment) if isinstance(slots, Calendar | Changed) else None
        words = "It is planned, and its time hasn't come." if moment > now else "It is before the job was made."
        words = words if taken is None else f"It won't run: {taken}."
    else:
        zone = shown.value.zone
        after = f" The next one after that is {local_text(due, zone)}." if due else ""
        words = f"{local_text(moment, zone)}, is not a slot of this job.{after}"
    return Ok(facts | {"run": None, "next_slot": due.isoformat() if due else None, "in_words": words})


def _read(text: str, zone_name: str, now: datetime) -> datetime:
    """A time that may be past. Words mean a future time, so they are also read as of the start of today."""
    if _CLOCK.fullmatch(text.strip()):
        text = f"today at {text.strip()}"
    try:
        return read_instant(text, zone_name, now)
    except BadTrigger:
        midnight = now.astimezone(ZoneInfo(zone_name)).replace(hour=0, minute=0, second=0, microsecond=0)
        return read_instant(text, zone_name, midnight.astimezone(UTC))


def _covers(run: RunRecord, moment: datetime) -> bool:
    return run.scheduled_for == moment or (run.through is not None and run.scheduled_for <= moment <= run.through)
