"""A simulated life in a short form; `python -m chaos life` has the long one."""

import gc
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest

from chaos.life import MENDS, Plan, run
from chaos.life.choices import Choices, Cuts, Event
from chaos.life.command import read_seeds
from chaos.life.mends import unmended
from chaos.life.shrink import eventful
from chaos.life.watch import Watch
from cronty.store.database import query


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
    around = [f"    2 01 08:00:00 e1.fire      {one}" for one in ("begin; set local role cronty_engine", "commit")]
    assert list(eventful([idle, busy[0], around[0], busy[1], around[1]])) == busy


@pytest.mark.parametrize("name", [name for name, mend in MENDS.items() if mend.queries])
def test_a_mend_of_a_statement_can_still_be_taken_out(name: str) -> None:
    for statement, edits in MENDS[name].queries.items():
        assert unmended(query(statement), edits) != query(statement)


@pytest.mark.long
@pytest.mark.timeout(120)
def test_the_same_seed_is_the_same_life_and_leaves_nothing_under_way(caplog: pytest.LogCaptureFixture) -> None:
    figures = run(Plan(steps=600, seeds=(12, 12), only=("nothing",)))
    one, other = figures["digests"]
    assert one == other
    assert figures["faults"] > 0
    gc.collect()  # a task that nobody waits for any more says so when it is collected
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_promise_holds_through_lives_side_by_side() -> None:
    figures = run(Plan(steps=800, seeds=(101, 102), processes=2))  # `.ci/run` lives through many more
    assert figures["broken"] == [], figures
    assert figures["steps"] > 800
    assert figures["faults"] > 0


def test_processes_share_seeds_and_not_the_steps_of_one() -> None:
    plan = Plan(steps=3000, seeds=(1, 2, 3), processes=2)
    assert [(part.seeds, part.share) for part in plan.parts()] == [((1, 3), 1000), ((2,), 1000)]


def test_a_life_that_makes_no_step_is_given_up() -> None:
    given_up = threading.Event()
    watch = Watch(lambda: 7, given_up.set, patience=0.1)
    watch.start()
    assert given_up.wait(30)
    watch.end()


@pytest.mark.long
@pytest.mark.timeout(120)
def test_sigterm_ends_lives_and_their_postgresql() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        lives = subprocess.Popen(
            [sys.executable, "-m", "chaos", "life", "--seeds", "1-100", "--steps", "1000000", "--processes", "2"],
            env=os.environ | {"TMPDIR": folder},
        )
        try:
            postmasters = _postmasters(Path(folder), 2)
            lives.send_signal(signal.SIGTERM)
            assert lives.wait(60) != 0
        finally:
            lives.kill()
        psutil.wait_procs(postmasters, timeout=30)
        assert not [one for one in postmasters if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
        assert list(Path(folder).glob("cronty-pg-*")) == []


def _postmasters(folder: Path, wanted: int) -> list[psutil.Process]:
    found: list[Path] = []
    while len(found) < wanted:  # bounded by the test's own limit
        time.sleep(0.05)
        found = [one for one in folder.glob("cronty-pg-*/data/postmaster.pid") if "ready" in one.read_text()]
    return [psutil.Process(int(one.read_text().split()[0])) for one in found]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "seed"), [("C6", 19), ("C3", 3)])
def test_a_fault_that_was_mended_is_found_when_it_is_back(name: str, seed: int) -> None:
    figures = run(Plan(steps=1000, seeds=(seed,), without_mend=name))
    assert figures["broken"], MENDS[name].says
