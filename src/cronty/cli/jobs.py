"""Jobs from the command line: the same acts as in the tools, under the same names."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, cast

import orjson
import typer
from rich.console import Console
from rich.table import Table

from cronty.app import Cronty
from cronty.jobs.result import Err
from cronty.jobs.run import Run
from cronty.scheduler.agenda import title
from cronty.timing import BadTrigger
from cronty.timing.rule import read_instant

type Answer = dict[str, Any]

_VERDICTS: Final = {"done": "green", "failed": "red", "quarantined": "red", "missed": "yellow", "running": "cyan"}
_EVERYTHING: Final = 1000

Id = Annotated[str, typer.Argument(help="The job's id or number, as `cronty list` shows it.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def add(
    when: Annotated[str, typer.Argument(help='When: "every weekday at 8:30", "tomorrow at 9", "30 8 * * 1-5".')],
    text: Annotated[str, typer.Argument(help="What the notification or the prompt says.")] = "",
    notify: Annotated[str | None, typer.Option(help="Send it to this channel or ntfy topic.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Put it into the inbox as a prompt for an agent.")] = False,
    agent: Annotated[str | None, typer.Option(help="Which agent the prompt is for.")] = None,
    task: Annotated[str | None, typer.Option(help="Run this registered task instead.")] = None,
    kwargs: Annotated[str, typer.Option(help="Its arguments, as a JSON object.")] = "{}",
    name: Annotated[str | None, typer.Option(help="What the job is called. Default: the text, or the task.")] = None,
    zone: Annotated[str | None, typer.Option(help="The time zone meant, if the words name none.")] = None,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Stop after so many runs.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label to find it by.")] = None,
    json: Json = False,
) -> None:
    """Schedule something: a notification, a prompt for an agent, or a registered task."""
    kind, arguments = _action(text, notify, agent, task, kwargs, prompt=prompt)
    made = _ask(
        lambda cronty: cronty.schedule_job(
            name or title(text or kind),
            kind,
            "words",
            {"text": when},
            kwargs=arguments,
            max_runs=max_runs,
            timezone=zone,
            tags=tag or (),
        ),
        json=json,
    )
    if json:
        return
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"{made['name']}: {made['schedule']}", style="bold", markup=False)
    out.print(f"{made['job_id']}, first on {_clock(made['next_run'])}, {made['timezone']}", style="dim", markup=False)


def _action(
    text: str, notify: str | None, agent: str | None, task: str | None, kwargs: str, *, prompt: bool
) -> tuple[str, dict[str, object]]:
    """The one thing that was asked for."""
    wanted = [notify is not None, prompt or agent is not None, task is not None]
    if sum(wanted) != 1:
        raise typer.BadParameter("Say what to do, once: --notify CHANNEL, --prompt (or --agent), or --task NAME.")
    if task is not None:
        try:
            given = orjson.loads(kwargs)
        except orjson.JSONDecodeError:
            given = None
        if not isinstance(given, dict):
            raise typer.BadParameter(f'--kwargs must be a JSON object such as {{"path": "/data"}}, not {kwargs}')
        return task, cast("dict[str, object]", given)
    if not text.strip():
        raise typer.BadParameter("Say what it is to say, after the time.")
    if notify is not None:
        return "notify", {"message": text, "topic": notify}
    said: dict[str, object] = {"prompt": text}
    return "prompt", said | ({"agent": agent} if agent else {})


def list_jobs(
    status: Annotated[str | None, typer.Option(help="pending, running, completed, failed or cancelled.")] = None,
    name: Annotated[str | None, typer.Option(help="Only those with this in their name.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=_EVERYTHING, help="How many.")] = 20,
    json: Json = False,
) -> None:
    """List jobs, those that fire next first."""
    found = _ask(lambda cronty: cronty.list_jobs(status, limit=count, name=name, tag=tag), json=json)
    if json:
        return
    if not found["jobs"]:
        typer.echo('No jobs. Make one: cronty add "tomorrow at 9" "Call mum" --notify phone')
        return
    table = _table("id", "name", "status", "next", "runs")
    for job in found["jobs"]:
        state = "paused" if job["paused"] else job["status"]
        table.add_row(
            _number(job["job_id"]), _plain(job["name"]), state, _clock(job["next_run"]), str(job["run_count"])
        )
    _print(table)
    if found["total"] > len(found["jobs"]):
        typer.echo(f"{found['total'] - len(found['jobs'])} more: -n {min(found['total'], _EVERYTHING)} shows them.")


def show(job: Id, json: Json = False) -> None:
    """Show one job in full, with its last runs."""
    found = _ask(lambda cronty: cronty.job_status(job), json=json)
    if json:
        return
    out = Console(highlight=False, soft_wrap=True)
    out.print(found["name"], style="bold", markup=False)
    out.print(f"{found['schedule']}", markup=False)
    facts = [f"{found['job_id']}", found["status"] if not found["paused"] else "paused", f"task {found['task']}"]
    facts += [f"{found['run_count']} runs"] + ([f"of {found['max_runs']}"] if found["max_runs"] else [])
    out.print(", ".join(facts), style="dim", markup=False)
    if found["next_run"]:
        out.print(f"next: {_clock(found['next_run'])}, {found['timezone']}", markup=False)
    if found["paused_because"]:
        out.print(f"paused because {found['paused_because']}", style="yellow", markup=False)
    if found["error"]:
        out.print(f"last error: {found['error']}", style="red", markup=False)
    if found["runs"]:
        out.print()
        _print(_runs_table(found["runs"]))


def runs(
    job: Annotated[str | None, typer.Argument(help="The job. Left out: what failed, over all jobs.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=_EVERYTHING, help="How many.")] = 20,
    json: Json = False,
) -> None:
    """List the planned moments of a job, each with its verdict and the reason; or everything that failed."""
    if job is None:
        found = _ask(lambda cronty: cronty.list_failed_runs(limit=count), json=json)
    else:
        found = _ask(lambda cronty: cronty.list_runs(job, limit=count), json=json)
    if json:
        return
    if not found["runs"]:
        typer.echo("Nothing has failed." if job is None else "It has not run yet.")
        return
    _print(_runs_table(found["runs"]))


def why(
    job: Id, slot: Annotated[str, typer.Argument(help='When it should have run: "2027-01-31 09:00", "today at 9:00".')]
) -> None:
    """Say what became of one planned moment of a job, and why."""
    typer.echo(_with_cronty(lambda cronty: _explained(cronty, job, slot)))


async def _explained(cronty: Cronty, job: str, said: str) -> str:
    shown = await cronty.scheduler.show(cronty.owner, job)
    if isinstance(shown, Err):
        raise Refused(shown.message)
    now, _ = await cronty.scheduler.clock(cronty.owner)
    try:
        moment = read_instant(said, shown.value.zone, now)
    except BadTrigger as bad:
        raise Refused(str(bad)) from None
    found = await cronty.scheduler.list_runs(cronty.owner, job, 1, moment + timedelta(microseconds=1))
    if not isinstance(found, Err) and found.value and _covers(found.value[0], moment):
        run = found.value[0]
        because = f": {run.reason or run.error}" if run.reason or run.error else ""
        return f"{run.state}{because} (attempt {run.attempt}, {run.run_id})"
    due = shown.value.trigger.after(moment - timedelta(microseconds=1))
    if due == moment:
        return "It is planned, and its time hasn't come." if moment > now else "It was planned before the job was made."
    after = f" The next one after that is {due.isoformat()}." if due else ""
    return f"{moment.isoformat()} is no moment of this job.{after}"


def _covers(run: Run, moment: datetime) -> bool:
    return run.scheduled_for == moment or (run.through is not None and run.scheduled_for <= moment <= run.through)


def pause(job: Id) -> None:
    """Hold a job: nothing fires until it is resumed."""
    _done(_ask(lambda cronty: cronty.pause_job(job)), "Paused")


def resume(job: Id) -> None:
    """Let a paused job go on with its next time."""
    _done(_ask(lambda cronty: cronty.resume_job(job)), "Resumed")


def cancel(job: Id) -> None:
    """End a job; it stays listed."""
    answer = _ask(lambda cronty: cronty.cancel_job(job))
    if not answer["cancelled"]:
        typer.echo(f"cronty: Job not found: {job}", err=True)
        raise typer.Exit(1)
    typer.echo(f"Cancelled {job}.")


def delete(job: Id) -> None:
    """End a job and hide it for good; the history of its runs is kept."""
    _ask(lambda cronty: cronty.delete_job(job))
    typer.echo(f"Deleted {job}.")


def run(job: Id) -> None:
    """Run a job once, now, beside its schedule."""
    typer.echo(f"Asked for {_ask(lambda cronty: cronty.run_job_now(job))['run_id']}; `cronty runs {job}` shows it.")


COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "add": add,
    "list": list_jobs,
    "show": show,
    "runs": runs,
    "why": why,
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "delete": delete,
    "run": run,
}


class Refused(Exception):
    """What was asked can't be done; the text says why."""


def _ask(question: Callable[[Cronty], Awaitable[Answer]], *, json: bool = False) -> Answer:
    """The answer, printed as JSON if so wished; an error is said in a line, and ends the command."""
    answer = _with_cronty(question)
    if json:
        typer.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode())
    if answer.get("error") and "job_id" not in answer:
        if not json:
            typer.echo(f"cronty: {answer['error'].rstrip('.')}. {answer.get('hint', '')}".rstrip(), err=True)
        raise typer.Exit(3 if "may mean" in answer["error"] else 1)
    return answer


def _with_cronty[T](question: Callable[[Cronty], Awaitable[T]]) -> T:
    async def open_and_ask() -> T:
        async with Cronty(run_jobs=False) as cronty:
            return await question(cronty)

    try:
        return asyncio.run(open_and_ask())
    except Refused as refused:
        typer.echo(f"cronty: {refused}", err=True)
        raise typer.Exit(1) from None


def _done(answer: Answer, act: str) -> None:
    coming = f"; next on {_clock(answer['next_run'])}" if answer.get("next_run") else ""
    typer.echo(f"{act} {answer['name']}{coming}.")


def _runs_table(found: list[Answer]) -> Table:
    named = any("name" in one for one in found)
    table = _table(*(["job"] if named else []), "planned for", "verdict", "attempt", "why")
    for one in found:
        reason = one["error"] or one["reason"] or ""
        if one.get("next_attempt_at") and one["attempt"]:
            reason = f"{reason}; tried again {_clock(one['next_attempt_at'])}".lstrip("; ")
        color = _VERDICTS.get(one["verdict"], "default")
        row = [_clock(one["scheduled_for"]), f"[{color}]{one['verdict']}[/]", str(one["attempt"] or ""), _plain(reason)]
        table.add_row(*([_plain(one.get("name", ""))] if named else []), *row)
    return table


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for each in titles:
        table.add_column(each, overflow="fold", no_wrap=each in ("id", "next", "planned for", "status", "verdict"))
    return table


def _print(table: Table) -> None:
    Console(highlight=False).print(table)


def _plain(text: str) -> str:
    """Somebody's words: brackets in them are no markup."""
    return text.replace("[", "\\[")


def _number(job_id: str) -> str:
    return job_id.split("_")[1]


def _clock(moment: str | None) -> str:
    return f"{datetime.fromisoformat(moment):%a %d %b %Y %H:%M}" if moment else "-"
