"""Output of commands: lines and tables that fit the terminal, JSON for programs, errors with exit codes.

On a terminal, text is wrapped between words or shortened to its width. In a pipe or a file it stays whole, one line per
item, so that other programs can read it.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, NoReturn

import orjson
import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from cronty.cli.own_copy import as_typed
from cronty.contract.result import Choice, Err

REFUSED: Final = 1
"""Refused: not found, not allowed, not up, or a check failed."""
MISUSED: Final = 2
"""Wrong usage, a wrong setting, or no database."""
UNCLEAR: Final = 3
"""The words can be read in several ways, which are listed."""

GAP: Final = 2
NARROWEST: Final = 12
"""The least width of a shortened column; with less, rows are stacked."""

LONG_WORK: Final = 20
"""Progress is shown from this number of steps."""

_COMMANDS: Final = {
    "list_jobs": "`cronty list`",
    "list_runs": "`cronty runs`",
    "job_status": "`cronty show`",
    "save_calendar": "`cronty call save_calendar`",
    "list_calendars": "`cronty call list_calendars`",
    "preview_schedule": "`cronty next`",
    "read_inbox": "`cronty inbox`",
}
"""Commands to print in place of the tool names in the scheduler's hints. Messages may quote what the user typed."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def console(*, err: bool = False) -> Console:
    """As wide as the terminal; without one, as wide as needed."""
    made = Console(stderr=err, highlight=False, markup=False)
    return made if made.is_terminal or "COLUMNS" in os.environ else Console(
        stderr=err, highlight=False, markup=False, width=100_000
    )  # fmt: skip


def say(text: str, style: str | None = None, *, err: bool = False, indent: int = 0) -> None:
    """Print a sentence: wrapped on a terminal, in one line otherwise; an error in a log always in one line."""
    text = as_typed(text)
    out = Console(stderr=err, highlight=False, markup=False)
    if not out.is_terminal and (err or "COLUMNS" not in os.environ):
        typer.echo(" " * indent + _printable(text), err=err)
        return
    for line in Text(_printable(text)).wrap(out, out.width - indent, overflow="fold"):
        line.rstrip()
        out.print(Text(" " * indent) + line, style=style, overflow="ignore", no_wrap=True, crop=False)


def print_json(answer: object) -> None:
    typer.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode())


def refuse_choice(err: Err, *, json: bool = False) -> NoReturn:
    """Print what words or a name may mean, one line for each with what to type, and end the command."""
    if json:
        print_json({"error": err.message, "hint": err.hint, "choices": [choice.to_json() for choice in err.choices]})
        raise typer.Exit(UNCLEAR)
    if err.field == "job_id":
        say(f"cronty: {err.message} {err.hint}", err=True)
        for choice in err.choices:
            say(f"{choice.words}) {_meaning(err, choice)}", err=True, indent=2)
        raise typer.Exit(UNCLEAR)
    several = "cronty: That may mean several things. Repeat it with the words of one:"
    say(several if len(err.choices) > 1 else "cronty: That names no exact time. If this is meant, type it:", err=True)
    for place, choice in enumerate(err.choices, 1):
        say(f"{place}) {_meaning(err, choice)}", err=True, indent=2)
    raise typer.Exit(UNCLEAR)


def can_ask(*, json: bool = False) -> bool:
    """Whether a person is there to be asked: programs get the refusal with its choices."""
    return not json and sys.stdin.isatty() and sys.stderr.isatty()


def choose(err: Err) -> str:
    """The words, or the number of the job, that the person at the terminal chooses; Ctrl-C ends the command."""
    if len(err.choices) == 1:
        say(err.message if err.field == "job_id" else "That names no exact time. It may be:", err=True)
        say(_meaning(err, err.choices[0]), err=True, indent=2)
        typer.confirm("Is that meant?", default=True, abort=True, err=True)
        return err.choices[0].words
    say(err.message if err.field == "job_id" else "That may mean several things:", err=True)
    for place, choice in enumerate(err.choices, 1):
        say(
            f"{place}) {f'{choice.words}  ' if err.field == 'job_id' else ''}{_meaning(err, choice)}",
            err=True,
            indent=2,
        )
    while True:
        place = int(typer.prompt("Which one is meant", type=int, err=True))
        if 1 <= place <= len(err.choices):
            return err.choices[place - 1].words
        say(f"A number from 1 to {len(err.choices)}, please.", err=True)


def _meaning(err: Err, choice: Choice) -> str:
    coming = f", next {clock(choice.next_at)}" if choice.next_at is not None else ""
    return f"{choice.description if err.field == 'job_id' else choice.words}{coming}"


def refuse(text: str, code: int = REFUSED, *, json: bool = False, hint: str = "") -> NoReturn:
    """Print the error and end the command."""
    for tool, command in _COMMANDS.items():
        hint = hint.replace(tool, command)
    if json:
        print_json({"error": as_typed(text), "hint": as_typed(hint)} if hint else {"error": as_typed(text)})
    else:
        say(f"cronty: {text.rstrip('.')}. {hint}".rstrip() if hint else f"cronty: {text}", err=True)
    raise typer.Exit(code)


@contextmanager
def waiting(text: str) -> Generator[None]:
    """Show on standard error, if it is a terminal, that something takes a while."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(text):
        yield


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False) -> Generator[Callable[[], None]]:
    """A progress bar on standard error, if it is a terminal and there is enough to do; yields the call for a step."""
    shown = not quiet and total > LONG_WORK and sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def counted(number: int, what: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def length(seconds: float) -> str:
    """How long something took: `0.4 s`, `2 min 5 s`, `3 h 20 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(moment: str | datetime | None, *, seconds: bool = False) -> str:
    """A time as people read it, in the zone it is given in; seconds stand there if there are any, or are asked for."""
    if moment is None:
        return "-"
    read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    if seconds:
        return f"{read:%d %b %Y %H:%M:%S}"
    return f"{read:%a %d %b %Y %H:%M:%S}" if read.second else f"{read:%a %d %b %Y %H:%M}"


@dataclass(frozen=True, slots=True)
class Column:
    """`whole` columns are never cut (ids, times); `fold` ones wrap to the next line, others end in `…`."""

    title: str
    whole: bool = False
    fold: bool = False


def show_rows(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], out: Console | None = None, styles: Sequence[str] = ()
) -> None:
    """Print a table that fits the terminal; if it can't fit, each row as a few lines. `styles` color the verdicts."""
    out = out or console()
    for line in fit(columns, rows, out, styles):
        out.print(line, overflow="ignore", no_wrap=True, crop=False)


def fit(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], out: Console, styles: Sequence[str] = ()
) -> Iterator[Text]:
    """The lines of that table, none wider than the console and none with spaces at the end."""
    colors = styles or [""] * len(rows)
    colored = [column.title == "verdict" for column in columns]
    given = [
        [Text(_in_a_line(cell), color if is_colored else "") for is_colored, cell in zip(colored, row, strict=True)]
        for row, color in zip(rows, colors, strict=True)
    ]
    heads = [Text(column.title, "dim") for column in columns]
    natural = [max(cell.cell_len for cell in cells) for cells in zip(heads, *given, strict=True)]
    widths = _fitted(columns, natural, out.width)
    if widths is None:
        yield from _stacked(heads, given, out)
        return
    titled = any(column.title for column in columns)
    for row in [heads, *given] if titled else given:
        cells = [_lines(cell, one, width, out) for cell, one, width in zip(row, columns, widths, strict=True)]
        yield from _side_by_side(cells, widths)


def _lines(cell: Text, column: Column, width: int, out: Console) -> list[Text]:
    if column.fold:
        return list(cell.wrap(out, width, overflow="fold"))
    cell.truncate(width, overflow="ellipsis")
    return [cell]


def _side_by_side(cells: Sequence[Sequence[Text]], widths: Sequence[int]) -> Iterator[Text]:
    for at in range(max(map(len, cells))):
        line = Text()
        for lines, width in zip(cells, widths, strict=True):
            part = lines[at].copy() if at < len(lines) else Text()
            line += part + Text(" " * (width - part.cell_len + GAP))
        line.rstrip()
        yield line


def _fitted(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int] | None:
    """A width for each column: columns that may be cut share the rest; None if that is too little."""
    widths = list(natural)
    flexible = [at for at, column in enumerate(columns) if not column.whole]
    excess = sum(widths) + GAP * (len(widths) - 1) - width
    while excess > 0:
        widest = max(flexible, key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= min(NARROWEST, natural[widest]):
            return None
        widths[widest] -= 1
        excess -= 1
    return widths


def _stacked(heads: Sequence[Text], rows: Sequence[Sequence[Text]], out: Console) -> Iterator[Text]:
    label = max(head.cell_len for head in heads) + GAP
    for number, row in enumerate(rows):
        if number:
            yield Text()
        for head, cell in zip(heads, row, strict=True):
            for at, line in enumerate(cell.wrap(out, max(out.width - label, 1), overflow="fold")):
                line.rstrip()
                if not line:
                    continue
                yield Text((head.plain if not at else "").ljust(label), "dim") + line


def _printable(text: str) -> str:
    """The text without control characters, which could move the cursor or change colors."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text)


def _in_a_line(text: str) -> str:
    return _printable(text).replace("\n", " ")
