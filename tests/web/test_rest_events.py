"""What happens to runs, as it happens: from a real `cronty serve --auth`, over the wire."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import orjson
import pytest

from cronty import Cronty
from cronty.cli.serve import http_app
from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import Ok, Result
from cronty.jobs.overview import RunEvent
from cronty.mcp.server import GROUPS
from cronty.scheduler.event_stream import Listener
from cronty.scheduler.identity import Identity
from cronty.store.database import StoreUnavailable
from cronty.web.dashboard import live
from cronty.web.dashboard.security import SESSION
from cronty.web.rest import events
from cronty.web.rest.events import MOST_LISTENERS
from tests.actions.servers import serving
from tests.clients.serving import Served
from tests.conftest import HandClock, Hands
from tests.patience import PATIENCE
from tests.web.conftest import PLACE, Api, key_of


@asynccontextmanager
async def http_of(served: Served, key: str) -> AsyncGenerator[httpx2.AsyncClient]:
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=served.url + PLACE, headers=headers, timeout=PATIENCE) as http:
        yield http


async def run_once(http: httpx2.AsyncClient, word: str) -> str:
    body = {"name": word, "task": "say", "args": [word], "trigger_type": "interval", "trigger_config": {"days": 1}}
    job = (await http.post("/jobs", json=body)).json()
    return (await http.post(f"/jobs/{job['job_id']}/run")).json()["run_id"]


async def frames(answer: httpx2.Response) -> AsyncGenerator[dict[str, str]]:
    """Events as their fields; comments under an empty name."""
    held: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if not line:
            yield held
            held = {}
        else:
            name, _, value = line.partition(": ")
            held[name.rstrip(":")] = value


async def until_done(answer: httpx2.Response, run: str) -> list[dict[str, Any]]:
    """Every event up to the one that says that a run is done."""
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE):
        async for frame in frames(answer):
            if frame.get("event") == "run":
                seen.append({**orjson.loads(frame["data"]), "id": frame["id"]})
                if (seen[-1]["run_id"], seen[-1]["verdict"]) == (run, "done"):
                    return seen
    raise AssertionError("the stream ended")


async def test_a_listener_hears_of_its_own_runs_and_of_nobody_elses(served: Served, own_url: str) -> None:
    async with (
        http_of(served, await key_of(own_url, "ann")) as ann,
        http_of(served, await key_of(own_url, "bob")) as bob,
        ann.stream("GET", "/events") as to_ann,
        bob.stream("GET", "/events") as to_bob,
    ):
        assert to_ann.headers["content-type"].startswith("text/event-stream")
        anns, bobs = await run_once(ann, "anns"), await run_once(bob, "bobs")
        for answer, run, word in ((to_ann, anns, "anns"), (to_bob, bobs, "bobs")):
            seen = await until_done(answer, run)
            assert {event["name"] for event in seen} == {word}
            assert {event["run_id"] for event in seen} == {run}
            assert seen[-1]["attempt"] == 1
            assert seen[-1]["id"] == seen[-1]["at"]


async def test_nobody_listens_into_the_future_and_nobody_reads_all_of_history(served: Served, own_url: str) -> None:
    async with http_of(served, await key_of(own_url, "far")) as http:
        for after in ("2199-01-01T00:00:00Z", "1999-01-01T00:00:00Z"):
            async with http.stream("GET", "/events", params={"after": after}) as answer:
                start = datetime.fromisoformat(answer.headers["last-event-id"])
                assert timedelta(0) <= datetime.now(UTC) - start < timedelta(days=1, minutes=5)


async def test_a_lost_line_goes_on_where_it_was_lost(served: Served, own_url: str) -> None:
    async with http_of(served, await key_of(own_url, "cid")) as http:
        async with http.stream("GET", "/events") as answer:
            last = (await until_done(answer, await run_once(http, "first")))[-1]["id"]
        missed = await run_once(http, "missed")
        async with http.stream("GET", "/events", headers={"Last-Event-ID": last}) as answer:
            seen = await until_done(answer, missed)
        assert {event["name"] for event in seen} == {"missed"}
        async with http.stream("GET", "/events", params={"after": "2026-01-01T00:00:00Z"}) as answer:
            assert {event["name"] for event in await until_done(answer, missed)} == {"first", "missed"}


async def test_what_is_no_place_in_the_stream_is_refused(served: Served, own_url: str) -> None:
    async with http_of(served, await key_of(own_url, "cid")) as http:
        wrong = await http.get("/events", headers={"Last-Event-ID": "odd"})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_cursor")
    async with http_of(served, await key_of(own_url, "cid", "schedule")) as http:
        assert (await http.get("/events")).status_code == 403


async def test_listeners_of_one_owner_are_bounded_and_leave_their_place_behind(served: Served, own_url: str) -> None:
    many = httpx2.Limits(max_connections=MOST_LISTENERS + 5)
    headers = {"authorization": f"Bearer {await key_of(own_url, 'dan')}"}
    kept: list[AsyncIterator[bytes]] = []  # or they would hang up
    async with httpx2.AsyncClient(base_url=served.url + PLACE, headers=headers, timeout=PATIENCE, limits=many) as http:

        async def listen() -> httpx2.Response:
            answer = await http.send(http.build_request("GET", "/events"), stream=True)
            if answer.status_code == 200:
                kept.append(answer.aiter_raw())
                await anext(kept[-1])  # it is being told, so it is counted
            return answer

        heard = [await listen() for _ in range(MOST_LISTENERS)]
        assert {answer.status_code for answer in heard} == {200}
        over = await listen()
        assert over.status_code == 429
        assert orjson.loads(await over.aread())["code"] == "too_many_listeners"
        async with http_of(served, await key_of(own_url, "eve")) as others, others.stream("GET", "/events") as fine:
            assert fine.status_code == 200
        await heard.pop().aclose()
        async with asyncio.timeout(PATIENCE):
            while (again := await listen()).status_code != 200:
                await again.aclose()
        for answer in [*heard, again, over]:
            await answer.aclose()


async def test_the_line_is_kept_alive_and_ends_with_its_key(
    cronty: Cronty, ann: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "QUIET_FOR", 0.15)  # or a sign of life would take fifteen seconds
    lost = await cronty.service.identity.add_key(local_caller("ann"), "lost", ["read"])
    assert isinstance(lost, Ok)
    async with (
        serving(http_app(cronty, GROUPS, ["127.0.0.1:*"], auth=True)) as port,
        httpx2.AsyncClient(headers={"authorization": f"Bearer {lost.value.text}"}, timeout=PATIENCE) as http,
        http.stream("GET", f"http://127.0.0.1:{port}{PLACE}/events") as answer,
    ):
        seen = frames(answer)
        async with asyncio.timeout(PATIENCE):
            assert (await anext(seen))["id"] == answer.headers["last-event-id"]
            assert await anext(seen) == {"": "nothing new"}
            assert (await ann.ask("DELETE", f"/keys/{lost.value.number}")).status_code == 204
            assert {str(frame) for frame in [frame async for frame in seen]} <= {str({"": "nothing new"})}


@pytest.mark.parametrize("path", [f"{PLACE}/events", "/live"])
async def test_what_was_found_before_the_database_was_away_is_told_after_it(
    cronty: Cronty, ann: Api, worker: Hands, clock: HandClock, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """It goes away between the look for events and the look at the key."""
    monkeypatch.setattr(events, "QUIET_FOR", 0.15)
    monkeypatch.setattr(live, "CHECK_KEY_EVERY", 0.15)
    found = False
    failed = asyncio.Event()
    wait, identify = Listener.wait, Identity.identify

    async def note_found(listener: Listener, seconds: float) -> list[RunEvent]:
        nonlocal found
        heard = await wait(listener, seconds)
        found = bool(heard)
        return heard

    async def fail_once(identity: Identity, token: str) -> Result[Caller]:
        if found and not failed.is_set():
            failed.set()
            raise StoreUnavailable("away")
        return await identify(identity, token)

    def passing() -> float:
        nonlocal seconds
        seconds += 1
        return seconds

    seconds = 0.0
    monkeypatch.setattr(events, "monotonic", passing)  # so that the key is looked at with each look for events
    monkeypatch.setattr(live, "monotonic", passing)
    await ann.make()
    async with (
        serving(http_app(cronty, GROUPS, ["127.0.0.1:*"], auth=True)) as port,
        httpx2.AsyncClient(
            headers={"authorization": f"Bearer {ann.key}"}, cookies={SESSION: ann.key}, timeout=PATIENCE
        ) as http,
        http.stream("GET", f"http://127.0.0.1:{port}{path}") as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        monkeypatch.setattr(Listener, "wait", note_found)
        monkeypatch.setattr(Identity, "identify", fail_once)
        seen = frames(answer)
        async with asyncio.timeout(PATIENCE):
            await anext(seen)
            clock.advance(hours=1)
            await worker.fire()
            clock.advance(seconds=1)
            while "event" not in (told := await anext(seen)):
                pass
        assert failed.is_set()
        assert "run_1_" in told["data"]
