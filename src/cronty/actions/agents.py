"""Which agents there are and how each is woken: the operator's file, read and checked once."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast, get_args

Delivery = Literal["inbox", "webhook", "command"]

DELIVERIES: Final[tuple[Delivery, ...]] = get_args(Delivery)
LONGEST: Final = 86_400.0

PRESETS: Final[Mapping[str, Mapping[str, object]]] = {
    # What isn't allowed is denied: nobody is there to be asked. No tools from anybody's configuration.
    "claude": {
        "deliver": "command",
        "command": [
            *("claude", "-p", "--output-format", "json", "--strict-mcp-config"),
            *("--allowedTools", "Read,Glob,Grep", "--max-budget-usd", "1"),
        ],
        "environment": ["ANTHROPIC_API_KEY"],
    },
    "codex": {
        "deliver": "command",
        "command": ["codex", "exec", "-s", "read-only", "--skip-git-repo-check", "-"],
        "environment": ["OPENAI_API_KEY"],
    },
}
"""Ready-made agents; they read and answer, and change nothing."""

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
}
_ONLY: Final = {"command": "command", "timeout": "command", "workdir": "command", "environment": "command"} | {
    "url": "webhook"
}


class BadAgents(ValueError):
    """A file of agents that can't be used; the text names the file, the agent, the key and a correct example."""


@dataclass(frozen=True, slots=True)
class Agent:
    """`environment` names the variables that pass through to `command`; `timeout` is in seconds."""

    name: str
    deliver: Delivery = "inbox"
    command: tuple[str, ...] = ()
    url: str = ""
    timeout: float = 600.0
    workdir: str | None = None
    environment: tuple[str, ...] = ()


def read_agents(path: Path) -> dict[str, Agent]:
    """The agents of a TOML file by name, or `BadAgents`."""
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
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
        if key in table and deliver != needed:
            raise _wrong(path, name, key, f'goes only with deliver = "{needed}", and this one is "{deliver}"')
    command, environment, url = table.get("command", []), table.get("environment", []), table.get("url", "")
    timeout, workdir = table.get("timeout", 600), table.get("workdir")
    if not _texts(command) or (deliver == "command" and not command):
        raise _wrong(path, name, "command", "must be a list of texts, the program first")
    if not isinstance(url, str) or (deliver == "webhook" and not url):
        raise _wrong(path, name, "url", "must be an https URL")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST:
        raise _wrong(path, name, "timeout", f"must be a number of seconds up to {LONGEST:g}, not {timeout!r}")
    if workdir is not None and not (isinstance(workdir, str) and Path(workdir).is_absolute()):
        raise _wrong(path, name, "workdir", f"must be an absolute path, not {workdir!r}")
    if not _texts(environment) or not all(_VARIABLE.fullmatch(one) for one in cast("list[str]", environment)):
        raise _wrong(path, name, "environment", "must be a list of names of variables, without their values")
    argv, names = cast("list[str]", command), cast("list[str]", environment)
    return Agent(name, deliver, tuple(argv), url, float(timeout), workdir, tuple(names))


def _texts(value: object) -> bool:
    """Whether it is a list of texts that may stand on a command line."""
    if not isinstance(value, list):
        return False
    return all(isinstance(one, str) and one and "\0" not in one for one in cast("list[object]", value))


def _wrong(path: Path, name: str, key: str, why: str) -> BadAgents:
    return BadAgents(f"{path}: agent {name!r}: {key} {why}. As in: {_EXAMPLES[key]}")
