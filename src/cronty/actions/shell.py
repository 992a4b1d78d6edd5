"""Runs command lines that the person at the machine has declared, as cron would; nobody else can name one.

They are in a file of the operator's, which `cronty import crontab` writes. It is read for each run, so that what was
just declared needs no restart, and only if nobody else could have written it. A job knows nothing but the name.
"""

import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import orjson

from cronty.actions.outbound import untrusted_text
from cronty.actions.program import Program, result_of
from cronty.actions.tasks import PermanentError
from cronty.own_files import NotOurs, make_own_folder, read_own

LONGEST: Final = 10 * 366 * 86_400.0
"""Seconds: the job's own time limit ends it earlier."""

PATH: Final = "/usr/bin:/bin"
SHELL: Final = "/bin/sh"
MAX_SAID: Final = 200
_KNOWN: Final = ("run", "shell", "stdin", "workdir", "environment")
_HEAD: Final = """# Commands that `cronty import crontab` has taken over. Whoever can write this file can run anything
# as the user that Cronty runs as. An entry may be changed; it counts from the next run on.
"""


class BadCommands(ValueError):
    """A file of commands that can't be used; the text says why."""


class CommandFailed(PermanentError):
    """The command ended with a status other than 0, or couldn't be started."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A command line for a shell; `stdin` is what it reads, `environment` what is set besides cron's own."""

    run: str
    shell: str = SHELL
    stdin: str | None = None
    workdir: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """Some of its words, and the beginning of a hash of all that it is: the same command has the same name."""
        whole = [self.run, self.shell, self.stdin, self.workdir, sorted(self.environment.items())]
        words = re.findall(r"[a-z0-9]+", self.run.lower().replace("/usr/bin/", "").replace("/bin/", ""))
        return "-".join([*words[:3], hashlib.sha256(orjson.dumps(whole)).hexdigest()[:8]])[-60:].strip("-")


@dataclass(frozen=True, slots=True)
class Shell:
    """`source` is the environment of this process, of which a command gets who it runs as and where that one lives."""

    path: Path
    source: Mapping[str, str]

    async def command(self, name: str) -> object:
        """Run a command that was declared on this machine, by its name. What it prints is the result; it has failed
        if it ends with a status other than 0. Only whoever sits at the machine can schedule it: cronty import crontab
        """
        declared = read_commands(self.path).get(name)
        if declared is None:
            raise CommandFailed(f"There is no command {name!r} in {self.path} on this worker.")
        home = declared.workdir or self.source.get("HOME") or "/"
        standing = {key: self.source[key] for key in ("HOME", "LOGNAME", "USER", "LANG") if key in self.source}
        environment = {"PATH": PATH, "SHELL": declared.shell} | standing | dict(declared.environment)
        program = Program(f"command {name!r}", (declared.shell, "-c", declared.run), environment, home, LONGEST)
        fed = "" if declared.stdin is None else declared.stdin.rstrip("\n") + "\n"
        printed = await program.run(fed.encode())
        if printed.status:
            said = printed.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
            words = f"; it said: {untrusted_text(said, MAX_SAID)!r}" if said else ""
            how = f"was ended by signal {-printed.status}" if printed.status < 0 else f"status {printed.status}"
            raise CommandFailed(f"{untrusted_text(declared.run, 80)!r}: {how}{words}.")
        return result_of(printed.stdout.decode(errors="replace"), printed)


def read_commands(path: Path) -> dict[str, Declared]:
    """The commands of a file by name; none if there is no file."""
    try:
        tables = tomllib.loads(read_own(path).decode())
    except NotOurs as others:
        raise BadCommands(f"{path} {others.flaw}, so nothing in it is run. Fix it with: {others.mend}") from None
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadCommands(f"The commands in {path} can't be read: {error}.") from error
    commands = tables.get("commands", {})
    if not isinstance(commands, dict):
        raise BadCommands(f"{path}: commands must be tables such as [commands.backup].")
    return {name: _declared(path, name, given) for name, given in cast("dict[str, Any]", commands).items()}


def _declared(path: Path, name: str, given: Any) -> Declared:
    if not isinstance(given, dict) or not isinstance(cast("dict[str, Any]", given).get("run"), str):
        raise BadCommands(f'{path}: command {name!r} must be a table with run = "…".')
    table = cast("dict[str, Any]", given)
    if unknown := sorted(set(table) - set(_KNOWN)):
        raise BadCommands(f"{path}: command {name!r} has an unknown key {unknown[0]!r}; known: {', '.join(_KNOWN)}.")
    variables = table.get("environment", {})
    texts = [table[key] for key in ("shell", "stdin", "workdir") if key in table]
    if not isinstance(variables, dict) or not all(isinstance(one, str) for one in (*texts, *variables.values())):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        raise BadCommands(f"{path}: command {name!r}: all values must be strings.")
    return Declared(**table)


def declare(path: Path, commands: Iterable[Declared]) -> None:
    """Add commands to the file; what is there already stays as it is."""
    known = read_commands(path)
    fresh = {one.name: one for one in commands if one.name not in known}
    if not fresh:
        return
    make_own_folder(path.parent)
    before = path.read_text(encoding="utf-8") if path.exists() else _HEAD
    new = path.with_name(path.name + ".new")
    with suppress(FileNotFoundError):
        new.unlink()
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        opened.write(before + "".join(_table(name, one) for name, one in fresh.items()))
    new.rename(path)


def _table(name: str, command: Declared) -> str:
    lines = ["", f"[commands.{_text(name)}]", f"run = {_text(command.run)}"]
    if command.shell != SHELL:
        lines.append(f"shell = {_text(command.shell)}")
    if command.stdin is not None:
        lines.append(f"stdin = {_text(command.stdin)}")
    if command.workdir is not None:
        lines.append(f"workdir = {_text(command.workdir)}")
    if command.environment:
        pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in command.environment.items())
        lines.append(f"environment = {{ {pairs} }}")
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A text as TOML writes it: as JSON does, but for one character."""
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")
