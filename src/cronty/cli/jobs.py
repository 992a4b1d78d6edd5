"""The commands about a job that exists: list, show, pause, resume, snooze, cancel, delete, undelete, run."""

from shlex import quote
from typing import Annotated, Any, Final

import orjson
import typer

from cronty.cli.add import ending, until
from cronty.cli.completion import Id
from cronty.cli.connection import ask, call, is_remote
from cronty.cli.output import Column, Json, clock, counted, print_json, refuse, say, show_rows
from cronty.cli.runs import show_runs
from cronty.cli.workers import warn_if_idle, with_workers
from cronty.contract.answers import JobDetail, JobSummary, ScheduledJob, to_json
from cronty.jobs.job import UNTAKEN
from cronty.jobs.overview import MAX_COUNTED

_EVERYTHING: Final = 1000


def list_jobs(
    status: Annotated[str | None, typer.Option(help="pending, running, completed, failed or cancelled.")] = None,
    name: Annotated[str | None, typer.Option(help="Only those with this in their name.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=_EVERYTHING, help="How many.")] = 20,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that were deleted and can be undeleted.")] = False,
    json: Json = False,
) -> None:
    if deleted:
        _list_deleted(count, json=json)
        return
    found = call(lambda api: api.list_jobs(status, limit=count, name=name, tag=tag), json=json)
    if json:
        return
    if not found.jobs:
        wanted = any(one is not None for one in (status, name, tag))
        say(
            "No job is like that."
            if wanted
            else 'No jobs. Make one: cronty add "tomorrow at 9" "Call Mom" --notify phone'
        )
        return
    columns = [Column("id", whole=True), Column("name"), Column("status", whole=True)]
    columns += [Column(f"next ({found.timezone})", whole=True), Column("runs", whole=True)]
    rows = [(number(job.job_id), job.name, _state(job), clock(job.next_run), str(job.run_count)) for job in found.jobs]
    if any(job.timezone for job in found.jobs):
        columns.append(Column("its own zone"))
        rows = [(*row, job.timezone or "") for row, job in zip(rows, found.jobs, strict=True)]
    columns.append(Column("when"))
    rows = [(*row, f"{job.said or job.schedule}{ending(job)}") for row, job in zip(rows, found.jobs, strict=True)]
    show_rows(columns, rows)
    for job in found.jobs:
        if job.trouble:
            say(f"{job.name}: {job.trouble}", "red")
    if found.total > len(found.jobs):
        at_least = "At least " if found.total >= MAX_COUNTED else ""
        say(f"{at_least}{found.total - len(found.jobs)} more: -n {min(found.total, _EVERYTHING)} shows them.")


def _list_deleted(count: int, *, json: bool) -> None:
    found = call(lambda api: api.list_deleted_jobs(limit=count), json=json)
    if json:
        return
    if not found.jobs:
        say("No deleted jobs.")
        return
    columns = [Column("id", whole=True), Column("name"), Column(f"deleted ({found.timezone})", whole=True)]
    columns.append(Column("until", whole=True))
    rows = [(number(job.job_id), job.name, clock(job.deleted_at), clock(job.until)) for job in found.jobs]
    show_rows(columns, rows)


def show(job: Id, json: Json = False) -> None:
    found = call(lambda api: api.job_status(job), json=json)
    if json:
        return
    say(found.name, "bold")
    say(found.schedule)
    if found.said:
        say(f'said as "{found.said}"', "dim")
    most = f" of {found.max_runs}" if found.max_runs else ""
    ran = f"{found.run_count}{most} runs" if most else counted(found.run_count, "run")
    say(f"{found.job_id}, {_state(found)}, {ran}", "dim")
    say(f"does: {_does(found)}")
    if found.policy:
        say(f"policy: {', '.join(f'{name} {_value(value)}' for name, value in found.policy.items())}")
    if found.tags:
        say(f"tags: {', '.join(found.tags)}")
    if found.ends_at:
        say(f"runs {until(found.ends_at)}, {found.timezone}")
    if found.next_run:
        say(f"next: {clock(found.next_run)}, {found.timezone}")
    for one in found.changed_slots or ():
        say(f"not at {clock(one.slot)}, {found.timezone}: {one.why}", "yellow")
    if found.paused_because:
        say(f"paused because {found.paused_because}", "yellow")
    if found.trouble:
        say(found.trouble, "red")
    if found.error:
        say(f"last error: {found.error}", "red")
    if found.runs:
        say("")
        show_runs(found.runs, found.timezone)


def pause(job: Id, json: Json = False) -> None:
    _done(call(lambda api: api.pause_job(job), json=json), "Paused", json=json)


def resume(job: Id, json: Json = False) -> None:
    resumed = call(lambda api: api.resume_job(job), json=json)
    if resumed.next_run is None and not json:
        say(f"{resumed.name} isn't paused any more, but its time has passed: it won't run. `cronty run` runs it now.")
        return
    _done(resumed, "Resumed", json=json)


def skip(
    job: Id,
    slot: Annotated[str | None, typer.Argument(help="Which run, by its planned time. Default: the next one.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Let it run at its planned time after all.")] = False,
    json: Json = False,
) -> None:
    if undo and slot is None:
        raise typer.BadParameter("Say which run, by its planned time: `cronty show` lists them.")
    _slot_done(call(lambda api: api.change_slot(job, slot, slot if undo else None), json=json), json=json)


def move(
    job: Id,
    slot: Annotated[str, typer.Argument(help="Which run, by its planned time.")],
    to: Annotated[str, typer.Argument(help='Its new time: "2027-01-31 11:00", or words.')],
    json: Json = False,
) -> None:
    _slot_done(call(lambda api: api.change_slot(job, slot, to), json=json), json=json)


def snooze(
    job: Id,
    until: Annotated[str, typer.Argument(help='When it comes again: "in 1 hour", "tomorrow at 9".')] = "in 10 minutes",
    json: Json = False,
) -> None:
    if is_remote():
        refuse("A reminder is snoozed at the machine that sends it, or on the phone.", json=json)
    pressed = ask(lambda cronty: cronty.service.presses.snooze(cronty.caller, job, until), json=json)
    if json:
        print_json({"snoozed": pressed.first, "until": pressed.until})
    else:
        say(pressed.words)


def cancel(job: Id, json: Json = False) -> None:
    ended = call(lambda api: api.cancel_job(job), json=json)
    if not json:
        had = ended.status != "cancelled"
        say(f"{ended.name} had ended already: {ended.status}." if had else f"Cancelled {ended.name}.")


def delete(job: Id, json: Json = False) -> None:
    call(lambda api: api.delete_job(job), json=json)
    if not json:
        say(f"Deleted {job}. For 30 days `cronty undelete {job}` brings it back.")


def undelete(job: Id, json: Json = False) -> None:
    _done(call(lambda api: api.undelete_job(job), json=json), "Undeleted", json=json)


def run(job: Id, json: Json = False) -> None:
    started, armed = call(lambda api: with_workers(api, api.run_job_now(job)), json=json, show=False)
    if json:
        print_json(to_json(started) | {"armed": armed})
        return
    say(f"Queued {started.run_id}; `cronty runs {quote(job)}` shows it.")
    warn_if_idle(armed)


def number(job_id: str) -> str:
    """The short form of a job's id."""
    return job_id.split("_")[1]


def _slot_done(job: ScheduledJob, *, json: bool) -> None:
    coming = f" Next on {clock(job.next_run)}, {job.timezone}." if job.next_run else ""
    if not json:
        say(f"{job.name}: {job.note}{coming}")


def _done(job: JobDetail | ScheduledJob, done: str, *, json: bool) -> None:
    coming = f"; next on {clock(job.next_run)}, {job.timezone}" if job.next_run else ""
    if not json:
        say(f"{done} {job.name}{coming}.")


def _does(job: JobDetail) -> str:
    """What a job does, in a line: `notify phone: "Call Mom"`."""
    given = dict(job.kwargs or {})
    match job.task:
        case "notify":
            whom, said = f" {given.pop('topic', '')}", given.pop("message", "")
        case "prompt":
            whom, said = f" for {given.pop('agent', None) or 'any agent'}", given.pop("prompt", "")
        case _:
            whom, said = "", ""
    arguments = [_value(one) for one in job.args or ()] + [f"{name}={_value(one)}" for name, one in given.items()]
    return f"{job.task}{whom}" + (f": {said}" if said else "") + (f" ({', '.join(arguments)})" if arguments else "")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _state(job: JobSummary | JobDetail) -> str:
    if job.paused or job.trouble is None:
        return "paused" if job.paused else job.status
    return "waiting" if job.trouble.startswith(UNTAKEN) else "retrying"
