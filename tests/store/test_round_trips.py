"""How often each thing a caller may ask goes to the database and back, counted on the wire."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from re import findall

import pytest

from cronty import Cronty
from cronty.app.assembly import make_service
from cronty.contract.caller import local_caller
from cronty.contract.operations import Operations
from cronty.contract.requests import EditJob, ScheduleJob
from cronty.contract.result import Ok
from cronty.jobs.ids import read_job_id
from cronty.jobs.outcome import Done
from cronty.jobs.run import run_id
from cronty.scheduler import Scheduler, Service
from cronty.scheduler.agenda import Agenda
from cronty.scheduler.identity import Identity
from cronty.scheduler.inbox import Inbox
from cronty.scheduler.listeners import Listeners
from cronty.scheduler.overview import Overview
from cronty.scheduler.runs import Runs
from cronty.store.audit_store import AuditStore
from cronty.store.channel_store import ChannelStore
from cronty.store.database import Database
from cronty.store.inbox_store import InboxStore
from cronty.store.job_store import JobStore
from cronty.store.key_store import KeyStore
from cronty.store.overview_store import OverviewStore
from cronty.store.run_store import RunStore
from cronty.store.sealing import Sealer
from tests.conftest import START, HandClock, Hands, add
from tests.middleman import Middleman, through


@dataclass
class House:
    """A door over a counted line, and an owner with something of everything."""

    line: Middleman
    database: Database
    service: Service
    door: Scheduler
    agenda: Agenda
    inbox: Inbox
    runs: Runs
    overview: Overview
    identity: Identity
    trail: AuditStore
    channels: ChannelStore
    store: JobStore
    token: str
    number: int
    failed: list[str]
    fired: list[str]
    made: int = 0

    def request(self) -> ScheduleJob:
        self.made += 1
        key = f"key {self.made}"
        return ScheduleJob("n", "note", "interval", {"hours": 1}, idempotency_key=key)


@pytest.fixture
async def house(url: str, door: Scheduler, hands: Hands, clock: HandClock) -> AsyncGenerator[House]:
    failing = [await add(door, task="fail", policy={"attempts": 1}, tags=("t",)) for _ in range(2)]
    every: dict[str, object] = {"minutes": 1}
    prompts = [await add(door, "interval", every, task="prompt", kwargs={"prompt": "Look"}) for _ in range(2)]
    clock.advance(seconds=60)
    await hands.all()
    line = Middleman(url)
    await line.start()
    database = await Database(through(url, line.address), clock=clock, size=1).open()
    store = JobStore(database)
    shut = Cronty(url, owner="ann", run_jobs=False)
    service = make_service(shut.settings, database, store, shut._outside)  # pyright: ignore[reportPrivateUsage]
    await store.publish(shut.registry.published())
    counted = service.scheduler
    identity = Identity(KeyStore(database), "us")
    token = await identity.add_key(local_caller("ann"), "k")
    assert isinstance(token, Ok)
    await identity.identify(token.value.text)
    inbox = Inbox(InboxStore(database), counted.allowance, Listeners(KeyStore(database).ended))
    yield House(
        line, database, service, counted, Agenda(service), inbox,
        Runs(RunStore(database), counted),
        Overview(OverviewStore(database), counted, "ann"), identity, AuditStore(database),
        ChannelStore(database, Sealer([b"k" * 32])), store, token.value.text, failing[0].number,
        [run_id(job.number, SLOT) for job in failing],
        [run_id(prompt.number, SLOT) for prompt in prompts],
    )  # fmt: skip
    await database.close()
    await line.stop()


type Call = Callable[[House], Awaitable[object]]

SLOT = START + timedelta(seconds=60)


async def schedule(house: House) -> object:
    await house.store.new_jobs._numbers.next("ann")  # pyright: ignore[reportPrivateUsage]
    block = house.store.new_jobs._numbers._blocks["ann"]  # pyright: ignore[reportPrivateUsage]
    block.next, block.end = 10**6 + house.made, 10**6 + house.made + 1
    house.line.trips = 0
    return await house.door.schedule(local_caller("ann"), house.request())


async def schedule_without_a_number(house: House) -> object:
    house.store.new_jobs._numbers.forget("ann")  # pyright: ignore[reportPrivateUsage]
    return await house.door.schedule(local_caller("ann"), house.request())


def making(task: str, **kwargs: object) -> "Call":
    async def make(house: House) -> object:
        house.store.new_jobs._numbers.forget("ann")  # pyright: ignore[reportPrivateUsage]
        request = ScheduleJob("n", task, "interval", {"hours": 1}, kwargs=kwargs)
        made = await house.service.answer(Operations.schedule_job, local_caller("ann"), request)
        assert isinstance(made, Ok), made
        return made

    return make


async def resume(house: House) -> object:
    await house.door.pause(local_caller("ann"), house.number)
    house.line.trips = 0
    return await house.door.resume(local_caller("ann"), house.number)


async def cancel(house: House) -> object:
    made = await house.door.schedule(local_caller("ann"), house.request())
    assert isinstance(made, Ok)
    house.line.trips = 0
    return await house.door.cancel(local_caller("ann"), made.value.number)


async def delete(house: House) -> object:
    made = await house.door.schedule(local_caller("ann"), house.request())
    assert isinstance(made, Ok)
    house.line.trips = 0
    return await house.door.delete(local_caller("ann"), made.value.number)


async def pause(house: House) -> object:
    await house.door.resume(local_caller("ann"), house.number)
    house.line.trips = 0
    return await house.door.pause(local_caller("ann"), house.number)


async def tags_and_name(house: House) -> object:
    house.made += 1
    return await house.door.edit(local_caller("ann"), EditJob(str(house.number), name=f"n {house.made}"))


async def new_arguments(house: House) -> object:
    house.made += 1
    return await house.door.edit(
        local_caller("ann"), EditJob(str(house.number), task="note", args=(house.made,), kwargs={})
    )


async def run_now(house: House) -> object:
    made = await house.door.schedule(local_caller("ann"), house.request())
    assert isinstance(made, Ok)
    house.line.trips = 0
    return await house.door.run_now(local_caller("ann"), made.value.number)


async def edit_agenda(house: House) -> object:
    made = await house.agenda.add(local_caller("ann"), "Look", ("interval", {"hours": 1}))
    assert isinstance(made, Ok)
    number = read_job_id(made.value.job_id) or 0
    house.line.trips = 0
    return await house.agenda.edit(local_caller("ann"), number, "Look again", None)


async def settle(house: House) -> object:
    return await house.inbox.settle(local_caller("ann"), [house.fired.pop()], Done(None))


async def redrive(house: House) -> object:
    return await house.runs.redrive(local_caller("ann"), [house.failed.pop()])


async def revoke(house: House) -> object:
    made = await house.identity.add_key(local_caller("ann"), "short")
    assert isinstance(made, Ok)
    house.line.trips = 0
    return await house.identity.revoke(local_caller("ann"), made.value.number)


OPERATIONS: dict[str, tuple[Call, int]] = {
    "schedule, with a number at hand": (schedule, 2),
    "schedule": (schedule_without_a_number, 3),
    "edit a name": (tags_and_name, 8),
    "edit arguments": (new_arguments, 9),
    "show": (lambda h: h.door.show(local_caller("ann"), h.number), 1),
    "list_jobs": (lambda h: h.door.list_jobs(local_caller("ann")), 1),
    "list_runs": (lambda h: h.door.list_runs(local_caller("ann"), h.number), 1),
    "list_tasks": (lambda h: h.door.list_tasks(local_caller("ann")), 1),
    "clock": (lambda h: h.door.clock(local_caller("ann")), 1),
    "preview": (lambda h: h.door.preview(local_caller("ann"), "interval", {"hours": 1}), 1),
    "pause": (pause, 6),
    "resume": (resume, 7),
    "cancel": (cancel, 8),
    "delete": (delete, 8),
    "run_now": (run_now, 9),
    "limits": (lambda h: h.door.allowance.show("ann"), 3),
    "agenda: add": (lambda h: h.agenda.add(local_caller("ann"), "Look", ("interval", {"hours": 1})), 3),
    "agenda: list": (lambda h: h.agenda.list(local_caller("ann")), 1),
    "agenda: edit": (edit_agenda, 10),
    "make a webhook": (making("webhook", url="https://example.com/"), 3),
    "make a notification": (making("notify", message="Hi", topic="phone"), 3),
    "inbox: read": (lambda h: h.inbox.read(local_caller("ann")), 1),
    "inbox: peek": (lambda h: h.inbox.peek(local_caller("ann")), 1),
    "inbox: settle": (settle, 6),
    "runs: show": (lambda h: h.runs.show(local_caller("ann"), run_id(h.number, SLOT)), 3),
    "runs: failed": (lambda h: h.runs.failed(local_caller("ann")), 1),
    "runs: redrive": (redrive, 9),
    "channels: list": (lambda h: h.channels.list("ann"), 1),
    "channels: add": (lambda h: h.channels.save(local_caller("ann"), "phone", "ntfy://x", "ntfy", "x"), 5),
    "channels: find": (lambda h: h.channels.find("ann", "phone"), 1),
    "channels: remove": (lambda h: h.channels.remove(local_caller("ann"), "phone"), 1),
    "keys: who calls": (lambda h: h.identity.identify(h.token), 1),
    "keys: list": (lambda h: h.identity.keys(local_caller("ann")), 1),
    "keys: add": (lambda h: h.identity.add_key(local_caller("ann"), "another"), 5),
    "keys: revoke": (revoke, 7),
    "trail: read": (lambda h: h.trail.read("ann", 10), 2),
    "overview: timeline": (lambda h: h.overview.timeline(local_caller("ann")), 3),
    "overview: concerns": (lambda h: h.overview.concerns(local_caller("ann")), 1),
    "overview: year": (lambda h: h.overview.year(local_caller("ann"), h.number), 3),
    "overview: lag": (lambda h: h.overview.lag(local_caller("ann")), 2),
    "overview: week": (
        lambda h: h.overview.week(local_caller("ann"), [START - timedelta(days=1), START + timedelta(days=6)]),
        3,
    ),
    "overview: latest of jobs": (lambda h: h.overview.latest_of(local_caller("ann"), [h.number]), 1),
    "overview: results": (lambda h: h.overview.results(local_caller("ann"), SLOT), 1),
    "overview: job counts": (lambda h: h.overview.job_counts(local_caller("ann")), 1),
    "overview: waiting prompts": (lambda h: h.overview.waiting_prompts(local_caller("ann")), 1),
    "overview: tags": (lambda h: h.overview.tags(local_caller("ann")), 1),
    "overview: events": (lambda h: h.overview.events(local_caller("ann")), 2),
    "overview: fleet": (lambda h: h.overview.fleet(local_caller("ann")), 3),
}


async def test_each_call_makes_as_many_round_trips_as_written_down(house: House) -> None:
    counted: dict[str, int] = {}
    for name, (call, _) in OPERATIONS.items():
        await call(house)  # the first one of a connection also has its statements prepared
        house.line.trips = 0
        await call(house)
        counted[name] = house.line.trips
    assert counted == {name: trips for name, (_, trips) in OPERATIONS.items()}


def test_the_docs_say_how_many_round_trips_each_call_makes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "benchmarks.md").read_text()
    rows = dict(findall(r"(?m)^\| `?([^|`]+)`? \| (\d+) \|$", page))
    assert rows == {name: str(trips) for name, (_, trips) in OPERATIONS.items()}
