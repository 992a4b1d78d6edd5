"""Which agents there are and how each is woken: the operator's file, read and checked once."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

from cronty.actions.accounts import OF_DATABASE, Account, account_of
from cronty.own_files import NotOurs, read_own

Delivery = Literal["inbox", "webhook", "command"]

DELIVERIES: Final[tuple[Delivery, ...]] = get_args(Delivery)
LONGEST: Final = 86_400.0
EVERY_OWNER: Final = "*"

PRESETS: Final[Mapping[str, Mapping[str, object]]] = {
    # What isn't allowed is denied: nobody is there to be asked. No tools from anybody's configuration, and no file
    # outside of its folder.
    "claude": {
        "deliver": "command",
        "command": [
            *("claude", "-p", "--output-format", "json", "--strict-mcp-config"),
            *("--allowedTools", "Read(./**)", "--max-budget-usd", "1"),
        ],
        "environment": ["ANTHROPIC_API_KEY"],
    },
    "codex": {
        "deliver": "command",
        "command": ["codex", "exec", "-s", "read-only", "--skip-git-repo-check", "-"],
        "environment": ["OPENAI_API_KEY"],
    },
}
"""Ready-made agents; they read what is in their folder and answer, and change nothing."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_EXAMPLES: Final = {
    "deliver": 'deliver = "inbox", "webhook" or "command"',
    "preset": 'preset = "claude" or "codex"',
    "command": 'command = ["claude", "-p", "--output-format", "json"]',
    "url": 'url = "https://ops.example.com/wake"',
    "timeout": "timeout = 600",
    "workdir": 'workdir = "/srv/claude"',
    "environment": 'environment = ["ANTHROPIC_API_KEY"]',
    "user": 'user = "claude"',
    "owners": 'owners = ["ann@example.com"], or ["*"] for every owner',
    "memory": "memory = 4096",
    "processes": "processes = 256",
}
_OF_COMMANDS: Final = ("command", "timeout", "workdir", "environment", "user", "memory", "processes")
_ONLY: Final[Mapping[str, tuple[Delivery, ...]]] = {
    **dict.fromkeys(_OF_COMMANDS, ("command",)),
    "url": ("webhook",),
    "owners": ("command", "webhook"),
}


class BadAgents(ValueError):
    """A file of agents that can't be used; the text names the file, the agent, the key and a correct example."""


@dataclass(frozen=True, slots=True)
class Agent:
    """`environment` names the variables that pass through to `command`; `timeout` is in seconds, `memory` in MiB for
    each process. `user` is who the program runs as, None for who we are; without `owners` it serves the owner of the
    installation alone."""

    name: str
    deliver: Delivery = "inbox"
    command: tuple[str, ...] = ()
    url: str = ""
    timeout: float = 600.0
    workdir: str | None = None
    environment: tuple[str, ...] = ()
    user: Account | None = None
    owners: tuple[str, ...] = ()
    memory: int = 4096
    processes: int = 256

    def served(self, own: str) -> tuple[str, ...] | None:
        """The owners it is woken for, None for all; `own` is the one that whoever sits at the machine is."""
        return None if EVERY_OWNER in self.owners else self.owners or (own,)

    def serves(self, owner: str, own: str) -> bool:
        """Whether it is woken for this owner."""
        served = self.served(own)
        return served is None or owner in served


def read_agents(path: Path) -> dict[str, Agent]:
    """The agents of a TOML file by name, or `BadAgents`."""
    try:
        tables = tomllib.loads(read_own(path).decode())
    except NotOurs as others:
        raise BadAgents(f"{path} {others.flaw}, so no agent in it is woken. Fix it with: {others.mend}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadAgents(f"The agents file {path} can't be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise BadAgents(f"{path} isn't TOML: {error}. An agent is a table such as [agents.claude].") from error
    if unknown := sorted(set(tables) - {"agents"}):
        raise BadAgents(f"{path}: unknown table [{unknown[0]}]; an agent is a table such as [agents.claude].")
    agents = tables.get("agents", {})
    if not isinstance(agents, dict):
        raise BadAgents(f"{path}: agents must be tables such as [agents.claude].")
    return {name: _agent(path, name, given) for name, given in cast("dict[str, object]", agents).items()}


def _agent(path: Path, name: str, given: object) -> Agent:
    if not _NAME.fullmatch(name):
        raise BadAgents(f"{path}: {name!r} isn't a name for an agent; use letters, digits, dashes: [agents.claude].")
    if not isinstance(given, dict):
        raise BadAgents(f"{path}: agent {name!r} must be a table: [agents.{name}].")
    table = cast("dict[str, object]", given)
    if unknown := sorted(set(table) - set(_EXAMPLES)):
        raise BadAgents(f"{path}: agent {name!r} has an unknown key {unknown[0]!r}; known are: {', '.join(_EXAMPLES)}.")
    if "preset" in table:
        preset = table["preset"]
        if preset not in PRESETS:
            raise _wrong(path, name, "preset", f"is {preset!r}")
        if twice := sorted({"deliver", "command", "url"} & set(table)):
            raise _wrong(path, name, "preset", f"says how it is woken; leave out {twice[0]}")
        table = {**PRESETS[str(preset)], **{key: value for key, value in table.items() if key != "preset"}}
    return _checked(path, name, table)


def _checked(path: Path, name: str, table: Mapping[str, object]) -> Agent:
    deliver = table.get("deliver", "inbox")
    if deliver not in DELIVERIES:
        raise _wrong(path, name, "deliver", f"is {deliver!r}")
    for key, needed in _ONLY.items():
        if key in table and deliver not in needed:
            raise _wrong(path, name, key, f'goes only with deliver = "{needed[0]}", and this one is "{deliver}"')
    if deliver == "inbox":
        return Agent(name)
    owners = table.get("owners", [])
    if not _texts(owners):
        raise _wrong(path, name, "owners", "must be a list of owners, as they are spelled in tokens")
    if deliver == "webhook":
        url = table.get("url")
        if not isinstance(url, str) or not url:
            raise _wrong(path, name, "url", "must be an https URL")
        return Agent(name, deliver, url=url, owners=tuple(cast("list[str]", owners)))
    return _program(path, name, table, tuple(cast("list[str]", owners)))


def _program(path: Path, name: str, table: Mapping[str, object], owners: tuple[str, ...]) -> Agent:
    command, environment = table.get("command", []), table.get("environment", [])
    timeout, workdir = table.get("timeout", 600), table.get("workdir")
    if not _texts(command) or not command:
        raise _wrong(path, name, "command", "must be a list of texts, the program first")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST:
        raise _wrong(path, name, "timeout", f"must be a number of seconds up to {LONGEST:g}, not {timeout!r}")
    if workdir is None:
        raise _wrong(path, name, "workdir", "must be given: the folder the program works in")
    if not isinstance(workdir, str) or not Path(workdir).is_absolute():
        raise _wrong(path, name, "workdir", f"must be an absolute path, not {workdir!r}")
    if not _texts(environment) or not all(_VARIABLE.fullmatch(one) for one in cast("list[str]", environment)):
        raise _wrong(path, name, "environment", "must be a list of names of variables, without their values")
    numbers = {key: table.get(key, default) for key, default in (("memory", 4096), ("processes", 256))}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 16 <= value <= 1 << 20:
            raise _wrong(path, name, key, f"must be a whole number from 16 to {1 << 20}, not {value!r}")
    return Agent(
        name,
        "command",
        tuple(cast("list[str]", command)),
        timeout=float(timeout),
        workdir=workdir,
        environment=tuple(cast("list[str]", environment)),
        user=_account(path, name, table.get("user")),
        owners=owners,
        memory=cast("int", numbers["memory"]),
        processes=cast("int", numbers["processes"]),
    )


def _account(path: Path, name: str, user: object) -> Account | None:
    """Who its program runs as; None if that is who we are."""
    root = os.geteuid() == 0
    if user is None:
        if root:
            raise _wrong(path, name, "user", "must be given, because this process is root and the program must not be")
        return None
    account = account_of(user) if isinstance(user, str) else None
    if account is None:
        raise _wrong(path, name, "user", f"must name a user of this machine, not {user!r}")
    if account.uid == 0:
        raise _wrong(path, name, "user", "must not be root, who may read everything of ours")
    if (runs_it := account_of(OF_DATABASE)) is not None and account.uid == runs_it.uid:
        raise _wrong(path, name, "user", f"must not be {user!r}, who runs the local database and may read all of it")
    if not root and account.uid != os.geteuid():
        raise _wrong(path, name, "user", f"is {user!r}, and only root can start a program as another user")
    return account if root else None


def _texts(value: object) -> bool:
    """Whether it is a list of texts that may stand on a command line."""
    if not isinstance(value, list):
        return False
    return all(isinstance(one, str) and one and "\0" not in one for one in cast("list[object]", value))


def _wrong(path: Path, name: str, key: str, why: str) -> BadAgents:
    return BadAgents(f"{path}: agent {name!r}: {key} {why}. As in: {_EXAMPLES[key]}")
