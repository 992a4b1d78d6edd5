"""Writes what shells and `man` read, under share/: `python -m tests.cli.man_page`. The wheel brings it along."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage]

from cronty.settings import Settings
from tests.cli.reference_page import commands

SHARE: Final = Path(__file__).parents[2] / "share"
SHELLS: Final = {
    "bash": "bash-completion/completions/cronty",
    "fish": "fish/vendor_completions.d/cronty.fish",
    "zsh": "zsh/site-functions/_cronty",
}
"""Where each shell looks for what completes a command, below `share`."""


def files() -> dict[str, str]:
    """Every file below `share`, with what belongs into it."""
    scripts = {
        path: get_completion_script(prog_name="cronty", complete_var="_CRONTY_COMPLETE", shell=shell) + "\n"
        for shell, path in SHELLS.items()
    }
    return {**scripts, "man/man1/cronty.1": man_page()}


def man_page() -> str:
    return "\n".join([*_head(), *_commands(), *_environment(), *_end()]) + "\n"


def _head() -> Iterator[str]:
    yield '.TH CRONTY 1 "" Cronty "User Commands"'
    yield from (".SH NAME", _text("cronty - schedules that keep, on PostgreSQL"))
    yield from (".SH SYNOPSIS", ".B cronty", _text("[--url URL] COMMAND [ARGUMENT]..."))
    yield from (
        ".SH DESCRIPTION",
        _text("Reminders, prompts for agents, commands and tasks, each planned moment with a"),
    )
    yield _text("verdict. Without CRONTY_DATABASE_URL it uses the PostgreSQL that comes with the extra local.")
    yield _text(
        "`cronty COMMAND --help` says the same as this page. With --url, or CRONTY_URL, a server is asked, with the"
    )
    yield _text("key in CRONTY_KEY.")
    yield ".SH COMMANDS"


def _commands() -> Iterator[str]:
    for name, command in sorted(commands()):
        yield f".SS {_text(name)}"
        yield _text(" ".join((command.help or "").split()))
        for one in command.params:
            if one.name != "help":
                yield from (".TP", f".B {_called(one)}", _text(" ".join((getattr(one, "help", "") or "").split())))


def _called(one: Any) -> str:
    if one.param_type_name == "argument":
        return _text(one.name.upper() if one.required else f"[{one.name.upper()}]")
    return _text(", ".join(one.opts) + ("" if one.is_flag else f" {one.name.upper()}"))


def _environment() -> Iterator[str]:
    yield ".SH ENVIRONMENT"
    for name, setting in Settings.model_fields.items():
        yield from (".TP", f".B CRONTY_{name.upper()}", _text(setting.description or ""))


def _end() -> Iterator[str]:
    yield from (".SH SEE ALSO", _text("crontab(1), psql(1)"))


def _text(words: str) -> str:
    """As roff wants it: a hyphen that can be copied, and no line that begins like a request."""
    plain = re.sub(r"-", r"\\-", words.replace("\\", r"\e"))
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    for path, text in files().items():
        (SHARE / path).parent.mkdir(parents=True, exist_ok=True)
        (SHARE / path).write_text(text, encoding="utf-8")
