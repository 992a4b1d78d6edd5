"""One owner's requests leave room for those of others, however many of them wait."""

import asyncio

import httpx2
import pytest

from cronty import Cronty
from cronty.asgi import http_app
from cronty.contract.caller import Scope, local_caller
from cronty.contract.result import Ok
from cronty.mcp.server import GROUPS
from cronty.store.sealing import read_keys
from cronty.web.dashboard.security import SESSION
from cronty.web.sessions import Sessions
from tests.patience import PATIENCE
from tests.web.conftest import PLACE
from tests.web.test_connections import listening

WAITING = {"wait_seconds": 20}


async def key_for(cronty: Cronty, owner: str, *scopes: Scope) -> tuple[dict[str, str], int]:
    made = await cronty.service.identity.add_key(local_caller(owner), "a key", scopes)
    assert isinstance(made, Ok)
    return {"authorization": f"Bearer {made.value.text}"}, made.value.number


async def test_one_owners_waiting_calls_leave_the_server_to_others(
    cronty: Cronty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.asgi.most_connections", lambda: 8)
    ann, _ = await key_for(cronty, "ann", "read")
    bob, number = await key_for(cronty, "bob", "read", "prompts")
    bobs_other, _ = await key_for(cronty, "bob", "read")
    async with (
        listening(http_app(cronty, GROUPS, ["127.0.0.1:*"]), 8, PATIENCE) as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as http,
    ):
        waiting = [asyncio.create_task(http.post(f"{PLACE}/inbox/read", json=WAITING, headers=bob)) for _ in range(8)]
        async with asyncio.timeout(PATIENCE):
            while sum(one.done() for one in waiting) < 4:
                await asyncio.sleep(0.01)
        for _ in range(5):
            async with httpx2.AsyncClient(base_url=http.base_url, timeout=PATIENCE) as other:
                assert (await other.get("/health")).status_code == 200
                assert (await other.get(f"{PLACE}/clock", headers=ann)).status_code == 200
        await cronty.service.identity.revoke(local_caller("bob"), number)
        await cronty.service.listeners.step()
        answers = await asyncio.gather(*waiting)
        assert sorted(one.status_code for one in answers) == [401] * 4 + [429] * 4
        assert {one.json()["code"] for one in answers} == {"bad_token", "too_many_requests"}
        assert (await http.get(f"{PLACE}/clock", headers=bobs_other)).status_code == 200, "it counts while it lasts"


async def test_requests_of_every_surface_count(cronty: Cronty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cronty.asgi.most_connections", lambda: 0)
    bearer, _ = await key_for(cronty, "ann", "read", "prompts")
    feed, _ = await key_for(cronty, "ann", "agenda")
    assert cronty.settings.secret_key is not None
    session = Sessions(read_keys(cronty.settings.secret_key.get_secret_value())[0])
    cookies = {SESSION: session.seal(bearer["authorization"].removeprefix("Bearer "))}
    transport = httpx2.ASGITransport(http_app(cronty, GROUPS, ["here"]))
    async with httpx2.AsyncClient(transport=transport, base_url="http://here", cookies=cookies) as http:
        asked = [
            await http.get(f"{PLACE}/jobs", headers=bearer),
            await http.get(f"{PLACE}/events", headers=bearer),
            await http.get(f"{PLACE}/agenda/{feed['authorization'].removeprefix('Bearer ')}.ics"),
            await http.get("/"),
            await http.get("/live"),
            await http.post("/mcp", headers=bearer, json={}),
        ]
        assert [one.json()["code"] for one in asked] == ["too_many_requests"] * 6
        assert (await http.get("/health")).status_code == 200
