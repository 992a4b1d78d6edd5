"""When does it fire? Triggers, zones and the plan of due slots; pure, no clock."""

from cronty.timing.broken import Broken
from cronty.timing.cron import Cron, nominal
from cronty.timing.describe import describe
from cronty.timing.errors import BadTrigger
from cronty.timing.interval import Interval
from cronty.timing.once import Once
from cronty.timing.plan import CatchUp, CatchUpMode, Due, Passed, Plan, is_due_alone, plan
from cronty.timing.preview import Slot, preview
from cronty.timing.trigger import Trigger, from_json, from_stored, to_json
from cronty.timing.words.read import Ambiguous, Reading, read_words
from cronty.timing.zones import tzdata_version, zone, zone_rules

__all__ = [
    "Ambiguous",
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
    "Reading",
    "Slot",
    "Trigger",
    "describe",
    "from_json",
    "from_stored",
    "is_due_alone",
    "nominal",
    "plan",
    "preview",
    "read_words",
    "to_json",
    "tzdata_version",
    "zone",
    "zone_rules",
]
