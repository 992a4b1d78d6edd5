"""Writes the part of docs/reference/cli.md that says what each command takes: `python -m tests.cli.reference_page`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cronty.cli.commands import COMMANDS, load_command

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"
MARK = "## Every command\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its whole name."""
    for name in COMMANDS:
        found = load_command(name)
        for inner, command in getattr(found, "commands", {"": found}).items():
            yield f"cronty {name} {inner}".strip(), command


def rendered() -> str:
    """Heading, sentence, and a line for each argument and option."""
    parts = [MARK]
    for name, command in sorted(commands()):
        parts += ["", f"### {name}", "", *_sentence(command.help)]
        rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            parts += ["", "| takes | meaning |", "| --- | --- |", *rows]
    return "\n".join(parts) + "\n"


def _sentence(text: str | None) -> list[str]:
    return [" ".join((text or "").split())]


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        shown = f"`{parameter.name.upper()}`" if parameter.required else f"`[{parameter.name.upper()}]`"
    else:
        spelled = ", ".join(f"`{name}`" for name in parameter.opts)
        shown = spelled + ("" if parameter.is_flag else " …") + (" (required)" if parameter.required else "")
    plain = parameter.default
    default = "" if parameter.required or plain in (None, False, "", ()) or callable(plain) else f" Default: `{plain}`."
    said = re.sub(r"\s+", " ", getattr(parameter, "help", "") or "")
    return f"| {shown} | {said.replace('|', chr(92) + '|')}{default} |"


if __name__ == "__main__":
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(head + rendered(), encoding="utf-8")
