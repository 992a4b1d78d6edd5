"""Sleep, upgrades, backups, copies and years, in a short form; `python -m chaos` has the long ones."""

import pytest

from chaos import backup, clients, deploys, restore, sleep, upgrade, year
from tests.chaos.promises import LONG, keeps_its_promises
from tests.patience import PATIENCE


@pytest.mark.long
@pytest.mark.timeout(400)
def test_every_slot_of_an_hour_and_of_a_year_asleep_is_accounted_for() -> None:
    figures = sleep.run(sleep.Plan(jobs=200))
    keeps_its_promises(figures)
    assert figures["hour_latest"]["slots"] == 12_000
    assert figures["hour_all"]["done"] == 12_000


def test_a_program_that_is_deployed_again_and_again_has_the_schedules_of_its_last_version() -> None:
    keeps_its_promises(deploys.run(deploys.Plan(schedules=12, deploys=3)))


@pytest.mark.long
@pytest.mark.timeout(400)
def test_clients_that_begin_at_once_share_one_database_and_may_be_killed() -> None:
    figures = clients.run(clients.Plan(clients=4, jobs=4, kills=2, seconds=4, patience=LONG))
    keeps_its_promises(figures)
    assert figures["starter_killed"]
    assert figures["words"] + figures["prompts"] == 16


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_fleet_under_load_is_upgraded_and_rolled_back_with_two_versions_side_by_side() -> None:
    figures = upgrade.run(upgrade.Plan(fires=2000, workers=2, duration=12, jobs=6, patience=LONG))
    keeps_its_promises(figures)
    assert figures["expected"] > 2000


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_backup_over_the_end_of_a_week_delays_nothing() -> None:
    plan = backup.Plan(
        runs=20_000, rate=50, workers=2, before=3, lead=3, prune_every=1, patience=LONG, allowance=PATIENCE
    )
    figures = backup.run(plan)
    keeps_its_promises(figures)
    assert figures["drops_refused"] > 0


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_reader_that_keeps_its_snapshot_delays_nothing() -> None:
    plan = backup.Plan(runs=0, rate=50, workers=2, before=8, held=10, patience=LONG, allowance=PATIENCE)
    figures = backup.run(plan)
    keeps_its_promises(figures)
    assert figures["dead_entries"] > 0  # or nothing was kept from being cleaned up


@pytest.mark.long
@pytest.mark.timeout(400)
def test_tables_stop_growing_when_history_is_full() -> None:
    figures = year.run(year.Plan(weeks=14, jobs=2))
    keeps_its_promises(figures)
    assert figures["last"]["jobs"] > 0


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_restored_copy_fires_nothing_until_it_is_thawed_and_then_loses_nothing() -> None:
    figures = restore.run(restore.Plan(fires=400, workers=1, duration=9, dump_at=1.5, frozen=2, lease=2, patience=LONG))
    keeps_its_promises(figures)
    assert figures["overdue_while_frozen"] > 0
