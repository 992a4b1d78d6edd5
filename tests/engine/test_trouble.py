"""When runs fail: the owner is told once, the job is held, and what failed can be tried again."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from time import monotonic

import asyncpg
import pytest

from cronty.actions.tasks import Registry, TargetGone
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.jobs.outcome import Done, Failed
from cronty.jobs.run import FailedRun, run_id
from cronty.scheduler import Scheduler
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.scheduler.runs import Runs, failed_cursor
from cronty.store.database import Database, StoreBusy, StoreUnavailable
from cronty.store.engine_store import EngineStore, Other
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from cronty.store.run_store import RunStore
from tests.conftest import START, HandClock, Hands, add, look

MINUTE = timedelta(minutes=1)


class Weather:
    """A task that fails while the weather is bad."""

    def __init__(self) -> None:
        self.error: Exception | None = ValueError("rain")
        self.seen: list[str] = []

    def sail(self) -> None:
        if self.error is not None:
            raise self.error


@pytest.fixture
def weather(registry: Registry) -> Weather:
    made = Weather()
    registry.add(made.sail)
    registry.add(_notify, "notify")
    return made


_sent: list[tuple[str, str, str]] = []


def _notify(message: str, topic: str, title: str) -> None:
    _sent.append((topic, title, message))


@pytest.fixture
def sent() -> list[tuple[str, str, str]]:
    _sent.clear()
    return _sent


@pytest.fixture
def runs(database: Database, door: Scheduler) -> Runs:
    return Runs(RunStore(database), door)


async def minutes(count: int, hands: Hands, clock: HandClock) -> None:
    for _ in range(count):
        clock.advance(minutes=1)
        await hands.all()
        hands.engine.firing.low.forget()  # as hearing of an alert does, which no hand is there to do
        await hands.all()


async def alerts(sql: asyncpg.Connection) -> list[tuple[str, str]]:
    """Those that were raised, whether sent or not."""
    said = "arguments #>> '{kwargs,title}', arguments #>> '{kwargs,message}'"
    rows = await sql.fetch(f"select {said} from cronty.alerts order by id")
    return [(row[0], row[1]) for row in rows]


async def sailing(door: Scheduler, **policy: object) -> Job:
    return await add(door, task="sail", name="Ferry", policy=policy)


async def test_a_job_that_keeps_failing_is_paused_and_says_why(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door)
    await minutes(12, hands, clock)
    held = await look(door, job)
    assert (held.state, held.reason, held.failure_count) == ("paused", "it failed 10 times in a row", 10)
    assert held.held_slot == START + 11 * MINUTE
    weather.error = None
    await door.resume(local_caller("ann"), job.number)
    resumed = await look(door, job)
    assert (resumed.state, resumed.reason, resumed.failures_in_row) == ("active", None, 0)
    await minutes(1, hands, clock)
    assert (await look(door, job)).last_error is None


async def test_one_failure_after_resuming_does_not_pause_it_again(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door, pause_after=2)
    await minutes(2, hands, clock)
    await door.resume(local_caller("ann"), job.number)
    await minutes(1, hands, clock)
    assert (await look(door, job)).state == "active"


async def test_a_policy_of_a_newer_version_keeps_no_other_owners_job_from_being_paused(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    anns = await sailing(door)
    bobs = await add(door, task="sail", owner="bob", policy={"pause_after": 2})
    await sql.execute('update cronty.jobs set policy = \'{"pause_after": "3 in 1 h"}\' where id = $1', anns.id)
    await minutes(2, hands, clock)
    assert [(await look(door, job)).state for job in (anns, bobs)] == ["active", "paused"]
    await minutes(8, hands, clock)
    assert (await look(door, anns)).state == "paused", "as by default, since this version can't read it"


@pytest.mark.parametrize("error", [ValueError("a fault"), StoreBusy("its row is locked"), StoreUnavailable("away")])
async def test_a_job_is_paused_although_the_first_try_failed(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection, error: Exception,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    async def refused(*_: object) -> list[tuple[int, str]]:
        raise error

    job = await sailing(door, pause_after=1)
    clock.advance(minutes=1)
    with monkeypatch.context() as patch:
        patch.setattr(EngineStore, "pause_failing", refused)
        with suppress(StoreUnavailable):
            await hands.fire()
    assert (await look(door, job)).state == "active"
    await hands.finish()
    monkeypatch.setattr("cronty.engine.breaker.monotonic", lambda: monotonic() + 60)
    await hands.engine.settling.step()
    assert (await look(door, job)).state == "paused"
    assert await sql.fetchval("select count(*) from cronty.attempts where outcome = 'superseded'") == 0


async def test_a_job_may_be_told_never_to_give_up(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door, pause_after=0)
    await minutes(15, hands, clock)
    assert (await look(door, job)).state == "active"


async def test_a_target_that_is_gone_pauses_its_job_at_once(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    weather.error = TargetGone("410")
    job = await sailing(door, attempts=3)
    await minutes(1, hands, clock)
    held = await look(door, job)
    assert (held.state, held.reason) == ("paused", "what it calls is gone")


async def test_alerts_come_once_each_for_the_first_failure_the_nth_the_pause_and_recovery(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sent: list[tuple[str, str, str]]
) -> None:
    job = await sailing(door, alert="ann-phone", alert_after=3, pause_after=4)
    await minutes(5, hands, clock)
    weather.error = None
    await door.resume(local_caller("ann"), job.number)
    await minutes(1, hands, clock)
    weather.error = ValueError("fog")
    await minutes(1, hands, clock)
    weather.error = None
    await minutes(3, hands, clock)
    assert sent == [
        ("ann-phone", "Ferry failed 1 time", "ValueError: rain"),
        ("ann-phone", "Ferry failed 3 times in a row", "ValueError: rain"),
        ("ann-phone", "Ferry was paused", "it failed 4 times in a row. The last error: ValueError: rain"),
        ("ann-phone", "Ferry works again", "It had been paused."),
        ("ann-phone", "Ferry failed 1 time", "ValueError: fog"),
        ("ann-phone", "Ferry works again", "It had failed 1 time."),
    ]


async def test_an_alert_is_a_job_like_any_other_and_says_that_cronty_made_it(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await sailing(door, alert="ann-phone")
    clock.advance(minutes=1)
    await hands.all()
    row = await sql.fetchrow(
        "select id, number, name, task, tags, origin::text from cronty.jobs where id <> $1", job.id
    )
    assert row is not None
    origin = {"surface": "cronty", "about": job.number}
    assert (row["name"], row["task"], row["tags"]) == ("Alert: Ferry failed 1 time", "notify", ["alert"])
    assert json.loads(row["origin"]) == origin
    entry = await sql.fetchrow("select *, client::text as via from cronty.audit_unsealed where job_id = $1", row["id"])
    assert entry is not None
    assert (entry["what"], entry["actor"], json.loads(entry["via"])) == ("created", None, origin)
    shown = await door.show(local_caller("ann"), row["number"])
    assert isinstance(shown, Ok)
    assert (shown.value.policy.attempts, shown.value.next_slot or shown.value.last_slot) == (10, clock.moment)


async def test_a_failure_and_its_alert_are_written_together_or_not_at_all(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await sailing(door, alert="ann-phone")
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    failure = Other(job.id, clock.moment, 1, "failed", None, "rain", None, None, 0, 0)
    await sql.execute("alter table cronty.alerts add constraint no_alerts check (id < 0)")
    try:
        with pytest.raises(asyncpg.CheckViolationError):
            await hands.store.settle_rest(hands.engine.worker, [failure])
    finally:
        await sql.execute("alter table cronty.alerts drop constraint no_alerts")
    assert await sql.fetchval("select state::text from cronty.runs") == "running"
    assert await hands.store.settle_rest(hands.engine.worker, [failure]) == (1, [job.id])
    assert await hands.store.settle_rest(hands.engine.worker, [failure]) == (0, []), "it was written already"
    assert len(await alerts(sql)) == 1


async def test_a_run_that_is_quarantined_is_told_like_a_failure(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await sailing(door, alert="ann-phone")
    clock.advance(minutes=1)
    await hands.engine.firing.step(hands.engine.worker)
    await sql.execute("delete from cronty.workers")
    assert await hands.store.rescue([hands.engine.worker], 1) == (1, 0, 1, [job.id])
    assert await alerts(sql) == [("Ferry failed 1 time", "its worker died 1 times while performing it")]


async def test_what_an_agent_says_of_its_prompt_is_told_too(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    action, inbox = (
        Action("prompt", (), {"prompt": "Look"}),
        Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended)),
    )
    policy = {"alert": "ann-phone", "pause_after": 2}
    request = ScheduleJob(
        "Look", action.task, "interval", {"minutes": 1}, args=action.args, kwargs=action.kwargs, policy=policy
    )
    assert isinstance(await door.schedule(local_caller("ann"), request), Ok)
    for outcome in (Failed("fog"), Done(None), Failed("rain"), Failed("snow")):
        clock.advance(minutes=1)
        await hands.fire()
        read = await inbox.read(local_caller("ann"), None)
        assert isinstance(read, Ok)
        await inbox.settle(local_caller("ann"), [read.value[0].receipt], outcome)
    assert await alerts(sql) == [
        ("Look failed 1 time", "fog"),
        ("Look works again", "It had failed 1 time."),
        ("Look failed 1 time", "rain"),
        ("Look was paused", "it failed 2 times in a row. The last error: snow"),
    ]


@pytest.mark.parametrize("told_at", ["the job's topic", "the owner's topic", "nowhere"])
async def test_a_job_that_is_set_aside_tells_its_owner(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection, told_at: str
) -> None:
    if told_at == "the owner's topic":
        await door.allowance.set(local_caller("ann"), {"alert": "ann-ops"})
    policy = {"alert": "ann-phone"} if told_at == "the job's topic" else {}
    job = await add(door, "cron", {"expression": "*/5 * * * *"}, timezone="Europe/Berlin", name="Ferry", policy=policy)
    well = await add(door, "interval", {"minutes": 5})
    await sql.execute("update cronty.due set zone = 'Europe/Atlantis' where job_id = $1", job.id)
    clock.advance(minutes=5)
    await hands.fire()
    reason = await sql.fetchval("select reason from cronty.jobs where state = 'set_aside'")
    assert "Europe/Atlantis" in reason
    entry = await sql.fetchrow("select job_id, after ->> 'reason' from cronty.audit_unsealed where what = 'set aside'")
    assert entry is not None
    assert tuple(entry) == (job.id, reason)
    assert await alerts(sql) == ([] if told_at == "nowhere" else [("Ferry was set aside", reason)])
    topic = await sql.fetchval("select arguments #>> '{kwargs,topic}' from cronty.alerts")
    assert topic == {"the job's topic": "ann-phone", "the owner's topic": "ann-ops"}.get(told_at)
    assert (await look(door, well)).run_count == 1


async def test_a_one_off_that_was_missed_is_told(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    policy = {"alert": "ann-phone", "catch_up": "none"}
    await add(door, "once", {"run_at": START + MINUTE}, task="sail", name="Ferry", policy=policy)
    clock.advance(hours=1)
    await hands.fire()
    [(title, message)] = await alerts(sql)
    assert (title, message.split(":")[0]) == ("Ferry failed 1 time", "missed")


async def test_nobody_is_told_who_did_not_ask(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await sailing(door)
    await minutes(3, hands, clock)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1


async def test_a_failed_run_can_be_found_and_tried_again_under_its_own_id(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await sailing(door, attempts=2, backoff=1, jitter=0)
    await minutes(1, hands, clock)
    clock.advance(seconds=2)
    await hands.all()
    found = await runs.failed(local_caller("ann"))
    assert isinstance(found, Ok)
    [dead] = found.value
    assert (dead.name, dead.run.error, dead.run.attempt) == ("Ferry", "ValueError: rain", 2)
    weather.error = None
    assert await runs.redrive(local_caller("ann"), [dead.run.run_id]) == Ok({dead.run.run_id: True})
    assert await runs.redrive(local_caller("ann"), [dead.run.run_id]) == Ok({dead.run.run_id: False}), (
        "it is on its way"
    )
    await hands.all()
    detail = await runs.show(local_caller("ann"), dead.run.run_id)
    assert isinstance(detail, Ok)
    assert (detail.value.run.state, detail.value.run.attempt) == ("done", 3)
    assert [(one.attempt, one.outcome, one.error) for one in detail.value.attempts] == [
        (1, "failed", "ValueError: rain"),
        (2, "failed", "ValueError: rain"),
    ]
    assert (await look(door, job)).failure_count == 0
    assert await runs.failed(local_caller("ann")) == Ok([])
    assert await sql.fetch("select * from cronty.slots_unaccounted") == []


async def test_many_can_be_tried_again_and_those_of_a_serial_job_go_one_by_one(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await sailing(door)
    await minutes(4, hands, clock)
    weather.error = None
    ids = [run_id(job.number, START + minute * MINUTE) for minute in range(1, 5)]
    assert await runs.redrive(local_caller("ann"), ids) == Ok(dict.fromkeys(ids, True))
    assert await sql.fetchval("select count(*) from cronty.queue where due_at is null") == 3
    await hands.all()
    states = await sql.fetch("select state::text, attempt from cronty.runs order by scheduled_for")
    assert [tuple(row) for row in states] == [("done", 2)] * 4


async def test_pages_of_failed_runs_lose_none_that_ended_at_the_same_moment(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    for _ in range(3):
        await sailing(door)
    await minutes(2, hands, clock)
    await sql.execute("update cronty.runs set finished_at = $1", clock())  # as when one statement takes many back
    whole = await runs.failed(local_caller("ann"))
    assert isinstance(whole, Ok)
    assert len(whole.value) == 6
    paged: list[FailedRun] = []
    cursor: str | None = None
    while cursor is not None or not paged:
        page = await runs.failed(local_caller("ann"), 2, cursor)
        assert isinstance(page, Ok)
        paged += page.value
        cursor = failed_cursor(page.value[-1].run) if page.value else None
    assert paged == whole.value


@pytest.mark.parametrize("odd", ["yesterday", "2027-03-01T08:00:00+00:00/run_x", "/run_1_1"])
async def test_a_cursor_of_failed_runs_that_no_page_gave_is_refused(runs: Runs, odd: str) -> None:
    refused = await runs.failed(local_caller("ann"), 2, odd)
    assert isinstance(refused, Err)
    assert (refused.code, refused.field) == ("bad_cursor", "before")


async def test_nobody_elses_runs_are_seen_or_tried_again(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door)
    await minutes(1, hands, clock)
    theirs = run_id(job.number, START + MINUTE)
    assert await runs.failed(local_caller("eve")) == Ok([])
    assert await runs.redrive(local_caller("eve"), [theirs]) == Ok({theirs: False})
    missing = await runs.show(local_caller("eve"), theirs)
    assert missing == Err("not_found", f"Run not found: {theirs}", "list_runs shows the runs of a job.")


async def test_a_run_of_a_cancelled_job_is_not_tried_again(
    door: Scheduler, runs: Runs, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door)
    await minutes(1, hands, clock)
    await door.cancel(local_caller("ann"), job.number)
    dead = run_id(job.number, START + MINUTE)
    assert await runs.redrive(local_caller("ann"), [dead]) == Ok({dead: False})


@pytest.mark.parametrize("odd", ["", "run_1", "run_1_1", "job_1_1", "nonsense"])
async def test_a_run_that_does_not_exist_is_not_found(runs: Runs, odd: str) -> None:
    assert isinstance(await runs.show(local_caller("ann"), odd), Err)


async def test_a_waiting_run_says_when_it_is_tried_again(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock
) -> None:
    job = await sailing(door, attempts=2, backoff=60, jitter=0)
    await minutes(1, hands, clock)
    found = await door.list_runs(local_caller("ann"), job.number)
    assert isinstance(found, Ok)
    assert (found.value[0].state, found.value[0].next_attempt_at) == ("waiting", START + 2 * MINUTE)


async def test_an_alert_waits_for_no_other_owner(
    door: Scheduler, weather: Weather, hands: Hands, clock: HandClock, url: str, sql: asyncpg.Connection
) -> None:
    """A caller of Ann's stands still while it takes a number; Bob hears of his failure all the same."""
    for owner in ("ann", "bob"):
        await add(door, task="sail", owner=owner, policy={"alert": f"{owner}-phone"})
    clock.advance(minutes=1)
    await hands.fire()
    held = await asyncpg.connect(url)
    await held.execute("begin; update cronty.owners set next_number = next_number + 1 where name = 'ann'")
    await hands.engine.alerting.step()
    told = await sql.fetch(
        "select o.name from cronty.jobs j join cronty.owners o on o.id = j.owner_id where 'alert' = any(j.tags)"
    )
    await held.close()
    assert [row["name"] for row in told] == ["bob"]


async def test_a_key_that_ended_while_everything_slept_holds_its_jobs(
    door: Scheduler, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    await add(door, caller=replace(local_caller("ann"), key_id=7))
    await sql.execute(
        "insert into cronty.api_keys (id, number, owner_id, name, hash, scopes, created_at, expires_at)"
        " select 7, 1, id, 'laptop', '', '{}', $1, $2 from cronty.owners",
        clock.moment,
        clock.moment + timedelta(minutes=10),
    )
    await hands.engine.rescuing.step()
    clock.advance(hours=8)
    await hands.engine.rescuing.step()
    assert await sql.fetchval("select state::text from cronty.jobs") == "paused"


@pytest.mark.parametrize(
    "message", ["due", "due soon", "due 1e400", "due -1e300", "due nan", "queue at once", "", "due \u0663"]
)
async def test_a_message_that_cannot_be_read_stops_nothing(
    door: Scheduler, hands: Hands, clock: HandClock, calls: list[tuple[object, ...]], message: str
) -> None:
    await add(door)
    hands.engine._hear(message)  # pyright: ignore[reportPrivateUsage]
    clock.advance(minutes=1)
    await hands.fire()
    assert len(calls) == 1
