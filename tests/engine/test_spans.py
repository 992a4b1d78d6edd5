"""The spans of a fire: their names, how they hang together, and that there are none if nobody collects them."""

import asyncio
import gc
from collections import Counter
from datetime import timedelta

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanKind, StatusCode

from cronty import tracing
from cronty.actions.tasks import Registry
from cronty.contract.caller import local_caller
from cronty.jobs.run import run_id
from cronty.scheduler import Scheduler
from tests.conftest import START, HandClock, Hands, add, look
from tests.spans import GIVEN, Collected, collecting, id_of, parent_of, trace_of, traceparent_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def assert_whole(spans: Collected) -> None:
    """Every span hangs below one that was collected too."""
    known = {id_of(one) for one in spans.all()}
    assert [one.name for one in spans.all() if one.parent is not None and one.parent.span_id not in known] == []


async def test_a_fire_is_a_trace_of_its_own_linked_to_the_span_that_made_its_job(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    with collecting() as spans:
        with tracing.within(GIVEN):
            job = await add(door, "once", {"run_at": START + timedelta(minutes=1)})
        clock.advance(minutes=1)
        await hands.all()
    whole, first, perform, settle = (spans.one(f"cronty.{name}") for name in ("fire", "plan", "perform", "settle"))
    assert {parent_of(one) for one in (first, perform, settle)} == {id_of(whole)}
    assert {trace_of(one) for one in spans.all()} == {trace_of(whole)} != {int(TRACE, 16)}
    assert whole.parent is None
    [link] = whole.links
    assert (f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") == (TRACE, SPAN)
    known = {
        "cronty.job": str(job.number),
        "cronty.run_id": run_id(job.number, START + timedelta(minutes=1)),
        "cronty.attempt": 1,
        "cronty.action": "task",
        "cronty.outcome": "done",
    }
    assert dict(whole.attributes or {}) == dict(perform.attributes or {}) == known
    assert not first.attributes
    assert not settle.attributes
    assert (whole.kind, perform.kind) == (SpanKind.CONSUMER, SpanKind.INTERNAL)
    for one in spans.all():
        moments = [whole.start_time, one.start_time, one.end_time, whole.end_time]
        assert moments == sorted(moment or 0 for moment in moments)
        assert one.status.status_code is StatusCode.UNSET


async def test_a_job_that_was_made_in_no_span_is_linked_to_none(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await add(door)
    clock.advance(minutes=1)
    with collecting() as spans:
        await hands.all()
    assert spans.one("cronty.fire").links == ()


async def test_each_attempt_is_a_trace_and_a_failure_does_not_tell_its_text(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    with collecting() as spans:
        with tracing.within(GIVEN):
            await add(door, "once", {"run_at": START + timedelta(minutes=1)}, task="fail", policy={"attempts": 2})
        clock.advance(minutes=1)
        await hands.all()
        clock.advance(hours=2)
        await hands.all()
    fires = spans.named("cronty.fire")
    assert [(one.attributes or {})["cronty.attempt"] for one in fires] == [1, 2]
    assert len({trace_of(one) for one in fires}) == 2
    assert len({one.links[0].context.span_id for one in fires}) == 1
    assert parent_of(spans.one("cronty.plan")) == id_of(fires[0])
    assert parent_of(spans.one("cronty.claim")) == id_of(fires[1])
    failed = [*fires, *spans.named("cronty.perform")]
    assert {(one.status.status_code, one.status.description) for one in failed} == {(StatusCode.ERROR, None)}
    assert "no luck" not in "".join(one.to_json() for one in spans.all())


async def test_a_task_is_in_the_span_that_performs_it(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry
) -> None:
    """Coroutines that are performed at once, and functions one after another in the same threads."""
    both = asyncio.Barrier(2)
    seen: dict[str, list[str | None]] = {"later": [], "plain": []}

    async def later() -> None:
        seen["later"].append(tracing.current_traceparent())
        await both.wait()
        seen["later"].append(tracing.current_traceparent())

    def plain() -> None:
        seen["plain"].append(tracing.current_traceparent())

    registry.add(later)
    registry.add(plain)
    await hands.engine.store.publish_tasks(registry.published())
    for task in ("later", "plain"):
        for number in range(2):
            await add(door, name=f"{task} {number}", task=task)
    clock.advance(minutes=1)
    with collecting() as spans:
        await hands.all()
        performed = {traceparent_of(one) for one in spans.named("cronty.perform")}
        assert tracing.current_traceparent() is None
    assert len(performed) == 4
    assert Counter(seen["later"]) | Counter(seen["plain"]) == Counter(
        {one: 2 if one in seen["later"] else 1 for one in performed}
    )
    clock.advance(minutes=1)
    await hands.all()
    assert seen["later"][4:] == [None] * 4
    assert seen["plain"][2:] == [None] * 2, "a thread has left the span"


async def test_what_a_task_schedules_is_linked_to_its_run(
    door: Scheduler, hands: Hands, clock: HandClock, registry: Registry
) -> None:
    async def chain() -> None:
        await add(door, "once", {"run_at": clock() + timedelta(minutes=1)}, name="next")

    registry.add(chain)
    await hands.engine.store.publish_tasks(registry.published())
    await add(door, "once", {"run_at": START + timedelta(minutes=1)}, task="chain")
    with collecting() as spans:
        for _ in range(2):
            clock.advance(minutes=1)
            await hands.all()
    first, second = spans.named("cronty.fire")
    by = next(one for one in spans.named("cronty.perform") if parent_of(one) == id_of(first))
    assert [link.context.span_id for link in second.links] == [id_of(by)]


async def test_an_attempt_that_is_put_off_leaves_no_half_of_a_trace(
    door: Scheduler, hands: Hands, clock: HandClock
) -> None:
    await door.allowance.set(local_caller("ann"), {"runs_per_hour": 2})
    for number in range(5):
        await add(door, name=f"job {number}")
    clock.advance(minutes=1)
    with collecting() as spans:
        await hands.all()
    assert len(spans.named("cronty.fire")) == len(spans.named("cronty.perform")) == 2
    assert_whole(spans)


@pytest.mark.parametrize("when", ["on_start", "on_end"])
async def test_a_processor_that_raises_keeps_nothing_from_running(
    when: str, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry, calls: list[tuple[object, ...]]
) -> None:
    class Broken(SpanProcessor):
        def on_start(self, span: object, parent_context: object = None) -> None:
            if when == "on_start":
                raise ValueError("no spans today")

        def on_end(self, span: object) -> None:
            if when == "on_end":
                raise ValueError("no spans today")

    async def later() -> None:
        calls.append(("later",))

    registry.add(later)
    await hands.engine.store.publish_tasks(registry.published())
    jobs = [await add(door, name=task, task=task, max_runs=1) for task in ("note", "later")]
    clock.advance(minutes=1)
    with collecting() as spans:
        spans.provider.add_span_processor(Broken())
        await hands.all()
    assert sorted(calls) == [(), ("later",)]
    assert [(await look(door, job)).status for job in jobs] == ["completed"] * 2


@pytest.mark.parametrize("collected", [False, True])
async def test_no_span_is_made_if_nobody_collects_them(
    collected: bool, door: Scheduler, hands: Hands, clock: HandClock, registry: Registry
) -> None:
    seen: list[set[str]] = []

    def spans() -> list[object]:
        return [one for one in gc.get_objects() if issubclass(type(one), trace.Span | tracing.Fire)]

    def peek() -> None:
        seen.append({type(one).__name__ for one in spans() if all(one is not other for other in before)})

    registry.add(peek)
    await hands.engine.store.publish_tasks(registry.published())
    with tracing.within(GIVEN):
        await add(door, task="peek")
    before = spans()
    clock.advance(minutes=1)
    if collected:
        with collecting():
            await hands.all()
        assert "Fire" in seen[0], "or this test would see nothing"
    else:
        assert tracing.moment() == 0
        await hands.all()
        assert seen == [set()]


def test_a_span_as_text_is_read_and_written_alike() -> None:
    with tracing.within(GIVEN):
        assert tracing.current_traceparent() == GIVEN
        assert isinstance(trace.get_current_span(), NonRecordingSpan)
        with tracing.within(GIVEN.replace("a", "b")):
            assert tracing.current_traceparent() == GIVEN, "we are in one already"
    assert tracing.current_traceparent() is None
    with tracing.within(f"cc-{TRACE}-{SPAN}-ff-of later versions"):
        assert tracing.current_traceparent() == GIVEN


@pytest.mark.parametrize(
    "given",
    [
        "",
        "junk",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-",
        f"00-{TRACE}-{SPAN}-01\n",
        f" 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-0١",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"cc-{TRACE}-{SPAN}-01more",
        f"00-{TRACE}-{SPAN}-01" + "x" * 1_000_000,
        "'; drop table cronty.jobs; --",
        None,
        7,
        {"traceparent": GIVEN},
        [GIVEN],
        GIVEN.encode(),
    ],
)
def test_what_is_no_span_is_none(given: object) -> None:
    assert tracing.read_traceparent(given) is None
