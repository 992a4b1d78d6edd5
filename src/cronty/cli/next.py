"""`cronty next`: the next slots of words or a cron expression; needs no database unless they name lists of days off."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from cronty.app.machine_zone import machine_zone
from cronty.cli.connection import Api, call
from cronty.cli.output import MISUSED, UNCLEAR, Column, Json, print_json, refuse, say, show_rows
from cronty.contract.answers import Moment, SchedulePreview
from cronty.settings import Settings
from cronty.timing import Ambiguous, BadTrigger, Cron, Reading, Slot, preview, read_words, to_json
from cronty.timing.lists_in_words import split_lists


def next_slots(
    when: Annotated[
        str, typer.Argument(help='When, in words or as cron: "every weekday at 8:30", "30 8 * * MON-FRI".')
    ],
    zone: Annotated[str | None, typer.Option(help="The time zone, if the words name none.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=1000, help="How many slots.")] = 5,
    json: Json = False,
) -> None:
    now = datetime.now(UTC)
    try:
        plain, lists = split_lists(when)
        found = read_words(plain, now, zone or _usual_zone())
    except BadTrigger as bad:
        refuse(bad.message, MISUSED, hint=bad.hint, json=json)
    if lists:
        _show_by_lists(when, zone, count, json=json)
        return
    if isinstance(found, Ambiguous):
        _show_choices(when, found, now, json=json)
        raise typer.Exit(UNCLEAR)
    slots = preview(found.trigger, now, count, found.zone)
    if json:
        print_json(_answer(found) | {"slots": [_slot_answer(slot) for slot in slots]})
    else:
        trigger = found.trigger
        where = f"{found.zone}, cron {trigger.expression}" if isinstance(trigger, Cron) else found.zone
        _show(found.words, where, found.note, slots)


def _usual_zone() -> str:
    settings = Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields
    if settings.database_url is not None or "zone" in settings.model_fields_set:
        return settings.zone
    return machine_zone() or settings.zone


def _show_by_lists(when: str, zone: str | None, count: int, *, json: bool) -> None:
    """Days off are kept with the jobs, so their keeper is asked."""

    async def ask(api: Api) -> SchedulePreview | dict[str, object]:
        found = await api.preview_schedule(when, timezone=zone, count=count)
        if not json:
            return found
        slots = [_slot_answer(slot) for slot in found.slots]
        return {"words": found.schedule, "zone": found.timezone, "note": found.note, "slots": slots}

    found = call(ask, json=json)
    if isinstance(found, SchedulePreview):
        _show(found.schedule, found.timezone, found.note, found.slots)


def _show(words: str, where: str, note: str | None, slots: Sequence[Slot | Moment]) -> None:
    say(words, "bold")
    say(where, "dim")
    if note:
        say(f"Note: {note}", "yellow")
    columns = [Column(where.partition(",")[0], whole=True), Column("UTC", whole=True)]
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
    several = len(found.readings) > 1
    say(f'"{when}" may mean:' if several else f'"{when}" names no exact time. It may mean:')
    rows: list[tuple[str, str, str]] = []
    for place, each in enumerate(found.readings, 1):
        slots = preview(each.trigger, now, 1, each.zone)
        rows.append((f"{place})", each.words, _clock(slots[0].local, "%a %d %b %Y") if slots else "never"))
    coming = Column(f"next ({found.readings[0].zone})", whole=True)
    show_rows([Column("", whole=True), Column("words", fold=True), coming], rows)
    say("Repeat the command with the words of the one you mean." if several else "If so, repeat it with those words.")


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


def _slot_answer(slot: Slot | Moment) -> dict[str, object]:
    return {"local": slot.local.isoformat(), "utc": slot.utc.isoformat(), "note": slot.note}
