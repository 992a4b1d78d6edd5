"""People are told what came of their jobs: once, on their phone, and the run says how that went."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg
import pytest

from cronty import Cronty
from cronty.contract.answers import RunDetail
from cronty.contract.caller import local_caller
from cronty.contract.operations import Operations
from cronty.contract.requests import ScheduleJob, ShowRun
from cronty.contract.result import Err, Ok
from cronty.jobs.outcome import Done, Failed
from cronty.jobs.run import run_id
from cronty.scheduler.inbox import result_json
from cronty.store.engine_store import Success
from cronty.store.sealing import new_key
from tests.actions.servers import Plain, answer, plain
from tests.conftest import HandClock, Hands, add, hands_of

PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')
BUSY = answer(503, b'{"error":"busy"}')
ANN = local_caller("ann")


@dataclass
class House:
    """`says` is what the job's task returns or raises, run by run."""

    cronty: Cronty
    hands: Hands
    phone: Plain
    clock: HandClock
    says: list[object] = field(default_factory=list[object])
    number: int = 0

    async def job(self, **policy: object) -> None:
        door = self.cronty.service.scheduler
        job = await add(door, task="check", name="Front door", policy={"tell": "phone", **policy})
        self.number = job.number

    async def minute(self, *says: object) -> str:
        """A run that says this; its id."""
        self.says.extend(says)
        slot = self.clock.advance(minutes=1)
        await self.hands.all()
        await self.tell()
        return run_id(self.number, slot)

    async def tell(self) -> None:
        """Until all is told that can be, however busy the machine is."""
        while await self.hands.engine.telling.step() == 0:
            pass

    def sent(self) -> Sequence[tuple[str, str]]:
        return [(json.loads(one.body)["title"], json.loads(one.body)["message"]) for one in self.phone.received]

    async def told(self, run: str) -> tuple[object, ...]:
        found = await self.cronty.service.answer(Operations.show_run, ANN, ShowRun(run))
        assert isinstance(found, Ok), found
        assert isinstance(found.value, RunDetail)
        told = found.value.told
        return () if told is None else (told.channel, told.state, told.tries, told.error)


@asynccontextmanager
async def house_of(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, *answers: bytes
) -> AsyncGenerator[House]:
    async with plain(*(answers or (PUBLISHED,))) as phone:
        monkeypatch.setenv("CRONTY_ALLOWED_HOSTS", f"{phone.allowed}@*")
        monkeypatch.setenv("CRONTY_SECRET_KEY", new_key())
        async with Cronty(url, run_jobs=False, clock=clock) as cronty:
            says: list[object] = []

            def check() -> object:
                said = says.pop(0)
                if isinstance(said, Exception):
                    raise said
                return said

            cronty.registry.add(check, "check")
            async with hands_of(url, clock, cronty.registry) as hands:
                added = await cronty.service.channels.add(ANN, "phone", f"ntfy://{phone.allowed}/hard-to-guess")
                assert isinstance(added, Ok), added
                yield House(cronty, hands, phone, clock, says)


@pytest.fixture
async def house(url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[House]:
    async with house_of(url, clock, monkeypatch) as made:
        yield made


async def test_the_result_of_a_run_is_told_and_the_run_says_so(house: House) -> None:
    await house.job()
    run = await house.minute("It is open.")
    assert house.sent() == [("Front door", "It is open.")]
    assert house.phone.received[0].headers["x-sequence-id"].startswith("msg_")
    assert await house.told(run) == ("phone", "delivered", 1, None)
    await house.tell()
    assert len(house.sent()) == 1


async def test_a_failure_is_told_when_no_attempt_follows(house: House) -> None:
    await house.job(attempts=2)
    run = await house.minute(ValueError("no key"))
    assert (house.sent(), await house.told(run)) == ([], ())
    house.clock.advance(seconds=10)
    house.says.append(ValueError("still no key"))
    await house.hands.claim()
    await house.tell()
    assert house.sent() == [("Front door failed", "ValueError: still no key")]
    assert await house.told(run) == ("phone", "delivered", 1, None)


async def test_only_changes_are_told_if_that_is_wanted(house: House) -> None:
    await house.job(tell_when="changed")
    runs = [await house.minute(said) for said in ("shut", "shut", "open", "open", "shut")]
    assert [text for _, text in house.sent()] == ["shut", "open", "shut"]
    states = [(await house.told(run))[1] for run in runs]
    assert states == ["delivered", "unchanged", "delivered", "unchanged", "delivered"]


async def test_what_is_quiet_is_not_told_if_that_is_wanted(house: House) -> None:
    await house.job(tell_when="not_quiet")
    runs = [await house.minute(said) for said in (None, {"quiet": True}, "open")]
    assert house.sent() == [("Front door", "open")]
    assert [(await house.told(run))[1] for run in runs] == ["quiet", "quiet", "delivered"]


async def test_a_phone_that_is_away_is_tried_again_under_the_same_id(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house_of(url, clock, monkeypatch, BUSY, PUBLISHED) as house:
        await house.job()
        run = await house.minute("open")
        state = await house.told(run)
        assert state[1:3] == ("waiting", 1)
        assert "503" in str(state[3])
        clock.advance(minutes=2)
        await house.tell()
        assert await house.told(run) == ("phone", "delivered", 2, None)
        first, second = (one.headers["x-sequence-id"] for one in house.phone.received)
        assert first == second


async def test_a_channel_that_was_removed_fails_the_telling_and_not_the_run(house: House) -> None:
    await house.job()
    assert isinstance(await house.cronty.service.channels.remove(ANN, "phone"), Ok)
    run = await house.minute("open")
    _, state, tries, error = await house.told(run)
    assert (state, tries) == ("failed", 1)
    assert "was removed" in str(error)
    shown = await house.cronty.service.runs.show(ANN, run)
    assert isinstance(shown, Ok)
    assert shown.value.run.state == "done"


async def test_an_engine_that_died_while_telling_leaves_it_to_another(house: House, sql: asyncpg.Connection) -> None:
    await house.job()
    house.says.append("open")
    house.clock.advance(minutes=1)
    await house.hands.all()
    taken = await house.hands.engine.telling._store.claim(10, 60.0, 5)  # pyright: ignore[reportPrivateUsage]
    assert len(taken) == 1
    await house.tell()
    assert house.sent() == []
    house.clock.advance(seconds=61)
    await asyncio.gather(*(house.tell() for _ in range(3)))
    assert [text.splitlines()[0] for _, text in house.sent()] == ["open"]
    assert await sql.fetchval("select tries from cronty.tellings") == 2


async def test_what_was_settled_is_told_though_the_settlement_was_written_twice(house: House) -> None:
    """The commit's answer was lost, so the outcome is written again: it comes too late, and nothing is told twice."""
    await house.job()
    run = await house.minute("open")
    engine = house.hands.engine
    store, job = house.hands.store, await house.cronty.service.scheduler.show(ANN, house.number)
    assert isinstance(job, Ok)
    assert job.value.last_run is not None
    told = [(job.value.id, job.value.last_run)]
    again = Success(*told[0], 1, '"open"', 0, 0)
    assert await store.settle_done(engine.worker, [again], told) == 0
    await house.tell()
    assert len(house.sent()) == 1
    assert await house.told(run) == ("phone", "delivered", 1, None)


@pytest.mark.parametrize(
    ("outcome", "sent"),
    [
        (Done(result_json("Two need you.")), ("Pull requests", "Two need you.")),
        (Failed("no access"), ("Pull requests failed", "no access")),
    ],
)
async def test_what_an_agent_reports_from_its_inbox_is_told(
    house: House, outcome: Done | Failed, sent: tuple[str, str]
) -> None:
    kwargs = {"prompt": "Look at my pull requests."}
    job = await add(
        house.cronty.service.scheduler, task="prompt", name="Pull requests", kwargs=kwargs, policy={"tell": "phone"}
    )
    house.number = job.number
    await house.minute()
    found = await house.cronty.service.inbox.read(ANN)
    assert isinstance(found, Ok)
    [item] = found.value
    await house.cronty.service.inbox.settle(ANN, [item.receipt], outcome)
    await house.tell()
    assert house.sent() == [sent]


async def test_a_job_without_it_costs_nothing_more(house: House, sql: asyncpg.Connection) -> None:
    await add(house.cronty.service.scheduler, task="check")
    await house.minute("open")
    assert house.sent() == []
    assert await sql.fetchval("select count(*) from cronty.tellings") == 0


async def test_a_notification_has_nothing_to_tell_and_a_wrong_channel_is_refused(house: House) -> None:
    def request(task: str, tell: str) -> ScheduleJob:
        kwargs = {"message": "hi", "topic": "phone"} if task == "notify" else {}
        return ScheduleJob("a job", task, "interval", {"hours": 1}, kwargs=kwargs, policy={"tell": tell})

    for asked, code in ((request("notify", "phone"), "bad_policy"), (request("check", "phon"), "unknown_channel")):
        refused = await house.cronty.service.answer(Operations.schedule_job, ANN, asked)
        assert isinstance(refused, Err)
        assert refused.code == code


async def test_results_over_the_limit_of_calls_wait_for_the_next_minute(house: House) -> None:
    await house.cronty.service.scheduler.allowance.set(ANN, {"calls_per_minute": 1})
    for name in ("Front door", "Back door"):
        await add(
            house.cronty.service.scheduler,
            "once",
            {"run_at": "in 1m"},
            task="check",
            name=name,
            policy={"tell": "phone"},
        )
    await house.minute("open", "open")
    assert len(house.sent()) == 1
    house.clock.advance(minutes=1)
    await house.tell()
    assert sorted(title for title, _ in house.sent()) == ["Back door", "Front door"]
