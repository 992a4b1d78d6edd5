"""When does it fire? Triggers, zones and the plan of due slots; pure, no clock."""

from cronty.timing.broken import Broken
from cronty.timing.cron import Cron
from cronty.timing.errors import BadTrigger
from cronty.timing.interval import Interval
from cronty.timing.once import Once
from cronty.timing.plan import CatchUp, CatchUpMode, Due, Passed, Plan, plan
from cronty.timing.trigger import Trigger, from_json, from_stored, to_json
from cronty.timing.zones import tzdata_version, zone

__all__ = [
    "BadTrigger",
    "Broken",
    "CatchUp",
    "CatchUpMode",
    "Cron",
    "Due",
    "Interval",
    "Once",
    "Passed",
    "Plan",
    "Trigger",
    "from_json",
    "from_stored",
    "plan",
    "to_json",
    "tzdata_version",
    "zone",
]
