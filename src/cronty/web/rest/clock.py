"""Time: what a rule means before a job is made of it, what it is o'clock, and which tasks there are."""

from datetime import UTC
from typing import Annotated

from fastapi import Query

from cronty.jobs.answers import moment_text
from cronty.jobs.result import Err, Ok, Result
from cronty.timing import BadTrigger, Slot, zone
from cronty.web.rest.given import PreviewBody
from cronty.web.rest.route import Answer, Asks, Room
from cronty.web.rest.shapes import Clock, Previewed, Tasks

room = Room("time")


@room.operation("POST", "/preview", "read", Previewed, 413)
async def preview_schedule(ask: Asks, body: PreviewBody) -> Result[Answer]:
    """What a rule means, in words and with its next slots, and notes where clocks change. Makes nothing."""
    found = await ask.doors.scheduler.preview(
        ask.owner, body.trigger_type, body.trigger_config, body.timezone, body.count
    )
    if isinstance(found, Err):
        return found
    shown = found.value
    facts: dict[str, object] = {
        "schedule": shown.words,
        "timezone": shown.zone,
        "slots": [_slot(slot, shown.zone) for slot in shown.slots],
    }
    return Ok(facts | ({"note": shown.note} if shown.note else {}))


@room.operation("GET", "/clock", "read", Clock)
async def get_current_time(
    ask: Asks,
    timezone: Annotated[str | None, Query(description="IANA time zone.", examples=["Europe/Berlin"])] = None,
) -> Result[Answer]:
    """The current date and time, in a zone or in the owner's."""
    now, usual = await ask.doors.scheduler.clock(ask.owner)
    try:
        there = zone(timezone or usual)
    except BadTrigger as bad:
        return Err("bad_timezone", bad.message, bad.hint)
    local = now.astimezone(there)
    return Ok(
        {
            "datetime": local.isoformat(timespec="seconds"),
            "date": local.date().isoformat(),
            "time": f"{local:%H:%M:%S}",
            "timezone": there.key,
            "utc": now.astimezone(UTC).isoformat(timespec="seconds"),
            "timestamp_ms": int(now.timestamp() * 1000),
        }
    )


@room.operation("GET", "/tasks", "read", Tasks)
async def list_tasks(ask: Asks) -> Result[Answer]:
    """What may be scheduled: the registered tasks, their parameters and what they do."""
    tasks = await ask.doors.scheduler.list_tasks()
    return Ok({"tasks": [{"name": one.name, "parameters": one.parameters, "doc": one.doc} for one in tasks]})


def _slot(slot: Slot, zone_name: str) -> dict[str, object]:
    moment: dict[str, object] = {"local": moment_text(slot.utc, zone_name), "utc": moment_text(slot.utc)}
    return moment | ({"note": slot.note} if slot.note else {})
