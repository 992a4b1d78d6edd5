"""The commands by name. The module of a command is imported when it is called, so that `cronty --help` is quick."""

from importlib import import_module
from typing import Any, Final, override

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

GROUPS: Final = {
    "Plan": {
        "add": (
            "add:add",
            "Schedule something: a notification, a prompt for an agent, a command, or a registered task.",
        ),
        "edit": (
            "edit:edit",
            "Change a job: its schedule, its text, its name, its end. Without options, you are asked for the schedule.",
        ),
        "next": (
            "next:next_slots",
            "Show when something would fire; exit 2 if it can't be read, 3 if it can be read in several ways.",
        ),
        "import": ("crontab:app", "Import jobs from a crontab, or from a file of `cronty export`."),
        "export": (
            "crontab_export:export",
            "Write the jobs to standard output: as JSON for `cronty import json`, or the commands as a crontab.",
        ),
    },
    "Look": {
        "list": ("jobs:list_jobs", "List jobs, those that fire next first."),
        "show": ("jobs:show", "Show one job in full, with its last runs."),
        "runs": (
            "runs:runs",
            "List the runs of a job, each with how it ended, how long it took and what came of it; or all that failed.",
        ),
        "why": ("why:why", "Explain how one planned run of a job ended, and why; or why it didn't run, or won't."),
        "inbox": (
            "inbox:inbox",
            "Show the prompts that wait for an agent, oldest first, without taking them; or settle one.",
        ),
        "watch": (
            "watch:watch",
            "Show runs as they happen, until Ctrl-C: as a table on a terminal, else a line for each event.",
        ),
        "open": ("open:open_dashboard", "Show the dashboard of the server on this machine in the browser, signed in."),
    },
    "Act": {
        "run": ("jobs:run", "Run a job once, now, in addition to its schedule."),
        "backfill": (
            "backfill:backfill",
            "Run what a job missed in a past range, each run for its own moment. Without --yes: say what would run.",
        ),
        "retry": ("runs:retry", "Try failed runs again, now; use it after the cause is fixed."),
        "stop": ("runs:stop", "Stop one run that is running or waits; its job goes on."),
        "pause": ("jobs:pause", "Hold a job: nothing fires until it is resumed."),
        "resume": ("jobs:resume", "Let a paused job continue with its next time."),
        "snooze": ("jobs:snooze", "Have a reminder that came come again, in 10 minutes or when you say."),
        "skip": ("jobs:skip", "Leave out one run of a job, this once; its schedule stays."),
        "move": ("jobs:move", "Move one run of a job to another time, this once; its schedule stays."),
        "cancel": ("jobs:cancel", "End a job; it stays listed."),
        "delete": (
            "jobs:delete",
            "End a job and hide it; for 30 days `cronty undelete` brings it back, then it is removed with its runs.",
        ),
        "undelete": (
            "jobs:undelete",
            "Bring a deleted job back as it was; `cronty list --deleted` shows which there are.",
        ),
    },
    "This machine": {
        "setup": (
            "setup:setup",
            "Find the MCP clients of this machine (Claude, Codex, Cursor …) and add Cronty to those that you choose.",
        ),
        "up": (
            "service:up",
            "Run Cronty in the background from now on: the jobs, and `cronty serve`. Running it twice is harmless.",
        ),
        "down": (
            "service:down",
            "Stop the service; jobs stay planned, and catch up by their policy when it runs again.",
        ),
        "status": (
            "service:status",
            "Show whether the service is up, since when and where, what comes next and what it did; "
            "exit 1 if it isn't.",
        ),
        "logs": ("logs:logs", "Show the end of the log of the service that `cronty up` has started."),
        "doctor": (
            "doctor:doctor",
            "Check the database, the clock, time zones, workers and overdue slots; exit 1 if something is wrong.",
        ),
        "channel": ("channel:app", "Where reminders go: name a destination once, then send to its name."),
        "zone": ("zone:zone", "Show or set your time zone: the one in which words are read and times are shown."),
    },
    "For a team": {
        "token": ("token:app", "Who may call `cronty serve --auth`: API keys, and signed tokens."),
        "freeze": (
            "freeze:freeze",
            "Hold everything back, for every owner: nothing fires and nothing is sent until `cronty thaw`.",
        ),
        "thaw": (
            "freeze:thaw",
            "Let everything go on after `cronty freeze`; what has passed catches up by each job's policy.",
        ),
        "owner": ("owner:app", "Owners, for the operator of the installation."),
        "limits": ("limits:app", "An owner's limits; see docs/reference/limits.md."),
        "audit": ("audit:app", "The trail of who did what: check it, export it, archive it."),
        "key": ("channel:key", "Print a new key, for CRONTY_SECRET_KEY or CRONTY_JWT_SECRET."),
        "webhook-secret": (
            "webhook_secret:webhook_secret",
            "Print the secret that signs an owner's webhooks, or an agent's wakes; each has its own.\n\n"
            "While CRONTY_SECRET_KEY is changed there are several, the newest first: each signs until its key is "
            "taken away.",
        ),
    },
    "Servers and programs": {
        "call": (
            "call:call_operation",
            "Call an operation by name, with JSON in and JSON out: everything that MCP and REST offer.",
        ),
        "plan": (
            "plan:plan_schedules",
            "Show what starting a program would do to the schedules that it declares, without doing it.",
        ),
        "work": ("processes:work", "Run a worker: fire what is due, perform your tasks, until SIGTERM."),
        "mcp": (
            "processes:mcp",
            "Speak MCP over standard input and output: the command to give to Claude, Cursor and the others.",
        ),
        "serve": (
            "processes:serve",
            "Serve the dashboard, REST at /api/v1 and MCP at /mcp over HTTP, and run the jobs.",
        ),
        "migrate": (
            "migrate:migrate_command",
            "Bring the database to the schema this version needs, while workers keep running.",
        ),
    },
}
"""The commands in the groups of `cronty --help`: where each is in this room, and its help."""

COMMANDS: Final = {name: said for group in GROUPS.values() for name, said in group.items()}
SETTINGS: Final = {"help_option_names": ["-h", "--help"]}


class Commands(TyperGroup):
    """Lists every command by its name and help alone, and loads the one that is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for panel, group in GROUPS.items():
            for name, (_, text) in group.items():
                self.add_command(TyperCommand(name, help=text, rich_help_panel=panel))
        _make_plain(self)

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """The command or group of commands with all its parameters."""
    place, text = COMMANDS[name]
    module, _, attribute = place.partition(":")
    found = getattr(import_module(f"cronty.cli.{module}"), attribute)
    holder = typer.Typer()
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name, help=text)
    else:
        holder.command(name, help=text)(found)
    command = get_group(holder).commands[name]
    _make_plain(command)
    return command


def _make_plain(command: Any) -> None:
    """A flag takes no value, so none is shown; every command knows `-h`."""
    command.context_settings = {**SETTINGS, **command.context_settings}
    given = command.get_params

    def parameters(context: Any) -> list[Any]:
        found = given(context)
        for one in found:
            one.metavar = "" if getattr(one, "is_flag", False) else one.metavar
        return found

    command.get_params = parameters
    for inner in getattr(command, "commands", {}).values():
        _make_plain(inner)
