"""A simulated life in a short form; `python -m chaos life` has the long one."""

import json

import pytest

from chaos.life import MENDS, Plan, run
from chaos.life.choices import Choices, Cuts, Event
from chaos.life.command import read_seeds
from chaos.life.shrink import eventful


def test_leaving_out_an_event_leaves_the_luck_of_others_alone() -> None:
    whole, cut = Choices(7, Cuts()), Choices(7, Cuts(events=frozenset({Event("freeze", 1)})))
    assert [whole.event("freeze"), whole.event("freeze")] == [True, True]
    assert [cut.event("freeze"), cut.event("freeze")] == [False, True]
    for name in ("turn", "fault", "turn"):
        assert whole.below(1000, name) == cut.below(1000, name)


def test_seeds_are_one_or_a_range() -> None:
    assert read_seeds("7") == (7,)
    assert read_seeds("1-3") == (1, 2, 3)


def test_a_shrunk_trace_shows_only_steps_in_which_something_happened() -> None:
    idle = "    1 01 08:00:00 e1.fire      pick_due"
    busy = ["    2 01 08:00:00 e1.fire      fire", "    2 01 08:00:00     run 1/01T08:00:00 - -> running attempt 1"]
    assert list(eventful([idle, *busy])) == busy


@pytest.mark.timeout(120)
def test_the_same_seed_is_the_same_life() -> None:
    figures = run(Plan(steps=600, seeds=(11, 11), only=("nothing",)))
    one, other = figures["digests"]
    assert one == other
    assert figures["faults"] > 0


@pytest.mark.timeout(300)
def test_every_promise_holds_through_a_life() -> None:
    figures = run(Plan(steps=5000, seeds=tuple(range(1, 7))))
    print(json.dumps(figures))
    assert figures["broken"] == [], figures
    assert figures["faults"] > 50  # a life in which nothing goes wrong proves nothing


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "seed"), [("C6", 1), ("C2", 17)])
def test_a_fault_that_was_mended_is_found_when_it_is_back(name: str, seed: int) -> None:
    figures = run(Plan(steps=2000, seeds=(seed,), without_mend=name))
    assert figures["broken"], MENDS[name].says
