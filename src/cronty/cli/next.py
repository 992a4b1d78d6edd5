"""`cronty next`: the next slots of words or a cron expression; needs no database."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from cronty.cli.output import MISUSED, UNCLEAR, Column, Json, print_json, refuse, say, show_rows
from cronty.settings import Settings
from cronty.timing import Ambiguous, BadTrigger, Cron, Reading, Slot, preview, read_words, to_json


def next_slots(
    when: Annotated[
        str, typer.Argument(help='When, in words or as cron: "every weekday at 8:30", "30 8 * * MON-FRI".')
    ],
    zone: Annotated[str | None, typer.Option(help="The time zone, if the words name none.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many slots.")] = 5,
    json: Json = False,
) -> None:
    """Show when something would fire; exit 2 if it can't be read, 3 if it can be read in several ways."""
    now = datetime.now(UTC)
    try:
        found = read_words(when, now, zone or _usual_zone())
    except BadTrigger as bad:
        refuse(bad.message, MISUSED, hint=bad.hint, json=json)
    if isinstance(found, Ambiguous):
        _show_choices(when, found, now, json=json)
        raise typer.Exit(UNCLEAR)
    slots = preview(found.trigger, now, count, found.zone)
    if json:
        print_json(_answer(found) | {"slots": [_slot_answer(slot) for slot in slots]})
    else:
        _show(found, slots)


def _usual_zone() -> str:
    return Settings().zone  # pyright: ignore[reportCallIssue] -- its defaults are fields


def _show(reading: Reading, slots: list[Slot]) -> None:
    say(reading.words, "bold")
    trigger = reading.trigger
    say(f"{reading.zone}, cron {trigger.expression}" if isinstance(trigger, Cron) else reading.zone, "dim")
    if reading.note:
        say(f"Note: {reading.note}", "yellow")
    columns = [Column("local", whole=True), Column("UTC", whole=True)]
    rows = [(_clock(slot.local, "%a %d %b %Y"), _clock(slot.utc, "%Y-%m-%d")) for slot in slots]
    if any(slot.note for slot in slots):
        columns.append(Column("note", fold=True))
        rows = [(*row, slot.note or "") for row, slot in zip(rows, slots, strict=True)]
    say("")
    show_rows(columns, rows)


def _show_choices(when: str, found: Ambiguous, now: datetime, *, json: bool) -> None:
    if json:
        answers = [_answer(each) | {"next": _next_answer(each, now)} for each in found.readings]
        print_json({"ambiguous": answers})
        return
    say(f'"{when}" may mean:')
    rows: list[tuple[str, str, str]] = []
    for place, each in enumerate(found.readings, 1):
        slots = preview(each.trigger, now, 1, each.zone)
        rows.append((f"{place})", each.words, _clock(slots[0].local, "%a %d %b %Y") if slots else "never"))
    show_rows([Column("", whole=True), Column("words", fold=True), Column("next, local", whole=True)], rows)
    say("Repeat the command with the words of the one you mean.")


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
