"""Receivers that misbehave, end to end: what becomes of the run, of its job, and who is told."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from cronty import Cronty
from cronty.actions.outbound import Outbound
from cronty.actions.tasks import Registry
from cronty.actions.webhook import Webhook
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Ok
from cronty.jobs.job import Job
from cronty.jobs.run import Run
from cronty.scheduler import Scheduler
from tests.actions.servers import Handler, Plain, anns, answer, listening, plain
from tests.conftest import HandClock, Hands, hands_of, look
from tests.mcp.caller import until
from tests.patience import PATIENCE

PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')
HUGE = 100 * 1024 * 1024


@dataclass
class Harbour:
    """An installation with an engine in the hand, somebody's receiver, and the ntfy server that alerts go through."""

    door: Scheduler
    hands: Hands
    clock: HandClock
    receiver: Plain
    ntfy: Plain

    async def schedule(self, **policy: object) -> Job:
        return await schedule(self.door, self.receiver.url + "/hook", **policy)

    async def minutes(self, count: int) -> None:
        for _ in range(count):
            self.clock.advance(minutes=1)
            await self.hands.all()
            self.hands.engine.firing.low.forget()  # as hearing of an alert does, which no hand is there to do
            await self.hands.all()

    @property
    def alerts(self) -> list[tuple[str, str]]:
        return [(one["topic"], one["title"]) for one in (json.loads(sent.body) for sent in self.ntfy.received)]

    @property
    def calls(self) -> list[tuple[str, int]]:
        """Which run was called about, and in which attempt."""
        said = [json.loads(one.body)["data"] for one in self.receiver.received]
        return [(data["run_id"], data["attempt"]) for data in said]


async def schedule(door: Scheduler, url: str, **policy: object) -> Job:
    request = ScheduleJob("Ferry", "webhook", "interval", {"minutes": 1}, kwargs={"url": url}, policy=policy)
    made = await door.schedule(local_caller("ann"), request)
    assert isinstance(made, Ok), made
    return made.value


async def runs_of(door: Scheduler, job: Job) -> Sequence[Run]:
    found = await door.list_runs(local_caller("ann"), job.number)
    assert isinstance(found, Ok), found
    return found.value


@asynccontextmanager
async def harbour_of(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, *answers: bytes
) -> AsyncGenerator[Harbour]:
    async with plain(*answers) as receiver, plain(PUBLISHED) as ntfy:
        monkeypatch.setenv("CRONTY_NTFY_URL", ntfy.url)
        monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", f"{receiver.allowed}@*,{ntfy.allowed}")
        async with (
            Cronty(url, run_jobs=False, clock=clock) as cronty,
            hands_of(url, clock, cronty.registry) as hands,
        ):
            yield Harbour(cronty.service.scheduler, hands, clock, receiver, ntfy)


async def test_a_receiver_that_is_gone_pauses_the_job_and_its_owner_is_told_once(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harbour_of(url, clock, monkeypatch, answer(410), answer(202)) as harbour:
        job = await harbour.schedule(alert="ann-phone")
        await harbour.minutes(4)
        held = await look(harbour.door, job)
        assert (held.state, held.reason) == ("paused", "what it calls is gone")
        assert len(harbour.calls) == 1, "a receiver that asked not to be called again isn't"
        assert harbour.alerts == [("ann-phone", "Ferry failed 1 time"), ("ann-phone", "Ferry was paused")]
        await harbour.door.resume(local_caller("ann"), job.number)
        await harbour.minutes(1)
        assert (await look(harbour.door, job)).state == "active"
        assert harbour.alerts[2:] == [("ann-phone", "Ferry works again")]
        assert [run.state for run in await runs_of(harbour.door, job)] == ["done", "skipped", "failed"]


async def test_a_receiver_that_keeps_failing_trips_the_breaker(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harbour_of(url, clock, monkeypatch, answer(500, b"out of order")) as harbour:
        job = await harbour.schedule(attempts=2, backoff=1, jitter=0, pause_after=3, alert="ann-phone", alert_after=2)
        for _ in range(6):
            await harbour.minutes(1)
            harbour.clock.advance(seconds=2)
            await harbour.hands.all()
        held = await look(harbour.door, job)
        assert (held.state, held.reason) == ("paused", "it failed 3 times in a row")
        assert held.last_error == "'127.0.0.1' answered 500; the server said: 'out of order'."
        assert [attempt for _, attempt in harbour.calls] == [1, 2] * 3
        assert len({run for run, _ in harbour.calls}) == 3
        await harbour.minutes(1)
        assert [title for _, title in harbour.alerts] == [
            "Ferry failed 1 time", "Ferry failed 2 times in a row", "Ferry was paused",
        ]  # fmt: skip


async def test_a_busy_receiver_is_called_again_when_it_said_and_under_the_same_id(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harbour_of(url, clock, monkeypatch, answer(429, retry_after="600"), answer(202)) as harbour:
        job = await harbour.schedule(backoff=1)
        await harbour.minutes(1)
        called_at = clock()
        [run] = await runs_of(harbour.door, job)
        assert run.state == "waiting"
        assert run.next_attempt_at is not None
        assert run.next_attempt_at - called_at >= timedelta(seconds=600)
        await harbour.minutes(9)
        assert len(harbour.calls) == 1
        await harbour.minutes(5)
        runs = [run for run in await runs_of(harbour.door, job) if run.run_id == harbour.calls[0][0]]
        assert [(one.state, one.attempt) for one in runs] == [("done", 2)]
        assert harbour.calls[:2] == [(runs[0].run_id, 1), (runs[0].run_id, 2)]
        assert len({one.headers["webhook-id"] for one in harbour.receiver.received[:2]}) == 1


# -- no proper answer at all ----------------------------------------------------------------------------------------


async def hang_up_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def hang_up_in_the_middle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nhal")
    await writer.drain()
    writer.transport.abort()


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the other side hangs up


@pytest.mark.parametrize(
    ("receiver", "said", "time_limit"),
    [
        (hang_up_at_once, "broke the connection off|without a proper HTTP answer", PATIENCE),
        (hang_up_in_the_middle, "broke the connection off|without a proper HTTP answer", PATIENCE),
        (say_nothing, "no complete answer in time", 0.3),
    ],
)
async def test_a_receiver_without_an_answer_is_tried_as_often_as_the_policy_says(
    url: str, clock: HandClock, door: Scheduler, receiver: Handler, said: str, time_limit: float
) -> None:
    async with listening(receiver) as port:
        outbound = Outbound([f"127.0.0.1:{port}@ann"], time_limit=time_limit)
        registry = Registry()
        registry.add(Webhook(outbound, anns).webhook, "webhook")
        async with hands_of(url, clock, registry) as hands:
            job = await schedule(door, f"http://127.0.0.1:{port}/", attempts=3, backoff=1, jitter=0)
            clock.advance(minutes=1)
            for _ in range(4):
                await hands.all()
                clock.advance(seconds=5)
        await outbound.aclose()
    [run] = await runs_of(door, job)
    assert (run.state, run.attempt) == ("failed", 3)
    assert run.error is not None
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(run.error)


async def test_of_an_answer_of_100_mb_the_beginning_is_read_and_the_run_is_done(
    url: str, clock: HandClock, door: Scheduler
) -> None:
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {HUGE}\r\n\r\n".encode())
        while sent < HUGE:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with listening(flood) as port:
        outbound = Outbound([f"127.0.0.1:{port}@ann"])
        registry = Registry()
        registry.add(Webhook(outbound, anns).webhook, "webhook")
        async with hands_of(url, clock, registry) as hands:
            job = await schedule(door, f"http://127.0.0.1:{port}/")
            clock.advance(minutes=1)
            await hands.all()
        await outbound.aclose()
    [run] = await runs_of(door, job)
    assert run.state == "done"
    assert json.loads(run.result or "") == {"status": 200, "response": "x" * 2048, "truncated": True}
    assert sent < HUGE // 2


async def test_a_redirect_leads_nowhere_and_the_run_has_failed_for_good(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with plain(answer(200)) as elsewhere:
        moved = answer(307, location=f"{elsewhere.url}/secret")
        async with harbour_of(url, clock, monkeypatch, moved) as harbour:
            job = await harbour.schedule(attempts=3)
            await harbour.minutes(1)
            [run] = await runs_of(harbour.door, job)
    assert (run.state, run.attempt, elsewhere.received) == ("failed", 1, [])
    assert "Redirects are not followed" in (run.error or "")


# -- with an engine that goes by itself ------------------------------------------------------------------------------


async def test_a_whole_installation_pauses_what_is_gone_and_tells_its_owner(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with plain(answer(410)) as receiver, plain(PUBLISHED) as ntfy:
        monkeypatch.setenv("CRONTY_NTFY_URL", ntfy.url)
        monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", f"{receiver.allowed}@*,{ntfy.allowed}")
        async with Cronty(url) as cronty:
            made = await cronty.schedule_job(
                "Ferry", "webhook", "interval", {"days": 300}, kwargs={"url": receiver.url},
                policy={"alert": "ann-phone"},
            )  # fmt: skip
            job_id = made.job_id
            await cronty.run_job_now(job_id)
            status = await until(lambda: cronty.job_status(job_id), lambda status: bool(status.paused))
            assert status.paused_because == "what it calls is gone"

            async def told() -> int:
                return len(ntfy.received)

            await until(told, lambda count: count == 2)
    titles = {json.loads(one.body)["title"] for one in ntfy.received}
    assert titles == {"Ferry failed 1 time", "Ferry was paused"}
    assert len(receiver.received) == 1
