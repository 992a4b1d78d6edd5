"""Which notifications ntfy is given ahead of their time, decided from what is planned and what it has."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronty.jobs.ahead import NEAREST, WINDOW, Handed, Place, Planned, State, decide

NOW = datetime(2027, 3, 1, 8, tzinfo=UTC)
SOON, LATER = NOW + timedelta(hours=1), NOW + timedelta(days=2)
NEAR, PAST, FAR = NOW + NEAREST / 2, NOW - timedelta(minutes=1), NOW + WINDOW + timedelta(minutes=1)
HOME, ELSEWHERE = b"home", b"elsewhere"
PLAN = Planned(2, HOME)


def steps(slot: datetime, wanted: Planned | None, had: Handed | None) -> list[str]:
    place = (1, slot)
    found = decide({place: wanted} if wanted else {}, {place: had} if had else {}, NOW)
    assert all(step.place == place for step in found)
    return [step.what for step in found]


@pytest.mark.parametrize(
    ("slot", "wanted", "had", "what"),
    [
        pytest.param(SOON, PLAN, None, ["publish"], id="new"),
        pytest.param(SOON, PLAN, Handed(2, HOME, "held"), [], id="there"),
        pytest.param(SOON, PLAN, Handed(1, HOME, "held"), ["update"], id="edited"),
        pytest.param(SOON, None, Handed(2, HOME, "held"), ["delete"], id="cancelled"),
        pytest.param(SOON, PLAN, Handed(2, ELSEWHERE, "held"), ["delete"], id="another URL: first away from there"),
        pytest.param(SOON, PLAN, Handed(2, HOME, "giving"), ["update"], id="killed in between"),
        pytest.param(SOON, None, Handed(2, HOME, "giving"), ["delete"], id="killed in between and cancelled"),
        pytest.param(SOON, PLAN, Handed(2, HOME, "failed"), ["update"], id="failed"),
        pytest.param(SOON, PLAN, Handed(2, HOME, "failed", SOON), [], id="failed and waiting"),
        pytest.param(SOON, None, Handed(2, HOME, "taking", SOON), [], id="taking back and waiting"),
        pytest.param(SOON, None, Handed(2, HOME, "taking", NOW), ["delete"], id="taking back again"),
        pytest.param(SOON, PLAN, Handed(2, HOME, "taking"), ["update"], id="resumed before it was taken back"),
        pytest.param(FAR, PLAN, None, [], id="beyond the window"),
        pytest.param(NEAR, PLAN, None, [], id="too near"),
        pytest.param(NEAR, PLAN, Handed(2, HOME, "held"), [], id="near and there"),
        pytest.param(NEAR, PLAN, Handed(1, HOME, "held"), ["delete"], id="edited at the last moment"),
        pytest.param(NEAR, PLAN, Handed(2, HOME, "failed"), [], id="near and failed"),
        pytest.param(PAST, None, Handed(2, HOME, "held"), [], id="sent"),
        pytest.param(PAST, None, Handed(2, HOME, "taking"), ["tell"], id="not taken back in time"),
    ],
)
def test_each_case_has_its_step(slot: datetime, wanted: Planned | None, had: Handed | None, what: list[str]) -> None:
    assert steps(slot, wanted, had) == what


def test_what_must_not_ring_comes_first_and_the_soonest_of_each_kind() -> None:
    planned = {(1, LATER): PLAN, (2, SOON): PLAN, (3, SOON): PLAN}
    held = Handed(1, HOME, "held")
    handed = {(3, SOON): held, (4, LATER): held, (5, PAST): Handed(1, HOME, "taking")}
    assert [(step.what, step.place[0]) for step in decide(planned, handed, NOW)] == [
        ("tell", 5), ("delete", 4), ("update", 3), ("publish", 2), ("publish", 1),
    ]  # fmt: skip


PLACES = st.tuples(st.integers(1, 3), st.sampled_from([PAST, NEAR, SOON, LATER, FAR]))
PLANS = st.builds(Planned, st.integers(1, 2), st.sampled_from([HOME, ELSEWHERE]))
STATES: list[State] = ["giving", "held", "failed", "taking"]
HANDED = st.builds(Handed, st.integers(1, 2), st.sampled_from([HOME, ELSEWHERE]), st.sampled_from(STATES), st.none())


@given(st.dictionaries(PLACES, PLANS), st.dictionaries(PLACES, HANDED))
def test_carrying_out_the_steps_ends_with_what_is_planned(
    planned: dict[Place, Planned], handed: dict[Place, Handed]
) -> None:
    planned = {place: one for place, one in planned.items() if place[1] > NOW}
    for _ in range(2):  # what goes elsewhere is taken back first
        for step in decide(planned, handed, NOW):
            if step.what in ("delete", "tell"):
                del handed[step.place]
            else:
                handed[step.place] = Handed(*planned[step.place], "held")
    assert decide(planned, handed, NOW) == []
    for place in [place for place in handed if place[1] > NOW]:
        assert place in planned
        if handed[place].state == "held":
            assert planned[place] == Planned(handed[place].version, handed[place].sealed)
    for place in planned:
        assert (place in handed) or place[1] in (NEAR, FAR)
