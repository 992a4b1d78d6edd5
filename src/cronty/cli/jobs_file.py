"""Jobs in a file: what `cronty export` writes and `cronty import json` reads. A job is known by its name."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, cast

import orjson
import typer

from cronty.actions.shell import Declared, declare, read_commands
from cronty.app import Cronty
from cronty.cli.connection import ask
from cronty.cli.output import MISUSED, REFUSED, Column, Json, counted, print_json, refuse, say, show_rows
from cronty.contract.operations import Operations
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import COMMAND
from cronty.jobs.ids import job_id_text, read_job_id
from cronty.jobs.job import Job
from cronty.jobs.moments import moment_text
from cronty.timing import BadTrigger, Trigger, to_json
from cronty.timing.rule import read_rule

type Entry = dict[str, Any]

_KNOWN: Final = frozenset(
    {"job_id", "name", "task", "args", "kwargs", "trigger", "said", "timezone", "policy", "tags", "max_runs"}
    | {"ends_at", "paused", "command"}
)
_ASKED: Final = ("name", "task", "args", "kwargs", "timezone", "policy", "tags", "max_runs", "ends_at")
_NAMES: Final = {"at": "run_at", "local": "run_at", "gap": "dst_gap", "overlap": "dst_overlap"}
_OWN: Final = frozenset({"kind", "zone", "off", "on"})


def as_entry(job: Job, commands: Mapping[str, Declared]) -> Entry:
    """A job as the file has it; of a command also what it runs, so that another machine can declare it."""
    entry: Entry = {
        "job_id": job_id_text(job.number, job.created_at),
        "name": job.name,
        "task": "prompt" if job.action.kind == "prompt" else job.action.task,
        "args": list(job.action.args),
        "kwargs": dict(job.action.kwargs),
        "trigger": to_json(job.trigger),
        "said": job.said,
        "timezone": job.zone,
        "policy": orjson.loads(job.policy.dump()),
        "tags": list(job.tags),
        "max_runs": job.max_runs,
        "ends_at": moment_text(job.ends_at),
        "paused": job.state == "paused",
    }
    command = commands.get(str(job.action.kwargs.get("name"))) if job.action.task == COMMAND else None
    if command is not None:
        entry["command"] = {key: value for key, value in asdict(command).items() if value}
    return entry


def import_json(
    file: Annotated[str, typer.Argument(help="What `cronty export` has written; - for standard input.")] = "-",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would happen to each job.")] = False,
    json: Json = False,
) -> None:
    """Make or change jobs as a file of `cronty export` has them: those with a name that is there are changed."""
    entries = _read(file)
    results = ask(lambda cronty: _import(cronty, entries, dry_run=dry_run), json=json)
    if json:
        print_json({"dry_run": dry_run, "jobs": results})
    elif results:
        columns = [Column("result", whole=True), Column("name"), Column("why", fold=True)]
        show_rows(columns, [(one["result"], one["name"], one.get("why", "")) for one in results])
    counts = Counter(str(one["result"]) for one in results)
    if not json:
        said = ", ".join(f"{number} {result}" for result, number in counts.items())
        say(f"{counted(len(results), 'job')}: {said}." if results else "There is no job in it.")
    if counts["refused"]:
        raise typer.Exit(REFUSED)


def _read(file: str) -> list[Entry]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        found: Any = orjson.loads(text)
    except OSError as error:
        refuse(f"{file} can't be read: {error.strerror}.", MISUSED)
    except (UnicodeDecodeError, orjson.JSONDecodeError) as error:
        refuse(f"{file} isn't JSON: {error}.", MISUSED, hint="`cronty export` writes such a file.")
    jobs = cast("Any", found).get("jobs") if isinstance(found, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(one, dict) for one in cast("list[object]", jobs)):
        refuse(f'{file} has no list "jobs".', MISUSED, hint="`cronty export` writes such a file.")
    return cast("list[Entry]", jobs)


async def _import(cronty: Cronty, entries: Sequence[Entry], *, dry_run: bool) -> Result[list[Entry]]:
    names = Counter(str(entry.get("name", "")).strip().lower() for entry in entries)
    results: list[Entry] = []
    for entry in entries:
        name = str(entry.get("name", ""))
        if names[name.strip().lower()] > 1:
            results.append(_refused(name, "several jobs in the file have that name; a job is known by its name"))
            continue
        results.append(await _one(cronty, name, entry, dry_run=dry_run))
    return Ok(results)


async def _one(cronty: Cronty, name: str, entry: Entry, *, dry_run: bool) -> Entry:
    now, _ = await cronty.service.scheduler.clock(cronty.caller)
    old = await _existing(cronty, name)
    if isinstance(old, Err):
        return _refused(name, old)
    commands = _commands(cronty)
    if old.value is not None and _same(as_entry(old.value, commands), entry):
        return {"name": name, "result": "unchanged", "job_id": entry.get("job_id")}
    try:
        asked = _asked(entry, now)
    except (BadTrigger, ValueError, KeyError, TypeError) as bad:
        return _refused(name, str(bad))
    if dry_run:
        return {"name": name, "result": "made" if old.value is None else "changed"}
    if flaw := _declare(cronty, entry, commands):
        return _refused(name, flaw)
    return await _save(cronty, name, asked, old.value, paused=entry.get("paused") is True)


async def _save(cronty: Cronty, name: str, asked: Entry, old: Job | None, *, paused: bool) -> Entry:
    operation = Operations.schedule_job if old is None else Operations.edit_job
    given = asked if old is None else {"job_id": str(old.number), "expected_version": old.version, **asked}
    request = operation.read(given)
    if isinstance(request, Err):
        return _refused(name, request)
    done = await cronty.service.answer(cast("Any", operation), cronty.caller, request.value)
    if isinstance(done, Err):
        return _refused(name, done)
    job_id = str(done.value.job_id)
    if paused != (old is not None and old.state == "paused"):
        scheduler = cronty.service.scheduler
        await (scheduler.pause if paused else scheduler.resume)(cronty.caller, job_id)
    return {"name": name, "result": "made" if old is None else "changed", "job_id": job_id}


async def _existing(cronty: Cronty, name: str) -> Result[Job | None]:
    """The job with this name that has not ended; None if there is none."""
    if not name.strip() or read_job_id(name) is not None:
        return Err("bad_name", f"{name!r} can't be told from a number", "Give it another name.")
    named = await cronty.service.scheduler.named(cronty.caller, name)
    if isinstance(named, Err):
        return Ok(None) if named.code == "not_found" else named
    found = await cronty.service.scheduler.show(cronty.caller, named.value)
    if isinstance(found, Err):
        return found
    return Ok(found.value if found.value.status in ("pending", "running") else None)


def _same(old: Entry, new: Entry) -> bool:
    """Whether an entry would change nothing. The words of a schedule may be lost where its trigger is kept: "every 2
    hours" means another time when it is said again."""
    return all(old.get(key) == new.get(key) for key in _KNOWN - {"job_id", "said"})


def _asked(entry: Entry, now: datetime) -> Entry:
    """The fields of a request; the words that were said, where they still mean the same."""
    if strange := sorted(entry.keys() - _KNOWN):
        raise ValueError(f"it has an unknown field {strange[0]!r}")
    trigger = entry.get("trigger")
    if not isinstance(trigger, dict):
        raise ValueError("it has no trigger")
    stored = cast("dict[str, object]", trigger)
    kind = str(stored.get("kind"))
    plain = {_NAMES.get(key, key): value for key, value in stored.items() if key not in _OWN and value is not None}
    if kind == "once" and "local" in stored:
        plain["run_at"] = stored["local"]
    fields = {key: entry[key] for key in _ASKED if entry.get(key) not in (None, [], {})}
    zone = str(entry.get("timezone") or "UTC")
    rule = read_rule(kind, plain, zone, now)
    if _means(entry.get("said"), rule.trigger, zone, now, entry.get("max_runs")):
        return fields | {"trigger_type": "words", "trigger_config": {"text": entry["said"]}}
    return fields | {"trigger_type": kind, "trigger_config": plain}


def _means(said: object, trigger: Trigger, zone: str, now: datetime, max_runs: object) -> bool:
    """Whether words read now mean this trigger."""
    if not isinstance(said, str):
        return False
    try:
        rule = read_rule("words", {"text": said}, zone, now)
    except BadTrigger:
        return False
    return (rule.trigger, rule.zone) == (trigger, zone) and rule.max_runs in (None, max_runs)


def _commands(cronty: Cronty) -> dict[str, Declared]:
    path = cronty.settings.commands
    return {} if path is None else read_commands(path)


def _declare(cronty: Cronty, entry: Entry, known: Mapping[str, Declared]) -> str | None:
    """Declare the command of an entry on this machine; why that can't be done, or None."""
    name = str(cast("Entry", entry.get("kwargs") or {}).get("name"))
    if entry.get("task") != COMMAND or name in known:
        return None
    path, given = cronty.settings.commands, entry.get("command")
    if path is None:
        return "this installation runs no commands; set CRONTY_COMMANDS_FILE"
    if not isinstance(given, dict):
        return "its command isn't declared on this machine"
    try:
        command = Declared(**cast("dict[str, Any]", given))
    except TypeError:
        return "its command can't be read"
    if command.name != name:
        return "its command isn't the one that its name stands for"
    declare(path, [command])
    return None


def _refused(name: str, why: Err | str) -> Entry:
    text = why if isinstance(why, str) else f"{why.message.rstrip('.')}. {why.hint}".rstrip()
    return {"name": name, "result": "refused", "why": text}
