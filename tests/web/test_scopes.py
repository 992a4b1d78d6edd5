"""What a key may do to a job follows from what the job does, the same over REST, MCP and the dashboard."""

from typing import Any, Final

import httpx2
import pytest
from mcp import Client

from cronty.contract.caller import Caller, Scope
from cronty.contract.operations import ALL
from cronty.jobs.ids import job_id_text
from cronty.jobs.job import Job
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from cronty.web.callers import by_token
from cronty.web.rest.app import rest_app
from tests.conftest import Hands
from tests.mcp.caller import Caller as Tools
from tests.mcp.caller import held
from tests.web.dashboard_fixtures import House
from tests.web.dashboard_fixtures import house as house

KEYS: Final[tuple[tuple[Scope, ...], ...]] = (
    ("read", "schedule"), ("read", "prompts"), ("read", "run"), ("read", "run", "prompts"),
)  # fmt: skip
KINDS: Final[dict[str, dict[str, Any]]] = {"prompt": {"kwargs": {"prompt": "Look"}}, "note": {}}
EVERY: Final = {"trigger_type": "interval", "trigger_config": {"hours": 1}}

REST: Final[dict[str, tuple[str, str, dict[str, Any] | None]]] = {
    "edit_job": ("PATCH", "/jobs/{}", {"name": "another"}),
    "pause_job": ("POST", "/jobs/{}/pause", None),
    "resume_job": ("POST", "/jobs/{}/resume", None),
    "change_slot": ("POST", "/jobs/{}/slot", None),
    "run_job_now": ("POST", "/jobs/{}/run", None),
    "backfill_job": ("POST", "/jobs/{}/backfill", {"from": "yesterday", "to": "today"}),
    "cancel_job": ("POST", "/jobs/{}/cancel", None),
    "delete_job": ("DELETE", "/jobs/{}", None),
    "undelete_job": ("POST", "/jobs/{}/undelete", None),
}
TOOLS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "edit_job": ("job_id", {"name": "another"}),
    "pause_schedule": ("schedule_id", {}),
    "resume_schedule": ("schedule_id", {}),
    "change_slot": ("job_id", {}),
    "run_job_now": ("job_id", {}),
    "cancel_job": ("job_id", {}),
    "delete_schedule": ("schedule_id", {}),
}
BUTTONS: Final = ("pause", "resume", "skip", "run", "cancel", "delete", "undelete")


def allowed(kind: str, scopes: tuple[Scope, ...], act: str) -> bool:
    if "run" in act or "backfill" in act:
        return "run" in scopes and (kind != "prompt" or "prompts" in scopes)
    return ("prompts" if kind == "prompt" else "schedule") in scopes


async def jobs_of(house: House) -> dict[str, Job]:
    return {kind: await house.job(kind, task=kind, **given) for kind, given in KINDS.items()}


@pytest.mark.parametrize("scopes", KEYS, ids=" ".join)
async def test_every_surface_asks_for_the_same_scopes(house: House, hands: Hands, scopes: tuple[Scope, ...]) -> None:
    assert hands.engine.worker
    await over_rest(house, scopes)
    await over_mcp(house, scopes)
    await on_the_dashboard(house, scopes)


def test_every_operation_that_changes_a_job_is_tried() -> None:
    """Runs are tried in tests/scheduler/test_who_may.py."""
    assert {one.name for one in ALL.values() if one.by_kind} == {*REST, "schedule_job", "stop_run", "redrive_runs"}


async def over_rest(house: House, scopes: tuple[Scope, ...]) -> None:
    app = rest_app(lambda: house.cronty.service, by_token(lambda: house.cronty.service.identity))
    key = {"authorization": f"Bearer {await house.key('ann', *scopes)}"}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here", headers=key) as http:
        for kind, job in (await jobs_of(house)).items():
            made = await http.post("/jobs", json={"name": "x", "task": kind, **EVERY, **KINDS[kind]})
            assert (made.status_code == 201) == allowed(kind, scopes, "make"), made.text
            for act, (method, path, body) in REST.items():
                answer = await http.request(method, path.format(job.number), json=body)
                refused = answer.status_code == 403 and answer.json()["code"] == "missing_scope"
                assert refused != allowed(kind, scopes, act), (kind, act, answer.text)


async def over_mcp(house: House, scopes: tuple[Scope, ...]) -> None:
    server = CrontyServer(ToolContext(house.cronty, lambda: Caller("ann", frozenset(scopes))))
    async with held(Client(server)) as client:
        tools = Tools(client)
        for kind, job in (await jobs_of(house)).items():
            said = await tools.said("schedule_job", name="x", task=kind, **EVERY, **KINDS[kind])
            assert ("needs the scope" in said) != allowed(kind, scopes, "make"), said
            for act, (name, given) in TOOLS.items():
                job_id = job_id_text(job.number, job.created_at)
                said = await tools.said(act, **{name: job_id}, **given)
                assert ("needs the scope" in said) != allowed(kind, scopes, act), (kind, act, said)
        said = await tools.said("schedule", at="tomorrow at 9:00", prompt="Look")
        assert ("needs the scope" in said) != allowed("prompt", scopes, "make")
        listed = await tools.tools()
        assert ("schedule" in listed) == ("prompts" in scopes)
        assert ("schedule_notification" in listed) == ("schedule" in scopes)
        assert ("pause_schedule" in listed) == bool({"schedule", "prompts"} & {*scopes})


async def on_the_dashboard(house: House, scopes: tuple[Scope, ...]) -> None:
    async with house.visited(house.by_key()) as browser:
        await browser.get("/sign-in")
        await browser.post("/sign-in", key=await house.key("ann", *scopes), next="/")
        for kind, job in (await jobs_of(house)).items():
            page = await browser.get(f"/jobs/{job.number}")
            assert ("Delete" in page.text) == allowed(kind, scopes, "delete")
            assert ("Run now" in page.text) == allowed(kind, scopes, "run")
            await browser.get("/jobs")
            given = {"kind": "task", "task": kind} if kind == "note" else {"kind": kind, "prompt_text": "Look"}
            made = await browser.send("/jobs", when="every hour", name="x", **given)
            assert (made.status_code == 303) == allowed(kind, scopes, "make"), made.text
            for act in BUTTONS:
                answer = await browser.send(f"/jobs/{job.number}/{act}")
                assert (answer.status_code == 403) != allowed(kind, scopes, act), (kind, act, answer.status_code)
