"""Reminders go where their owner said: to a channel by its name, to nobody else's, and its secret to nobody at all."""

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
import pytest

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.jobs.action import Action
from cronty.mcp.context import ToolContext
from cronty.mcp.notifications import NotificationTools
from cronty.store.sealing import new_key
from tests.actions.mail import Mailbox, mailbox
from tests.actions.servers import Plain, answer, plain
from tests.conftest import HandClock, Hands, hands_of

CANARY = "Canary7Secret"
PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')
LEAKY = answer(500, json.dumps({"error": f"{CANARY} is no topic"}).encode(), x_echo=CANARY)
LOGGERS = ("", "apprise", "asyncpg", "asyncio", "httpx2", "httpcore2", "urllib3", "requests", "cronty", "mcp")


@dataclass
class Town:
    """An installation with its ntfy server, somebody's own ntfy server, and a mail server."""

    cronty: Cronty
    hands: Hands
    clock: HandClock
    public: Plain
    own: Plain
    box: Mailbox

    async def remind(self, owner: str, topic: str, message: str = "Call mum") -> str:
        action = Action("notify", (), {"message": message, "topic": topic})
        request = ScheduleJob(
            "reminder",
            action.task,
            "once",
            {"run_at": "in 1m"},
            args=action.args,
            kwargs=action.kwargs,
            policy={"attempts": 1},
        )
        made = await self.cronty.service.scheduler.schedule(local_caller(owner), request)
        assert isinstance(made, Ok), made
        return str(made.value.number)

    async def minute(self) -> None:
        self.clock.advance(minutes=1)
        await self.hands.all()

    async def name(self, owner: str, name: str, url: str) -> None:
        added = await self.cronty.service.channels.add(local_caller(owner), name, url)
        assert isinstance(added, Ok), added


@asynccontextmanager
async def town_of(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, own: bytes = PUBLISHED, *, refusing: bool = False
) -> AsyncGenerator[Town]:
    async with plain(PUBLISHED) as public, plain(own) as private, mailbox(refusing=refusing) as box:
        monkeypatch.setenv("CRONTY_NTFY_URL", public.url)
        monkeypatch.setenv(
            "CRONTY_ALLOWED_HOSTS", ",".join([public.allowed, f"{private.allowed}@*", f"{box.allowed}@*"])
        )
        monkeypatch.setenv("CRONTY_SECRET_KEY", new_key())
        async with (
            Cronty(url, run_jobs=False, clock=clock) as cronty,
            hands_of(url, clock, cronty.registry) as hands,
        ):
            yield Town(cronty, hands, clock, public, private, box)


@pytest.fixture
async def town(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Town]:
    async with town_of(url, clock, monkeypatch) as made:
        yield made


async def test_a_reminder_goes_to_the_channel_and_otherwise_to_the_topic(town: Town) -> None:
    await town.name("ann", "phone", f"ntfy://{town.own.allowed}/hard-to-guess")
    job = await town.remind("ann", "phone")
    await town.remind("ann", "some-topic")
    await town.minute()
    assert [json.loads(one.body)["topic"] for one in town.own.received] == ["hard-to-guess"]
    assert [json.loads(one.body)["topic"] for one in town.public.received] == ["some-topic"]
    runs = await town.cronty.service.scheduler.list_runs(local_caller("ann"), job)
    assert isinstance(runs, Ok)
    assert runs.value[0].state == "done"
    assert json.loads(str(runs.value[0].result)) == {"id": "sPs71M8A2T", "channel": "phone", "time": 1803888000}
    assert town.own.received[0].headers["x-sequence-id"].startswith("msg_")


async def test_a_reminder_is_mailed(town: Town) -> None:
    await town.name("ann", "mail", town.box.url("ann@example.com"))
    await town.remind("ann", "mail", "Stand-up in five minutes")
    await town.minute()
    [(to, mail)] = town.box.mails
    assert (to, mail["subject"]) == (["ann@example.com"], "Stand-up in five minutes")
    body = mail.get_body(("plain", "html"))
    assert body is not None
    assert "Stand-up in five minutes" in body.get_content()
    assert town.public.received == []


async def test_two_owners_with_the_same_name_never_cross(town: Town) -> None:
    for owner in ("ann", "bob"):
        await town.name(owner, "phone", f"ntfy://{town.own.allowed}/of-{owner}")
        await town.remind(owner, "phone", f"for {owner}")
    await town.remind("eve", "phone", "for eve")
    await town.minute()
    sent = {json.loads(one.body)["topic"]: json.loads(one.body)["message"] for one in town.own.received}
    assert sent == {"of-ann": "for ann", "of-bob": "for bob"}
    assert [json.loads(one.body)["message"] for one in town.public.received] == ["for eve"]


async def test_a_reminder_for_a_channel_that_was_removed_fails_and_is_not_given_to_the_public(town: Town) -> None:
    await town.name("ann", "phone", f"ntfy://{town.own.allowed}/hard-to-guess")
    job = await town.remind("ann", "phone", "my diagnosis")
    assert isinstance(await town.cronty.service.channels.remove(local_caller("ann"), "phone"), Ok)
    late = await town.remind("ann", "phone", "my diagnosis again")
    await town.minute()
    assert town.own.received == town.public.received == []
    for one in (job, late):
        runs = await town.cronty.service.scheduler.list_runs(local_caller("ann"), one)
        assert isinstance(runs, Ok)
        assert runs.value[0].state == "failed"
        assert runs.value[0].error == "Channel 'phone' was removed. Add it again, or send to another."


async def test_a_push_goes_to_the_callers_channel(town: Town) -> None:
    await town.name("ann", "phone", f"ntfy://{town.own.allowed}/hard-to-guess")
    await NotificationTools(ToolContext(town.cronty, lambda: local_caller("ann"))).send_push_notification(
        "now", "phone"
    )
    assert [json.loads(one.body)["topic"] for one in town.own.received] == ["hard-to-guess"]
    await NotificationTools(ToolContext(town.cronty, lambda: local_caller("bob"))).send_push_notification(
        "now", "phone"
    )
    assert [json.loads(one.body)["topic"] for one in town.public.received] == ["phone"]
    await town.cronty.send_push_notification("hi", "local-topic")
    assert len(town.public.received) == 2


async def test_a_secret_is_found_nowhere(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    sql: asyncpg.Connection,
) -> None:  # fmt: skip
    for logger in LOGGERS:
        caplog.set_level(logging.DEBUG, logger)
    heard: list[object] = []
    async with town_of(url, clock, monkeypatch, LEAKY, refusing=True) as town:
        channels = town.cronty.service.channels
        urls = {
            "phone": f"ntfy://tk_{CANARY}@{town.own.allowed}/{CANARY}",
            "mail": town.box.url(f"{CANARY}@example.com", f"&user={CANARY}&pass={CANARY}&name={CANARY}"),
            "push": f"gotify://{town.own.allowed}/{CANARY}",
        }
        for name, channel_url in urls.items():
            heard.append(await channels.add(local_caller("ann"), name, channel_url))
            await town.remind("ann", name, f"never shown to others: {CANARY.upper()}")
        for flawed in (f"slack://{CANARY}", f"{CANARY.lower()}", f"mailtos://{CANARY}:{CANARY}@10.0.0.1"):
            heard.append(await channels.add(local_caller("ann"), "flawed", flawed))
        await town.minute()
        assert len(town.own.received) == 2
        heard += [await channels.test(local_caller("ann"), name) for name in urls]
        heard += [
            await channels.list(local_caller("ann")),
            await channels.list(local_caller("bob")),
            await channels.test(local_caller("bob"), "phone"),
        ]
        ann, bob = (
            NotificationTools(ToolContext(town.cronty, lambda owner=owner: local_caller(owner)))
            for owner in ("ann", "bob")
        )
        for name in urls:
            with pytest.raises(Exception, match="Not sent") as refused:
                await ann.send_push_notification("hi", name)
            heard += [str(refused.value), repr(refused.value), repr(refused.value.__cause__)]
        heard.append((await bob.list_scheduled_notifications()).model_dump_json())
        shown = (await ann.list_scheduled_notifications()).model_dump_json()
        heard.append(await channels.remove(local_caller("ann"), "phone"))
    answers = "\n".join(map(repr, heard))
    assert sum(isinstance(one, Err) for one in heard) >= 7
    assert CANARY.lower() not in answers.lower()
    assert CANARY not in shown
    logged = "\n".join(f"{record.getMessage()} {record.exc_text} {record.__dict__}" for record in caplog.records)
    assert CANARY.lower() not in (logged + caplog.text).lower()
    for table in ("runs", "attempts", "jobs", "audit", "audit_unsealed", "channels", "tasks", "owners"):
        rows = repr([tuple(row.values()) for row in await sql.fetch(f"select * from cronty.{table}")])
        assert CANARY not in rows, table
        if table != "jobs":  # where its owner's own words are kept
            assert CANARY.upper() not in rows, table
