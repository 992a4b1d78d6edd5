"""What is killed, frozen or poisonous loses and doubles nothing; `python -m chaos` has the long forms."""

import pytest

from chaos import deliver, enqueue, freeze, kill, limits, poison
from tests.chaos.promises import LONG, keeps_its_promises


@pytest.mark.timeout(400)
def test_nothing_is_lost_or_doubled_while_workers_and_the_database_are_killed() -> None:
    figures = kill.run(kill.Plan(fires=5000, workers=4, kill_every=1, restarts=1, duration=9, patience=LONG))
    keeps_its_promises(figures)
    assert figures["expected"] >= 5000
    assert figures["settled_in_time"]
    assert figures["kills"] >= 5
    assert figures["restarts"] == 1
    assert figures["repeats"] > 0  # a harness that disturbs nobody proves nothing


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_claim_whose_answer_got_lost_with_the_database_is_performed() -> None:
    # No worker is killed, so nobody's lease passes: the worker itself must find out what it holds.
    figures = kill.run(kill.Plan(fires=2000, workers=2, kill_every=0, restarts=2, duration=6, patience=LONG, lease=10))
    keeps_its_promises(figures)
    assert figures["settled_in_time"]
    assert figures["kills"] == 0


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_frozen_worker_is_replaced_and_what_it_reports_late_changes_nothing() -> None:
    figures = freeze.run(freeze.Plan(rounds=1, burst=500, seconds=4))
    keeps_its_promises(figures)
    assert figures["trials"] > 0
    assert figures["attempts_superseded"] >= figures["trials"]
    assert figures["takeover_max"] < figures["lease"] + LONG


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_poisonous_run_gets_its_verdict_and_hurts_nobody() -> None:
    kinds = ("suicide", "endless", "loop blocked", "error that exits")  # all of them: `python -m chaos poison`
    keeps_its_promises(poison.run(poison.Plan(kinds=kinds, patience=LONG)))


@pytest.mark.long
@pytest.mark.timeout(400)
def test_webhooks_and_prompts_all_arrive_while_workers_are_killed_and_agents_die() -> None:
    plan = deliver.Plan(runs=400, workers=3, duration=6, patience=LONG, lease=3, inbox_lease=2, dies=0.2)
    figures = deliver.run(plan)
    keeps_its_promises(figures)
    assert figures["settled_in_time"]
    assert figures["kills"] >= 4
    assert figures["agents_died"] > 0
    assert figures["called_again"] > 0
    assert figures["read_again"] > 0


@pytest.mark.long
@pytest.mark.timeout(400)
def test_exactly_the_runs_whose_transaction_was_committed_are_performed() -> None:
    figures = enqueue.run(enqueue.Plan(runs=300, programs=6, workers=3, patience=LONG, lease=2))
    keeps_its_promises(figures)
    assert figures["settled_in_time"]
    assert figures["kills"] > 0
    assert figures["rolled_back"] > 100
    assert figures["done"] == figures["expected"] > 100


@pytest.mark.long
@pytest.mark.timeout(400)
def test_no_more_runs_of_a_task_are_under_way_than_it_allows_while_workers_are_killed() -> None:
    plan = limits.Plan(narrow=300, asking=20, per_minute=1000, workers=3, kill_every=1.5, patience=LONG, lease=2)
    figures = limits.run(plan)
    keeps_its_promises(figures)
    assert figures["settled_in_time"]
    assert figures["kills"] > 0
    assert figures["most_at_once"] == limits.AT_ONCE
    assert figures["done"] == figures["expected"] == 320
