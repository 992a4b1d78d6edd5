"""What a key lacks the scope for is refused before anything is looked up, and nothing is told of it by the refusal."""

from dataclasses import replace
from typing import Any

import pytest

from cronty.contract.caller import SCOPES, Caller, Scope
from cronty.contract.operations import Operations
from cronty.contract.requests import EditJob, ReadInbox, ScheduleJob
from cronty.contract.result import Err, Ok, Result
from cronty.scheduler.service import Service
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Database
from cronty.store.sealing import Sealer, new_key
from tests.conftest import HandClock, Hands

HOURLY: dict[str, Any] = {"trigger_type": "interval", "trigger_config": {"hours": 1}}
PROMPT: dict[str, Any] = {"task": "prompt", "kwargs": {"prompt": "Look"}}


def with_scopes(*scopes: Scope) -> Caller:
    return Caller("ann", frozenset(scopes), surface="rest")


ANN = with_scopes(*SCOPES)


async def schedule(service: Service, caller: Caller, **given: Any) -> Result[Any]:
    return await service.answer(Operations.schedule_job, caller, ScheduleJob("a job", **{**HOURLY, **given}))


def code(result: Result[Any]) -> str:
    return result.code if isinstance(result, Err) else "ok"


@pytest.fixture
async def channel(database: Database) -> str:
    channels = ChannelStore(database, Sealer.read(new_key()))
    assert await channels.save(ANN, "team-slack", "ntfy://93.184.216.34/topic", "ntfy", "ntfy at …")
    return "team-slack"


@pytest.mark.parametrize("policy", [{"tell": "boss"}, {"alert": "boss"}])
async def test_a_prompt_that_sends_messages_needs_a_scope_that_does(service: Service, policy: dict[str, Any]) -> None:
    prompts = with_scopes("prompts")
    assert code(await schedule(service, prompts, **PROMPT, policy=policy)) == "missing_scope"
    made = await schedule(service, prompts, **PROMPT)
    assert isinstance(made, Ok)
    edit = EditJob(made.value.job_id, policy=policy)
    assert code(await service.answer(Operations.edit_job, prompts, edit)) == "missing_scope"
    assert code(await service.scheduler.edit(prompts, edit)) == "missing_scope"
    for more in (with_scopes("prompts", "schedule"), with_scopes("prompts", "run")):
        assert code(await schedule(service, more, **PROMPT, policy=policy)) == "ok"
        assert code(await service.answer(Operations.edit_job, more, edit)) == "ok"


async def test_an_idempotency_key_is_looked_up_by_those_only_who_may_make_such_a_job(service: Service) -> None:
    asked = {"task": "greet", "kwargs": {"name": "Bob"}, "idempotency_key": "one"}
    assert code(await schedule(service, ANN, **asked)) == "ok"
    refused = await schedule(service, with_scopes("prompts"), **asked)
    assert code(refused) == "missing_scope"
    other = await schedule(service, with_scopes("prompts"), **PROMPT, idempotency_key="one")
    assert code(other) == "key_taken"
    assert not any(word in str(other) for word in ("greet", "job_"))
    told = await schedule(service, with_scopes("schedule"), **{**asked, "kwargs": {"name": "Eve"}})
    assert "with other arguments" in str(told)


async def test_names_of_channels_and_tasks_are_told_to_those_who_may_read(service: Service, channel: str) -> None:
    nearly = {"task": "notify", "kwargs": {"message": "Hi", "topic": channel[:-1]}}
    for caller, knows in ((with_scopes("schedule"), False), (with_scopes("schedule", "read"), True)):
        refused = await schedule(service, caller, **nearly)
        assert code(refused) == "unknown_channel"
        assert (repr(channel) in str(refused)) == knows
        unknown = await schedule(service, caller, task="nope")
        assert code(unknown) == "unknown_task"
        assert ("greet" in str(unknown)) == knows
    assert code(await schedule(service, with_scopes("prompts"), **nearly)) == "missing_scope"
    edit = EditJob("99999", policy={"tell": channel[:-1]})
    assert code(await service.answer(Operations.edit_job, with_scopes("prompts"), edit)) == "not_found"


async def test_the_envelope_names_the_agent_and_the_key_that_wrote_the_prompt(
    service: Service, worker: Hands, clock: HandClock
) -> None:
    made = await service.identity.add_key(ANN, "night shift", ["prompts"], agent="claude")
    assert isinstance(made, Ok)
    found = await service.identity.identify(made.value.text)
    assert isinstance(found, Ok)
    caller = replace(found.value, client={"name": "the owner in person"})
    job = await schedule(service, caller, **PROMPT)
    assert isinstance(job, Ok)
    clock.advance(hours=1)
    await worker.all()
    read = await service.answer(Operations.read_inbox, ANN, ReadInbox())
    assert isinstance(read, Ok)
    [item] = read.value.items
    assert (item.provenance.agent, item.provenance.key) == ("claude", "night shift")
    edit = EditJob(job.value.job_id, kwargs={"prompt": "Look again"})
    assert code(await service.answer(Operations.edit_job, ANN, edit)) == "ok"
    clock.advance(hours=1)
    await worker.all()
    read = await service.answer(Operations.read_inbox, ANN, ReadInbox())
    assert isinstance(read, Ok)
    assert {(item.provenance.agent, item.provenance.key) for item in read.value.items} == {(None, None)}
