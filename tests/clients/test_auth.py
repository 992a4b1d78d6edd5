"""`cronty serve --auth`: two owners with a key each, over HTTP, in both eras."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.scheduler.identity import NewKey
from tests.clients.serving import Served, serving
from tests.clients.test_http import JSON, LIST
from tests.mcp.caller import ERAS, Caller, held, until
from tests.patience import PATIENCE

PUBLIC = "https://cronty.example.com/mcp"
HOURLY = {"task": "note", "args": ["x", "y"], "trigger_type": "interval", "trigger_config": {"hours": 1}}


@pytest.fixture(scope="module")
def guarded(own_url: str, app_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = ("--auth", "--app", "backup:cronty")
    with serving(app_folder, *options, database_url=own_url, public_url=PUBLIC, lease="5") as running:
        yield running


async def new_key(own_url: str, owner: str, *scopes: str, **given: Any) -> NewKey:
    async with Cronty(own_url, run_jobs=False) as cronty:
        made = await cronty.service.identity.add_key(local_caller(owner), f"{owner}'s key", scopes or _ALL, **given)
    assert isinstance(made, Ok)
    return made.value


_ALL = ("read", "schedule", "run", "prompts")


@asynccontextmanager
async def calling(guarded: Served, key: NewKey, mode: str) -> AsyncGenerator[Caller]:
    headers = {"authorization": f"Bearer {key.text}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(f"{guarded.url}/mcp", http_client=http)
        async with held(Client(transport, mode=mode)) as client:  # pyright: ignore[reportArgumentType]
            yield Caller(client)


def post(guarded: Served, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{guarded.url}/mcp", json=LIST, headers={**JSON, **headers}, timeout=PATIENCE)


async def test_without_a_good_token_a_client_is_told_where_to_get_one(guarded: Served, own_url: str) -> None:
    gone = await new_key(own_url, "ann", expires_at=datetime.now(UTC) - timedelta(minutes=1))
    forged = gone.text[:-4] + "AAAA"
    for headers in (
        {},
        *({"authorization": said} for said in ("Bearer x", f"Bearer {forged}", f"Bearer {gone.text}", "Basic eDp5")),
    ):
        refused = post(guarded, **headers)
        assert refused.status_code == 401, headers
        said = refused.headers["www-authenticate"]
        assert said.startswith("Bearer ")
        assert 'resource_metadata="https://cronty.example.com/.well-known/oauth-protected-resource/mcp"' in said
        assert gone.text not in refused.text
    known = guarded.get("/.well-known/oauth-protected-resource/mcp").json()
    assert known["resource"] == PUBLIC
    assert known["authorization_servers"]


def test_health_needs_no_token_and_says_nothing(guarded: Served) -> None:
    assert guarded.get("/health").json() == {"status": "alive"}
    assert guarded.get("/ready").json() == {"status": "ready"}


@pytest.mark.parametrize("era", ERAS)
async def test_a_key_opens_its_owners_jobs_and_nobody_elses(era: str, guarded: Served, own_url: str) -> None:
    keys = {owner: await new_key(own_url, owner) for owner in (f"ann {era}", f"bob {era}")}
    (ann, anns), (bob, bobs) = keys.items()
    async with calling(guarded, anns, ERAS[era]) as of_ann, calling(guarded, bobs, ERAS[era]) as of_bob:
        assert of_ann.client.protocol_version == era
        made = [await who.ask("schedule_job", name=name, **HOURLY) for who, name in ((of_ann, ann), (of_bob, bob))]
        async with asyncio.timeout(PATIENCE):  # both at once: a caller is known by the request, not by the process
            lists = await asyncio.gather(*(who.ask("list_jobs") for who in (of_ann, of_bob) * 20))
        assert [[job["name"] for job in page["jobs"]] for page in lists] == [[ann], [bob]] * 20
        assert (await of_ann.ask("job_status", job_id=made[1]["job_id"]))["name"] == ann, "her own first job"
        assert "not found" in (await of_ann.ask("job_status", job_id="2"))["error"]
        assert (await of_ann.ask("cancel_job", job_id=made[1]["job_id"]))["cancelled"]
        assert (await of_bob.ask("job_status", job_id=made[1]["job_id"]))["status"] == "pending"


@pytest.mark.parametrize("era", ERAS)
async def test_a_key_without_a_scope_is_told_which(era: str, guarded: Served, own_url: str) -> None:
    narrow = await new_key(own_url, f"cid {era}", "read", "schedule")
    async with calling(guarded, narrow, ERAS[era]) as caller:
        job = await caller.ask("schedule_job", name="mine", **HOURLY)
        said = await caller.refused("run_job_now", job_id=job["job_id"])
        assert said.startswith(
            "run_job_now needs the scope run, which the token lacks. Use a token with the scope run ("
        )
        assert (await caller.ask("list_runs", job_id=job["job_id"]))["runs"] == []
    blind = await new_key(own_url, f"cid {era}", "schedule")
    async with calling(guarded, blind, ERAS[era]) as caller:
        assert "needs the scope read" in await caller.refused("list_jobs")
        with pytest.raises(Exception, match="scope read"):
            await caller.client.read_resource(f"job://{job['job_id']}")


@pytest.mark.parametrize("era", ERAS)
async def test_a_revoked_key_is_refused_and_its_jobs_pause(era: str, guarded: Served, own_url: str) -> None:
    owner = f"dan {era}"
    lost, kept = await new_key(own_url, owner), await new_key(own_url, owner)
    async with calling(guarded, lost, ERAS[era]) as caller, calling(guarded, kept, ERAS[era]) as good:
        orphan = await caller.ask("schedule_job", name="orphan", **HOURLY)
        other = await good.ask("schedule_job", name="other", **HOURLY)
        async with Cronty(own_url, run_jobs=False) as cronty:
            assert await cronty.service.identity.revoke(local_caller(owner), lost.number) == Ok(None)
        assert post(guarded, authorization=f"Bearer {lost.text}").status_code == 401
        seen = await good.ask("job_status", job_id=orphan["job_id"])
        assert seen["paused"] is True
        assert "no longer good" in seen["paused_because"]
        assert (await good.ask("job_status", job_id=other["job_id"])).get("paused") is not True
        await good.ask("resume_schedule", schedule_id=orphan["job_id"])
        await asyncio.sleep(2.5)  # the engine has looked again, and the job stands on another key
        assert (await good.ask("job_status", job_id=orphan["job_id"])).get("paused") is not True


async def test_the_jobs_of_a_key_that_ran_out_pause_by_themselves(guarded: Served, own_url: str) -> None:
    short = await new_key(own_url, "eve", expires_at=datetime.now(UTC) + timedelta(hours=1))
    kept = await new_key(own_url, "eve")
    async with calling(guarded, short, "auto") as caller:
        job = await caller.ask("schedule_job", name="short", **HOURLY)
    connection = await asyncpg.connect(own_url)
    await connection.execute("update cronty.api_keys set expires_at = now() where number = $1", short.number)
    await connection.close()
    async with calling(guarded, kept, "auto") as good:
        seen = await until(lambda: good.ask("job_status", job_id=job["job_id"]), lambda one: one.get("paused") is True)
        assert seen["paused_because"] == 'the key "eve\'s key" it was made with is no longer good'
    assert "paused: the key" in guarded.log.read_text()
