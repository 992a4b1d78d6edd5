"""`cronty edit`: changes a job from its next run on."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cronty.cli.add import Policy, ending, read_object, read_policy
from cronty.cli.completion import Id
from cronty.cli.connection import Api, call
from cronty.cli.destination import HELP, destination
from cronty.cli.output import Json, can_ask, clock, counted, say
from cronty.contract.answers import ScheduledJob
from cronty.scheduler.agenda import title

_NEVER: Final = "never"
_TEXT: Final = {"notify": "message", "prompt": "prompt"}
"""The argument that holds what a job says."""


def edit(
    job: Id,
    when: Annotated[str | None, typer.Argument(help="Its new schedule, in words or as cron.")] = None,
    text: Annotated[str | None, typer.Option(help="What the notification or the prompt says.")] = None,
    notify: Annotated[str | None, typer.Option(help=HELP)] = None,
    agent: Annotated[str | None, typer.Option(help="Which agent the prompt is for.")] = None,
    kwargs: Annotated[str | None, typer.Option(help="Arguments of the task to change, as a JSON object.")] = None,
    name: Annotated[str | None, typer.Option(help="What the job is called.")] = None,
    zone: Annotated[str | None, typer.Option(help="The time zone of its schedule.")] = None,
    end: Annotated[str | None, typer.Option(help="No run after this; `never` takes the end away.")] = None,
    max_runs: Annotated[int | None, typer.Option(min=0, help="Stop after this many runs in all; 0: no limit.")] = None,
    policy: Policy = None,
    tag: Annotated[list[str] | None, typer.Option(help="Its labels; they replace the old ones.")] = None,
    json: Json = False,
) -> None:
    changes: dict[str, Any] = {
        "name": name,
        "timezone": zone,
        "tags": tag,
        "policy": read_policy(policy) or None,
        "ends_at": end,
    }
    changes = {field: value for field, value in changes.items() if value is not None}
    if end == _NEVER:
        changes["ends_at"] = None
    if max_runs is not None:
        changes["max_runs"] = max_runs or None
    arguments = {**({"agent": agent} if agent is not None else {}), **read_object(kwargs or "{}")}
    if when is None and text is None and notify is None and not changes and not arguments:
        when = _asked(job, json=json)
    if when is not None:
        changes |= {"trigger_type": "words", "trigger_config": {"text": when}}
    changed = call(lambda api: _edit(api, job, changes, text, notify, arguments), json=json)
    if not json:
        say(f"{changed.name}: {changed.schedule}{ending(changed)}", "bold")
        coming = f"next on {clock(changed.next_run)}, {changed.timezone}" if changed.next_run else "paused"
        say(f"{changed.job_id}, {coming}", "dim")


async def _edit(
    api: Api,
    job: str,
    changes: Mapping[str, Any],
    text: str | None,
    notify: str | None,
    arguments: dict[str, object],
) -> ScheduledJob:
    """Arguments replace all existing ones, so the old ones are looked up and kept."""
    if notify is not None:
        arguments["topic"] = await destination(api, notify)
    if text is None and not arguments:
        return await api.edit_job(job, **changes)
    old = await api.job_status(job)
    said: dict[str, object] = {}
    if text is not None:
        if old.task not in _TEXT:
            raise typer.BadParameter(f"{old.name} runs the task {old.task}, which has no text. Use --kwargs.")
        said = {_TEXT[old.task]: text}
    kwargs = {**(old.kwargs or {}), **said, **arguments}
    renamed: dict[str, Any] = {}
    if text and old.name == title(str((old.kwargs or {}).get(_TEXT[old.task], ""))):  # nobody gave it another name
        renamed = {"name": title(text)}
    return await api.edit_job(job, expected_version=old.version, kwargs=kwargs, **{**renamed, **changes})


def _asked(job: str, *, json: bool) -> str:
    """The new schedule from the person at the terminal, who sees the words it was given in."""
    if not can_ask(json=json):
        raise typer.BadParameter("Say what to change: the schedule after the job, or an option such as --text.")
    old = call(lambda api: api.job_status(job))
    say(f"{old.name}: {old.schedule}", "bold", err=True)
    ran = f"It has run {counted(old.run_count, 'time')}." if old.run_count else "It has not run yet."
    say(f"{ran} A new schedule counts from its next run on.", "dim", err=True)
    return str(typer.prompt("When", default=old.said or old.schedule, err=True))
