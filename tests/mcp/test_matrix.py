"""Somebody else's id and one that doesn't exist: every tool and every resource answers both with the same words.

Owners count their jobs for themselves, so Ann and Bob have the same numbers here; Bob has some more, which name nothing
of Ann's.
"""

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import asyncpg
import httpx2
import pytest
from mcp import Client, MCPError

from cronty import Cronty
from cronty.asgi import http_app
from cronty.jobs.ids import job_id_text, schedule_id_text
from cronty.jobs.run import receipt, run_id
from cronty.mcp.server import GROUPS, CrontyServer
from tests.conftest import START, HandClock, Hands
from tests.mcp.caller import ERAS, Caller, held, text_of
from tests.mcp.conftest import Behind

type Form = Callable[[int], object]

SLOT: Final = START + timedelta(minutes=1)
MISSING: Final = 7_654_321
FIRST: Final = 4_000_001
"""Numbers that no answer holds for another reason."""

JOB_FORMS: Final[dict[str, Form]] = {
    "job_": lambda number: job_id_text(number, START),
    "scd_": schedule_id_text,
    "number": str,
    "#number": lambda number: f"#{number}",
}
RUN_FORMS: Final[dict[str, Form]] = {
    "run": lambda number: run_id(number, SLOT),
    "a receipt": lambda number: receipt(number, SLOT, 1),
    "another receipt": lambda number: receipt(number, SLOT, 2),
    "another slot": lambda number: run_id(number, SLOT + timedelta(seconds=1)),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tool takes an id, which forms it may have, and what else is said with it."""

    parameter: str
    forms: Mapping[str, Form]
    rest: tuple[Mapping[str, object], ...] = ({},)
    many: bool = False


NUMBER_FORMS: Final[dict[str, Form]] = {**JOB_FORMS, "integer": lambda number: number}
MATRIX: Final[dict[str, Entry]] = {
    "cancel_job": Entry("job_id", JOB_FORMS),
    "job_status": Entry("job_id", JOB_FORMS),
    "edit_job": Entry(
        "job_id",
        JOB_FORMS,
        (
            {"name": "mine"},
            {"expected_version": 99, "name": "mine"},
            {"trigger_type": "words", "trigger_config": {"text": "every day at 9:00"}},
            {"trigger_type": "words", "trigger_config": {"text": "every blue moon"}},
            {"task": "nonsense"},
            {"kwargs": {"prompt": "mine"}},
            {},
        ),
    ),
    "run_job_now": Entry("job_id", JOB_FORMS),
    "change_slot": Entry("job_id", JOB_FORMS, ({}, {"slot": "tomorrow at 9:00"}, {"to": "tomorrow at 10:00"})),
    "list_runs": Entry(
        "job_id", JOB_FORMS, ({}, {"limit": 1}, {"verdict": "failed"}, {"verdict": "odd"}, {"limit": 0})
    ),
    "redrive_runs": Entry("run_ids", RUN_FORMS, many=True),
    "pause_schedule": Entry("schedule_id", JOB_FORMS),
    "resume_schedule": Entry("schedule_id", JOB_FORMS),
    "delete_schedule": Entry("schedule_id", JOB_FORMS),
    "schedule_edit": Entry(
        "id",
        NUMBER_FORMS,
        ({"prompt": "mine"}, {"at": "tomorrow at 9:00"}, {"at": "every day at 9:00"}, {"at": "blue"}, {}),
    ),
    "schedule_cancel": Entry("id", NUMBER_FORMS),
    "acknowledge_inbox": Entry(
        "receipts",
        RUN_FORMS,
        (
            {},
            {"outcome": "quiet"},
            {"outcome": "failed", "report": "no"},
            {"outcome": "snooze", "snooze_for": "1h"},
            {"outcome": "snooze"},
        ),
        many=True,
    ),
}
TAKES_AN_ID: Final = re.compile(r"(^|_)ids?$|receipts?$|(^|_)(job|run|task|schedule|number)$")
NO_IDS: Final = {
    ("schedule_job", "task"), ("edit_job", "task"), ("list_jobs", "task"), ("preview_schedule", "schedule"),
}  # fmt: skip
"""Names of registered tasks, and a rule."""


@pytest.fixture
async def world(cronty: Cronty, worker: Hands, clock: HandClock, sql: asyncpg.Connection) -> dict[str, list[int]]:
    """Each a prompt in the inbox, a failed run, a job and a prompt to come, and a paused job; Bob all of it twice."""
    await sql.executemany(
        "insert into cronty.owners (name, next_number) values ($1, $2)", [("ann", FIRST), ("bob", FIRST)]
    )

    def fail() -> None:
        raise ValueError("no luck")

    cronty.registry.add(fail)
    await worker.store.publish_tasks(cronty.registry.published())
    made: dict[str, list[int]] = {}
    every = {"minutes": 1}
    for owner in ("ann", "bob", "bob"):
        cronty.owner = owner
        jobs = [
            await cronty.schedule_job("thinks", "prompt", "interval", every, kwargs={"prompt": f"of {owner}"}),
            await cronty.schedule_job("fails", "fail", "interval", every, policy={"attempts": 1}),
            await cronty.schedule_job("waits", "run_backup", "cron", {"expression": "0 9 * * *"}),
            await cronty.schedule_job("rests", "run_backup", "interval", every),
            await cronty.schedule_job(
                "will think", "prompt", "interval", {"hours": 1}, kwargs={"prompt": f"of {owner}"}
            ),
        ]
        await cronty.pause_job(jobs[3].job_id)
        made.setdefault(owner, []).extend(int(job.job_id.split("_")[1]) for job in jobs)
    clock.advance(seconds=61)
    await worker.all()
    return made


@pytest.fixture(params=ERAS)
async def client(
    request: pytest.FixtureRequest, behind: Behind, server: CrontyServer, cronty: Cronty
) -> AsyncGenerator[Client]:
    behind.cronty = cronty
    async with held(Client(server, mode=ERAS[request.param])) as made:
        yield made


def blank(text: str, number: int, form: object) -> str:
    """The text without the id that was asked for, in whichever form it says it."""
    for said in (str(form), schedule_id_text(number), str(number)):
        text = text.replace(said, "<id>")
    return text


async def state_of(sql: asyncpg.Connection, owner: str | None = None) -> str:
    """Everything there is, of one owner or of all."""
    tables = ("jobs", "due", "runs", "queue", "attempts", "stop_requests")
    whose = "t.owner_id in (select id from cronty.owners where name = coalesce($1, name))"
    rows = [
        await sql.fetch(f"select t::text from cronty.{table} t where {whose} order by 1", owner) for table in tables
    ]
    return str([row[0] for found in rows for row in found])


async def ask(caller: Caller, tool: str, number: int, form: Form, rest: Mapping[str, object]) -> tuple[bool, str]:
    """The whole answer without the id that was asked for, and whether it is an error."""
    entry, given = MATRIX[tool], form(number)
    result = await caller.raw(tool, **{entry.parameter: [given] if entry.many else given}, **rest)
    return bool(result.is_error), blank(f"{text_of(result)} {result.structured_content}", number, given)


async def test_a_foreign_id_is_answered_like_a_missing_one(
    client: Client, cronty: Cronty, world: dict[str, list[int]], sql: asyncpg.Connection
) -> None:
    caller, before = Caller(client), await state_of(sql)
    cronty.owner = "ann"
    for tool, entry in MATRIX.items():
        asked = 0
        for name, form in entry.forms.items():
            for rest in entry.rest:
                missing = await ask(caller, tool, MISSING, form, rest)
                for foreign in set(world["bob"]) - set(world["ann"]):
                    assert await ask(caller, tool, foreign, form, rest) == missing, f"{tool}, {name}, {rest}"
                    asked += 1
        assert asked >= 16, tool
        assert await state_of(sql) == before, f"{tool}: and nothing has changed"


@pytest.mark.parametrize("client", [next(iter(ERAS))], indirect=True)  # the others answer the same
@pytest.mark.parametrize("tool", MATRIX)
async def test_a_number_that_both_have_names_ones_own(
    tool: str, client: Client, cronty: Cronty, world: dict[str, list[int]], sql: asyncpg.Connection
) -> None:
    """Whatever Ann does to it, nothing of Bob's is changed or shown."""
    assert world["bob"][: len(world["ann"])] == world["ann"]
    entry, caller, before = MATRIX[tool], Caller(client), await state_of(sql, "bob")
    cronty.owner = "ann"
    if tool == "acknowledge_inbox":
        await caller.ask("read_inbox")
    for form in entry.forms.values():
        for rest in entry.rest:
            for number in world["ann"]:
                assert "bob" not in (await ask(caller, tool, number, form, rest))[1]
    assert await state_of(sql, "bob") == before


@pytest.mark.parametrize("client", [next(iter(ERAS))], indirect=True)  # the others answer the same
@pytest.mark.parametrize("tool", MATRIX)
async def test_ones_own_id_is_answered_otherwise(
    tool: str, client: Client, cronty: Cronty, world: dict[str, list[int]]
) -> None:
    """Or the matrix would hold for a server that answers nothing."""
    entry, caller = MATRIX[tool], Caller(client)
    cronty.owner = "ann"
    if tool == "acknowledge_inbox":
        await caller.ask("read_inbox")
    form = next(iter(entry.forms.values()))
    own: list[str] = []
    for number in (MISSING, *world["ann"]):
        given: Any = form(number)
        result = await caller.raw(tool, **{entry.parameter: [given] if entry.many else given}, **entry.rest[0])
        own.append(blank(text_of(result), number, given))
    assert any(answer != own[0] for answer in own[1:])


async def test_every_parameter_that_takes_an_id_is_in_the_matrix(client: Client) -> None:
    tools = (await client.list_tools()).tools
    found = {
        (tool.name, parameter)
        for tool in tools
        for parameter in tool.input_schema["properties"]
        if TAKES_AN_ID.search(parameter)
    }
    assert found - NO_IDS == {(tool, entry.parameter) for tool, entry in MATRIX.items()}


# -- resources ----------------------------------------------------------------------------------------------------

TEMPLATES: Final = {"job://{job_id}", "schedules://{topic}"}


async def read(client: Client, uri: str) -> str:
    try:
        return str(
            [content.model_dump(mode="json", exclude={"uri"}) for content in (await client.read_resource(uri)).contents]
        )
    except MCPError as refused:
        return f"{refused.error.code} {refused.error.message}"


async def test_a_foreign_job_reads_like_a_missing_one(
    client: Client, cronty: Cronty, world: dict[str, list[int]]
) -> None:
    cronty.owner = "ann"
    for name, form in JOB_FORMS.items():
        if "#" in name:
            continue  # no part of a URI
        missing = blank(await read(client, f"job://{form(MISSING)}"), MISSING, form(MISSING))
        for foreign in set(world["bob"]) - set(world["ann"]):
            assert blank(await read(client, f"job://{form(foreign)}"), foreign, form(foreign)) == missing
        for number in world["ann"]:
            own = blank(await read(client, f"job://{form(number)}"), number, "")
            assert own != missing
            assert "bob" not in own


async def test_a_topic_of_somebody_elses_is_empty_like_any_other(
    client: Client, cronty: Cronty, worker: Hands, clock: HandClock
) -> None:
    cronty.owner = "bob"
    await Caller(client).ask("schedule_notification", message="x", notification_topic="bobs-phone", delay="1h")
    assert "scd_" in await read(client, "schedules://bobs-phone")
    cronty.owner = "ann"
    foreign = await read(client, "schedules://bobs-phone")
    assert foreign.replace("bobs-phone", "no-phone") == await read(client, "schedules://no-phone")


async def test_every_resource_with_a_parameter_is_tried(client: Client) -> None:
    templates = (await client.list_resource_templates()).resource_templates
    assert {template.uri_template for template in templates} == TEMPLATES
    assert all("{" not in str(one.uri) for one in (await client.list_resources()).resources)


# -- lists, keys of idempotency, routes ---------------------------------------------------------------------------


async def test_lists_hold_nothing_of_anybody_elses(client: Client, cronty: Cronty, world: dict[str, list[int]]) -> None:
    caller = Caller(client)
    cronty.owner = "bob"
    page = await caller.ask("list_jobs", limit=1)
    cronty.owner = "ann"
    for tool, arguments in (
        ("list_jobs", {}),
        ("list_jobs", {"cursor": page["cursor"]}),
        ("list_runs", {}),
        ("list_scheduled_notifications", {}),
        ("schedule_list", {}),
        ("read_inbox", {}),
    ):
        said = await caller.said(tool, **arguments)
        assert "of bob" not in said
        assert not any(
            str(number) in said or schedule_id_text(number) in said for number in {*world["bob"]} - {*world["ann"]}
        ), tool


async def test_the_same_idempotency_key_of_two_owners_makes_two_jobs(
    client: Client, cronty: Cronty, world: dict[str, list[int]], sql: asyncpg.Connection
) -> None:
    made = list[str]()
    for owner in ("ann", "bob", "ann"):
        cronty.owner = owner
        job = await Caller(client).ask(
            "schedule_job", name="once", task="run_backup", trigger_type="interval", trigger_config={"hours": 1},
            idempotency_key="the same",
        )  # fmt: skip
        made.append(job["job_id"])
    assert made[0] == made[2]
    assert await sql.fetchval("select count(*) from cronty.jobs where idempotency_key = 'the same'") == 2


async def test_health_and_readiness_say_nothing_of_an_owner(cronty: Cronty, world: dict[str, list[int]]) -> None:
    app = http_app(cronty, GROUPS, ["here"])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here") as http:
        assert (await http.get("/health")).json() == {"status": "alive"}
        assert (await http.get("/ready")).json() == {"status": "ready"}
