"""Whatever a job is called, says or leaves behind stays text; and however much of it there is, pages stay small."""

from datetime import timedelta

import asyncpg
import orjson
import pytest

from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.jobs.overview import MAX_DRAWN
from tests.conftest import HandClock, Hands
from tests.web.browser_payloads import PAYLOADS
from tests.web.dashboard_fixtures import Browser, House, Page, ann, house

__all__ = ["ann", "house"]

KB = 1000
LARGEST = 100 * KB


@pytest.fixture
def registry() -> Registry:
    """Tasks that say what they are told to: as a result, or as what went wrong."""
    made = Registry()

    def say(text: str) -> dict[str, str]:
        return {text: text}

    def fail(text: str) -> None:
        raise ValueError(text)

    def note() -> None: ...

    for task in (say, fail, note):
        made.add(task)
    return made


def test_there_are_fifty() -> None:
    assert len(set(PAYLOADS)) == 50


async def test_nothing_that_somebody_wrote_becomes_part_of_a_page(
    house: House, ann: Browser, hands: Hands, clock: HandClock
) -> None:
    jobs: list[int] = []
    for payload in PAYLOADS:
        tag = [payload[:50].strip()]
        for task, kwargs in (
            ("say", {"text": payload}), ("fail", {"text": payload}),
            ("prompt", {"prompt": payload, "agent": payload[:60], "data": {payload: payload}}),
        ):  # fmt: skip
            jobs.append((await house.job(payload, task=task, kwargs=kwargs, tags=tag, max_runs=1)).number)
    clock.advance(minutes=5, seconds=1)
    await hands.all()
    for number, payload in enumerate(PAYLOADS):
        saying, failing, _ = jobs[3 * number : 3 * number + 3]
        runs = [await house.cronty.service.scheduler.list_runs(local_caller("ann"), job) for job in (saying, failing)]
        for run in runs:
            assert isinstance(run, Ok)
            page = await ann.get(f"/runs/{run.value[0].run_id}")
            assert page.flaws() == [], payload
            assert " ".join(payload.split()) in page.text
        for path in (f"/jobs/{saying}", f"/jobs/{jobs[3 * number + 2]}/edit", "/jobs/preview", "/jobs"):
            answer = await ann.client.get(path, params={"when": payload, "q": payload, "zone": payload, "tag": payload})
            assert _flaws(answer.text) == [], (path, payload)
    for path in ("/", "/jobs", "/inbox", "/fleet", "/settings"):
        assert (await ann.get(path)).flaws() == []


async def test_what_is_typed_into_a_form_comes_back_as_text(house: House, ann: Browser, hands: Hands) -> None:
    for payload in PAYLOADS:
        fields = {"name": payload, "when": payload, "zone": payload, "kind": "prompt", "prompt_text": payload}
        page = await ann.post("/jobs", 422, **fields)
        assert page.flaws() == [], payload
        page = await ann.post("/settings/channels", 422, name=payload, url=payload)
        assert page.flaws() == [], payload
        answer = await ann.send("/settings/keys", name=payload, scope="read", agent=payload)
        assert _flaws(answer.text) == [], payload
    assert (await ann.get("/settings")).flaws() == []


@pytest.mark.parametrize("failed", [MAX_DRAWN - 10, 399])  # as many marks as are ever drawn; counted in bars
async def test_no_page_grows_with_what_there_is(
    house: House, ann: Browser, hands: Hands, sql: asyncpg.Connection, clock: HandClock, failed: int
) -> None:
    """The longest names, of what takes up most room on a page, on as many rows as a page would ever show."""
    worst = '"' * 200
    first = await house.job(worst, tags=[f"{number:02}" + '"' * 48 for number in range(20)])
    large = orjson.dumps({"args": [], "kwargs": {"prompt": '"' * 60_000, "data": ['"' * 3000]}}).decode()
    await sql.execute(
        """insert into cronty.jobs
          (owner_id, number, name, task, arguments, trigger, policy, tags, zone, created_at, updated_at)
        select owner_id, 1 + n, name, 'prompt', $2::text::jsonb, trigger, policy,
          array(select lpad((n * 20 + t)::text, 5, '0') || repeat('"', 45) from generate_series(1, 20) t), zone,
          created_at, updated_at
        from cronty.jobs, generate_series(1, 500) n where id = $1""",
        first.id, large,
    )  # fmt: skip
    await sql.execute(
        """insert into cronty.due (job_id, owner_id, next_at, serial, period)
        select j.id, j.owner_id, d.next_at, d.serial, d.period from cronty.jobs j, cronty.due d
        where d.job_id = $1 and j.id <> $1""",
        first.id,
    )  # fmt: skip
    await sql.execute("update cronty.due set next_at = $1", clock() + timedelta(days=3))
    wrong = '"' * 10_000
    await sql.execute(
        """insert into cronty.runs
          (job_id, scheduled_for, owner_id, state, attempt, started_at, finished_at, error, result)
        select id, $1::timestamptz - number * interval '3 minutes', owner_id, 'failed', 3, $1, $1, $2, $3::text::jsonb
        from cronty.jobs where number <= $4""",
        clock() - timedelta(minutes=1), wrong, orjson.dumps('"' * 200_000).decode(), failed,
    )  # fmt: skip
    await sql.execute(
        """insert into cronty.attempts (job_id, scheduled_for, attempt, owner_id, ended_at, outcome, error)
        select job_id, scheduled_for, n, owner_id, finished_at, 'failed', error
        from cronty.runs, generate_series(1, 60) n where job_id = (select id from cronty.jobs where number = 2)"""
    )
    await sql.execute(
        """insert into cronty.runs (job_id, scheduled_for, owner_id, state)
        select id, $1::timestamptz - interval '2 days', owner_id, 'waiting' from cronty.jobs where number > 400""",
        clock(),
    )
    await sql.execute(
        """insert into cronty.queue (job_id, scheduled_for, owner_id, task, due_at)
        select job_id, scheduled_for, owner_id, 'prompt', scheduled_for from cronty.runs where state = 'waiting'"""
    )
    for number in range(60):
        await house.cronty.service.identity.add_key(local_caller("ann"), f"{number} " + '"' * 97, agent='"' * 100)
    run = await sql.fetchval(
        "select scheduled_for from cronty.runs r join cronty.jobs j on j.id = r.job_id where number = 2"
    )
    paths = ["/", "/jobs", "/jobs/1", "/jobs/2", "/jobs/2/edit", "/week", "/inbox", "/fleet", "/settings", "/jobs/new"]
    paths.append(f"/runs/run_2_{int(run.timestamp() * 1_000_000)}")
    sizes: dict[str, int] = {}
    for path in paths:
        page = await ann.get(path)
        assert page.flaws() == []
        if path == "/":
            drawn = len(page.all("use"))
            assert drawn > failed if failed <= MAX_DRAWN else drawn < failed, "every slot has its mark, or is counted"
        sizes[path] = len(ann.pages[-1].content)
    assert {path: size for path, size in sizes.items() if size > LARGEST} == {}


def _flaws(text: str) -> list[str]:
    return Page(text).flaws()
