"""When does it fire? Triggers, zones and the plan of due slots; pure, no clock."""

from cronty.timing.broken import Broken
from cronty.timing.calendar import Calendar, DayOff
from cronty.timing.calendar_rule import CalendarRule, Span
from cronty.timing.cron import Cron
from cronty.timing.describe import describe
from cronty.timing.errors import BadTrigger
from cronty.timing.interval import Interval
from cronty.timing.once import Once
from cronty.timing.plan import CatchUp, CatchUpMode, Due, Passed, Plan, is_due_alone, plan
from cronty.timing.preview import Slot, preview, slots_ahead
from cronty.timing.rrule_in import read_rrule
from cronty.timing.rrule_out import Recurrence, to_rrules
from cronty.timing.slot_changes import Changed, SlotChange, with_changes
from cronty.timing.trigger import Trigger, from_json, from_stored, to_json, to_stored
from cronty.timing.words.read import Ambiguous, Reading, read_words
from cronty.timing.zoned import Zoned, nominal
from cronty.timing.zones import tzdata_version, zone, zone_rules

__all__ = [
    "Ambiguous",
    "BadTrigger",
    "Broken",
    "Calendar",
    "CalendarRule",
    "CatchUp",
    "CatchUpMode",
    "Changed",
    "Cron",
    "DayOff",
    "Due",
    "Interval",
    "Once",
    "Passed",
    "Plan",
    "Reading",
    "Recurrence",
    "Slot",
    "SlotChange",
    "Span",
    "Trigger",
    "Zoned",
    "describe",
    "from_json",
    "from_stored",
    "is_due_alone",
    "nominal",
    "plan",
    "preview",
    "read_rrule",
    "read_words",
    "slots_ahead",
    "to_json",
    "to_rrules",
    "to_stored",
    "tzdata_version",
    "with_changes",
    "zone",
    "zone_rules",
]
