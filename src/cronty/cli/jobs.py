"""The commands about jobs: add, list, show, pause, resume, cancel, delete, undelete, run."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final, cast

import orjson
import typer

from cronty.app import Cronty
from cronty.cli.completion import Id
from cronty.cli.connection import Api, call
from cronty.cli.output import Column, Json, clock, print_json, say, show_rows
from cronty.cli.runs import runs, show_runs, why
from cronty.contract.answers import JobDetail, JobSummary, to_json
from cronty.contract.result import value_of
from cronty.jobs.overview import MAX_COUNTED
from cronty.scheduler.agenda import title

_EVERYTHING: Final = 1000


def add(
    when: Annotated[str, typer.Argument(help='When: "every weekday at 8:30", "tomorrow at 9", "30 8 * * 1-5".')],
    text: Annotated[str, typer.Argument(help="What the notification or the prompt says.")] = "",
    notify: Annotated[str | None, typer.Option(help="Send it to this channel or ntfy topic.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Put it into the inbox as a prompt for an agent.")] = False,
    agent: Annotated[str | None, typer.Option(help="Which agent the prompt is for.")] = None,
    task: Annotated[str | None, typer.Option(help="Run this registered task instead.")] = None,
    kwargs: Annotated[str, typer.Option(help="Its arguments, as a JSON object.")] = "{}",
    name: Annotated[str | None, typer.Option(help="What the job is called. Default: the text, or the task.")] = None,
    zone: Annotated[str | None, typer.Option(help="The time zone, if the words name none.")] = None,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Stop after this many runs.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label to find it by.")] = None,
    json: Json = False,
) -> None:
    """Schedule something: a notification, a prompt for an agent, or a registered task."""
    kind, arguments = _action(text, notify, agent, task, kwargs, prompt=prompt)
    made, armed = call(
        lambda api: with_workers(
            api,
            api.schedule_job(
                name or title(text or kind),
                kind,
                "words",
                {"text": when},
                kwargs=arguments,
                max_runs=max_runs,
                timezone=zone,
                tags=tag or (),
            ),
        )
    )
    if json:
        print_json(to_json(made) | {"armed": armed})
        return
    say(f"{made.name}: {made.schedule}", "bold")
    say(f"{made.job_id}, first on {clock(made.next_run)}, {made.timezone}", "dim")
    _warn(armed)


def _action(
    text: str, notify: str | None, agent: str | None, task: str | None, kwargs: str, *, prompt: bool
) -> tuple[str, dict[str, object]]:
    """The task and its arguments from the options."""
    wanted = [notify is not None, prompt or agent is not None, task is not None]
    if sum(wanted) != 1:
        raise typer.BadParameter("Give exactly one of --notify CHANNEL, --prompt (or --agent), or --task NAME.")
    if task is not None:
        try:
            given = orjson.loads(kwargs)
        except orjson.JSONDecodeError:
            given = None
        if not isinstance(given, dict):
            raise typer.BadParameter(f'--kwargs must be a JSON object such as {{"path": "/data"}}, not {kwargs}')
        return task, cast("dict[str, object]", given)
    if not text.strip():
        raise typer.BadParameter("Give the text of the message or prompt, after the time.")
    if notify is not None:
        return "notify", {"message": text, "topic": notify}
    arguments: dict[str, object] = {"prompt": text}
    return "prompt", arguments | ({"agent": agent} if agent else {})


def list_jobs(
    status: Annotated[str | None, typer.Option(help="pending, running, completed, failed or cancelled.")] = None,
    name: Annotated[str | None, typer.Option(help="Only those with this in their name.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=_EVERYTHING, help="How many.")] = 20,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that were deleted and can be undeleted.")] = False,
    json: Json = False,
) -> None:
    """List jobs, those that fire next first."""
    if deleted:
        _list_deleted(count, json=json)
        return
    found = call(lambda api: api.list_jobs(status, limit=count, name=name, tag=tag), json=json)
    if json:
        return
    if not found.jobs:
        say('No jobs. Make one: cronty add "tomorrow at 9" "Call Mom" --notify phone')
        return
    columns = [Column("id", whole=True), Column("name"), Column("status", whole=True), Column("next", whole=True)]
    rows = [(number(job.job_id), job.name, _state(job), clock(job.next_run), str(job.run_count)) for job in found.jobs]
    columns.append(Column("runs", whole=True))
    if any(job.said for job in found.jobs):
        columns.append(Column("said"))
        rows = [(*row, job.said or "") for row, job in zip(rows, found.jobs, strict=True)]
    show_rows(columns, rows)
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
    columns = [Column("id", whole=True), Column("name"), Column("deleted", whole=True), Column("until", whole=True)]
    rows = [(number(job.job_id), job.name, clock(job.deleted_at), clock(job.until)) for job in found.jobs]
    show_rows(columns, rows)


def show(job: Id, json: Json = False) -> None:
    """Show one job in full, with its last runs."""
    found = call(lambda api: api.job_status(job), json=json)
    if json:
        return
    say(found.name, "bold")
    say(found.schedule)
    if found.said:
        say(f'said as "{found.said}"', "dim")
    most = f" of {found.max_runs}" if found.max_runs else ""
    say(f"{found.job_id}, {_state(found)}, task {found.task}, {found.run_count} runs{most}", "dim")
    if found.next_run:
        say(f"next: {clock(found.next_run)}, {found.timezone}")
    for one in found.changed_slots or ():
        say(f"not at {clock(one.slot)}: {one.why}", "yellow")
    if found.paused_because:
        say(f"paused because {found.paused_because}", "yellow")
    if found.error:
        say(f"last error: {found.error}", "red")
    if found.runs:
        say("")
        show_runs(found.runs)


def pause(job: Id, json: Json = False) -> None:
    """Hold a job: nothing fires until it is resumed."""
    _done(call(lambda api: api.pause_job(job), json=json), "Paused", json=json)


def resume(job: Id, json: Json = False) -> None:
    """Let a paused job continue with its next time."""
    _done(call(lambda api: api.resume_job(job), json=json), "Resumed", json=json)


def skip(
    job: Id,
    slot: Annotated[str | None, typer.Argument(help="Which run, by its planned time. Default: the next one.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Let it run at its planned time after all.")] = False,
    json: Json = False,
) -> None:
    """Leave out one run of a job, this once; its schedule stays."""
    if undo and slot is None:
        raise typer.BadParameter("Say which run, by its planned time: `cronty show` lists them.")
    done = "Restored" if undo else "Skipped a run of"
    _done(call(lambda api: api.change_slot(job, slot, slot if undo else None), json=json), done, json=json)


def move(
    job: Id,
    slot: Annotated[str, typer.Argument(help="Which run, by its planned time.")],
    to: Annotated[str, typer.Argument(help='Its new time: "2027-01-31 11:00", or words.')],
    json: Json = False,
) -> None:
    """Move one run of a job to another time, this once; its schedule stays."""
    _done(call(lambda api: api.change_slot(job, slot, to), json=json), "Moved a run of", json=json)


def cancel(job: Id, json: Json = False) -> None:
    """End a job; it stays listed."""
    call(lambda api: api.cancel_job(job), json=json)
    if not json:
        say(f"Cancelled {job}.")


def delete(job: Id, json: Json = False) -> None:
    """End a job and hide it; for 30 days `cronty undelete` brings it back, then it is removed with its runs."""
    call(lambda api: api.delete_job(job), json=json)
    if not json:
        say(f"Deleted {job}.")


def undelete(job: Id, json: Json = False) -> None:
    """Bring a deleted job back as it was; `cronty list --deleted` shows which there are."""
    _done(call(lambda api: api.undelete_job(job), json=json), "Undeleted", json=json)


def run(job: Id, json: Json = False) -> None:
    """Run a job once, now, in addition to its schedule."""
    started, armed = call(lambda api: with_workers(api, api.run_job_now(job)))
    if json:
        print_json(to_json(started) | {"armed": armed})
        return
    say(f"Queued {started.run_id}; `cronty runs {job}` shows it.")
    _warn(armed)


COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "add": add,
    "list": list_jobs,
    "show": show,
    "runs": runs,
    "why": why,
    "pause": pause,
    "resume": resume,
    "skip": skip,
    "move": move,
    "cancel": cancel,
    "delete": delete,
    "undelete": undelete,
    "run": run,
}


async def with_workers[T](api: Api, call: Awaitable[T]) -> tuple[T, bool]:
    """The answer, and whether a worker is alive to run it; a server runs jobs itself."""
    answer = await call
    if not isinstance(api, Cronty):
        return answer, True
    fleet = value_of(await api.service.overview.fleet(api.caller))
    return answer, any(worker.alive for worker in fleet.workers)


def _warn(armed: bool) -> None:
    if not armed:
        say("No worker is running, so nothing fires. Start one with `cronty up`.", "yellow", err=True)


def number(job_id: str) -> str:
    """The short form of a job's id."""
    return job_id.split("_")[1]


def _done(job: JobDetail, done: str, *, json: bool) -> None:
    coming = f"; next on {clock(job.next_run)}" if job.next_run else ""
    if not json:
        say(f"{done} {job.name}{coming}.")


def _state(job: JobSummary | JobDetail) -> str:
    return "paused" if job.paused else job.status
