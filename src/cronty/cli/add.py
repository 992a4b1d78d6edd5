"""`cronty add`: schedules a notification, a prompt, a task, or a command of this machine."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import Annotated, Final, cast

import orjson
import typer

from cronty.actions.shell import Declared, declare
from cronty.cli.connection import Api, call, is_remote, read_duration
from cronty.cli.destination import HELP, destination
from cronty.cli.output import Json, clock, print_json, refuse, say
from cronty.cli.workers import warn_if_idle, with_workers
from cronty.contract.answers import JobSummary, ScheduledJob, to_json
from cronty.jobs.action import COMMAND
from cronty.scheduler.agenda import title
from cronty.settings import Settings
from cronty.timing.offsets import TICK

COMMAND_POLICY: Final = {"timeout": 86_400.0, "pause_after": 0}
"""Unlike other jobs, because cron neither ends a command nor gives up on it."""

_LENGTH: Final = re.compile(r"\d.*[a-z]", re.IGNORECASE)

Policy = Annotated[
    list[str] | None,
    typer.Option(help="How it behaves, as NAME=VALUE: attempts=3, timeout=10m, overlap=queue, catch_up=none."),
]


@dataclass(frozen=True, slots=True)
class Does:
    """What a job is to do."""

    task: str
    arguments: dict[str, object]
    policy: Mapping[str, object]
    name: str


def add(
    when: Annotated[str, typer.Argument(help='When: "every weekday at 8:30", "tomorrow at 9", "30 8 * * 1-5".')],
    text: Annotated[str, typer.Argument(help="What the notification or the prompt says.")] = "",
    notify: Annotated[str | None, typer.Option(help=f"{HELP} Default: your channel, if you have one.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Put it into the inbox as a prompt for an agent.")] = False,
    agent: Annotated[str | None, typer.Option(help="Which agent the prompt is for.")] = None,
    command: Annotated[
        str | None, typer.Option(help="Run this command line on this machine, in the folder you are in.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Run this registered task instead.")] = None,
    kwargs: Annotated[str | None, typer.Option(help="The task's arguments, as a JSON object.")] = None,
    name: Annotated[str | None, typer.Option(help="What the job is called. Default: the text, or the task.")] = None,
    zone: Annotated[str | None, typer.Option(help="The time zone, if the words name none.")] = None,
    start: Annotated[str | None, typer.Option(help='No run before this: "2027-01-31", or words.')] = None,
    end: Annotated[str | None, typer.Option(help='No run after this: "31 December", or words.')] = None,
    max_runs: Annotated[int | None, typer.Option(min=1, help="Stop after this many runs.")] = None,
    policy: Policy = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label to find it by.")] = None,
    json: Json = False,
) -> None:
    if kwargs is not None and task is None:
        raise typer.BadParameter("--kwargs goes with --task.")
    does = _does(text, notify, agent, command, task, kwargs, prompt=prompt)

    async def schedule(api: Api) -> tuple[ScheduledJob, bool]:
        if does.task == COMMAND:
            _declare(command or "", json=json)
        if does.task == "notify" and task is None:
            does.arguments["topic"] = await destination(api, notify)
        made = api.schedule_job(
            name or does.name,
            does.task,
            "words",
            {"text": when},
            kwargs=does.arguments,
            max_runs=max_runs,
            timezone=zone,
            policy={**does.policy, **read_policy(policy)} or None,
            tags=tag or (),
            starts_at=start,
            ends_at=end,
        )
        return await with_workers(api, made)

    made, armed = call(schedule, json=json, show=False)
    if json:
        print_json(to_json(made) | {"armed": armed})
        return
    say(f"{made.name}: {made.schedule}{ending(made)}", "bold")
    say(f"{made.job_id}, first on {clock(made.next_run)}, {made.timezone}", "dim")
    if made.note:
        say(made.note)
    warn_if_idle(armed)


def ending(job: ScheduledJob | JobSummary) -> str:
    """`, 5 times`, `, through Thu 31 Dec 2026`: how a job ends, if it does."""
    times = f", {'once' if job.max_runs == 1 else f'{job.max_runs} times'}" if job.max_runs else ""
    return times + (f", {until(job.ends_at)}" if job.ends_at else "")


def until(ends_at: datetime) -> str:
    """`through Thu 31 Dec 2026` if it is the whole day, else with the time."""
    if (ends_at + TICK).time() == time():
        return f"through {ends_at:%a %d %b %Y}"
    return f"until {clock(ends_at)}"


def read_policy(given: Sequence[str] | None) -> dict[str, object]:
    """A policy from `NAME=VALUE`; a length of time such as `10m` is seconds."""
    found: dict[str, object] = {}
    for each in given or ():
        name, sign, value = each.partition("=")
        if not sign:
            raise typer.BadParameter(f"{each!r} isn't NAME=VALUE, as in attempts=3.", param_hint="--policy")
        name, value = name.strip().replace("-", "_"), value.strip()
        if re.fullmatch(r"-?\d+(\.\d+)?", value):
            found[name] = float(value) if "." in value else int(value)
        elif name != "alert" and _LENGTH.match(value):
            found[name] = read_duration(value, "--policy").total_seconds()
        else:
            found[name] = value
    return found


def read_object(text: str) -> dict[str, object]:
    """The arguments of a task."""
    try:
        given = orjson.loads(text)
    except orjson.JSONDecodeError:
        given = None
    if not isinstance(given, dict):
        raise typer.BadParameter(f'--kwargs must be a JSON object such as {{"path": "/data"}}, not {text}')
    return cast("dict[str, object]", given)


def _does(
    text: str,
    notify: str | None,
    agent: str | None,
    command: str | None,
    task: str | None,
    kwargs: str | None,
    *,
    prompt: bool,
) -> Does:
    """The task and its arguments from the options."""
    wanted = [notify is not None, prompt or agent is not None, command is not None, task is not None]
    if sum(wanted) > 1:
        raise typer.BadParameter(
            "Give one of --notify CHANNEL, --prompt (or --agent NAME), --command LINE, and --task NAME."
        )
    if task is not None:
        return Does(task, read_object(kwargs or "{}"), {}, title(text or task))
    if command is not None:
        if not command.strip():
            raise typer.BadParameter("--command is empty.")
        return Does(COMMAND, {"name": _declared(command).name}, COMMAND_POLICY, title(text or command))
    if not text.strip():
        raise typer.BadParameter("Give the text of the message or prompt, after the time.")
    if prompt or agent is not None:
        arguments: dict[str, object] = {"prompt": text}
        return Does("prompt", arguments | ({"agent": agent} if agent else {}), {}, title(text))
    return Does("notify", {"message": text}, {}, title(text))


def _declared(command: str) -> Declared:
    """The command as this shell would run it: in this folder, and with its PATH."""
    path = os.environ.get("PATH")
    here = str(Path.cwd())
    return Declared(
        command,
        workdir=None if here == os.environ.get("HOME") else here,
        environment={"PATH": path} if path else {},
    )


def _declare(command: str, *, json: bool) -> None:
    """Write the command into this machine's file of commands: a job can only name one that is there."""
    if is_remote():
        refuse("A command is added at the machine that runs it.", hint="Leave --url and CRONTY_URL out.", json=json)
    path = Settings().commands  # pyright: ignore[reportCallIssue] -- its defaults are fields
    if path is None:
        hint = "Set CRONTY_COMMANDS_FILE, here and for the worker on this machine."
        refuse("This installation runs no commands.", hint=hint, json=json)
    declare(path, [_declared(command)])
