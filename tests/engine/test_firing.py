"""Slots become runs, each exactly once, each explained."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from asyncpg import Connection

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob
from cronty.contract.result import Ok
from cronty.engine.firing import LOOK_EVERYWHERE_EVERY
from cronty.scheduler import Scheduler
from cronty.store.database import StoreUnavailable
from cronty.store.engine_store import DueJobs, EngineStore
from tests.conftest import START, HandClock, Hands, add, hands_of, look


async def states(sql: Connection) -> list[tuple[str, int]]:
    rows = await sql.fetch("select state::text, sum(slots)::int from cronty.runs group by 1 order by 1")
    return [(row[0], row[1]) for row in rows]


async def unaccounted(sql: Connection) -> int:
    """Holes in the chain of slots; what is overdue is told by the real clock and isn't asked here."""
    return await sql.fetchval("select count(*) from cronty.slots_unaccounted where why like 'its predecessor%'")


async def test_a_due_job_runs_once_and_moves_on(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, args=("hello",))
    await hands.fire()
    assert calls == []
    clock.advance(minutes=1)
    await hands.fire()
    await hands.fire()
    assert calls == [("hello",)]
    assert await states(sql) == [("done", 1)]
    assert await sql.fetchval("select result::text from cronty.runs") == "1"
    assert await sql.fetchval("select next_at from cronty.due") == clock.advance(minutes=1)


async def test_a_one_off_fires_once_and_is_completed(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object]
) -> None:
    job = await add(door, "once", {"run_at": (START + timedelta(hours=1)).isoformat()})
    clock.advance(hours=2)
    await hands.fire()
    clock.advance(hours=2)
    await hands.fire()
    assert len(calls) == 1
    shown = await look(door, job)
    assert (shown.status, shown.run_count, shown.next_slot) == ("completed", 1, None)


async def test_a_one_off_runs_however_late_it_is(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object]
) -> None:
    job = await add(door, "once", {"run_at": (START + timedelta(hours=1)).isoformat()})
    clock.advance(days=400)
    await hands.fire()
    assert len(calls) == 1
    assert (await look(door, job)).status == "completed"


async def test_a_one_off_older_than_its_own_window_is_missed_and_says_so(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    window = {"catch_up_window": 12 * 3600.0}
    job = await add(door, "once", {"run_at": (START + timedelta(hours=1)).isoformat()}, policy=window)
    clock.advance(hours=26)
    await hands.fire()
    assert calls == []
    assert await states(sql) == [("missed", 1)]
    shown = await look(door, job)
    assert (shown.status, shown.last_error) == ("failed", "missed: more than 12 h late")


async def test_max_runs_ends_the_job(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, max_runs=3)
    for _ in range(6):
        clock.advance(minutes=1)
        await hands.fire()
    assert len(calls) == 3
    assert await sql.fetchval("select next_at from cronty.due") is None
    assert await unaccounted(sql) == 0


async def test_an_hour_asleep_is_one_run_and_one_row_for_the_rest(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, "cron", {"expression": "* * * * *"})
    clock.advance(hours=1)
    await hands.all()
    assert len(calls) == 1
    assert await states(sql) == [("coalesced", 59), ("done", 1)]
    assert await sql.fetchval("select count(*) from cronty.runs") == 2
    assert await unaccounted(sql) == 0


async def test_catching_up_all_of_a_serial_job_runs_them_in_order(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, policy={"catch_up": "all"})
    clock.advance(minutes=5)
    for _ in range(5):
        await hands.all()
    assert await states(sql) == [("done", 5)]
    order = await sql.fetch("select result::text::int from cronty.runs order by scheduled_for")
    assert [row[0] for row in order] == [1, 2, 3, 4, 5]
    assert await unaccounted(sql) == 0


async def test_spread_delays_the_start_and_not_the_slot(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, "cron", {"expression": "0 * * * *"}, policy={"spread": 600})
    delay = await sql.fetchval("select delay from cronty.due")
    assert 0 < delay < 600
    clock.advance(hours=1)
    await hands.fire()
    assert calls == []
    clock.advance(seconds=delay)
    await hands.fire()
    assert len(calls) == 1
    assert await sql.fetchval("select scheduled_for from cronty.runs") == START + timedelta(hours=1)
    assert await sql.fetchval("select next_at from cronty.due") == START + timedelta(hours=2, seconds=delay)


async def test_a_job_that_cannot_be_computed_is_set_aside_and_the_batch_goes_on(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    broken = await add(door, "cron", {"expression": "* * * * *"}, name="broken")
    await add(door, name="sound")
    await sql.execute("update cronty.due set expression = 'nonsense' where job_id = $1", broken.id)
    clock.advance(minutes=1)
    await hands.fire()
    assert len(calls) == 1
    shown = await look(door, broken)
    assert (shown.state, shown.status) == ("set_aside", "failed")
    assert shown.reason is not None
    assert "nonsense" in shown.reason


async def test_a_run_of_a_task_nobody_here_has_waits_for_somebody_who_has(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await sql.execute("insert into cronty.tasks values ('elsewhere', '{}', '', now())")
    await add(door, task="elsewhere")
    clock.advance(minutes=1)
    await hands.all()
    assert await states(sql) == [("waiting", 1)]
    assert await sql.fetchval("select task from cronty.queue") == "elsewhere"


async def test_without_room_slots_are_fired_into_the_queue(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door)
    hands.engine.working.in_flight = 10_000
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    assert await states(sql) == [("waiting", 1)]
    hands.engine.working.in_flight = 0
    await hands.claim()
    assert await states(sql) == [("done", 1)]
    assert len(calls) == 1


async def test_a_slot_that_has_a_run_already_is_passed_over_and_holds_up_nobody(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    """As after a clock set back, or a run asked for at the very microsecond of a slot."""
    doubled = await add(door, args=("doubled",))
    await add(door, args=("sound",))
    slot = START + timedelta(minutes=1)
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, manual, finished_at)"
        " values ($1, $2, 1, 'done', 1, true, $2)",
        doubled.id,
        slot,
    )
    clock.advance(minutes=1)
    await hands.fire()
    assert calls == [("sound",)]
    clock.advance(minutes=1)
    await hands.fire()
    assert sorted(calls[1:], key=str) == [("doubled",), ("sound",)]


async def test_what_a_job_wants_when_clocks_change_holds_when_it_fires(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    """Clocks in Berlin go forward on 28 March 2027, from 02:00 to 03:00."""
    clock.moment = datetime(2027, 3, 27, 12, tzinfo=UTC)
    configs: tuple[dict[str, object], ...] = ({}, {"dst_gap": "skip"})
    after, _ = [
        await add(door, "cron", {"expression": "30 2 * * *", **config}, timezone="Europe/Berlin") for config in configs
    ]
    clock.moment = datetime(2027, 3, 28, 12, tzinfo=UTC)
    await hands.all()
    runs = await sql.fetch("select job_id, scheduled_for from cronty.runs")
    assert [tuple(run) for run in runs] == [(after.id, datetime(2027, 3, 28, 1, tzinfo=UTC))]
    nexts = await sql.fetch("select next_at from cronty.due order by job_id")
    assert [row[0] for row in nexts] == [datetime(2027, 3, 29, 0, 30, tzinfo=UTC)] * 2


async def test_a_job_that_another_process_locked_and_let_go_is_found_soon(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    held = await add(door, args=("held",))
    clock.advance(seconds=1)
    await add(door, args=("free",))
    clock.advance(minutes=1)
    async with sql.transaction():
        await sql.execute("select from cronty.due where job_id = $1 for update", held.id)
        assert await hands.engine.firing.step(hands.engine.worker) < 1
        await hands.finish()
        assert calls == [("free",)]
    await hands.fire()
    assert calls == [("free",), ("held",)]


async def test_a_policy_of_a_newer_version_stops_nobody(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, name="newer")
    await add(door, owner="bob", name="other")
    await sql.execute("""update cronty.jobs set policy = policy || '{"quiet_hours": [22, 7]}' where name = 'newer'""")
    clock.advance(minutes=1)
    await hands.all()
    assert len(calls) == 2
    assert (await look(door, job)).status == "pending"
    good = await door.edit(local_caller("ann"), EditJob(str(job.number), name="renamed"))
    assert isinstance(good, Ok)
    assert await sql.fetchval("select policy -> 'quiet_hours' from cronty.jobs where name = 'renamed'") == "[22, 7]"


async def test_a_rule_with_a_part_of_a_newer_version_is_read_and_kept(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    job = await add(door, "cron", {"expression": "* * * * *"})
    await sql.execute("""update cronty.jobs set trigger = trigger || '{"moon": "full"}'""")
    clock.advance(minutes=1)
    await hands.all()
    assert len(calls) == 1
    assert isinstance(await door.edit(local_caller("ann"), EditJob(str(job.number), name="renamed")), Ok)
    assert await sql.fetchval("select trigger ->> 'moon' from cronty.jobs") == "full"


async def test_a_prompt_that_cannot_be_read_is_set_aside_alone(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object], sql: Connection
) -> None:
    await add(door, name="bad")
    await add(door, owner="bob", name="good")
    await sql.execute("""update cronty.jobs set task = 'prompt', arguments = '[]' where name = 'bad'""")
    clock.advance(minutes=1)
    await hands.all()
    assert len(calls) == 1
    assert await sql.fetchval("select state::text from cronty.jobs where name = 'bad'") == "set_aside"


async def test_a_slot_of_long_ago_makes_its_own_week(
    door: Scheduler, hands: Hands, clock: HandClock, sql: Connection
) -> None:
    await add(door, "cron", {"expression": "0 9 * * *"})
    clock.advance(days=200)
    await hands.fire()
    assert await sql.fetchval("select count(*) from cronty.runs") == 2
    await hands.engine._prune()  # pyright: ignore[reportPrivateUsage]
    assert await sql.fetch("select * from cronty.slots_unaccounted where why like 'its%'") == []


async def test_a_batch_that_failed_is_looked_for_again_without_walking_over_everything(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[object]
) -> None:
    await add(door)
    for _ in range(3):
        clock.advance(minutes=1)
        await hands.fire()
    clock.advance(minutes=1)
    looked: list[datetime | None] = []
    due_jobs = hands.store.due_jobs

    def failing(store: EngineStore, low: datetime | None, *rest: object, **more: object) -> object:
        looked.append(low)
        return due_jobs(low, *rest, **more)  # pyright: ignore[reportArgumentType]

    async def unwritten(*_: object) -> None:
        raise StoreUnavailable("gone")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DueJobs, "fire", unwritten)
        patch.setattr(EngineStore, "due_jobs", failing)
        with pytest.raises(StoreUnavailable):
            await hands.engine.firing.step(hands.engine.worker)
        patch.undo()
        patch.setattr(EngineStore, "due_jobs", failing)
        await hands.fire()
    assert len(calls) == 4
    assert None not in looked


@pytest.mark.parametrize("under_way", ["due_jobs", "next_due"])
async def test_what_was_said_unheard_is_looked_for_also_when_a_step_is_under_way(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[tuple[object, ...]], sql: Connection, under_way: str
) -> None:
    """As when the line on which engines hear was lost and comes back while a batch is fired."""
    await add(door, args=("usual",))
    unheard = await add(door, "once", {"run_at": (clock() + timedelta(days=1)).isoformat()}, args=("unheard",))
    clock.advance(hours=1)
    await hands.all()
    calls.clear()
    await sql.execute("update cronty.due set next_at = $2 where job_id = $1", unheard.id, START + timedelta(minutes=1))
    clock.advance(minutes=1)
    real: Callable[..., object] = getattr(EngineStore, under_way)

    def forgetting(*given: object, **more: object) -> object:
        hands.engine.firing.low.forget()
        return real(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EngineStore, under_way, forgetting)
        await hands.engine.firing.step(hands.engine.worker)
    await hands.all()
    assert sorted(calls) == [("unheard",), ("usual",)]


async def test_a_look_everywhere_that_takes_too_long_keeps_nothing_from_firing(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[tuple[object, ...]]
) -> None:
    """As beside a backup that has run for hours, when every slot fired since is still in the index."""
    await add(door, "once", {"run_at": (clock() + timedelta(minutes=1)).isoformat()}, args=("old",))
    await add(door, "once", {"run_at": (clock() + timedelta(hours=1)).isoformat()}, args=("new",))
    clock.advance(hours=1)
    next_due, due_jobs = EngineStore.next_due, EngineStore.due_jobs

    def limited(look: Callable[..., object]) -> Callable[..., object]:
        def looked(store: EngineStore, low: datetime | None, *rest: object, **more: object) -> object:
            if low is None:
                raise StoreUnavailable("canceling statement due to statement timeout")
            return look(store, low, *rest, **more)

        return looked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EngineStore, "next_due", limited(next_due))
        patch.setattr(EngineStore, "due_jobs", limited(due_jobs))
        await hands.fire()
        assert calls == [("new",)]
        assert await hands.engine.firing.look_everywhere() < LOOK_EVERYWHERE_EVERY, "it is tried again sooner"
    await hands.engine.firing.look_everywhere()
    await hands.fire()
    assert calls == [("new",), ("old",)]


async def test_runs_are_claimed_in_the_order_they_were_due_whatever_their_task(
    door: Scheduler, url: str, clock: HandClock, sql: Connection
) -> None:
    """A task with a long queue must not keep the others waiting."""
    ran: list[str] = []
    registry = Registry()
    registry.add(lambda: ran.append("a"), "a_crowd")
    registry.add(lambda: ran.append("b"), "late")
    async with hands_of(url, clock, registry, concurrency=10) as hands:
        late = await add(door, task="late", name="late")
        crowd = [await add(door, task="a_crowd", name=f"crowd {n}") for n in range(30)]
        await door.run_now(local_caller("ann"), late.number)
        clock.advance(seconds=30)
        for job in crowd:
            await door.run_now(local_caller("ann"), job.number)
        await hands.engine.claiming.step(hands.engine.worker)
        await hands.finish()
    assert "b" in ran
