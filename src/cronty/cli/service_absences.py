"""Logs what happened to slots that passed while the machine slept or nothing was running."""

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from cronty.app import Cronty
from cronty.jobs.run import Absence
from cronty.store.database import StoreUnavailable

LOOK: Final = 30.0
"""Seconds between two checks of the clock."""

JUMP: Final = 60.0
"""If the clock moved this many seconds more than we slept, the machine was asleep."""

SETTLE: Final = 10.0
"""Seconds to wait for catching up before logging it."""

_ROUNDING: Final = timedelta(milliseconds=500)

log = logging.getLogger("cronty.service")


def in_words(absence: Absence, zone: str) -> str:
    """`while it was away, Sun 15 Nov 14:00 to 16:30, Europe/Berlin: 3 fired late, 12 coalesced, 1 missed`"""
    since, until = (moment.astimezone(ZoneInfo(zone)) for moment in (absence.since, absence.until + _ROUNDING))
    end = f"{until:%H:%M}" if since.date() == until.date() else f"{until:%a %d %b %H:%M}"
    counts = {"fired late": absence.late, "coalesced": absence.coalesced, "missed": absence.missed}
    at_least = "at least " if absence.cut else ""
    return f"while it was away, {since:%a %d %b %H:%M} to {end}, {zone}: {at_least}{counted(counts)}"


def counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counts.items() if number) or "nothing"


async def log_absences(cronty: Cronty, since: datetime) -> None:
    """Log absences after the start and whenever the machine wakes; runs until it is cancelled."""
    while True:
        await asyncio.sleep(SETTLE)
        since = await _log_since(cronty, since)
        asleep = False
        while not asleep:
            before, slept = time.time(), LOOK
            await asyncio.sleep(slept)
            asleep = time.time() - before > slept + JUMP


async def _log_since(cronty: Cronty, since: datetime) -> datetime:
    now = datetime.now(UTC)
    try:
        _, zone = await cronty.service.scheduler.clock(cronty.caller)
        for absence in reversed(await cronty.service.runs.absences(cronty.caller, since)):
            log.info("%s", in_words(absence, zone))
    except StoreUnavailable as outage:  # the engine logs the outage itself
        log.debug("absences can't be read: %s", outage)
        return since
    return now - timedelta(seconds=SETTLE)
