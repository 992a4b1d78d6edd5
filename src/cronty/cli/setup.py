"""`cronty setup`: finds the MCP clients of this machine and adds Cronty to those that you choose."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import orjson
import typer

from cronty.cli.output import Json, can_ask, print_json, refuse, say
from cronty.cli.own_copy import own_command

NAME: Final = "cronty"
PATIENCE: Final = 60

type State = Literal["added", "there already", "not chosen", "failed"]


class CannotAdd(Exception):
    """Why a client could not be changed; its settings are as they were."""


@dataclass(frozen=True, slots=True)
class ByCommand:
    """A client with a command of its own for this: `{cronty}` stands for the program to start."""

    name: str
    program: str
    add: Sequence[str]
    look: Sequence[str] | None = None

    @property
    def place(self) -> str:
        return " ".join([self.program, *self.add])

    def is_here(self) -> bool:
        return shutil.which(self.program) is not None

    def has_it(self) -> bool:
        return self.look is not None and self._run(self.look).returncode == 0

    def put(self, cronty: str) -> None:
        done = self._run([one.replace("{cronty}", cronty) for one in self.add])
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise CannotAdd(f"`{self.program}` ended with {done.returncode}: {said[-1] if said else 'it says nothing'}")

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        program = shutil.which(self.program) or self.program
        try:
            return subprocess.run(
                [program, *words], input="", capture_output=True, text=True, check=False, timeout=PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise CannotAdd(f"`{self.program}` can't be run: {fault}") from fault


@dataclass(frozen=True, slots=True)
class ByFile:
    """A client that reads its servers from a JSON file; it is here if the file's folder is."""

    name: str
    path: Path

    @property
    def place(self) -> str:
        return str(self.path)

    def is_here(self) -> bool:
        return self.path.parent.is_dir()

    def has_it(self) -> bool:
        return NAME in self._servers(self._read())

    def put(self, cronty: str) -> None:
        """The other servers stay; the file as it was is kept beside it."""
        settings = self._read()
        self._servers(settings)[NAME] = {"command": cronty, "args": ["mcp"]}
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            if self.path.exists():
                shutil.copy2(self.path, self.path.with_name(f"{self.path.name}.before-cronty"))
            new.write_bytes(orjson.dumps(settings, option=orjson.OPT_INDENT_2) + b"\n")
            if self.path.exists():
                shutil.copymode(self.path, new)
            new.replace(self.path)
        except OSError as fault:
            raise CannotAdd(f"{self.path} can't be written: {fault.strerror}") from fault

    def _read(self) -> dict[str, Any]:
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as fault:
            raise CannotAdd(f"{self.path} can't be read: {fault.strerror}") from fault
        try:
            settings = orjson.loads(text or b"{}")
        except orjson.JSONDecodeError as fault:
            raise CannotAdd(f"{self.path} isn't plain JSON ({fault}); add the server there yourself") from fault
        known = cast("dict[str, Any]", settings) if isinstance(settings, dict) else None
        if known is None or not isinstance(known.get("mcpServers", {}), dict):
            raise CannotAdd(f"{self.path} doesn't look like a list of servers; add the server there yourself")
        return known

    @staticmethod
    def _servers(settings: dict[str, Any]) -> dict[str, Any]:
        return settings.setdefault("mcpServers", {})


type McpClient = ByCommand | ByFile


def clients() -> list[McpClient]:
    """Every client that this command knows, whether it is on this machine or not."""
    home = Path.home()
    if sys.platform == "darwin":
        settings = home / "Library/Application Support"
    elif sys.platform == "win32":
        settings = Path(os.environ.get("APPDATA", home / "AppData/Roaming"))
    else:
        settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    vs_code = orjson.dumps({"name": NAME, "command": "{cronty}", "args": ["mcp"]}).decode()
    return [
        ByCommand("Claude Code", "claude", ["mcp", "add", "--scope", "user", NAME, "--", "{cronty}", "mcp"],
                  ["mcp", "get", NAME]),
        ByCommand("Codex", "codex", ["mcp", "add", NAME, "--", "{cronty}", "mcp"], ["mcp", "get", NAME]),
        ByCommand("VS Code", "code", ["--add-mcp", vs_code]),
        ByFile("Claude Desktop", settings / "Claude/claude_desktop_config.json"),
        ByFile("Cursor", home / ".cursor/mcp.json"),
        ByFile("Windsurf", home / ".codeium/windsurf/mcp_config.json"),
    ]  # fmt: skip


def setup(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Add it to every client found, without asking.")] = False,
    json: Json = False,
) -> None:
    cronty = shutil.which(NAME)
    if cronty is None or own_command() != NAME:  # what uvx has is gone when its cache is cleaned
        hint = "Install it so that it stays, with `uv tool install`, and open a new terminal."
        refuse("`cronty` isn't installed for good, so no client could start it.", hint=hint, json=json)
    found = [one for one in clients() if one.is_here()]
    if not found:
        known = ", ".join(one.name for one in clients())
        entry = orjson.dumps({"mcpServers": {NAME: {"command": cronty, "args": ["mcp"]}}}).decode()
        hint = f"In any other MCP client add a server by hand: the command is `{cronty} mcp`, or as JSON {entry}"
        refuse(f"None of these is here: {known}.", hint=hint, json=json)
    if not yes and not can_ask(json=json):
        refuse("Say --yes to add it to every client found.", hint=_listed(found), json=json)

    def chosen(one: McpClient) -> bool:
        place = one.place.replace("{cronty}", cronty)
        return yes or typer.confirm(f"Add Cronty to {one.name} ({place})?", default=True, err=True)

    done = [(one, *_put(one, cronty, chosen)) for one in found]
    if json:
        print_json({"clients": [{"name": one.name, "state": state, "why": why} for one, state, why in done]})
    else:
        for one, state, why in done:
            say(f"{one.name}: {state}{f', {why}' if why else ''}.", "red" if state == "failed" else None)
        if any(state == "added" for _, state, _ in done):
            say("Start it anew, then say: remind me in two minutes to stretch.")
    if any(state == "failed" for _, state, _ in done):
        raise typer.Exit(1)


def _put(one: McpClient, cronty: str, chosen: Callable[[McpClient], bool]) -> tuple[State, str]:
    try:
        if one.has_it():
            return "there already", ""
        if not chosen(one):
            return "not chosen", ""
        one.put(cronty)
    except CannotAdd as failed:
        return "failed", str(failed)
    return "added", ""


def _listed(found: Sequence[McpClient]) -> str:
    return f"Found: {', '.join(one.name for one in found)}."
