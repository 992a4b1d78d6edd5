"""The trail tells who signed in, and how many tokens were refused."""

import asyncpg
import httpx2
import orjson
import pytest

from cronty import Cronty
from cronty.asgi import http_app
from cronty.mcp.server import GROUPS
from tests.conftest import TRAIL
from tests.web.conftest import PLACE
from tests.web.dashboard_fixtures import Browser, House, house
from tests.web.test_dashboard_guard import sign_in, visitor

__all__ = ["house", "visitor"]


async def test_signing_in_leaves_an_entry_in_its_owners_trail(
    house: House, visitor: Browser, sql: asyncpg.Connection
) -> None:
    await sign_in(visitor, await house.key("ann", "read"))
    [row] = await sql.fetch(f"select * from {TRAIL} where what = 'signed in'")
    assert orjson.loads(row["actor"]) == {"owner": "ann", "key_id": 1}
    assert orjson.loads(row["client"]) == {"surface": "dashboard"}


async def test_a_flood_of_bad_tokens_is_one_entry_with_a_count(
    cronty: Cronty, sql: asyncpg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    app = http_app(cronty, GROUPS, ["here"])
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://here") as http,
    ):
        for number in range(30):
            bad = {"authorization": f"Bearer cronty_{number}_{'A' * 43}"}
            assert (await http.get(f"{PLACE}/jobs", headers=bad)).status_code == 401
            assert (await http.get(f"{PLACE}/jobs")).status_code == 401
        assert (await http.post("/mcp", headers={"authorization": "Bearer x"}, json={})).status_code == 401
    [row] = await sql.fetch(f"select * from {TRAIL} where what = 'tokens refused'")
    told = orjson.loads(row["after"])
    assert (row["owner_id"], told["refused"], told["reasons"]["no such key"]) == (0, 31, 30)
    assert len([one for one in caplog.records if "refused" in one.getMessage()]) == 1
