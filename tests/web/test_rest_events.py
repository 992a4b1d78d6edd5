"""What happens to runs, as it happens: from a real `cronty serve --auth`, over the wire."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import orjson
import pytest

from cronty import Cronty
from cronty.asgi import http_app
from cronty.contract.caller import Caller, local_caller
from cronty.contract.result import Err, Ok, value_of
from cronty.mcp.server import GROUPS
from cronty.scheduler.listeners import MAX_LISTENERS, Listeners
from cronty.store.sealing import read_keys
from cronty.web.dashboard.security import SESSION
from cronty.web.rest import events
from cronty.web.sessions import Sessions
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
            assert seen[-1]["job_id"].startswith(f"job_{run.split('_')[1]}_")
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
    many = httpx2.Limits(max_connections=MAX_LISTENERS + 5)
    headers = {"authorization": f"Bearer {await key_of(own_url, 'dan')}"}
    kept: list[AsyncIterator[bytes]] = []  # or they would hang up
    async with httpx2.AsyncClient(base_url=served.url + PLACE, headers=headers, timeout=PATIENCE, limits=many) as http:

        async def listen() -> httpx2.Response:
            answer = await http.send(http.build_request("GET", "/events"), stream=True)
            if answer.status_code == 200:
                kept.append(answer.aiter_raw())
                await anext(kept[-1])  # it is being told, so it is counted
            return answer

        heard = [await listen() for _ in range(MAX_LISTENERS)]
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
        serving(http_app(cronty, GROUPS, ["127.0.0.1:*"])) as port,
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
async def test_a_stream_falls_silent_when_its_key_is_revoked_whatever_happens(
    cronty: Cronty, ann: Api, worker: Hands, clock: HandClock, path: str
) -> None:
    lost = await cronty.service.identity.add_key(local_caller("ann"), "lost", ["read"])
    assert isinstance(lost, Ok)
    await ann.make()
    assert cronty.settings.secret_key is not None
    session = Sessions(read_keys(cronty.settings.secret_key.get_secret_value())[0]).seal(lost.value.text)
    async with (
        serving(http_app(cronty, GROUPS, ["127.0.0.1:*"])) as port,
        httpx2.AsyncClient(
            headers={"authorization": f"Bearer {lost.value.text}"}, cookies={SESSION: session}, timeout=PATIENCE
        ) as http,
        http.stream("GET", f"http://127.0.0.1:{port}{path}") as answer,
    ):
        seen = frames(answer)
        async with asyncio.timeout(PATIENCE):
            await anext(seen)
            await cronty.service.identity.revoke(local_caller("ann"), lost.value.number)
            await cronty.service.listeners.step()
            clock.advance(hours=1)
            await worker.fire()
            clock.advance(seconds=1)
            assert [frame async for frame in seen if "event" in frame] == []


async def test_tokens_are_checked_for_all_streams_in_one_statement() -> None:
    asked: list[list[int]] = []

    async def find_ended(key_ids: Sequence[int]) -> set[int]:
        asked.append([*key_ids])
        return {2}

    listeners = Listeners(find_ended)
    ends = datetime.now(UTC) + timedelta(hours=1)
    callers = [Caller("ann", frozenset({"read"}), key_id=key) for key in (1, 2, 2)]
    callers += [Caller("bob", frozenset({"read"}), expires_at=one) for one in (ends, ends - timedelta(hours=2))]
    places = [value_of(listeners.take(caller)) for caller in callers]
    await listeners.step()
    assert asked == [[1, 2]]
    assert [place.ended for place in places] == [False, True, True, False, True]
    for place in places:
        place.leave()
        place.leave()
    assert isinstance(listeners.take(Caller("ann", frozenset({"schedule"}))), Err)


async def test_streams_of_all_surfaces_share_the_places_of_their_owner(
    cronty: Cronty, ann: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cronty.scheduler.listeners.MAX_LISTENERS", 3)
    assert cronty.settings.secret_key is not None
    session = Sessions(read_keys(cronty.settings.secret_key.get_secret_value())[0]).seal(ann.key)
    async with (
        serving(http_app(cronty, GROUPS, ["127.0.0.1:*"])) as port,
        httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"authorization": f"Bearer {ann.key}"},
            cookies={SESSION: session},
            timeout=PATIENCE,
        ) as http,
        http.stream("GET", f"{PLACE}/events"),
        http.stream("GET", "/live"),
    ):
        opened = await asyncio.gather(
            *(http.send(http.build_request("GET", path), stream=True) for path in [f"{PLACE}/events", "/live"] * 5)
        )
        assert sorted(answer.status_code for answer in opened) == [200] + [429] * 9, "even if they come at once"
        with cronty.service.listeners.listening(local_caller("ann", "mcp")) as over:
            assert isinstance(over, Err)
        with cronty.service.listeners.listening(local_caller("bob", "mcp")) as fine:
            assert isinstance(fine, Ok)
        for answer in opened:
            await answer.aclose()
