"""`cronty export`: all jobs as JSON, or the commands among them as a crontab."""

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from cronty.actions.shell import Declared, read_commands
from cronty.app import Cronty
from cronty.cli.connection import ask
from cronty.cli.crontab_lines import joined_percent, settings_of
from cronty.cli.jobs_file import as_entry
from cronty.cli.output import print_json, say
from cronty.contract.requests import MAX_LISTED
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import COMMAND
from cronty.jobs.job import Filter, Job
from cronty.settings import Settings
from cronty.timing import Cron

_KINDS = {"notify": "notification"}


def export(
    form: Annotated[Literal["crontab", "json"], typer.Option("--as", help="crontab: the commands. json: all jobs.")] = (
        "json"
    ),
) -> None:
    jobs = ask(_every_job)
    if form == "json":
        commands = _commands()
        print_json({"jobs": [as_entry(job, commands) for job in jobs]})
        return
    lines, left = _as_crontab(jobs, _commands())
    typer.echo("".join(f"{line}\n" for line in lines), nl=False)
    for job, why in left:
        say(f"cronty: job {job.number}, {job.name}, isn't in it: {why}.", err=True)


async def _every_job(cronty: Cronty) -> Result[list[Job]]:
    """All jobs that have not ended, oldest first."""
    found: dict[int, Job] = {}
    for status in ("pending", "running"):
        cursor = None
        while True:
            page = await cronty.service.scheduler.list_jobs(cronty.caller, Filter(status=status), MAX_LISTED, cursor)
            if isinstance(page, Err):
                return page
            found |= {job.number: job for job in page.value.jobs}
            cursor = page.value.cursor
            if cursor is None:
                break
    return Ok([found[number] for number in sorted(found)])


def _as_crontab(jobs: Sequence[Job], commands: dict[str, Declared]) -> tuple[list[str], list[tuple[Job, str]]]:
    """The lines, and the jobs that a crontab can't hold. Settings can't be unset, so jobs with fewest come first."""
    left: list[tuple[Job, str]] = []
    good: list[tuple[Job, Cron, Declared]] = []
    for job in jobs:
        flaw = _flaw(job, commands)
        if flaw is not None:
            left.append((job, flaw))
        elif isinstance(job.trigger, Cron):
            good.append((job, job.trigger, commands[str(job.action.kwargs["name"])]))
    lines: list[str] = []
    current: dict[str, str] = {}
    for job, trigger, command in sorted(good, key=lambda one: (len(settings_of(one[2])), one[0].number)):
        wanted = {"CRON_TZ": trigger.zone, **settings_of(command)}
        if surplus := sorted(set(current) - set(wanted)):
            left.append((job, f"the lines above it set {surplus[0]}, which it must not have"))
            continue
        lines += [f"{name}={_quoted(value)}" for name, value in wanted.items() if current.get(name) != value]
        current = wanted
        lines.append(f"{trigger.expression} {joined_percent(command)}")
    return lines, left


def _flaw(job: Job, commands: dict[str, Declared]) -> str | None:
    trigger = job.trigger
    if job.action.task != COMMAND:
        return f"it is a {_KINDS.get(job.action.kind, job.action.kind)}, not a command"
    command = commands.get(str(job.action.kwargs.get("name")))
    if command is None or "\n" in command.run:
        return "its command isn't declared on this machine" if command is None else "its command has several lines"
    if command.workdir not in (None, command.environment.get("HOME")):
        return "it runs in a folder of its own, which cron can't express"
    if not isinstance(trigger, Cron) or "%" in trigger.expression:
        return "cron can't express its schedule"
    if (trigger.gap, trigger.overlap) != ("run_after", "first"):
        return "it has its own rule for clock changes"
    if job.state == "paused" or job.max_runs is not None or job.ends_at is not None:
        return "it is paused or has an end, which cron can't express"
    return None


def _quoted(value: str) -> str:
    plain = value == value.strip() and (not value or value[0] not in "\"'")
    return value if plain else f'"{value}"' if '"' not in value else f"'{value}'"


def _commands() -> dict[str, Declared]:
    path = Settings().commands  # pyright: ignore[reportCallIssue] -- its defaults are fields
    return {} if path is None else read_commands(path)
