"""OpenTelemetry spans along a fire: schedule; then fire, and in it plan or claim, perform and settle.

Only the API is used. Unless the program around us has set a tracer provider, no span is made: a batch of fires asks
once whether there is one. A fire is a trace of its own, linked to the span in which its job was made: between the two
may lie a year, and who schedules must not decide how the operator samples. `traceparent` is a span written as text, as
in W3C Trace Context. What callers send as one is a stranger's text: it is kept only if it is one, in the form we write.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import Token
from functools import lru_cache, wraps
from importlib.metadata import version
from time import time_ns
from typing import Any, Final

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    NonRecordingSpan,
    NoOpTracerProvider,
    ProxyTracerProvider,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    Tracer,
    TracerProvider,
)

from cronty import telemetry

TRACEPARENT: Final = "traceparent"
"""The header, the name in MCP's `_meta`, and the name in a job's origin."""

JOB: Final = "cronty.job"
RUN: Final = "cronty.run_id"
ATTEMPT: Final = "cronty.attempt"
ACTION: Final = "cronty.action"
OUTCOME: Final = "cronty.outcome"
CALLS: Final = frozenset({"webhook", "wake"})
"""The actions whose span is that of a call to somebody who may go on with the trace."""

_LENGTH: Final = 55
_FORM: Final = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")
_UNMADE: Final = nullcontext(INVALID_SPAN)


def read_traceparent(text: object) -> SpanContext | None:
    """The span that a text names; None if it names none. Later versions of the standard may have more at the end."""
    if not isinstance(text, str) or (found := _FORM.fullmatch(text[:_LENGTH])) is None:
        return None
    if len(text) > _LENGTH and (found[1] == "00" or text[_LENGTH] != "-"):
        return None
    flags = TraceFlags(int(found[4], 16) & TraceFlags.SAMPLED)
    return SpanContext(int(found[2], 16), int(found[3], 16), is_remote=True, trace_flags=flags)


def current_traceparent() -> str | None:
    """The span in which we are; None if we are in none."""
    here = trace.get_current_span().get_span_context()
    if not here.is_valid:
        return None
    sampled = here.trace_flags & TraceFlags.SAMPLED
    return f"00-{here.trace_id:032x}-{here.span_id:016x}-{sampled:02x}"


def headers() -> Mapping[str, str]:
    """What tells whoever we call in which span we call; nothing if nobody collects our spans."""
    here = None if _tracer() is None else current_traceparent()
    return {} if here is None else {TRACEPARENT: here}


def ids_for_logs() -> Mapping[str, str]:
    here = trace.get_current_span().get_span_context()
    return {"trace_id": f"{here.trace_id:032x}", "span_id": f"{here.span_id:016x}"} if here.is_valid else {}


def within(text: str | None) -> AbstractContextManager[object]:
    """Inside, we are in the span that a caller names; in the one we are in already, if there is one."""
    caller = read_traceparent(text)
    if caller is None or trace.get_current_span().get_span_context().is_valid:
        return _UNMADE
    return trace.use_span(NonRecordingSpan(caller))


def scheduling(action: str) -> AbstractContextManager[Span]:
    """The span in which a job is made."""
    tracer = _tracer()
    if tracer is None:
        return _UNMADE
    # Without exceptions: their texts may hold anything.
    return tracer.start_as_current_span(
        "cronty.schedule",
        kind=SpanKind.PRODUCER,
        attributes={ACTION: action},
        record_exception=False,
        set_status_on_exception=False,
    )


def answered(span: Span, outcome: str, job: int | None) -> None:
    """What became of a request for a job: `made`, or the code of the refusal."""
    span.set_attribute(OUTCOME, outcome)
    if job is not None:
        span.set_attribute(JOB, str(job))


def on() -> bool:
    """Whether somebody collects our spans."""
    return _tracer() is not None


def moment() -> int:
    """Now, for spans; 0 if nobody collects them."""
    return 0 if _tracer() is None else time_ns()


def _harmless[**P, R](act: Callable[P, R]) -> Callable[P, R | None]:
    """Samplers and processors are the operator's, and may raise: no run is lost for that."""

    @wraps(act)
    def trying(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return act(*args, **kwargs)
        except Exception as error:
            telemetry.spans_failed(error)
            return None

    return trying


class Fire:
    """The spans of one attempt."""

    __slots__ = ("_known", "_performing", "_since", "_tracer", "_whole", "_within")

    def __init__(self, tracer: Tracer, first: str, since: int, known: Mapping[str, str | int], made_in: object) -> None:
        made = read_traceparent(made_in)
        links = () if made is None else (Link(made),)
        self._tracer = tracer
        self._known = known
        self._performing: Span | None = None
        self._since = since
        self._whole = tracer.start_span("cronty.fire", Context(), SpanKind.CONSUMER, known, links, since)
        self._within = trace.set_span_in_context(self._whole, Context())
        tracer.start_span(first, self._within, start_time=since).end()

    @_harmless
    def perform(self) -> Token[Context]:
        """From here on we are in the span of performing it, in this asyncio task or until `leave`."""
        kind = SpanKind.CLIENT if self._known[ACTION] in CALLS else SpanKind.INTERNAL
        self._performing = self._tracer.start_span("cronty.perform", self._within, kind, self._known)
        return context.attach(trace.set_span_in_context(self._performing, self._within))

    @_harmless
    def ended(self, outcome: str) -> None:
        self._since = time_ns()
        if self._performing is not None:
            _end(self._performing, outcome, self._since)

    @_harmless
    def settled(self, outcome: str) -> None:
        """Its outcome is committed, or came too late."""
        self._tracer.start_span("cronty.settle", self._within, start_time=self._since).end()
        _end(self._whole, outcome, time_ns())


def leave(entered: Token[Context]) -> None:
    """Out of the span that `Fire.perform` has entered."""
    context.detach(entered)


@_harmless
def fire(
    first: str, since: int, made_in: str | None, *, job: int, run_id: str, attempt: int, action: str
) -> Fire | None:
    """The spans of an attempt that was planned or claimed, which is the `first` of them, `since` then."""
    tracer = _tracer()
    if tracer is None:
        return None
    known = {JOB: str(job), RUN: run_id, ATTEMPT: attempt, ACTION: action}
    return Fire(tracer, first, since, known, made_in)


def _end(span: Span, outcome: str, at: int) -> None:
    span.set_attribute(OUTCOME, outcome)
    if outcome == "failed":
        span.set_status(StatusCode.ERROR)
    span.end(at)


def _tracer() -> Tracer | None:
    provider: Any = trace.get_tracer_provider()
    return None if isinstance(provider, ProxyTracerProvider | NoOpTracerProvider) else _tracer_of(provider)


@lru_cache(maxsize=1)
def _tracer_of(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("cronty", version("cronty"))
