"""A prompt from its schedule to its verdict, as the agent that reads the inbox sees it."""

import asyncio
from datetime import datetime, timedelta

import httpx2
import pytest

from tests.mcp.caller import ERAS, Answer, Caller, until
from tests.stories.conftest import Town, calling

pytestmark = pytest.mark.asyncio(loop_scope="session")

ITEM = [
    *("receipt", "prompt", "data", "agent", "job_id", "name", "why", "scheduled_for"),
    *("attempt", "made_at", "lease_until"),
]


async def fire(caller: Caller, prompt: str = "Look at my pull requests.", **rest: object) -> str:
    """A prompt whose time has come; its job's id."""
    job = await caller.ask(
        "schedule_job", name=prompt, task="prompt", hours=1, kwargs={"prompt": prompt, **rest}, policy={"attempts": 1}
    )
    assert "job_id" in job, job
    await caller.ask("run_job_now", job_id=job["job_id"])
    return job["job_id"]


async def read(caller: Caller, **arguments: object) -> list[Answer]:
    answer = await caller.ask("read_inbox", wait_seconds=20, **arguments)
    assert answer["count"] == len(answer["items"])
    return answer["items"]


async def last_run(caller: Caller, job_id: str) -> Answer:
    return (await caller.ask("list_runs", job_id=job_id))["runs"][0]


async def test_a_scheduled_prompt_fires_is_read_and_is_done(caller: Caller) -> None:
    made = await caller.ask("schedule", at="in 1s", prompt="Look at my pull requests.")
    [item] = await read(caller)
    assert set(ITEM) <= set(item)
    assert (item["prompt"], item["agent"], item["data"], item["attempt"]) == (
        *("Look at my pull requests.", None, None, 1),
    )
    assert item["scheduled_for"] == made["task"]["at"]
    assert item["why"].startswith("planned for ")
    lease = datetime.fromisoformat(item["lease_until"]) - datetime.fromisoformat(item["scheduled_for"])
    assert timedelta(minutes=9) < lease < timedelta(minutes=11)
    answer = await caller.ask("acknowledge_inbox", receipts=[item["receipt"]], report="Two need you.")
    assert answer == {"acknowledged": [item["receipt"]], "refused": []}
    run = await last_run(caller, item["job_id"])
    assert (run["verdict"], run["result"]) == ("done", {"report": "Two need you."})
    done = await caller.say("schedule_list", status="completed")
    assert done.startswith(f"#{made['task']['id']}  ")


async def test_a_reader_who_waits_is_woken_by_what_another_process_schedules(empty_town: Town) -> None:
    waiting = asyncio.create_task(read(empty_town.callers["stdio 2026-07-28"]))
    await fire(empty_town.callers["http 2025-11-25"])
    [item] = await waiting
    assert (item["prompt"], item["why"]) == ("Look at my pull requests.", "asked for at once")


async def test_who_gives_no_name_is_told_whose_prompts_wait(caller: Caller) -> None:
    await fire(caller, agent="claude")
    seen = await until(lambda: caller.ask("read_inbox"), lambda answer: "note" in answer)
    note = "Prompts wait for claude: give your name as agent to read yours."
    assert seen == {"items": [], "count": 0, "note": note}
    assert [item["agent"] for item in await read(caller, agent="claude")] == ["claude"]
    assert await caller.ask("read_inbox") == {"items": [], "count": 0}, "claude has it now"


async def test_an_empty_inbox_is_an_empty_list(caller: Caller) -> None:
    assert await caller.ask("read_inbox") == {"items": [], "count": 0}


async def test_a_failed_prompt_says_so_on_its_job(caller: Caller) -> None:
    job_id = await fire(caller)
    [item] = await read(caller)
    await caller.ask("acknowledge_inbox", receipts=[item["receipt"]], outcome="failed", report="no access")
    run = await last_run(caller, job_id)
    assert (run["verdict"], run["error"]) == ("failed", "no access")
    assert (await caller.ask("job_status", job_id=job_id))["error"] == "no access"


async def test_a_snoozed_prompt_comes_again(caller: Caller, empty_town: Town) -> None:
    job_id = await fire(caller)
    [item] = await read(caller)
    snoozed = await caller.ask("acknowledge_inbox", receipts=[item["receipt"]], outcome="snooze", snooze_for="1 minute")
    assert snoozed == {"acknowledged": [item["receipt"]], "refused": []}
    await empty_town.rows("update cronty.queue set due_at = now() returning 1")
    [again] = await read(caller)
    assert (again["job_id"], again["attempt"], again["receipt"] != item["receipt"]) == (job_id, 2, True)
    assert again["why"].endswith("; handed out 2 times")
    late = await caller.ask("acknowledge_inbox", receipts=[item["receipt"]])
    assert (late["acknowledged"], late["refused"]) == ([], [item["receipt"]])
    assert (await caller.ask("acknowledge_inbox", receipts=[again["receipt"]]))["acknowledged"] == [again["receipt"]]


async def test_a_receipt_settles_once(caller: Caller) -> None:
    await fire(caller)
    [item] = await read(caller)
    await caller.ask("acknowledge_inbox", receipts=item["receipt"])
    assert await caller.ask("acknowledge_inbox", receipts=[item["receipt"], "nonsense"]) == {
        "acknowledged": [],
        "refused": [item["receipt"], "nonsense"],
        "hint": "Those are settled already, were handed out again, or don't exist; read_inbox shows what is open.",
    }


async def test_each_agent_gets_its_own_prompts_and_those_for_anyone(caller: Caller) -> None:
    await fire(caller, "for Ada", agent="ada", data={"pull_requests": [1, 2]})
    await fire(caller, "for anyone")
    seen = [item["prompt"] for item in await read(caller, agent="bob")]
    assert seen == ["for anyone"]
    [item] = await read(caller, agent="ada")
    assert (item["prompt"], item["agent"], item["data"]) == ("for Ada", "ada", {"pull_requests": [1, 2]})


async def test_what_is_reported_with_quiet_is_kept_with_the_run(caller: Caller) -> None:
    await fire(caller, "look")
    [item] = await read(caller)
    await caller.ask("acknowledge_inbox", receipts=[item["receipt"]], outcome="quiet", report="nothing new since 8:00")
    [run] = (await caller.ask("list_runs", job_id=item["job_id"]))["runs"]
    assert run["result"] == {"quiet": True, "report": "nothing new since 8:00"}


@pytest.mark.parametrize(
    ("tool", "arguments", "error", "hint"),
    [
        ("read_inbox", {"wait_seconds": 60}, "Invalid wait_seconds: 60", "Use a number from 0 to 20."),
        ("read_inbox", {"wait_seconds": 2**53}, "Invalid wait_seconds: 9.0072e+15", "Use a number from 0 to 20."),
        ("read_inbox", {"limit": 0}, "Invalid limit: 0", "Use a number from 1 to 100."),
        (
            "acknowledge_inbox",
            {"receipts": []},
            "No receipt was given.",
            "Pass the receipts that read_inbox gave.",
        ),
        (
            "acknowledge_inbox",
            {"receipts": ["run_1_1#1"], "outcome": "snooze"},
            "Until when? snooze_for is missing.",
            'Give one later moment, as in "1h" or "tomorrow at 9:00".',
        ),
        (
            "acknowledge_inbox",
            {"receipts": ["run_1_1#1"], "outcome": "snooze", "snooze_for": "blurgh"},
            "Invalid snooze_for: Invalid time: 'blurgh'",
            'Give one later moment, as in "1h" or "tomorrow at 9:00".',
        ),
        (
            "acknowledge_inbox",
            {"receipts": ["run_1_1#1"], "outcome": "snooze", "snooze_for": "2020-01-01"},
            'Invalid snooze_for: "2020-01-01" is in the past.',
            'Give one later moment, as in "1h" or "tomorrow at 9:00".',
        ),
    ],
)
async def test_what_cannot_be_asked_of_the_inbox(
    caller: Caller, tool: str, arguments: Answer, error: str, hint: str
) -> None:
    assert await caller.ask(tool, **arguments) == {"error": error, "hint": hint}


async def test_a_report_with_a_character_that_cannot_be_kept_settles_nothing(caller: Caller) -> None:
    job_id = await fire(caller)
    [item] = await read(caller)
    said = await caller.refused("acknowledge_inbox", receipts=[item["receipt"]], report="nul \0 inside")
    assert said == "report has a NUL character or half a surrogate pair, which can't be stored. Leave it out."
    assert (await last_run(caller, job_id))["verdict"] == "waiting"


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_that_died_while_it_waited_takes_no_prompt_with_it(empty_town: Town, era: str) -> None:
    town, alive = empty_town, empty_town.callers["stdio 2026-07-28"]
    for _ in range(3):
        async with calling(town.mcp_url, town.bearer, ERAS[era]) as client:
            dead = asyncio.create_task(client.call_tool("read_inbox", {"wait_seconds": 20}))
            await client.call_tool("get_current_time", {})
            dead.cancel()
        await fire(alive)
        [item] = await read(alive)
        assert item["attempt"] == 1
        await alive.ask("acknowledge_inbox", receipts=[item["receipt"]])


async def test_a_rest_client_that_died_while_it_waited_takes_no_prompt_with_it(empty_town: Town) -> None:
    town, alive = empty_town, empty_town.callers["stdio 2026-07-28"]
    for _ in range(3):
        async with httpx2.AsyncClient(headers=town.bearer) as http:
            url = town.mcp_url.replace("/mcp", "/api/v1/inbox/read")
            with pytest.raises(httpx2.ReadTimeout):
                await http.post(url, json={"wait_seconds": 20}, timeout=0.3)
        await fire(alive)
        [item] = await read(alive)
        assert item["attempt"] == 1
        await alive.ask("acknowledge_inbox", receipts=[item["receipt"]])
