"""`cronty import crontab`: schedules the lines of a crontab."""

import getpass
import hashlib
import pwd
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cronty.actions.shell import declare
from cronty.app import Cronty
from cronty.app.machine_zone import machine_zone
from cronty.cli.add import COMMAND_POLICY
from cronty.cli.connection import ask
from cronty.cli.crontab_lines import Planned, Refusal, read_crontab
from cronty.cli.jobs_file import import_json
from cronty.cli.output import MISUSED, REFUSED, Column, Json, clock, print_json, progress, refuse, say, show_rows
from cronty.contract.operations import Operations
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import COMMAND
from cronty.jobs.ids import job_id_text
from cronty.jobs.job import Job
from cronty.jobs.moments import moment_text
from cronty.scheduler.agenda import title
from cronty.settings import Settings
from cronty.timing import BadTrigger, zone

TAG: Final = "crontab"

app = typer.Typer(no_args_is_help=True, help="Import jobs from a crontab, or from a file of `cronty export`.")
app.command("json")(import_json)


@app.command("crontab")
def import_crontab(
    file: Annotated[
        str | None, typer.Argument(help="The file, - for standard input. Left out: the output of `crontab -l`.")
    ] = None,
    system: Annotated[bool, typer.Option("--system", help="Lines have a user field, as in /etc/crontab.")] = False,
    zone_name: Annotated[
        str | None, typer.Option("--zone", help="The zone of lines without CRON_TZ. Left out: the machine's.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would happen to each line.")] = False,
    json: Json = False,
) -> None:
    """Schedule the lines of a crontab; a line that can't be scheduled is refused with the reason. Repeatable."""
    try:
        used = zone(zone_name or _cron_zone()).key
    except BadTrigger as bad:
        raise typer.BadParameter(f"{bad.message}. {bad.hint}", param_hint="--zone") from None
    users = frozenset({getpass.getuser()}) if system else None
    found = list(read_crontab(_text(file), used, users, _is_user))
    results = _dry_run(found) if dry_run else ask(lambda cronty: _schedule(cronty, found, json=json))
    refused = sum(one["result"] == "refused" for one in results)
    if json:
        print_json({"zone": used, "dry_run": dry_run, "lines": results})
    else:
        _show(results, used, dry_run=dry_run)
    if refused:
        raise typer.Exit(REFUSED)


# -- importing --------------------------------------------------------------------------------------------------------


def _dry_run(found: Sequence[Planned | Refusal]) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    return [
        _refused(one) if isinstance(one, Refusal) else _result(one, "schedulable", one.trigger.after(now))
        for one in found
    ]


async def _schedule(cronty: Cronty, found: Sequence[Planned | Refusal], *, json: bool) -> Result[list[dict[str, Any]]]:
    path = cronty.settings.commands
    if path is None:
        return Err(
            "no_commands",
            "This installation runs no commands.",
            "Set CRONTY_COMMANDS_FILE, here and for the worker on this machine.",
        )
    declare(path, [one.command for one in found if isinstance(one, Planned)])
    began, _ = await cronty.service.scheduler.clock(cronty.caller)
    results: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    with progress("Importing", len(found), quiet=json) as step:
        for one in found:
            step()
            if isinstance(one, Refusal):
                results.append(_refused(one))
                continue
            key = _key(one)
            seen[key] = seen.get(key, 0) + 1
            job = await _made(cronty, _request(one, f"{key}#{seen[key]}"))
            if isinstance(job, Err):
                results.append(_refused(Refusal(one.number, one.text, f"{job.message} {job.hint}".strip())))
                continue
            result = "already" if job.created_at < began else "scheduled"
            results.append(_result(one, result, job.next_slot) | {"job_id": job_id_text(job.number, job.created_at)})
    return Ok(results)


async def _made(cronty: Cronty, request: ScheduleJob) -> Job | Err:
    """The job that the request makes, or made when it was imported before."""
    made = await cronty.service.answer(Operations.schedule_job, cronty.caller, request)
    shown = made if isinstance(made, Err) else await cronty.service.scheduler.show(cronty.caller, made.value.job_id)
    return shown if isinstance(shown, Err) else shown.value


def _request(line: Planned, key: str) -> ScheduleJob:
    return ScheduleJob(
        title(line.command.run),
        COMMAND,
        "cron",
        {"expression": line.trigger.expression},
        kwargs={"name": line.command.name},
        timezone=line.trigger.zone,
        policy=COMMAND_POLICY,
        tags=(TAG,),
        idempotency_key=key,
    )


def _key(line: Planned) -> str:
    """A key made from the line's meaning, so that importing a file again makes no second job."""
    whole = f"{line.trigger.expression}\n{line.trigger.zone}\n{line.command.name}"
    return f"crontab:{hashlib.sha256(whole.encode()).hexdigest()[:32]}"


def _result(line: Planned, result: str, coming: datetime | None) -> dict[str, Any]:
    return {
        "line": line.number,
        "result": result,
        "text": line.text,
        "command": line.command.run,
        "schedule": line.trigger.expression,
        "zone": line.trigger.zone,
        "next_run": moment_text(coming, line.trigger.zone),
        "note": line.note,
    }


def _refused(line: Refusal) -> dict[str, Any]:
    return {"line": line.number, "result": "refused", "text": line.text, "why": line.why}


def _show(results: Sequence[dict[str, Any]], zone_name: str, *, dry_run: bool) -> None:
    good = [one for one in results if one["result"] != "refused"]
    if good:
        whole = [Column(title, whole=True) for title in ("line", "result", "next")]
        rows = [
            (str(one["line"]), one["result"], f"{clock(one['next_run'])}, {one['zone']}", one["command"])
            for one in good
        ]
        show_rows([*whole, Column("command")], rows)
    for one in results:
        if one["result"] == "refused":
            say(f"line {one['line']}: {one['text']}", "yellow", err=True)
            say(f"refused: {one['why']}", err=True, indent=2)
    counts = {result: sum(one["result"] == result for one in results) for result in _RESULTS}
    summary = ", ".join(f"{number} {_RESULTS[result]}" for result, number in counts.items() if number)
    say(f"{summary or 'There is nothing in it'}. Times without a zone are meant in {zone_name}.")
    if counts["scheduled"] and not dry_run:
        say(
            "Cron still runs these lines too: take them out of the crontab (`crontab -e`). Cronty runs them as long as "
            "it is up (`cronty up`).",
            "yellow",
        )


_RESULTS: Final = {
    "scheduled": "scheduled",
    "schedulable": "could be scheduled",
    "already": "there already",
    "refused": "refused",
}


# -- the machine ------------------------------------------------------------------------------------------------------


def _cron_zone() -> str:
    """The zone that cron on this machine uses; the setting if that can't be found."""
    settings = _settings()
    return settings.zone if "zone" in settings.model_fields_set else machine_zone() or settings.zone


def _text(file: str | None) -> str:
    if file == "-":
        return sys.stdin.read()
    if file is not None:
        try:
            return Path(file).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            refuse(f"{file} can't be read: {error.strerror}.", MISUSED)
    try:
        output = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False)
    except OSError:
        refuse("There is no `crontab` on this machine. Name a file, or - for standard input.", MISUSED)
    if output.returncode:
        refuse(f"`crontab -l` says: {output.stderr.strip()}. Name a file, or - for standard input.")
    return output.stdout


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _settings() -> Settings:
    return Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields
