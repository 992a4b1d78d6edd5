"""A rule of which single slots are skipped or moved names its slots as before, and plans them around those."""

import random
from datetime import UTC, datetime, timedelta

from cronty.timing import Calendar, CatchUp, Changed, Cron, DayOff, Interval, Once, SlotChange, Trigger, plan, preview
from cronty.timing.calendar_rule import CalendarRule
from cronty.timing.plan import CatchUpMode
from cronty.timing.slot_changes import changes_from_json, changes_to_json, local_of
from tests.timing.calendars import days_off

NEAR = datetime(2027, 3, 28, tzinfo=UTC)
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


def slots_of(slots: Trigger | Changed, first: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    slot = slots.after(first - TICK)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = slots.after(slot)
    return found


def some_rule(chance: random.Random) -> Trigger:
    off = tuple(DayOff((NEAR + chance.randint(-5, 9) * DAY).date(), "off") for _ in range(4))
    return chance.choice(
        [
            Cron("30 2,9 * * *", "Europe/Berlin"),
            Cron("*/20 * * * *"),
            Interval(timedelta(hours=chance.randint(1, 30)), NEAR - 9 * DAY),
            Calendar((CalendarRule((150, 540, 900)),), "Europe/Berlin"),
            Calendar((CalendarRule((150, 540, 900)),), "Europe/Berlin", calendars=("team",), lists=days_off(*off)),
            Once(NEAR),
        ]
    )


def some_changes(chance: random.Random, rule: Trigger) -> list[SlotChange]:
    changes: list[SlotChange] = []
    slots = slots_of(rule, NEAR - 5 * DAY, NEAR + 9 * DAY)
    for slot in chance.sample(slots, min(len(slots), chance.randint(1, 5))):
        to = chance.choice([None, slot + chance.randint(-3000, 3000) * timedelta(minutes=1)])
        if to is None or not Changed(rule, changes).count(to, to):
            changes.append(SlotChange(slot, "asked for", to))
    return changes


def test_every_slot_of_any_backlog_gets_one_verdict() -> None:
    chance, taken = random.Random(7), 0
    modes: tuple[CatchUpMode, ...] = ("latest", "all", "none")
    for _ in range(1500):
        rule = some_rule(chance)
        changed = Changed(rule, some_changes(chance, rule))
        first = changed.after(NEAR - chance.randint(0, 8) * DAY)
        if first is None:
            continue
        now = first + chance.randrange(12 * 24) * HOUR
        planned = plan(changed, first, now, CatchUp(chance.choice(modes), chance.randint(1, 400) * DAY / 20, 5))
        slots = slots_of(changed, first, now)
        assert changed.count(first, now) == len(slots)
        assert changed.last(first, now) == slots[-1]
        open_slots = [slot for slot in slots if changed.taken(slot) is None]
        assert changed.open.count(first, now) == len(open_slots)
        assert changed.open.last(first, now) == (open_slots[-1] if open_slots else None)
        pieces = sorted([*((due.slot, due.slot, 1, due.followed_by) for due in planned.runs)] + [
            (one.first, one.through, one.slots, one.followed_by) for one in planned.passed
        ])  # fmt: skip
        assert [piece[0] for piece in pieces[1:]] == [piece[3] for piece in pieces[:-1]]
        assert pieces[-1][3] == planned.next_at == changed.after(slots[-1])
        assert sum(piece[2] for piece in pieces) == len(slots)
        for piece in pieces:
            assert len([slot for slot in slots if piece[0] <= slot <= piece[1]]) == piece[2]
        for one in planned.passed:
            for slot in slots:
                if one.first <= slot <= one.through:
                    assert (changed.taken(slot) is not None) == (one.verdict == "skipped")
                    taken += one.verdict == "skipped"
        assert all(changed.taken(due.slot) is None for due in planned.runs)
    assert taken > 300


def test_a_preview_says_what_is_skipped_and_what_is_moved_there() -> None:
    rule = Cron("0 9 * * *")
    nine = NEAR + 9 * HOUR
    changes = (SlotChange(nine, "asked for by ann"), SlotChange(nine + DAY, "moved", nine + DAY + 2 * HOUR))
    assert [(slot.utc - nine, slot.note) for slot in preview(Changed(rule, changes), NEAR, 4, "UTC")] == [
        (timedelta(0), "skipped: asked for by ann"),
        (DAY, "skipped: moved"),
        (DAY + 2 * HOUR, "moved from Monday 29 March 09:00, this once"),
        (2 * DAY, None),
    ]


def test_changes_are_stored_as_they_are() -> None:
    rule = Cron("0 9 * * *", "Europe/Berlin")
    slot = NEAR + 7 * HOUR
    changes = (SlotChange(slot, "why", slot + HOUR, local_of(rule, slot)), SlotChange(slot, "why"))
    assert changes_from_json(changes_to_json(changes)) == changes
    assert changes_from_json(None) == ()


def test_a_slot_that_new_zone_rules_move_is_still_the_one_that_was_meant() -> None:
    rule = Cron("0 9 * * *", "Europe/Berlin")
    local = datetime(2027, 4, 1, 9)  # noqa: DTZ001
    by_old_rules = datetime(2027, 4, 1, 8, tzinfo=UTC)
    changed = Changed(rule, [SlotChange(by_old_rules, "asked for", None, local)])
    assert changed.taken(datetime(2027, 4, 1, 7, tzinfo=UTC)) == "asked for"
    assert changed.taken(by_old_rules) is None
