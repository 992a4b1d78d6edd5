"""Collects the spans of this process while a test looks."""

from collections.abc import Generator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
"""The span of some caller."""


class Collected:
    def __init__(self) -> None:
        self.provider = TracerProvider(shutdown_on_exit=False)
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    def all(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [one for one in self.all() if one.name == name]

    def one(self, name: str) -> ReadableSpan:
        [found] = self.named(name)
        return found


@contextmanager
def collecting() -> Generator[Collected]:
    """As in a program that has set a tracer provider; the API lets nobody take one back, so this does it by force."""
    collected, before = Collected(), trace._TRACER_PROVIDER  # pyright: ignore[reportPrivateUsage]
    trace._TRACER_PROVIDER = collected.provider  # pyright: ignore[reportPrivateUsage]
    try:
        yield collected
    finally:
        trace._TRACER_PROVIDER = before  # pyright: ignore[reportPrivateUsage]


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def traceparent_of(span: ReadableSpan) -> str:
    return f"00-{trace_of(span):032x}-{id_of(span):016x}-01"


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id
