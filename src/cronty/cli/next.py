"""When would it fire? Words or a cron expression in, slots out; needs no database."""

from datetime import UTC, datetime
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.table import Table

from cronty.settings import Settings
from cronty.timing import Ambiguous, BadTrigger, Cron, Reading, Slot, preview, read_words, to_json

_UNREADABLE = 2
_UNCLEAR = 3


def next_slots(
    when: Annotated[
        str, typer.Argument(help='When, in words or as cron: "every weekday at 8:30", "30 8 * * MON-FRI".')
    ],
    zone: Annotated[str | None, typer.Option(help="The time zone meant, if the words name none.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many slots.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show when something would fire; exit 2 if it can't be read, 3 if it may mean several things."""
    now = datetime.now(UTC)
    try:
        found = read_words(when, now, zone or _usual_zone())
    except BadTrigger as bad:
        if json:
            _print_json({"error": bad.message, "hint": bad.hint})
        typer.echo(f"cronty: {bad}", err=True)
        raise typer.Exit(_UNREADABLE) from None
    if isinstance(found, Ambiguous):
        _show_choices(when, found, now, json=json)
        raise typer.Exit(_UNCLEAR)
    slots = preview(found.trigger, now, count, found.zone)
    if json:
        _print_json(_answer(found) | {"slots": [_slot_answer(slot) for slot in slots]})
    else:
        _show(found, slots)


def _usual_zone() -> str:
    return Settings().zone  # pyright: ignore[reportCallIssue] -- its defaults are fields


def _show(reading: Reading, slots: list[Slot]) -> None:
    out = Console(highlight=False)
    out.print(reading.words, style="bold", markup=False)
    trigger = reading.trigger
    out.print(f"{reading.zone}, cron {trigger.expression}" if isinstance(trigger, Cron) else reading.zone, style="dim")
    if reading.note:
        out.print(f"Note: {reading.note}", style="yellow")
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("local", "UTC"):
        table.add_column(name, no_wrap=True)
    noted = any(slot.note for slot in slots)
    if noted:
        table.add_column("note", style="yellow")
    for slot in slots:
        row = [_clock(slot.local, "%a %d %b %Y"), _clock(slot.utc, "%Y-%m-%d")]
        table.add_row(*row, *([slot.note or ""] if noted else []))
    out.print()
    out.print(table)


def _show_choices(when: str, found: Ambiguous, now: datetime, *, json: bool) -> None:
    if json:
        answers = [_answer(each) | {"next": _next_answer(each, now)} for each in found.readings]
        _print_json({"ambiguous": answers})
        return
    out = Console(highlight=False)
    out.print(f'"{when}" may mean:', markup=False)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("reading")
    table.add_column("next, local", no_wrap=True)
    for each in found.readings:
        slots = preview(each.trigger, now, 1, each.zone)
        table.add_row(each.words, _clock(slots[0].local, "%a %d %b %Y") if slots else "never")
    out.print(table)
    out.print("Say which one, for example in these words.")


def _clock(moment: datetime, day: str) -> str:
    return moment.strftime(f"{day} %H:%M:%S" if moment.second else f"{day} %H:%M")


def _answer(reading: Reading) -> dict[str, object]:
    return {
        "words": reading.words,
        "zone": reading.zone,
        "trigger": to_json(reading.trigger),
        "note": reading.note,
    }


def _next_answer(reading: Reading, now: datetime) -> dict[str, object] | None:
    slots = preview(reading.trigger, now, 1, reading.zone)
    return _slot_answer(slots[0]) if slots else None


def _slot_answer(slot: Slot) -> dict[str, object]:
    return {"local": slot.local.isoformat(), "utc": slot.utc.isoformat(), "note": slot.note}


def _print_json(answer: dict[str, object]) -> None:
    typer.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode())
