"""The promises about reliability in a short form; `python -m chaos` has the long ones. Each prints its figures."""

import json

import pytest

from chaos import backup, clients, deliver, freeze, kill, poison, sleep, upgrade, year
from chaos.verdict import Figures
from tests.patience import PATIENCE

LONG = 3 * PATIENCE


def keeps_its_promises(figures: Figures) -> None:
    print(json.dumps(figures))
    assert figures["broken"] == [], figures


@pytest.mark.timeout(400)
def test_nothing_is_lost_or_doubled_while_workers_and_the_database_are_killed() -> None:
    figures = kill.run(kill.Plan(fires=8000, workers=4, kill_every=1, restarts=1, duration=14, patience=LONG))
    keeps_its_promises(figures)
    assert figures["expected"] >= 8000
    assert figures["settled_in_time"]
    assert figures["kills"] >= 8
    assert figures["restarts"] == 1
    assert figures["repeats"] > 0  # a harness that disturbs nobody proves nothing


@pytest.mark.timeout(400)
def test_a_claim_whose_answer_got_lost_with_the_database_is_performed() -> None:
    # No worker is killed, so nobody's lease passes: the worker itself must find out what it holds.
    figures = kill.run(kill.Plan(fires=4000, workers=2, kill_every=0, restarts=3, duration=9, patience=LONG, lease=10))
    keeps_its_promises(figures)
    assert figures["settled_in_time"]
    assert figures["kills"] == 0


@pytest.mark.timeout(400)
def test_a_frozen_worker_is_replaced_and_what_it_reports_late_changes_nothing() -> None:
    figures = freeze.run(freeze.Plan(rounds=1, burst=500, seconds=4))
    keeps_its_promises(figures)
    assert figures["trials"] > 0
    assert figures["attempts_superseded"] >= figures["trials"]
    assert figures["takeover_max"] < figures["lease"] + LONG


@pytest.mark.timeout(400)
def test_every_slot_of_an_hour_and_of_a_year_asleep_is_accounted_for() -> None:
    figures = sleep.run(sleep.Plan(jobs=200))
    keeps_its_promises(figures)
    assert figures["hour_latest"]["slots"] == 12_000
    assert figures["hour_all"]["done"] == 12_000


@pytest.mark.timeout(400)
def test_a_poisonous_run_gets_its_verdict_and_hurts_nobody() -> None:
    keeps_its_promises(poison.run(poison.Plan(patience=LONG)))


@pytest.mark.timeout(400)
def test_clients_that_begin_at_once_share_one_database_and_may_be_killed() -> None:
    figures = clients.run(clients.Plan(clients=5, jobs=4, kills=2, seconds=4, patience=LONG))
    keeps_its_promises(figures)
    assert figures["starter_killed"]
    assert figures["words"] + figures["prompts"] == 20


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


@pytest.mark.timeout(400)
def test_a_fleet_under_load_is_upgraded_and_rolled_back_with_two_versions_side_by_side() -> None:
    figures = upgrade.run(upgrade.Plan(fires=2000, workers=2, duration=12, jobs=6, patience=LONG))
    keeps_its_promises(figures)
    assert figures["expected"] > 2000


@pytest.mark.timeout(400)
def test_a_backup_over_the_end_of_a_week_delays_nothing() -> None:
    plan = backup.Plan(
        runs=20_000, rate=50, workers=2, before=3, lead=3, prune_every=1, patience=LONG, allowance=PATIENCE
    )
    figures = backup.run(plan)
    keeps_its_promises(figures)
    assert figures["drops_refused"] > 0


@pytest.mark.timeout(400)
def test_a_reader_that_keeps_its_snapshot_delays_nothing() -> None:
    plan = backup.Plan(runs=0, rate=50, workers=2, before=8, held=10, patience=LONG, allowance=PATIENCE)
    figures = backup.run(plan)
    keeps_its_promises(figures)
    assert figures["dead_entries"] > 0  # or nothing was kept from being cleaned up


@pytest.mark.timeout(400)
def test_tables_stop_growing_when_history_is_full() -> None:
    figures = year.run(year.Plan(weeks=14, jobs=2))
    keeps_its_promises(figures)
    assert figures["last"]["jobs"] > 0
