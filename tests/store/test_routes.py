"""A prompt goes to its agent by the way the agent is woken, and keeps that way."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from cronty import Cronty
from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Ok
from cronty.jobs.action import Action
from cronty.jobs.envelope import Envelope
from cronty.jobs.job import Filter, Job
from cronty.scheduler import Scheduler
from cronty.scheduler.answers import job_detail
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.key_store import KeyStore
from tests.conftest import START, HandClock, Hands, hands_of

ORIGIN: dict[str, Any] = {"surface": "mcp", "client": {"name": "tester", "version": "1"}}


@pytest.fixture
def woken() -> list[str]:
    return []


@pytest.fixture
def registry(woken: list[str]) -> Registry:
    """A worker that can wake claude."""
    made = Registry()

    async def wake(prompt: str, agent: str | None = None, data: object = None) -> None:
        woken.append(f"{agent}: {prompt}")

    made.add(wake, "prompt:claude")
    return made


async def ask(door: Scheduler, agent: str | None, task: str = "prompt", **rest: object) -> Job:
    kwargs = {"prompt": "Look"} | ({"agent": agent} if agent else {})
    request = ScheduleJob("look", task, "interval", {"minutes": 1}, kwargs=kwargs, **rest)  # pyright: ignore[reportArgumentType]
    caller = replace(local_caller("ann", "mcp"), client=ORIGIN["client"])
    result = await door.schedule(caller, request)
    assert isinstance(result, Ok), result
    return result.value


def saying(job: Job, prompt: str) -> EditJob:
    return EditJob(str(job.number), kwargs={**job.action.kwargs, "prompt": prompt})


async def test_a_prompt_for_an_agent_that_a_worker_wakes_is_performed_and_others_wait(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, woken: list[str]
) -> None:
    routed = await ask(door, "claude")
    short = await ask(door, None, task="prompt:claude")
    waiting = await ask(door, "ops")
    assert [job.action.task for job in (routed, short, waiting)] == ["prompt:claude", "prompt:claude", "prompt"]
    assert {job.action.kind for job in (routed, waiting)} == {"prompt"}
    assert routed.policy.attempts == 3
    clock.advance(minutes=1)
    await hands.all()
    assert woken == ["claude: Look", "claude: Look"]
    read = await Inbox(InboxStore(database), door.allowance, Listeners(KeyStore(database).ended)).read(
        local_caller("ann"), "ops"
    )
    assert isinstance(read, Ok)
    assert [item.agent for item in read.value] == ["ops"]


async def test_the_agenda_the_lists_and_the_answers_treat_both_routes_alike(
    door: Scheduler, hands: Hands, url: str
) -> None:
    routed, waiting = await ask(door, "claude"), await ask(door, "ops")
    listed = await door.list_jobs(local_caller("ann"), Filter(task="prompt"))
    assert isinstance(listed, Ok)
    assert [job.number for job in listed.value.jobs] == [routed.number, waiting.number]
    async with Cronty(url, owner="ann", run_jobs=False) as cronty:
        agenda = await cronty.list_scheduled_tasks()
        assert len(agenda) == 2
        assert {job_detail(job, []).task for job in agenda} == {"prompt"}
        assert await cronty.cancel_scheduled_task(routed.number) == 1


async def test_a_job_keeps_the_route_it_was_made_with_until_it_changes_its_agent(
    door: Scheduler, url: str, clock: HandClock, registry: Registry
) -> None:
    early = await ask(door, "claude")
    assert early.action.task == "prompt", "nobody could wake claude yet"
    async with hands_of(url, clock, registry):
        edited = await door.edit(local_caller("ann"), saying(early, "Look again"))
        assert isinstance(edited, Ok)
        assert edited.value.action == Action("prompt", (), {"prompt": "Look again", "agent": "claude"})
        late = await ask(door, "claude")
        again = await door.edit(local_caller("ann"), saying(late, "Look closer"))
        assert isinstance(again, Ok)
        assert again.value.action.task == "prompt:claude"
        other = Action("prompt:claude", (), {"prompt": "x", "agent": "ops"})
        moved = await door.edit(
            local_caller("ann"), EditJob(str(late.number), task=other.task, args=other.args, kwargs=other.kwargs)
        )
        assert isinstance(moved, Ok)
        assert (moved.value.action.task, moved.value.action.agent) == ("prompt", "ops")


async def test_what_is_known_of_a_run_says_who_made_it_and_what_came_before(
    door: Scheduler, database: Database, hands: Hands, clock: HandClock, sql: asyncpg.Connection
) -> None:
    job = await ask(door, "ops")
    store = InboxStore(database)
    inbox = Inbox(store, door.allowance, Listeners(KeyStore(database).ended))
    items: list[Envelope] = []
    for _ in range(2):
        clock.advance(minutes=1)
        await hands.all()
        read = await inbox.read(local_caller("ann"), "ops")
        assert isinstance(read, Ok)
        items = read.value
        await sql.execute("delete from cronty.queue")
        await sql.execute("update cronty.runs set state = 'done', finished_at = now()")
    [item] = items
    assert item.facts.origin == ORIGIN
    assert item.facts.previous_slot == START + timedelta(minutes=1)
    assert item.provenance["client"] == {"name": "tester", "version": "1"}
    owner_id = await sql.fetchval("select id from cronty.owners")
    facts = await store.about(owner_id, job.id, item.scheduled_for)
    assert facts == item.facts
    assert await store.about(owner_id, job.id, START) is None
    assert await store.about(owner_id + 1024, job.id, item.scheduled_for) is None
    assert json.loads(await sql.fetchval("select origin::text from cronty.jobs")) == ORIGIN
