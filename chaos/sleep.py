"""Nothing runs for an hour, or a year; then one engine catches up, and every slot that passed is accounted for."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import asyncpg

from chaos.load import ask, until
from chaos.postgres import own_postgres
from chaos.verdict import Figures
from cronty import Cronty
from cronty.store.migrate import migrate

MINUTE: Final = timedelta(minutes=1)
START: Final = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)
MODES: Final = ("latest", "all", "none")

_CAUGHT_UP: Final = (
    "select not exists (select from cronty.due where next_at <= $1) and not exists (select from cronty.queue)"
    " and not exists (select from cronty.runs where finished_at is null)"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """`jobs` sleep for an hour, half of them crons; a few more sleep for a year."""

    jobs: int = 1000
    modes: tuple[str, ...] = MODES
    year_jobs: int = 6


class HandClock:
    """Time that moves only when it is moved."""

    def __init__(self) -> None:
        self.moment = START

    def __call__(self) -> datetime:
        return self.moment


def tick() -> None:
    """Do nothing, once a minute."""


def program(url: str, clock: HandClock, *, run_jobs: bool) -> Cronty:
    made = Cronty(url, clock=clock, run_jobs=run_jobs)
    made.task(tick)
    return made


async def make_jobs(url: str, clock: HandClock, count: int, mode: str) -> dict[int, datetime]:
    """Crons and intervals of a minute in turn; each one's number with the moment it was made at."""
    async with program(url, clock, run_jobs=True):
        pass  # a worker that comes and goes publishes the task
    made: dict[int, datetime] = {}
    async with program(url, clock, run_jobs=False) as door:
        for number in range(count):
            clock.moment = START + timedelta(milliseconds=(number * 7) % 20_000)
            kind, config = ("cron", {"expression": "* * * * *"}) if number % 2 else ("interval", {"minutes": 1})
            # One after the other is the slow way to catch up; a tenth of the jobs has to go it.
            policy = {"catch_up": mode, "overlap": "skip" if number % 10 == 0 else "allow"}
            answer = await door.schedule_job(f"job {number}", "tick", kind, config, policy=policy)
            made[int(answer.job_id.split("_")[1])] = clock.moment
    return made


def slots_passed(number: int, made_at: datetime, now: datetime) -> int:
    """Worked out by hand: jobs with an even number are crons, on whole minutes; the others count from `made_at`."""
    if number % 2 == 0:
        made_at = made_at.replace(second=0, microsecond=0)
    return (now - made_at) // MINUTE


async def sleep_through(url: str, count: int, mode: str, asleep: timedelta) -> Figures:
    """Make jobs, let the time pass with nobody there, wake one engine, and look at what became of the slots."""
    await migrate(url)
    clock = HandClock()
    made = await make_jobs(url, clock, count, mode)
    clock.moment = START + asleep + timedelta(seconds=30)
    began = time.monotonic()
    async with program(url, clock, run_jobs=True):
        caught_up = await until(url, _CAUGHT_UP, 90, clock.moment)
    took = time.monotonic() - began
    rows = await ask(
        url, "select j.number, sum(r.slots)::int as slots, count(*)::int as rows,"
        " count(*) filter (where r.state = 'done')::int as done,"
        " bool_and(r.state = 'done' or r.reason is not null) as explained"
        " from cronty.runs r join cronty.jobs j on j.id = r.job_id group by j.number"
    )  # fmt: skip
    found = {row["number"]: row for row in rows}
    expected = {number: slots_passed(number, at, clock.moment) for number, at in made.items()}
    holes = await ask(url, "select from cronty.slots_unaccounted where why like 'its predecessor%'")
    return {
        "slots": sum(expected.values()), "caught_up": caught_up, "took": round(took, 1),
        "wrong_jobs": sum(number not in found or found[number]["slots"] != slots for number, slots in expected.items()),
        "unexplained": sum(not row["explained"] for row in rows), "holes": len(holes),
        "done": sum(row["done"] for row in rows), "rows_per_job_max": max((row["rows"] for row in rows), default=0),
    }  # fmt: skip


async def drive(server: str, plan: Plan) -> Figures:
    figures: Figures = {"scenario": "sleep", "jobs": plan.jobs}
    connection = await asyncpg.connect(server)
    try:
        for name, count, asleep in (("hour", plan.jobs, timedelta(hours=1)), ("year", plan.year_jobs, timedelta(365))):
            for mode in plan.modes:
                database = f"{name}_{mode}"
                await connection.execute(f"create database {database}")
                url = server.replace("/postgres?", f"/{database}?")
                figures[database] = await sleep_through(url, count, mode, asleep)
    finally:
        await connection.close()
    return figures


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` in the figures names the promises that don't hold."""
    with own_postgres() as (postgres, _):
        figures = asyncio.run(drive(postgres.url, plan))
    wrong = [
        f"{part}.{name}"
        for part, some in figures.items() if isinstance(some, dict)
        for name in ("wrong_jobs", "unexplained", "holes") if some[name]
    ]  # fmt: skip
    late = [part for part, some in figures.items() if isinstance(some, dict) and not some["caught_up"]]
    long = [part for part in ("year_latest", "year_none") if part in figures and figures[part]["rows_per_job_max"] > 3]
    return figures | {"broken": wrong + late + long}
