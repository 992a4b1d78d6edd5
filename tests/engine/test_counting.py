"""What the engine did is counted once it is committed, and told in a text that Prometheus reads."""

import shutil
import subprocess
from datetime import timedelta

import pytest

from cronty import metrics
from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.metrics import COUNTED, Counter, Histogram, Metric, exposition
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add, hands_of


class Grown:
    """How much the counters of this process have grown since this was made."""

    def __init__(self) -> None:
        self._before = self._now()

    def _now(self) -> dict[str, float]:
        lines = [line.rsplit(" ", 1) for line in exposition([]).splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def __getitem__(self, series: str) -> float:
        return self._now()[series] - self._before[series]


async def test_a_fire_is_counted_with_its_lag_its_attempt_and_its_verdict(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await add(door)
    await add(door, task="fail", policy={"attempts": 1})
    grown = Grown()
    clock.advance(seconds=63)
    await hands.all()
    assert grown["cronty_due_jobs_total"] == grown["cronty_fired_slots_total"] == 2
    assert grown['cronty_start_lag_seconds_bucket{le="2.5"}'] == 0
    assert grown['cronty_start_lag_seconds_bucket{le="5.0"}'] == grown["cronty_start_lag_seconds_count"] == 2
    assert grown["cronty_start_lag_seconds_sum"] == pytest.approx(6)  # pyright: ignore[reportUnknownMemberType]
    assert grown['cronty_attempts_total{kind="task",outcome="done"}'] == 1
    assert grown['cronty_attempts_total{kind="task",outcome="failed"}'] == 1
    assert grown['cronty_verdicts_total{verdict="done"}'] == 1
    assert grown['cronty_verdicts_total{verdict="failed"}'] == 1


async def test_every_slot_that_passed_gets_its_verdict_counted(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    await add(door, policy={"catch_up": "none"})
    grown = Grown()
    clock.advance(minutes=10)
    await hands.all()
    verdicts = {one: grown[f'cronty_verdicts_total{{verdict="{one}"}}'] for one in metrics.VERDICTS}
    assert sum(verdicts.values()) == 10
    assert verdicts["missed"] + verdicts["done"] == 10


async def test_a_retry_is_an_attempt_and_no_verdict_and_its_wait_is_counted(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await add(door, "once", {"run_at": START + timedelta(minutes=1)}, task="fail", policy={"attempts": 2})
    grown = Grown()
    clock.advance(minutes=1)
    await hands.all()
    assert grown['cronty_verdicts_total{verdict="failed"}'] == 0
    clock.advance(hours=2)
    await hands.all()
    assert grown['cronty_attempts_total{kind="task",outcome="failed"}'] == 2
    assert grown['cronty_verdicts_total{verdict="failed"}'] == 1
    assert grown["cronty_queue_wait_seconds_count"] == 1
    assert grown['cronty_queue_wait_seconds_bucket{le="3600.0"}'] == 0, "it could have started long ago"


async def test_what_a_limit_holds_back_is_counted(door: Scheduler, hands: Hands, clock: HandClock) -> None:
    await door.allowance.set(local_caller("ann"), {"runs_per_hour": 2})
    for number in range(5):
        await add(door, name=f"job {number}")
    grown = Grown()
    clock.advance(minutes=1)
    await hands.all()
    assert grown['cronty_held_by_limit_total{limit="runs_per_hour"}'] == 3
    assert grown['cronty_verdicts_total{verdict="skipped"}'] == 3


async def test_a_lost_worker_and_its_runs_are_counted(
    url: str, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry
) -> None:
    async with hands_of(url, clock, registry) as other:
        await add(door)
        clock.advance(minutes=1)
        await other.engine.firing.step(other.engine.worker)
        grown = Grown()
        await hands.outlive(clock)
        assert grown["cronty_lost_workers_total"] == 1
        assert grown["cronty_rescued_runs_total"] == 1


def test_a_duty_that_is_not_listed_is_counted_as_other() -> None:
    grown = Grown()
    metrics.STEP_FAILURES.add(1, "schema")
    assert grown['cronty_failed_steps_total{duty="other"}'] == 1


def test_every_metric_is_named_as_prometheus_wants_it_and_told_once() -> None:
    names = [one.name for one in metrics.ALL]
    assert len(set(names)) == len(names)
    defined = [one for one in vars(metrics).values() if isinstance(one, Metric)]
    assert set(defined) == set(metrics.ALL)
    for one in metrics.ALL:
        assert one.name.startswith("cronty_")
        assert isinstance(one, Counter) == one.name.endswith("_total")
        assert isinstance(one, Histogram) <= one.name.endswith("_seconds")
        assert "owner" not in one.labels
        assert "job" not in one.labels


def test_labels_are_escaped() -> None:
    one = Metric("cronty_x", "x", version=())
    assert one.lines({('a"\\\n',): 1})[-1] == 'cronty_x{version="a\\"\\\\\\n"} 1'


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool isn't installed")
def test_prometheus_reads_every_line() -> None:
    gauges = [(one, {tuple("x" for _ in one.labels): 1.5}) for one in metrics.ALL if one not in COUNTED]
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=exposition(gauges), text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
