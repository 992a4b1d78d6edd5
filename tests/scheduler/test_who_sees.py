"""What a caller is shown: of jobs that it may change but not read, and of prompts for other agents."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from cronty import Cronty
from cronty.contract.answers import JobDetail, RunDetail, to_json
from cronty.contract.caller import SCOPES, Caller, Scope
from cronty.contract.operation import Operation
from cronty.contract.operations import Operations
from cronty.contract.requests import (
    BackfillJob,
    CancelJob,
    ChangeSlot,
    DeleteJob,
    EditJob,
    ListJobs,
    ListRuns,
    PauseJob,
    RedriveRuns,
    ResumeJob,
    RunJobNow,
    ScheduleJob,
    ShowJob,
    ShowRun,
    StopRun,
    UndeleteJob,
)
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.run import run_id
from cronty.scheduler.agenda import Agenda
from cronty.scheduler.service import Service
from tests.conftest import START, HandClock, Hands

HOURLY: dict[str, Any] = {"trigger_type": "interval", "trigger_config": {"hours": 1}}
CHANGES: dict[str, Callable[[str], tuple[Operation[..., Any, JobDetail], Any]]] = {
    "undelete": lambda job: (Operations.undelete_job, UndeleteJob(job)),
    "pause": lambda job: (Operations.pause_job, PauseJob(job)),
    "resume": lambda job: (Operations.resume_job, ResumeJob(job)),
    "cancel": lambda job: (Operations.cancel_job, CancelJob(job)),
}
SECRET = "mellon"


def with_scopes(*scopes: Scope, agent: str | None = None) -> Caller:
    return Caller("ann", frozenset(scopes), agent, surface="rest")


ANN = with_scopes(*SCOPES)
CLAUDE = with_scopes(*SCOPES, agent="claude")


def code(result: Result[Any]) -> str:
    return result.code if isinstance(result, Err) else "ok"


async def make(service: Service, caller: Caller, task: str, **kwargs: object) -> str:
    request = ScheduleJob("a job", task, **HOURLY, kwargs=kwargs, tags=["blue"], policy={"attempts": 3})
    made = await service.answer(Operations.schedule_job, caller, request)
    assert isinstance(made, Ok), made
    return made.value.job_id


@dataclass(frozen=True, slots=True)
class World:
    """A job and a prompt, each with a run."""

    service: Service
    job: str
    prompt: str


@pytest.fixture
async def world(service: Service, worker: Hands, clock: HandClock) -> World:
    made = World(
        service,
        await make(service, ANN, "greet", name=SECRET),
        await make(service, ANN, "prompt", prompt=SECRET, agent="cursor"),
    )
    clock.advance(hours=1)
    await worker.all()
    return made


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_is_confirmed_and_no_more_to_who_may_not_read(world: World, change: str) -> None:
    operation, request = CHANGES[change](world.job)
    shown = await world.service.answer(operation, with_scopes("schedule"), request)
    assert isinstance(shown, Ok), shown
    said = to_json(shown.value)
    assert SECRET not in str(said)
    assert "blue" not in str(said)
    assert (said["job_id"], said["name"], said["runs"]) == (world.job, "a job", [])
    assert said["status"] == ("cancelled" if change == "cancel" else "pending")
    again = await world.service.answer(operation, with_scopes("schedule", "read"), request)
    assert SECRET in str(to_json(again.value if isinstance(again, Ok) else None))


@pytest.mark.parametrize("change", CHANGES)
async def test_a_prompt_is_shown_to_who_has_the_scope_for_prompts(world: World, change: str) -> None:
    operation, request = CHANGES[change](world.prompt)
    shown = await world.service.answer(operation, with_scopes("prompts"), request)
    assert isinstance(shown, Ok)
    assert (shown.value.kwargs or {})["prompt"] == SECRET


async def test_a_run_that_is_stopped_shows_no_errors_to_who_may_not_read(
    cronty: Cronty, world: World, worker: Hands, clock: HandClock
) -> None:
    @cronty.task
    def stumble() -> None:  # pyright: ignore[reportUnusedFunction]
        raise TimeoutError(SECRET)

    await worker.store.publish_tasks(cronty.registry.published())
    job = await make(world.service, ANN, "stumble")
    slot = clock.advance(hours=1)
    await worker.all()
    run = StopRun(run_id(int(job.split("_")[1]), slot))
    stopped = await world.service.answer(Operations.stop_run, with_scopes("schedule"), run)
    assert isinstance(stopped, Ok), stopped
    assert (stopped.value.verdict, stopped.value.attempts) == ("cancelled", [])
    assert SECRET not in str(to_json(stopped.value))
    shown: Result[RunDetail] = await world.service.answer(Operations.show_run, ANN, ShowRun(run.run_id))
    assert SECRET in str(to_json(shown.value if isinstance(shown, Ok) else None))


def touches(job: str, run: str) -> list[tuple[Operation[..., Any, Any], Any]]:
    return [
        *(ask(job) for ask in CHANGES.values()),
        (Operations.edit_job, EditJob(job, kwargs={"prompt": "mine", "agent": "claude"})),
        (Operations.change_slot, ChangeSlot(job)),
        (Operations.run_job_now, RunJobNow(job)),
        (Operations.backfill_job, BackfillJob(job, "yesterday", "today")),
        (Operations.stop_run, StopRun(run)),
        (Operations.delete_job, DeleteJob(job)),
    ]


async def test_an_agents_token_touches_no_prompt_of_another_agent(world: World) -> None:
    run = run_id(int(world.prompt.split("_")[1]), START + timedelta(hours=1))
    before = await world.service.answer(Operations.job_status, ANN, ShowJob(world.prompt))
    for operation, request in touches(world.prompt, run):
        refused = await world.service.answer(operation, CLAUDE, request)
        assert code(refused) == "not_allowed", operation.name
        assert SECRET not in str(refused)
    assert await world.service.answer(Operations.job_status, ANN, ShowJob(world.prompt)) == before
    assert code(await world.service.answer(Operations.pause_job, CLAUDE, PauseJob(world.job))) == "ok"


async def test_an_agents_token_is_not_told_what_a_prompt_of_another_agent_says(world: World) -> None:
    run = run_id(int(world.prompt.split("_")[1]), START + timedelta(hours=1))
    cursor = with_scopes("read", agent="cursor")
    for caller, knows in ((CLAUDE, False), (cursor, True), (ANN, True)):
        shown = [
            await world.service.answer(Operations.job_status, caller, ShowJob(world.prompt)),
            await Agenda(world.service).list(caller, "running"),
        ]
        assert [SECRET in str(one) for one in shown] == [knows, knows], caller
        assert all(isinstance(one, Ok) for one in shown)
        more: list[Result[Any]] = [
            await world.service.answer(Operations.show_run, caller, ShowRun(run)),
            await world.service.answer(Operations.list_runs, caller, ListRuns(world.prompt)),
            await world.service.answer(Operations.list_jobs, caller, ListJobs()),
        ]
        assert all(isinstance(one, Ok) for one in more)


async def test_an_agent_may_change_what_it_left_for_another(service: Service, worker: Hands, clock: HandClock) -> None:
    job = await make(service, CLAUDE, "prompt", prompt=SECRET, agent="cursor")
    slot = clock.advance(hours=1)
    await worker.all()
    shown = await service.answer(Operations.job_status, CLAUDE, ShowJob(job))
    assert SECRET in str(shown)
    for operation, request in touches(job, run_id(int(job.split("_")[1]), slot))[1:3]:
        assert code(await service.answer(operation, CLAUDE, request)) == "ok", operation.name


async def test_an_agent_tries_no_failed_prompt_of_another_again(world: World, sql: Any) -> None:
    await sql.execute("update cronty.runs set state = 'failed', finished_at = scheduled_for; delete from cronty.queue")
    runs = RedriveRuns([run_id(int(world.prompt.split("_")[1]), START + timedelta(hours=1))])
    for caller, accepted in ((CLAUDE, False), (ANN, True)):
        tried = await world.service.answer(Operations.redrive_runs, caller, runs)
        assert isinstance(tried, Ok)
        assert bool(tried.value.redriven) == accepted
