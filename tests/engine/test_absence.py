"""Catching up costs an owner's row a write now and then, not one for each batch, and in the end everything is told."""

import asyncpg
import pytest

from cronty.engine import absence, firing
from cronty.scheduler import Scheduler
from tests.conftest import HandClock, Hands, add


async def test_later_batches_are_noted_together_and_in_the_end_all_of_them(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "BATCH", 3)
    monkeypatch.setattr(absence, "WRITE_EVERY", 1e9)
    for number in range(12):
        await add(door, "interval", {"hours": 1}, name=f"job {number}")
    clock.advance(hours=1, minutes=30)
    noted: list[int] = []
    more = True
    while more:
        more = await hands.engine.lease.claiming(hands.engine.firing.step) < 0.1
        await hands.finish()
        noted.append(await sql.fetchval("select sum(late) from cronty.absences"))
    # Four batches: the first notes its own, the second is written after a while, and the others in the end.
    assert (noted[0], noted[-1]) == (3, 12)
    assert set(noted) == {3, 6, 12}
    assert await sql.fetchval("select cardinality(late_jobs) from cronty.absences") == 5
