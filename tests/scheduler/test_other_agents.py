"""What an agent's token learns of prompts for other agents, and what it can do to them: nothing."""

import asyncpg
import pytest

from cronty.contract.caller import SCOPES, Caller
from cronty.contract.operations import Operations
from cronty.contract.requests import ListFailedRuns, SaveCalendar, ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.job import Filter
from cronty.scheduler.service import Service
from tests.conftest import START, HandClock, Hands

SECRET = "mellon"
ANN, CLAUDE, CURSOR = (Caller("ann", frozenset(SCOPES), agent, surface="rest") for agent in (None, "claude", "cursor"))


async def save(service: Service, caller: Caller, **days: str) -> Result[object]:
    return await service.answer(Operations.save_calendar, caller, SaveCalendar("team", days=days))


@pytest.fixture
async def prompt(service: Service, worker: Hands, clock: HandClock, sql: asyncpg.Connection) -> str:
    """A prompt for cursor that failed, and whose words, result and error are a secret."""
    trigger = {"rules": [{"times": ["09:00"]}], "calendars": ["team"]}
    assert isinstance(await save(service, ANN), Ok)
    request = ScheduleJob(
        "morning", "prompt", "calendar", trigger, kwargs={"prompt": f"Say {SECRET}", "agent": "cursor"}
    )
    made = await service.answer(Operations.schedule_job, ANN, request)
    assert isinstance(made, Ok), made
    clock.advance(hours=26)
    await worker.all()
    await sql.execute(
        "update cronty.runs set state = 'failed', started_at = $1, finished_at = $1, error = $2, result = $3",
        clock.moment, f"Error: {SECRET}", f'"{SECRET}"',
    )  # fmt: skip
    await sql.execute("update cronty.jobs set failures_in_row = 1, last_error = $1", f"Error: {SECRET}")
    return made.value.job_id


@pytest.mark.usefixtures("prompt")
async def test_its_words_its_errors_and_its_results_are_found_nowhere(
    service: Service, clock: HandClock, sql: asyncpg.Connection
) -> None:
    clock.advance(seconds=10)

    async def said(caller: Caller) -> dict[str, object]:
        failed = await service.answer(Operations.list_failed_runs, caller, ListFailedRuns())
        await sql.execute("update cronty.runs set state = 'done'")
        results = await service.overview.results(caller, START)
        await sql.execute("update cronty.runs set state = 'failed'")
        return {
            "failed": failed,
            "concerns": await service.overview.concerns(caller),
            "events": await service.overview.events(caller, START),
            "results": results,
            "search": await service.scheduler.list_jobs(caller, Filter(words=SECRET)),
        }

    told = {agent.agent: {where for where, what in (await said(agent)).items() if SECRET in str(what)}
            for agent in (ANN, CURSOR, CLAUDE)}  # fmt: skip
    everywhere = {"failed", "concerns", "events", "results", "search"}
    assert told == {None: everywhere, "cursor": everywhere - {"events"}, "claude": set()}


@pytest.mark.usefixtures("prompt")
async def test_it_cannot_be_stopped_by_changing_the_list_of_days_off_it_goes_by(service: Service) -> None:
    off = {"2027-03-05": "a day off"}
    refused = await save(service, CLAUDE, **off)
    assert isinstance(refused, Err)
    assert (refused.code, "is a prompt for cursor" in refused.message) == ("not_allowed", True)
    assert isinstance(await save(service, CURSOR, **off), Ok)
