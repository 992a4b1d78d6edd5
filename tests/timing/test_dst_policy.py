"""What a job may ask for on the days on which clocks change, and what a moved slot says about itself."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.timing import (
    BadTrigger,
    Broken,
    Calendar,
    CalendarRule,
    Cron,
    Trigger,
    from_json,
    from_stored,
    nominal,
    to_json,
    zone,
)
from cronty.timing.days_off import NamedCalendar
from cronty.timing.rule import read_rule
from cronty.timing.zoned import Gap, Overlap
from tests.timing.oracle import transitions
from tests.timing.strategies import EXPRESSIONS, NEAR_CHANGES, POLICIES, possible, thorough

GAPS: tuple[Gap, ...] = ("run_after", "skip")
OVERLAPS: tuple[Overlap, ...] = ("first", "both")
TICK = timedelta(microseconds=1)


def slots(cron: Cron, since: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    slot = cron.after(since - TICK)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = cron.after(slot)
    return found


def local_slots(cron: Cron, day: str) -> list[str]:
    start = datetime.fromisoformat(day).replace(tzinfo=zone(cron.zone))
    found = slots(cron, start.astimezone(UTC), (start + timedelta(days=1)).astimezone(UTC) - TICK)
    return [slot.astimezone(zone(cron.zone)).strftime("%H:%M%z") for slot in found]


@pytest.mark.parametrize(
    ("expression", "name", "day", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-29", []),
        ("30 2 * * *", "Europe/Berlin", "2026-03-30", ["02:30+0200"]),
        ("30 2,3 * * *", "Europe/Berlin", "2026-03-29", ["03:30+0200"]),
        # Named in its own right, so it stays.
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-29", ["03:00+0200"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04", []),
        ("45 2 * * *", "Australia/Lord_Howe", "2026-10-04", ["02:45+1100"]),
        ("0 1,2,4 * * *", "Antarctica/Troll", "2026-03-29", ["04:00+0200"]),
        ("0 0 * * *", "America/Santiago", "2026-09-06", []),
        ("*/30 1-3 * * *", "Europe/Berlin", "2026-03-29", ["01:00+0100", "01:30+0100", "03:00+0200", "03:30+0200"]),
    ],
)
def test_a_skipped_time_stays_skipped_if_asked(expression: str, name: str, day: str, expected: list[str]) -> None:
    assert local_slots(Cron(expression, name, gap="skip"), day) == expected
    assert local_slots(Cron(expression, name, "skip", "both"), day) == expected


@pytest.mark.parametrize(
    ("expression", "name", "day", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-10-25", ["02:30+0200", "02:30+0100"]),
        (
            "0,30 2,3 * * *",
            "Europe/Berlin",
            "2026-10-25",
            ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100", "03:00+0100", "03:30+0100"],
        ),
        ("30 1 * * *", "America/New_York", "2026-11-01", ["01:30-0400", "01:30-0500"]),
        # Half an hour comes twice, the other half of that hour doesn't.
        ("15,45 1 * * *", "Australia/Lord_Howe", "2026-04-05", ["01:15+1100", "01:45+1100", "01:45+1030"]),
        ("30 1,2 * * *", "Antarctica/Troll", "2026-10-25", ["01:30+0200", "02:30+0200", "01:30+0000", "02:30+0000"]),
        ("30 2 * * *", "Africa/Casablanca", "2026-02-15", ["02:30+0100", "02:30+0000"]),
        ("0 3 * * *", "Europe/Berlin", "2026-10-25", ["03:00+0100"]),
    ],
)
def test_a_repeated_time_fires_twice_if_asked(expression: str, name: str, day: str, expected: list[str]) -> None:
    assert local_slots(Cron(expression, name, overlap="both"), day) == expected
    assert local_slots(Cron(expression, name, "skip", "both"), day) == expected


def test_asking_for_both_leaves_gaps_as_they_were() -> None:
    assert local_slots(Cron("30 2 * * *", "Europe/Berlin", overlap="both"), "2026-03-29") == ["03:00+0200"]


def test_a_job_that_names_only_skipped_times_has_no_slot() -> None:
    spring_night = "30 2 * 3 0L"  # the last Sunday of March
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert Cron(spring_night, "Europe/Berlin").after(moment) == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert Cron(spring_night, "Europe/Berlin", gap="skip").after(moment) is None


@pytest.mark.parametrize(
    ("expression", "name", "slot", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T03:00+02:00", "2026-03-29 02:30"),
        ("0,15,30,45 2 * * *", "Europe/Berlin", "2026-03-29T03:00+02:00", "2026-03-29 02:00"),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04T02:30+11:00", "2026-10-04 02:15"),
        ("30 1,2 * * *", "Antarctica/Troll", "2026-03-29T03:00+02:00", "2026-03-29 01:30"),
        ("@daily", "Africa/Cairo", "2026-04-24T01:00+03:00", "2026-04-24 00:00"),
        ("0 9 * * *", "Pacific/Apia", "2011-12-31T00:00+14:00", "2011-12-30 09:00"),
        # Not moved: named itself, an ordinary day, real minutes, no slot at all.
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-29T03:00+02:00", None),
        ("30 2 * * *", "Europe/Berlin", "2026-03-30T02:30+02:00", None),
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-29T03:00+02:00", None),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T03:00:00.5+02:00", None),
        ("30 5 * * *", "Europe/Berlin", "2026-03-29T03:00+02:00", None),
        ("30 2 * * *", "UTC", "2026-03-29T02:30+00:00", None),
    ],
)
def test_a_moved_slot_knows_where_it_was_meant_to_be(
    expression: str, name: str, slot: str, expected: str | None
) -> None:
    meant = nominal(Cron(expression, name), datetime.fromisoformat(slot).astimezone(UTC))
    assert (meant and meant.strftime("%Y-%m-%d %H:%M")) == expected
    assert meant is None or meant.tzinfo is zone(name)
    assert nominal(Cron(expression, name, gap="skip"), datetime.fromisoformat(slot)) is None


def test_the_ends_of_the_calendar_were_never_moved() -> None:
    for end in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        assert nominal(Cron("30 2 * * *", "Europe/Berlin"), end) is None


def test_a_policy_is_part_of_the_value() -> None:
    crons = [Cron("30 2 * * *", "UTC", gap, overlap) for gap in GAPS for overlap in OVERLAPS]
    assert len({*crons, Cron("30 2 * * *")}) == 4
    assert crons[0] == Cron("30 2 * * *") != crons[1]
    assert [from_json(to_json(cron)) for cron in crons] == crons


@pytest.mark.parametrize(
    ("gap", "overlap", "written"),
    [
        ("run_after", "first", {}),
        ("skip", "first", {"gap": "skip"}),
        ("run_after", "both", {"overlap": "both"}),
        ("skip", "both", {"gap": "skip", "overlap": "both"}),
    ],
)
def test_only_an_unusual_policy_is_written(gap: Gap, overlap: Overlap, written: dict[str, object]) -> None:
    plain: dict[str, object] = {"kind": "cron", "expression": "30 2 * * *", "zone": "Europe/Berlin"}
    assert to_json(Cron("30 2 * * *", "Europe/Berlin", gap, overlap)) == plain | written
    assert from_json(plain | {"gap": gap, "overlap": overlap}) == Cron("30 2 * * *", "Europe/Berlin", gap, overlap)


def test_a_strange_policy_is_refused_with_the_choice() -> None:
    with pytest.raises(BadTrigger, match=r"^Unknown gap policy: 'never'\. Use .run_after. or .skip.\.$"):
        Cron("30 2 * * *", gap="never")  # pyright: ignore[reportArgumentType]
    with pytest.raises(BadTrigger, match=r"^Unknown overlap policy: 'last'\. Use .first. or .both.\.$"):
        Cron("30 2 * * *", overlap="last")  # pyright: ignore[reportArgumentType]
    stored: dict[str, object] = {"kind": "cron", "expression": "30 2 * * *"}
    with pytest.raises(BadTrigger, match=r"^Unknown gap policy: 'never'\. Use \"run_after\" or \"skip\"\.$"):
        from_json(stored | {"gap": "never"})
    with pytest.raises(BadTrigger, match=r"^Bad \"overlap\" of a cron trigger: 2\. It must be text\."):
        from_json(stored | {"overlap": 2})
    assert isinstance(from_stored(stored | {"overlap": "last"}), Broken)


@thorough
@given(EXPRESSIONS.filter(possible), NEAR_CHANGES, st.timedeltas(timedelta(0), timedelta(hours=30)))
def test_skipping_leaves_out_the_moved_slots_and_nothing_else(
    expression: str, near: tuple[str, datetime], length: timedelta
) -> None:
    name, since = near
    moving, skipping = Cron(expression, name), Cron(expression, name, gap="skip")
    all_slots = slots(moving, since, since + length)
    assert slots(skipping, since, since + length) == [slot for slot in all_slots if nominal(moving, slot) is None]


@thorough
@given(EXPRESSIONS.filter(possible), NEAR_CHANGES, st.timedeltas(timedelta(0), timedelta(hours=30)))
def test_firing_in_both_passes_adds_second_passes_and_nothing_else(
    expression: str, near: tuple[str, datetime], length: timedelta
) -> None:
    name, since = near
    once = slots(Cron(expression, name), since, since + length)
    both = slots(Cron(expression, name, overlap="both"), since, since + length)
    added = [slot for slot in both if slot not in once]
    assert sorted({*once, *added}) == both
    assert all(slot.astimezone(zone(name)).fold == 1 for slot in added)


@thorough
@given(EXPRESSIONS.filter(possible), NEAR_CHANGES, POLICIES)
def test_real_minutes_know_no_policy(expression: str, near: tuple[str, datetime], policy: tuple[Gap, Overlap]) -> None:
    name, moment = near
    rest = expression.partition(" ")[2]
    follower = Cron(f"*/5 {rest}", name, *policy)
    assert follower.after(moment) == Cron(f"*/5 {rest}", name).after(moment)


@thorough
@given(EXPRESSIONS.filter(possible), NEAR_CHANGES, POLICIES, st.timedeltas(timedelta(0), timedelta(hours=30)))
def test_looking_ahead_counting_and_looking_back_agree_under_every_policy(
    expression: str, near: tuple[str, datetime], policy: tuple[Gap, Overlap], length: timedelta
) -> None:
    (name, moment), until = near, near[1] + length
    cron = Cron(expression, name, *policy)
    walked = slots(cron, moment, until)
    assert walked == sorted(set(walked))
    assert cron.count(moment, until) == len(walked)
    assert cron.last(moment, until) == (walked[-1] if walked else None)
    following = cron.after(moment)
    assert following is None or (following > moment and cron.count(moment + TICK, following) == 1)


@pytest.mark.parametrize(
    ("name", "year"),
    [
        *(("Pacific/Apia", 2011), ("Pacific/Kwajalein", 1993), ("America/Havana", 2027), ("Australia/Lord_Howe", 2027)),
        *(("Europe/Berlin", 2027), ("Africa/Casablanca", 2027), ("America/New_York", 2027), ("Asia/Tokyo", 2027)),
    ],
)
def test_a_rule_that_rests_for_years_leaps_over_no_slot(name: str, year: int) -> None:
    there, begin = zone(name), datetime(year, 1, 1, tzinfo=UTC)
    changes = [moment for moment, _, _ in transitions(there, begin, begin + timedelta(days=365))]
    near = [moment + timedelta(hours=hours) for moment in [begin, *changes] for hours in (-25, -24, -1, 0, 1)]
    for local, gap, overlap in product({moment.astimezone(there) for moment in near}, GAPS, OVERLAPS):
        rule = CalendarRule((local.hour * 60 + 30,), days=(local.day,), months=(local.month,))
        rare = replace(rule, every=7, unit="year", since=date(local.year - 7, 1, 1))
        yearly = f"30 {local.hour} {local.day} {local.month} *"
        for trigger, rest in (
            (Calendar((rare,), name, gap=gap, overlap=overlap), timedelta(days=6 * 365)),
            (Cron(yearly, name, gap, overlap), timedelta(days=340)),
        ):
            since = local.astimezone(UTC) - rest
            slot = trigger.after(since)
            # Neither counting nor looking back leaps.
            if slot is None:
                assert trigger.count(since, since + timedelta(days=3650)) == 0, trigger
            else:
                assert trigger.count(since, slot) == 1, trigger
                assert trigger.last(since, slot) == slot


@pytest.mark.parametrize(
    ("zone_name", "month", "day"),
    [
        ("Europe/Berlin", 10, 31),
        ("Europe/Berlin", 3, 28),
        ("America/New_York", 11, 7),
        ("Antarctica/Troll", 10, 31),
        ("Australia/Lord_Howe", 10, 3),
        ("Australia/Lord_Howe", 4, 4),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "every hour from 0:00 through 5:00",
        "every 2 hours from 0:00 through 4:00",
        "every hour from 1:30am through 4:30am",
        "every 30 minutes from 0:00 through 5:30am",
        "every hour by the clock",
        "every day at 2:00am, 2:30am and 3:00am",
    ],
)
def test_the_same_hours_in_words_have_the_same_slots_whichever_trigger_holds_them(
    text: str, zone_name: str, month: int, day: int
) -> None:
    midnight = datetime(2027, month, day, tzinfo=zone(zone_name))
    before, after = midnight - timedelta(days=1), midnight + timedelta(days=2)
    known = {"team": NamedCalendar({date(2029, 12, 25): "holiday (x)"})}
    said = [text, f"{text} until 31 December 2028", f"{text} except days off of team"]
    triggers = [read_rule("words", {"text": each}, zone_name, before, known).trigger for each in said]
    assert len({type(trigger) for trigger in triggers}) <= 2
    first, *others = [slots_of(trigger, before, after) for trigger in triggers]
    assert first
    assert others == [first, first]


def slots_of(trigger: Trigger, since: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    slot: datetime | None = since
    while (slot := trigger.after(slot)) is not None and slot <= until:
        found.append(slot)
    return found
