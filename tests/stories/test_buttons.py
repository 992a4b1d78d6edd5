"""Reminders have buttons on the phone: done, in ten minutes, tomorrow at nine. Each link does one thing, once."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx2
import pytest

from cronty import Cronty
from cronty.actions.buttons import link_of, phone_address, read_link
from cronty.asgi import http_app
from cronty.contract.caller import Caller, local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.mcp.server import GROUPS
from cronty.store.database import query
from cronty.store.sealing import new_key, read_keys
from tests.actions.servers import Plain, answer, plain
from tests.conftest import HandClock, Hands, hands_of
from tests.patience import PATIENCE

PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')
ANN = local_caller("ann")


@dataclass
class Street:
    """A server that phones reach, the phone, and the browser on it."""

    cronty: Cronty
    hands: Hands
    phone: Plain
    clock: HandClock
    http: httpx2.AsyncClient
    key: bytes

    async def remind(self, caller: Caller = ANN, **kwargs: Any) -> None:
        given = {"message": "Call mum", "topic": "phone", **kwargs}
        request = ScheduleJob(
            "mum", "notify", "once", {"run_at": (self.clock() + timedelta(minutes=1)).isoformat()}, kwargs=given
        )
        made = await self.cronty.service.scheduler.schedule(caller, request)
        assert isinstance(made, Ok), made
        await self.minutes(1)

    async def minutes(self, count: float) -> None:
        self.clock.advance(minutes=count)
        await self.hands.all()

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(one.body) for one in self.phone.received]

    def links(self) -> list[str]:
        """The paths behind the buttons of what was sent last: done, in ten minutes, tomorrow."""
        return [urlsplit(str(one["url"])).path for one in self.sent()[-1]["actions"]]

    async def press(self, path: str) -> str:
        answered = await self.http.post(path)
        assert answered.status_code == 200, answered.text
        return answered.text


@pytest.fixture
def public_url() -> str:
    return "https://cronty.example.com/mcp"


@pytest.fixture
async def street(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, public_url: str
) -> AsyncGenerator[Street]:
    key = new_key()
    async with plain(PUBLISHED) as phone:
        monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", f"{phone.allowed}@*")
        monkeypatch.setenv("CRONTY_SECRET_KEY", key)
        monkeypatch.setenv("CRONTY_PUBLIC_URL", public_url)
        async with Cronty(url, run_jobs=False, clock=clock) as cronty, hands_of(url, clock, cronty.registry) as hands:
            added = await cronty.service.channels.add(ANN, "phone", f"ntfy://{phone.allowed}/hard-to-guess")
            assert isinstance(added, Ok), added
            await cronty.service.scheduler.set_zone(ANN, "America/New_York")
            transport = httpx2.ASGITransport(http_app(cronty, GROUPS, ["cronty.example.com"]))
            async with httpx2.AsyncClient(transport=transport, base_url="https://cronty.example.com") as http:
                yield Street(cronty, hands, phone, clock, http, read_keys(key)[0])


async def trail(sql: asyncpg.Connection) -> list[tuple[str, Any, Any, Any]]:
    rows = await sql.fetch(
        "select what, actor::text, client::text, after::text from cronty.audit_unsealed where what like 'reminder%'"
    )
    return [(row[0], *(json.loads(text) for text in tuple(row)[1:])) for row in rows]


async def test_a_reminder_comes_with_three_buttons_that_the_phone_calls_itself(street: Street) -> None:
    await street.remind()
    [sent] = street.sent()
    buttons = sent["actions"]
    assert [one["label"] for one in buttons] == ["Done", "In 10 minutes", "Tomorrow 9:00"]
    assert {(one["action"], one["method"]) for one in buttons} == {("http", "POST")}
    assert all(one["url"].startswith("https://cronty.example.com/press/") for one in buttons)


async def test_done_is_written_into_the_trail_with_who_and_how(street: Street, sql: asyncpg.Connection) -> None:
    await street.remind()
    assert "Done." in await street.press(street.links()[0])
    [(what, actor, client, after)] = await trail(sql)
    assert (what, actor, after["button"]) == ("reminder done", {"owner": "ann"}, "done")
    assert client == {"surface": "phone", "operation": "press"}
    assert after["run_id"].startswith("run_1_")


async def test_a_snoozed_reminder_comes_again_in_ten_minutes_with_buttons_of_its_own(street: Street) -> None:
    await street.remind()
    first = street.links()
    assert "Snoozed until" in await street.press(first[1])
    await street.minutes(9)
    assert len(street.sent()) == 1
    await street.minutes(1)
    assert [one["message"] for one in street.sent()] == ["Call mum", "Call mum"]
    assert "Done." in await street.press(street.links()[0])
    assert set(first).isdisjoint(street.links())


async def test_tomorrow_is_nine_in_the_owners_zone_and_the_answer_says_so(street: Street) -> None:
    await street.remind()  # Monday 1 March 2027, 09:01 UTC
    said = await street.press(street.links()[2])
    assert "Tue 2 Mar 2027 09:00, America/New_York" in said
    jobs = await street.cronty.service.scheduler.list_jobs(ANN)
    assert isinstance(jobs, Ok)
    assert [job.next_slot for job in jobs.value.jobs if job.next_slot] == [
        datetime.fromisoformat("2027-03-02T09:00:00-05:00")
    ]


async def test_a_second_press_says_what_was_done_and_changes_nothing(street: Street, sql: asyncpg.Connection) -> None:
    await street.remind()
    done, snooze, tomorrow = street.links()
    first = await street.press(snooze)
    until = first.split("Snoozed until ")[1].split(".")[0]
    for again in (snooze, tomorrow, done):
        said = await street.press(again)
        assert "settled already" in said
        assert until in said
    assert await sql.fetchval("select count(*) from cronty.jobs") == 2
    assert len(await trail(sql)) == 1


async def test_nobody_keeps_a_reminder_from_being_snoozed_by_a_job_made_before(street: Street) -> None:
    await street.remind()
    _, snooze, _ = street.links()
    press = read_link(snooze.rsplit("/", 1)[1], [street.key])
    assert press is not None
    taken = ScheduleJob(
        "taken", "notify", "interval", {"days": 9}, kwargs={"message": "m", "topic": "phone"},
        idempotency_key=f"press {press.run}",
    )  # fmt: skip
    weak = Caller("ann", frozenset({"schedule"}))
    assert isinstance(await street.cronty.service.scheduler.schedule(weak, taken), Ok)
    assert "Snoozed until" in await street.press(snooze)


async def test_of_two_buttons_pressed_at_once_one_settles_it_and_the_other_makes_no_job(
    street: Street, sql: asyncpg.Connection
) -> None:
    await street.remind()
    done, snooze, _ = street.links()
    theirs = sql.transaction()
    await theirs.start()
    await sql.execute(  # the other phone was faster: its press isn't committed yet, and ours waits for it
        "insert into cronty.presses (job_id, scheduled_for, owner_id, act, pressed_at)"
        " select job_id, scheduled_for, owner_id, 'done', $1 from cronty.runs",
        street.clock(),
    )
    ours = asyncio.create_task(street.http.post(snooze))
    async with asyncio.timeout(PATIENCE):
        while not await sql.fetchval(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        ):
            await sql.execute("select pg_stat_clear_snapshot()")
            await asyncio.sleep(0.01)
    await theirs.commit()
    assert "settled already: it is done" in (await ours).text
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1
    assert "settled already: it is done" in await street.press(done)


async def test_a_snooze_ends_with_the_key_of_its_reminder(street: Street, sql: asyncpg.Connection) -> None:
    identity = street.cronty.service.identity
    made = await identity.add_key(ANN, "an agent's", ["schedule"], agent="claude")
    assert isinstance(made, Ok), made
    known = await identity.identify(made.value.text)
    assert isinstance(known, Ok), known
    await street.remind(caller=known.value)
    snooze = street.links()[1]
    await street.press(snooze)
    [first, again] = await sql.fetch(
        "select key_id, origin->>'agent' as agent, state::text from cronty.jobs order by id"
    )
    assert (again["key_id"], again["agent"]) == (first["key_id"], "claude") == (known.value.key_id, first["agent"])
    await street.minutes(10)
    done, snooze, tomorrow = street.links()
    assert isinstance(await identity.revoke(ANN, made.value.number), Ok)
    for path in (snooze, tomorrow):
        answered = await street.http.post(path)
        assert (answered.status_code, "key" in answered.text) == (410, True)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 2
    assert "Done." in await street.press(done)


async def test_a_press_names_its_owner_whether_or_not_there_are_walls(street: Street, sql: asyncpg.Connection) -> None:
    await street.remind()
    job: int = await sql.fetchval("select job_id from cronty.runs")
    slot: datetime = await sql.fetchval("select scheduled_for from cronty.runs")
    await street.cronty.service.scheduler.set_zone(local_caller("bob"), "UTC")
    given = (street.clock(), job, slot, "done", None, "{}", "{}", "run_1_1")
    for owner, pressed in (("bob", "INSERT 0 0"), ("ann", "INSERT 0 1")):
        assert await sql.execute(query("press"), *given, owner) == pressed
        found = await sql.fetchrow(query("find_press"), street.clock(), owner, job, slot)
        assert (found is not None) == (owner == "ann")


async def test_a_link_counts_as_a_request_of_its_owner(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    await street.remind()
    monkeypatch.setattr("cronty.asgi.most_connections", lambda: 0)
    full = httpx2.ASGITransport(http_app(street.cronty, GROUPS, ["cronty.example.com"]))
    async with httpx2.AsyncClient(transport=full, base_url="https://cronty.example.com") as http:
        link = street.links()[0]
        assert [(await http.request(method, link)).status_code for method in ("GET", "POST")] == [429, 429]
        assert (await http.post("/press/done.1.msg_1_1.1.x")).status_code == 404, "a forged link is nobody's"


async def test_looking_at_a_link_changes_nothing(street: Street, sql: asyncpg.Connection) -> None:
    await street.remind()
    for path in street.links():
        for method in ("GET", "HEAD"):
            looked = await street.http.request(method, path)
            assert looked.status_code == 200
        assert '<form method="post"><button>' in (await street.http.get(path)).text
    assert (await trail(sql), await sql.fetchval("select count(*) from cronty.jobs")) == ([], 1)
    assert "no-store" in (await street.http.get(street.links()[0])).headers["cache-control"]


async def test_a_link_does_what_it_was_signed_for_and_nothing_else(street: Street, sql: asyncpg.Connection) -> None:
    await street.remind()
    done = street.links()[0]
    link = done.removeprefix("/press/")
    press = read_link(link, [street.key])
    assert press is not None
    forged = [
        link.replace("done.", "snooze.", 1),
        link.replace(f".{press.owner_id}.", f".{press.owner_id + 1}.", 1),
        link.replace(press.run, press.run + "0", 1),
        link.replace(str(int(press.expires_at.timestamp())), "9999999999", 1),
        link[:-1] + ("A" if link[-1] != "A" else "B"),
        link_of(press, read_keys(new_key())[0]),
        "x" * 5000,
        "done.1.msg_1_1.1.",
    ]
    for text in forged:
        assert read_link(text, [street.key]) is None, text
        assert (await street.http.post(f"/press/{text}")).status_code == 404
    await street.cronty.service.scheduler.set_zone(local_caller("bob"), "UTC")
    bob = await sql.fetchval("select id from cronty.owners where name = 'bob'")
    other = replace(press, owner_id=bob)  # signed with bob's key, about ann's run
    assert (await street.http.post(f"/press/{link_of(other, street.key)}")).status_code == 404
    assert await trail(sql) == []


async def test_what_has_not_come_or_was_cancelled_before_is_not_snoozed(
    street: Street, sql: asyncpg.Connection
) -> None:
    await street.remind()
    came = read_link(street.links()[1].removeprefix("/press/"), [street.key])
    assert came is not None
    press = replace(came, slot=street.clock() + timedelta(hours=2))
    early = await street.cronty.service.presses.press(link_of(press, street.key))
    assert isinstance(early, Err)
    assert early.message == "This reminder hasn't come yet."
    await sql.execute("update cronty.jobs set state = 'cancelled', updated_at = $1", street.clock())
    street.clock.advance(hours=3)
    assert isinstance(await street.cronty.service.presses.press(link_of(press, street.key)), Err)
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1


async def test_a_link_ends_after_a_week_and_with_its_job(street: Street, sql: asyncpg.Connection) -> None:
    await street.remind()
    done = street.links()[0]
    street.clock.advance(days=7, minutes=1)
    assert (await street.http.post(done)).status_code == 410
    street.clock.advance(days=-7)
    await street.cronty.service.scheduler.delete(ANN, 1)
    assert (await street.http.post(done)).status_code == 404
    assert await trail(sql) == []


async def test_buttons_of_ones_own_stay_and_results_have_none(street: Street) -> None:
    own = [{"action": "view", "label": "Open", "url": "https://example.com"}]
    await street.remind(actions=own)
    assert street.sent()[-1]["actions"] == own


@pytest.mark.parametrize("public_url", ["http://192.168.1.20:8125/mcp"])
async def test_at_a_plain_address_a_button_opens_the_page_that_asks(street: Street) -> None:
    await street.remind()
    buttons = street.sent()[-1]["actions"]
    assert {one["action"] for one in buttons} == {"view"}
    assert all(one["url"].startswith("http://192.168.1.20:8125/press/") for one in buttons)


@pytest.mark.parametrize("public_url", ["http://127.0.0.1:8125/mcp"])
async def test_without_an_address_that_a_phone_reaches_there_are_no_buttons(street: Street) -> None:
    await street.remind()
    assert "actions" not in street.sent()[-1]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8125/mcp", None),
        ("http://localhost:8125/mcp", None),
        ("http://[::1]:8125/mcp", None),
        ("http://0.0.0.0:8125/mcp", None),
        ("", None),
        ("https://cronty.example.com/mcp", "https://cronty.example.com"),
        ("https://example.com/cronty/mcp/", "https://example.com/cronty"),
        ("http://10.0.0.7:8125/mcp", "http://10.0.0.7:8125"),
    ],
)
def test_the_address_for_phones_is_that_of_the_server(url: str, address: str | None) -> None:
    assert phone_address(url) == address
