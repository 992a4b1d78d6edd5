"""`cronty runs` and `cronty retry`: how slots ended, and trying failed ones again."""

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from cronty.cli.completion import complete_jobs
from cronty.cli.connection import Api, call
from cronty.cli.output import REFUSED, Column, Json, clock, console, counted, print_json, say, show_rows
from cronty.cli.results import result_in_words
from cronty.cli.why import seconds_of
from cronty.cli.workers import warn_if_idle, with_workers
from cronty.contract.answers import RedrivenRuns, Run, RunDetail, RunOfJob, to_json
from cronty.contract.result import CrontyError, Err
from cronty.jobs.run import FAILED, read_receipt

VERDICTS: Final = {"done": "green", "failed": "red", "quarantined": "red", "missed": "yellow", "running": "cyan"}
_EVERYTHING: Final = 1000
_WIDE: Final = 110
"""From this width on the id of a run has a column of its own."""


def runs(
    job: Annotated[
        str | None,
        typer.Argument(help="The job. Left out: what failed, over all jobs.", autocompletion=complete_jobs),
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=_EVERYTHING, help="How many.")] = 20,
    json: Json = False,
) -> None:
    if job is None:
        found = call(lambda api: api.list_failed_runs(limit=count), json=json)
    else:
        found = call(lambda api: api.list_runs(job, limit=count), json=json)
    if json:
        return
    if not found.runs:
        say("Nothing has failed." if job is None else "It has not run yet.")
        return
    show_runs(found.runs, found.timezone)


def show_runs(found: Sequence[Run], zone_name: str) -> None:
    named = any(isinstance(one, RunOfJob) for one in found)
    apart = console().width >= _WIDE
    columns = [Column(f"planned for ({zone_name})", whole=True)]
    columns += [Column("verdict", whole=True), Column("took", whole=True)]
    columns += [Column("run", whole=True)] if apart else []
    rows = [
        (*([one.name if isinstance(one, RunOfJob) else ""] if named else []), clock(one.scheduled_for, seconds=True),
         one.verdict, seconds_of(one), *([one.run_id] if apart else []),
         _came_of_it(one) if apart else f"{_came_of_it(one)} {one.run_id}".strip())
        for one in found
    ]  # fmt: skip
    styles = [VERDICTS.get(one.verdict, "") for one in found]
    title = "result, or why" if apart else "result, or why, and id"
    show_rows([*([Column("job")] if named else []), *columns, Column(title, fold=True)], rows, styles=styles)


def _came_of_it(one: Run) -> str:
    parts = [one.error or "", one.reason or "", result_in_words(one.result) if one.verdict == "done" else ""]
    if one.attempt > 1:
        parts.append(f"attempt {one.attempt}")
    if one.next_attempt_at and one.attempt:
        parts.append(f"tried again {clock(one.next_attempt_at, seconds=True)}")
    return "; ".join(part for part in parts if part)


def stop(
    what: Annotated[str, typer.Argument(help="A job, or the id of a run.", autocompletion=complete_jobs)],
    json: Json = False,
) -> None:
    run = call(lambda api: _stop(api, what), json=json)
    if not json:
        done = "Stopped" if run.verdict == "cancelled" else "Asked to stop"
        say(f"{done}: {run.run_id} of {run.name}. `cronty runs {run.job_id}` shows what came of it.")


async def _stop(api: Api, what: str) -> RunDetail:
    """Of a job, the run that is running, or else the first that waits."""
    if read_receipt(what) is not None:
        return await api.stop_run(what)
    for verdict in ("running", "waiting"):
        if runs := (await api.list_runs(what, limit=_EVERYTHING, verdict=verdict)).runs:
            return await api.stop_run(runs[-1].run_id)
    raise CrontyError(
        Err("not_found", f"No run of {what} is running or waits.", "`cronty pause` holds the job itself.")
    )


def retry(
    what: Annotated[
        str | None,
        typer.Argument(help="A job, for its last failed run, or the id of a run.", autocompletion=complete_jobs),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All failed runs of that job, or of all jobs.")] = False,
    json: Json = False,
) -> None:
    if what is None and not every:
        raise typer.BadParameter("Name a job or a run, or give --all. `cronty runs` shows what has failed.")
    tried, armed = call(lambda api: with_workers(api, _retry(api, what, every=every)), json=json, show=False)
    if json:
        print_json(to_json(tried) | {"armed": armed})
    elif tried.redriven:
        say(f"Trying {counted(len(tried.redriven), 'run')} again: {', '.join(tried.redriven)}.")
        warn_if_idle(armed)
    if tried.refused:
        if not json:
            say(f"cronty: Not tried again: {', '.join(tried.refused)}. {tried.hint or ''}".rstrip(), err=True)
        raise typer.Exit(REFUSED)


async def _retry(api: Api, what: str | None, *, every: bool) -> RedrivenRuns:
    if what is not None and read_receipt(what) is not None:
        return await api.redrive_runs([what])
    most = _EVERYTHING if every else 1
    if what is None:
        failed: Sequence[Run] = (await api.list_failed_runs(limit=most)).runs
    else:
        found = [await api.list_runs(what, limit=most, verdict=verdict) for verdict in FAILED]
        failed = sorted((run for one in found for run in one.runs), key=lambda run: run.scheduled_for)[-most:]
    if not failed:
        hint = "`cronty runs` shows what has failed." if what else ""
        raise CrontyError(Err("not_found", f"No run of {what} has failed." if what else "Nothing has failed.", hint))
    return await api.redrive_runs([run.run_id for run in failed])
