"""`cronty why`: how a planned run of a job ended and why, or why there is none."""

from datetime import datetime
from typing import Annotated, Any, Final

import typer

from cronty.app import Cronty
from cronty.cli.completion import Id
from cronty.cli.connection import ask, is_remote
from cronty.cli.output import Json, length, print_json, refuse, say
from cronty.cli.results import result_in_words
from cronty.contract.answers import Run, to_json
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Job
from cronty.jobs.moments import local_text
from cronty.jobs.run import LIVE
from cronty.jobs.run import Run as RunRecord
from cronty.scheduler.answers import run_of
from cronty.timing import BadTrigger, Calendar, Changed
from cronty.timing.offsets import TICK
from cronty.timing.past_said import read_past

_COUNTED: Final = 1000
"""How many slots ahead are looked at to see whether `max_runs` ends a job before one."""

Slot = Annotated[
    str | None,
    typer.Argument(help='When it should have run: "2027-01-31 09:00", "yesterday 9:00". Left out: the last time.'),
]


def why(job: Id, slot: Slot = None, json: Json = False) -> None:
    if is_remote():
        hint = (
            f"Ask `cronty runs {job}`, whose last column says why; or run it where the database is, without CRONTY_URL."
        )
        refuse("`cronty why` doesn't ask a server.", hint=hint, json=json)
    found = ask(lambda cronty: _explained(cronty, job, slot), json=json)
    if json:
        print_json(found)
    else:
        say(found["in_words"])


async def _explained(cronty: Cronty, text: str, slot: str | None) -> Result[dict[str, Any]]:
    scheduler, caller = cronty.service.scheduler, cronty.caller
    named = await scheduler.named(caller, text)
    shown = named if isinstance(named, Err) else await scheduler.show(caller, named.value)
    if isinstance(shown, Err):
        return shown
    job = shown.value
    now, _ = await scheduler.clock(caller)
    try:
        moment = None if slot is None else read_past(slot, job.zone, now)
    except BadTrigger as bad:
        return Err("bad_time", bad.message, bad.hint)
    before = None if moment is None else moment + TICK
    found = await scheduler.list_runs(caller, job.number, 1, before)
    run = None if isinstance(found, Err) or not found.value else found.value[0]
    if moment is None:
        became = "It has not run yet." if run is None else _of_run(run, job)
        words = f"{became}{_trouble(job, run)} {outlook(job, now)}"
        return Ok(_facts(job, run, None if run is None else run.scheduled_for, words))
    if run is not None and _covers(run, moment):
        # What was over before the trouble began has nothing to do with it.
        touched = run.state in LIVE or (job.untaken_since is not None and moment >= job.untaken_since)
        return Ok(_facts(job, run, moment, _of_run(run, job) + (_trouble(job, run) if touched else "")))
    due = job.slots.after(moment - TICK)
    following = {"next_slot": due.isoformat() if due else None}
    return Ok(_facts(job, None, moment, explain(job, moment, now)) | following)


def _facts(job: Job, run: RunRecord | None, slot: datetime | None, words: str) -> dict[str, Any]:
    answer = None if run is None else to_json(run_of(run, job.zone, job.trigger))
    return {"slot": None if slot is None else slot.isoformat(), "run": answer, "in_words": words}


def _of_run(record: RunRecord, job: Job) -> str:
    run = run_of(record, job.zone, job.trigger)
    because = "; ".join(part.rstrip(".") for part in (run.error, run.reason) if part)
    parts = [run.verdict + (f": {because}" if because else "")]
    if run.verdict == "done" and (said := result_in_words(run.result)):
        parts[0] += f": {said}"
    if took := seconds_of(run):
        parts.append(f"it took {took}")
    if run.attempt > 1:
        parts.append(f"attempt {run.attempt}")
    return f"{local_text(run.scheduled_for, job.zone)}: {', '.join(parts)} ({run.run_id})."


def _trouble(job: Job, run: RunRecord | None) -> str:
    """What is wrong with a run of it that waits, unless that is this run's own error, which was said."""
    said = run is not None and run.error is not None and run.error == job.retry_error
    return "" if said or job.trouble is None else f" {job.trouble}"


def seconds_of(run: Run) -> str:
    """How long its last attempt took, if it was tried and has ended."""
    if run.started_at is None or run.finished_at is None:
        return ""
    return length(max(0.0, (run.finished_at - run.started_at).total_seconds()))


def explain(job: Job, moment: datetime, now: datetime) -> str:
    """Why there is no run for this moment."""
    slots, zone = job.slots, job.zone
    due = slots.after(moment - TICK)
    if due != moment:
        return f"{local_text(moment, zone)}, is not a planned time of this job. {_following(job, due, now)}".rstrip()
    negation = "It won't run" if moment > now else "It didn't run"
    if moment < job.created_at:
        return f"It didn't run: the job was made later, on {local_text(job.created_at, zone)}."
    if moment <= job.slots_after:
        return f"{negation}: its schedule counts from {local_text(job.slots_after, zone)} on."
    taken = slots.taken(moment) if isinstance(slots, Calendar | Changed) else None
    if taken is not None:
        return f"{negation}: {taken}."
    if (end := _end(job, moment, now)) is not None:
        return f"{negation}: {end}."
    if moment > now:
        return "It is planned, and its time hasn't come."
    if job.next_slot is not None and moment >= job.next_slot:
        return "It is due, and no worker has taken it yet. `cronty status` and `cronty doctor` say whether one runs."
    return "It was planned; the record of what became of it is no longer kept."


def outlook(job: Job, now: datetime) -> str:
    """When a job runs next, or why it won't."""
    if job.in_flight and job.next_run is None and job.state == "active":
        return "It isn't over yet, and nothing follows it."
    if (end := _end(job, None, now)) is not None:
        return f"It won't run again as it is: {end}."
    if job.next_run is None:
        return "Nothing more is planned."
    return f"Next: {local_text(job.next_run, job.zone)}."


def _end(job: Job, moment: datetime | None, now: datetime) -> str | None:
    """Why nothing runs at this moment, or at all, though the schedule names it; None if it runs."""
    because = f", because {job.reason}" if job.reason else ""
    if job.state == "cancelled":
        return f"the job was cancelled on {local_text(job.updated_at, job.zone)}"
    if job.state == "paused":
        return f"the job is paused{because}; `cronty resume {job.number}` continues it"
    if job.state == "set_aside":
        return f"the job was set aside{because}"
    if job.remaining == 0 and (moment is None or moment > now):
        return f"it has run as often as it was meant to, {job.max_runs} {'time' if job.max_runs == 1 else 'times'}"
    if job.ends_at is not None and (moment or now) > job.ends_at:
        return f"the job ended on {local_text(job.ends_at, job.zone)}"
    if job.next_slot is None and (moment is None or moment > now):
        return "the job has ended"
    if moment is not None and moment > now and _is_beyond(job, moment):
        return f"by then it will have run as often as it was meant to, {job.max_runs} times"
    return None


def _is_beyond(job: Job, moment: datetime) -> bool:
    """Whether `max_runs` is reached before this slot."""
    left, slot = job.remaining, job.next_slot
    if left is None or left > _COUNTED:
        return False
    while slot is not None and slot < moment and left > 0:
        left, slot = left - 1, job.slots.after(slot)
    return left <= 0


def _following(job: Job, due: datetime | None, now: datetime) -> str:
    if due is None:
        return "None follows."
    end = _end(job, due, now)
    if end is not None:
        return f"The next one after that would be {local_text(due, job.zone)}, but {end}."
    return f"The next one after that is {local_text(due, job.zone)}."


def _covers(run: RunRecord, moment: datetime) -> bool:
    return run.scheduled_for == moment or (run.through is not None and run.scheduled_for <= moment <= run.through)
