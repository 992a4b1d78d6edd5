"""A realistic installation to look at: jobs in several zones and a year of slots with all kinds of verdicts."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson

from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok
from cronty.jobs.action import Action
from cronty.jobs.job import Job
from cronty.scheduler import Scheduler
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Database, query
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from cronty.store.sealing import Sealer

SECRET_KEY = "ZGVtbyBrZXkgZm9yIHRoZSBwaWN0dXJlcyAzMiBieXQ="
"""Seals the demo's channels; of no use anywhere else."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A job and what its past looked like: `days` of history, `weights` of verdicts."""

    name: str
    action: Action
    when: str
    zone: str = "Europe/Berlin"
    tags: tuple[str, ...] = ()
    days: int = 30
    weights: dict[str, float] = field(default_factory=lambda: {"done": 97, "failed": 1, "skipped": 1, "missed": 1})
    takes: float = 2.0
    error: str = "TimeoutError: no answer within 30 s"
    says: tuple[str, ...] = ()
    """What an agent reports, in turn."""


def _prompt(text: str, agent: str | None = None) -> Action:
    return Action("prompt", (), {"prompt": text} | ({"agent": agent} if agent else {}))


def _notify(message: str, topic: str = "phone") -> Action:
    return Action("notify", (), {"message": message, "topic": topic})


GOOD: dict[str, float] = {"done": 1}
PLANS = [
    Plan(
        "Morning pull requests", _prompt("Look at my open pull requests and tell me what needs me today.", "claude"),
        "weekdays at 8:30", tags=("agents", "reviews"), days=300, takes=48, says=(
            "Two pull requests need you. acme/web #482 waits for your review since Tuesday (Jo asked twice). acme/api"
            " #97 is yours and its build is red: a snapshot test, two lines to change.",
            "Nothing needs you today.", "One needs you: acme/web #478, approved, only the changelog line is missing.",
        ),
    ),
    Plan(
        "Nightly backup", Action("run_backup", ("/data",), {"compress": True}), "every day at 02:00", tags=("backups",),
        days=365, weights={"done": 92, "failed": 4, "missed": 2, "skipped": 2}, takes=431,
        error="OSError: [Errno 28] No space left on device: '/backup/2026.tar.zst'",
    ),
    Plan("Hourly cleanup", Action("cleanup_temp_files"), "every hour", "UTC", ("housekeeping",), 60),
    Plan("Stand-up", _notify("Stand-up in five minutes"), "weekdays at 9:55", "America/New_York", ("team",), 200),
    Plan(
        "Sync invoices", Action("webhook", (), {"url": "https://billing.example.com/hooks/sync"}),
        "every 45 minutes", "UTC", ("finance",), 40, {"done": 84, "failed": 9, "coalesced": 4, "skipped": 3}, 0.8,
        "https://billing.example.com answered 502 Bad Gateway",
    ),
    Plan("Warm the cache", Action("warm_cache", (), {"pages": 250}), "every 30 minutes", "UTC", ("housekeeping",), 20),
    Plan(
        "Tokyo close digest", _prompt("Sum up how the market closed, in five lines.", "analyst"), "weekdays at 15:10",
        "Asia/Tokyo", ("agents", "finance"), 250, takes=31,
        says=("Nikkei +0.6 %. Nothing in your watch list moved more than 2 %.",),
    ),
    Plan("Weekly report", _prompt("Write the weekly report.", "claude"), "Fridays at 16:00", tags=("agents",), days=99),
    Plan("Certificates", Action("check_certificates"), "Mondays at 04:00", "UTC", ("housekeeping",), 360, GOOD),
    Plan("Rent", _notify("Pay the rent"), "every 1st of the month at 09:00", "America/New_York", ("home",), 99, GOOD),
    Plan("Water the plants", _notify("Water the plants"), "Wednesdays and Sundays at 18:00", tags=("home",), days=120),
    Plan("Late-night index", Action("rebuild_index"), "30 2 * * SUN", tags=("housekeeping",), days=365, takes=900),
    Plan(
        "Quarterly review of everything that nobody has looked at since the last quarterly review, with a summary",
        _prompt("Look at everything."), "0 10 1 1,4,7,10 *", tags=("agents", "reviews", "team", "finance"), days=365,
    ),
    Plan(
        "Heartbeat", _prompt("Is there anything to do? If not, say so.", "claude"), "every 2 hours", "UTC", ("agents",),
        14, takes=9, says=("14 new, 3 want an answer today: the landlord, Mira (a draft by noon), the bank.",),
    ),
]  # fmt: skip
TASKS = ("run_backup", "cleanup_temp_files", "warm_cache", "check_certificates", "rebuild_index")
ANY = orjson.dumps({"more_positional": True}).decode()
WAITING = {"Morning pull requests": "claude", "Heartbeat": "claude", "Weekly report": "claude"}


async def furnish(url: str, owner: str = "local") -> dict[str, int]:
    """Fill a migrated database; answers with the jobs by name."""
    database = await Database(url, operator=True).open()
    sql = await asyncpg.connect(url)
    try:
        now = datetime.now(UTC)
        door = Scheduler(JobStore(database))
        await JobStore(database).publish(
            [(name, ANY, f"The task {name}.", None) for name in (*TASKS, "notify", "webhook", "prompt")]
        )
        jobs = {plan.name: await _schedule(door, owner, plan) for plan in PLANS}
        await sql.execute("update cronty.owners set zone = 'Europe/Berlin' where name = $1", owner)
        for plan in PLANS:
            await _past(sql, jobs[plan.name], plan, now)
        await _trouble(sql, door, owner, jobs, now)
        await _inbox(sql, jobs, now)
        await _workers(sql, jobs["Warm the cache"], now)
        await _settings(database, owner)
        return {name: job.number for name, job in jobs.items()}
    finally:
        await sql.close()
        await database.close()


async def _schedule(door: Scheduler, owner: str, plan: Plan) -> Job:
    request = ScheduleJob(
        plan.name, plan.action.task, "words", {"text": plan.when}, plan.action.args, plan.action.kwargs,
        timezone=plan.zone, tags=plan.tags, policy={"attempts": 3} if plan.action.kind == "task" else {},
    )  # fmt: skip
    made = await door.schedule(local_caller(owner, "dashboard"), request)
    assert isinstance(made, Ok), made
    return made.value


def _slots(job: Job, since: datetime, now: datetime) -> Iterator[datetime]:
    """An interval's slots reach back from its first one."""
    if job.trigger_type == "interval":
        assert job.next_slot is not None
        period = (job.trigger.after(job.next_slot) or job.next_slot) - job.next_slot
        slot = job.next_slot - period * int((job.next_slot - since) / period)
        while slot < now:
            yield slot
            slot += period
        return
    slot = job.trigger.after(since)
    while slot is not None and slot < now:
        yield slot
        slot = job.trigger.after(slot)


async def _past(sql: asyncpg.Connection, job: Job, plan: Plan, now: datetime) -> None:
    chance = random.Random(plan.name)
    owner_id = await sql.fetchval("select owner_id from cronty.jobs where id = $1", job.id)
    rows: list[tuple[Any, ...]] = []
    attempts: list[tuple[Any, ...]] = []
    for slot in _slots(job, now - timedelta(days=plan.days), now - timedelta(minutes=2)):
        [state] = chance.choices([*plan.weights], [*plan.weights.values()])
        started = slot + timedelta(seconds=chance.expovariate(9) + (40 if chance.random() < 0.01 else 0.05))
        ended = min(started + timedelta(seconds=plan.takes * chance.uniform(0.6, 1.6)), now)
        said = plan.says[len(rows) % len(plan.says)] if plan.says else None
        rows.append(_row(job, slot, state, started, ended, owner_id, plan, said))
        if state == "failed":
            attempts += [
                (job.id, slot, number, owner_id, started, started + timedelta(seconds=30), "failed", plan.error)
                for number in (1, 2)
            ]
    names = [
        "job_id",
        "scheduled_for",
        "owner_id",
        "state",
        "attempt",
        "started_at",
        "finished_at",
        "reason",
        "error",
        "result",
    ]
    await sql.fetch(query("make_partitions"), now, [row[1] for row in rows])
    await sql.copy_records_to_table("runs", schema_name="cronty", columns=names, records=rows)
    names = ["job_id", "scheduled_for", "attempt", "owner_id", "started_at", "ended_at", "outcome", "error"]
    await sql.copy_records_to_table("attempts", schema_name="cronty", columns=names, records=attempts)
    executed = [row for row in rows if row[4]]
    if executed:
        await sql.execute(
            "update cronty.due set run_count = $2, last_run = $3, last_slot = $3 where job_id = $1",
            job.id, len(executed), executed[-1][1],
        )  # fmt: skip
        failed = sum(row[3] == "failed" for row in rows)
        await sql.execute("update cronty.jobs set failure_count = $2 where id = $1", job.id, failed)


def _row(
    job: Job,
    slot: datetime,
    state: str,
    started: datetime,
    ended: datetime,
    owner_id: int,
    plan: Plan,
    said: str | None,
) -> tuple[Any, ...]:
    if state in ("done", "failed"):
        error = plan.error if state == "failed" else None
        kept = {"report": said} if said else {"status": "ok", "seconds": round(plan.takes, 1)}
        result = orjson.dumps(kept).decode() if state == "done" and plan.action.kind != "notify" else None
        return (job.id, slot, owner_id, state, 3 if error else 1, started, ended, None, error, result)
    why = {
        "skipped": "the run before it was still going",
        "missed": "nothing was running, and it was too late to catch up",
        "coalesced": "a later one ran instead",
    }  # fmt: skip
    return (job.id, slot, owner_id, state, 0, None, slot + timedelta(seconds=1), why[state], None, None)


async def _trouble(sql: asyncpg.Connection, door: Scheduler, owner: str, jobs: dict[str, Job], now: datetime) -> None:
    """One job that fails, one that was paused for it, one that somebody has cancelled, one that is over."""
    await sql.execute(
        "update cronty.jobs set failures_in_row = 3, last_error = $2 where id = $1",
        jobs["Sync invoices"].id, "https://billing.example.com answered 502 Bad Gateway",
    )  # fmt: skip
    await sql.execute(
        """update cronty.runs set state = 'failed', attempt = 3, reason = null, error = $2, result = null,
          started_at = scheduled_for, finished_at = scheduled_for + interval '3 seconds'
        where job_id = $1 and scheduled_for in (
          select scheduled_for from cronty.runs where job_id = $1 order by scheduled_for desc limit 3)""",
        jobs["Sync invoices"].id, "https://billing.example.com answered 502 Bad Gateway",
    )  # fmt: skip
    draft = await _schedule(
        door, owner, Plan("Newsletter draft", _prompt("Draft the newsletter."), "Tuesdays at 11:00", tags=("team",))
    )
    assert isinstance(await door.pause(local_caller(owner), draft.number), Ok)
    await sql.execute(
        "update cronty.jobs set reason = $2, failures_in_row = 10, last_error = $3, updated_at = $4 where id = $1",
        draft.id, "it failed 10 times in a row", "the agent gave no answer", now - timedelta(hours=26),
    )  # fmt: skip
    old = await _schedule(
        door, owner, Plan("Old crawler", Action("rebuild_index"), "every 6 hours", tags=("housekeeping",))
    )
    assert isinstance(await door.cancel(local_caller(owner), old.number), Ok)
    quiet = await _schedule(
        door, owner, Plan("Holiday notices", _notify("Offices are closed"), "0 9 24 12 *", tags=("team",))
    )
    assert isinstance(await door.pause(local_caller(owner), quiet.number), Ok)
    jobs |= {"Newsletter draft": draft, "Old crawler": old, "Holiday notices": quiet}


async def _inbox(sql: asyncpg.Connection, jobs: dict[str, Job], now: datetime) -> None:
    for number, name in enumerate(WAITING):
        job = jobs[name]
        slot = now - timedelta(minutes=9 + 47 * number)
        owner_id = await sql.fetchval("select owner_id from cronty.jobs where id = $1", job.id)
        await sql.execute(
            "insert into cronty.runs (job_id, scheduled_for, owner_id, state) values ($1, $2, $3, 'waiting')",
            job.id, slot, owner_id,
        )  # fmt: skip
        due = now + timedelta(minutes=6) if number == 2 else slot
        await sql.execute(
            "insert into cronty.queue (job_id, scheduled_for, owner_id, task, due_at) "
            "values ($1, $2, $3, 'prompt', $4)",
            job.id, slot, owner_id, due,
        )  # fmt: skip


async def _workers(sql: asyncpg.Connection, busy: Job, now: datetime) -> None:
    """Two on other machines, one of which is at work."""
    hours = timedelta(hours=1)
    numbers = [
        await sql.fetchval(
            "insert into cronty.workers (id, name, version, tzdata, concurrency, started_at, beat_at, lease_until) "
            "values ($6, $1, '0.1.0', '2026.2', $2, $3, $4, $5) returning id",
            name, concurrency, now - up, now, now + 2 * hours, number,
        )
        for number, name, concurrency, up in ((1, "host-a:4117", 20, 71 * hours), (2, "host-b:982", 50, 5 * hours))
    ]  # fmt: skip
    owner_id = await sql.fetchval("select owner_id from cronty.jobs where id = $1", busy.id)
    await sql.execute(
        "insert into cronty.runs (job_id, scheduled_for, owner_id, state, attempt, started_at, worker) "
        "values ($1, $2, $3, 'running', 1, $2, $4)",
        busy.id, now - timedelta(seconds=41), owner_id, numbers[0],
    )  # fmt: skip


async def _settings(database: Database, owner: str) -> None:
    sealer = Sealer.read(SECRET_KEY)
    channels = ChannelStore(database, sealer)
    await channels.save(local_caller(owner), "phone", "ntfy://ann-phone-7f3a", "ntfy", "ntfy.sh")
    await channels.save(local_caller(owner), "team-slack", "slack://a/b/c", "slack", "slack")
    keys = KeyStore(database)
    later = datetime.now(UTC) + timedelta(days=61)
    await keys.add(local_caller(owner), "ann-laptop", b"1" * 32, ["read", "schedule", "run", "prompts"], None, later)
    await keys.add(local_caller(owner), "claude on the build host", b"2" * 32, ["read", "prompts"], "claude", None)
