"""What an owner is told after nothing was running for a while: one message about all jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cronty.jobs.alerts import Alert
from cronty.timing import BadTrigger, zone

WORTH_TELLING: Final = timedelta(hours=1)
"""A shorter absence isn't told: what came late says so itself."""


@dataclass(frozen=True, slots=True)
class Away:
    """What passed while nothing was running. `since` is the first slot, `until` when the last one was decided about;
    the names are those of the first few jobs."""

    owner_id: int
    since: datetime
    until: datetime
    late: int
    coalesced: int
    missed: int
    late_names: Sequence[str]
    missed_names: Sequence[str]


def told(away: Away, topic: str, zone_name: str) -> Alert | None:
    """The message, None if the absence was too short for one. Without a topic it waits in the owner's inbox."""
    if away.until - away.since < WORTH_TELLING:
        return None
    try:
        within = zone(zone_name)
    except BadTrigger:  # a newer zone than this machine knows, written by another
        within = zone(zone_name := "UTC")
    since, until = (moment.astimezone(within) for moment in (away.since, away.until))
    lines = [f"From {_text(since)} to {_text(until)}, {zone_name}."]
    if away.late:
        lines.append(f"Ran late: {_counted(away.late, away.late_names)}.")
    if away.coalesced:
        lines.append(f"Caught up by a later run: {_times(away.coalesced)}.")
    if away.missed:
        lines.append(f"Missed: {_counted(away.missed, away.missed_names)}.")
    return Alert(away.owner_id, 0, topic, "Nothing was running", "\n".join(lines))


def _text(moment: datetime) -> str:
    return f"{moment:%a} {moment.day} {moment:%b} {moment:%H:%M}"


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"


def _counted(count: int, names: Sequence[str]) -> str:
    named = list(dict.fromkeys(name[:60] for name in names))
    more = "" if count <= len(named) else f" ({count} in all)"
    return f"{', '.join(named)}{more}" if named else _times(count)
