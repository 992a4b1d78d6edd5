"""What time it is, and what a schedule means before it is made."""

from datetime import UTC
from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from cronty.jobs.answers import moment_text
from cronty.jobs.result import Err
from cronty.mcp.answers import answer, as_error, refuse
from cronty.mcp.desk import Desk
from cronty.mcp.shapes import CurrentTime, Previewed
from cronty.mcp.tool import Spec
from cronty.timing import BadTrigger, Slot, zone


class ClockTools:
    """Read-only; so that a model never has to do date arithmetic."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def specs(self) -> list[Spec]:
        return [
            Spec(self.preview_schedule, "Preview a schedule", "time", "read", read_only=True),
            Spec(self.get_current_time, "What time is it", "time", "read", read_only=True),
        ]

    async def preview_schedule(
        self,
        schedule: Annotated[
            str, Field(description='Words, cron or a time: "every weekday at 8:30", "0 9 * * 1-5", "in 2h30m".')
        ],
        timezone: Annotated[
            str | None, Field(description="IANA time zone, e.g. Europe/Berlin. Default: the owner's, else UTC.")
        ] = None,
        count: Annotated[int, Field(description="How many of its next times to show, up to 100.")] = 5,
    ) -> Annotated[CallToolResult, Previewed]:
        """Show what a schedule means before making it: in words, with its next times, local and UTC, and notes where
        clocks change. Makes nothing. Use it to check a cron or to let the user confirm.
        Example: {"schedule": "last day of the month at 17:00", "timezone": "Europe/Berlin"}"""
        desk = self._desk
        result = await desk.ask(desk.door.preview(desk.owner, "words", {"text": schedule}, timezone, count))
        if isinstance(result, Err):
            return as_error(result)
        shown = result.value
        facts: dict[str, object] = {
            "schedule": shown.words,
            "timezone": shown.zone,
            "slots": [_slot(slot, shown.zone) for slot in shown.slots],
        }
        return answer(facts | ({"note": shown.note} if shown.note else {}))

    async def get_current_time(
        self,
        timezone: Annotated[
            str | None, Field(description="IANA time zone, e.g. Europe/Berlin. Default: the owner's, else UTC.")
        ] = None,
    ) -> Annotated[CallToolResult, CurrentTime]:
        """The current date and time in a time zone. Call it before reasoning about "today" or "tomorrow".
        Example: {"timezone": "Europe/Berlin"}"""
        now, usual = await self._desk.door.clock(self._desk.owner)
        try:
            local = now.astimezone(zone(timezone or usual))
        except BadTrigger as bad:
            refuse(str(bad))
        return answer(
            {
                "datetime": local.isoformat(timespec="seconds"),
                "date": local.date().isoformat(),
                "time": f"{local:%H:%M:%S}",
                "timezone": zone(timezone or usual).key,
                "utc": now.astimezone(UTC).isoformat(timespec="seconds"),
                "timestamp_ms": int(now.timestamp() * 1000),
            }
        )


def _slot(slot: Slot, zone_name: str) -> dict[str, object]:
    moment: dict[str, object] = {"local": moment_text(slot.utc, zone_name), "utc": moment_text(slot.utc)}
    return moment | ({"note": slot.note} if slot.note else {})
