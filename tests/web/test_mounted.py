"""Cronty below a path of another application; the programs are those of docs/how-to/your-app.md."""

import re
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import asyncpg
import httpx2
import orjson
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Mount

from cronty import Cronty, Run
from cronty.asgi import HttpApp
from cronty.contract.caller import SCOPES, local_caller
from cronty.contract.result import Ok
from tests.patience import PATIENCE

PAGE = Path(__file__).parents[2] / "docs/how-to/your-app.md"
LINKS = re.compile(r' (href|src|action|hx-get|hx-post)="(/[^"#]*)')


def program(name: str) -> ModuleType:
    """A program of the page, run as a module."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [text] = [one for one in blocks if one.startswith(f"# {name}\n")]
    module = ModuleType(name.removesuffix(".py"))
    sys.modules[module.__name__] = module  # FastAPI looks a function's hints up there
    exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102
    return module


@asynccontextmanager
async def opened(app: Any, cronty: Cronty) -> AsyncGenerator[tuple[httpx2.AsyncClient, str]]:
    """A client of the application, and a key of ann's."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        made = await cronty.service.identity.add_key(local_caller("ann"), "a key", SCOPES)
        assert isinstance(made, Ok)
        transport = httpx2.ASGITransport(app)
        client = httpx2.AsyncClient(transport=transport, base_url="http://shop")
        yield await stack.enter_async_context(client), made.value.text


async def sign_in(client: httpx2.AsyncClient, key: str) -> httpx2.Response:
    page = await client.get("/cronty/sign-in?next=/jobs")
    csrf = re.findall(r'name="csrf" value="([^"]+)"', page.text)[0]
    sent = {"key": key, "csrf": csrf, "next": "/jobs"}
    return await client.post("/cronty/sign-in", data=sent, headers={"origin": "http://shop"})


@pytest.fixture
def database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATABASE_URL", url)


@pytest.mark.usefixtures("database")
async def test_fastapi_serves_its_own_endpoints_rest_and_mcp(sql: asyncpg.Connection) -> None:
    shop = program("shop.py")
    async with opened(shop.app, shop.cronty) as (client, key):
        run_id = (await client.post("/orders/7")).json()["run"]
        run = Run[str](shop.cronty, shop.send_receipt.registered, "", run_id)
        assert await run.result(PATIENCE) == "receipt for order 7"
        bearer = {"authorization": f"Bearer {key}"}
        assert (await client.get("/cronty/api/v1/jobs")).status_code == 401
        assert (await client.get("/cronty/api/v1/jobs", headers=bearer)).json()["jobs"] == []
        assert (await client.get("/cronty/health")).json() == {"status": "alive"}
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(shop.app), headers=bearer)
        async with http, Client(streamable_http_client("http://shop/cronty/mcp", http_client=http)) as agent:
            assert "schedule_job" in {tool.name for tool in (await agent.list_tools()).tools}
            made = {"name": "look", "task": "prompt", "kwargs": {"prompt": "Look"}, "trigger_type": "words"}
            made["trigger_config"] = {"text": "in 2 hours"}
            assert not (await agent.call_tool("schedule_job", made)).is_error
        origin = await sql.fetchval("select origin::text from cronty.jobs where origin ->> 'surface' = 'mcp'")
        assert orjson.loads(origin)["key"] == "a key"


@pytest.mark.usefixtures("database")
async def test_every_link_of_the_dashboard_is_below_its_path() -> None:
    cronty = Cronty(run_jobs=False)
    web = HttpApp(cronty)
    app = Starlette(routes=[Mount("/cronty", web)], lifespan=web.lifespan)
    async with opened(app, cronty) as (client, key):
        away = await client.get("/cronty/jobs?tag=a")
        assert (away.status_code, away.headers["location"]) == (303, "/cronty/sign-in?next=/jobs%3Ftag%3Da")
        entered = await sign_in(client, key)
        assert (entered.status_code, entered.headers["location"]) == (303, "/cronty/jobs")
        assert all("Path=/cronty;" in one for one in entered.headers.get_list("set-cookie"))
        seen = set[str]()
        found = {"/cronty/", "/cronty/jobs/new", "/cronty/week"}
        while found - seen:
            link = min(found - seen)
            seen.add(link)
            page = await client.get(link)
            assert page.status_code == 200, link
            if "html" in page.headers["content-type"]:
                ours = [(how, one.replace("&amp;", "&")) for how, one in LINKS.findall(page.text)]
                assert all(one.startswith("/cronty/") for _, one in ours), ours
                found |= {one for how, one in ours if how in ("href", "src") and "from=" not in one}
        assert len(seen) > 8


@pytest.mark.usefixtures("database")
async def test_django_is_served_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ModuleType("shop.settings")
    settings.__dict__.update(SECRET_KEY="a", ROOT_URLCONF="shop.urls", ALLOWED_HOSTS=["shop"])
    urls = ModuleType("shop.urls")
    urls.__dict__["urlpatterns"] = []
    for one in (ModuleType("shop"), settings, urls):
        monkeypatch.setitem(sys.modules, one.__name__, one)
    site = program("asgi.py")
    async with opened(site.application, site.cronty) as (client, _):
        assert (await client.get("/cronty/health")).status_code == 200
        assert "Not Found" in (await client.get("/elsewhere")).text


@pytest.mark.usefixtures("database")
async def test_names_can_be_limited() -> None:
    web = HttpApp(Cronty(run_jobs=False), hosts=["cronty.example.com"])
    app = Starlette(routes=[Mount("/cronty", web)])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://shop") as client:
        assert (await client.get("/cronty/jobs")).status_code == 421


@pytest.mark.usefixtures("database")
async def test_it_stands_alone_too() -> None:
    cronty = Cronty(run_jobs=False)
    web = HttpApp(cronty)
    async with (
        web.lifespan(),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(web), base_url="http://shop") as client,
    ):
        assert (await client.get("/ready")).status_code == 200
