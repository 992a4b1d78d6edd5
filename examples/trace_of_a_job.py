"""Follows a job from an agent's MCP call to the receiver of its webhook, and draws the spans.

Run it: python -m examples.trace_of_a_job (with cronty[web,local,otel]). It starts `cronty serve` with a database of its
own, a collector and a receiver, all on loopback. With CRONTY_DATABASE_URL set it uses that database.
"""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind, set_tracer_provider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

PATIENCE = 60.0
SHOWN = ("cronty.action", "cronty.attempt", "cronty.outcome")


class Seen(NamedTuple):
    """A span as it reached the collector."""

    trace: bytes
    id: bytes
    parent: bytes
    name: str
    service: str
    start: int
    end: int
    attributes: dict[str, str]
    links: list[bytes]


class Loopback(ThreadingHTTPServer):
    """The collector at /v1/traces, and the receiver at /hook."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: list[Seen] = []
        self.changed = threading.Condition()
        self.tracer = self.provider_of("receiver").get_tracer("receiver")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def provider_of(self, service: str) -> TracerProvider:
        """Sends each span to the collector when it ends."""
        provider = TracerProvider(resource=Resource.create({"service.name": service}))
        exporter = OTLPSpanExporter(endpoint=f"http://{self.address}/v1/traces")
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        return provider

    def wait_for(self, name: str) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: any(one.name == name for one in self.spans), PATIENCE):
                sys.exit(f"No span {name} has come; there are {[one.name for one in self.spans]}.")


class Handler(BaseHTTPRequestHandler):
    server: Loopback  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/traces":
            with self.server.changed:
                self.server.spans += read(body)
                self.server.changed.notify_all()
        else:
            theirs = TraceContextTextMapPropagator().extract({"traceparent": self.headers.get("traceparent", "")})
            with self.server.tracer.start_as_current_span(f"POST {self.path}", theirs, SpanKind.SERVER):
                time.sleep(0.01)  # the receiver's work
        self.send_response(202)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the drawing is all that is said."""


def read(body: bytes) -> Iterator[Seen]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        of = {one.key: one.value.string_value for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                known = {one.key: one.value.string_value or str(one.value.int_value) for one in span.attributes}
                yield Seen(
                    span.trace_id, span.span_id, span.parent_span_id, span.name, of["service.name"],
                    span.start_time_unix_nano, span.end_time_unix_nano, known, [link.span_id for link in span.links],
                )  # fmt: skip


@contextmanager
def on_loopback() -> Generator[Loopback]:
    with Loopback() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def cronty_serve(loopback: Loopback, data: Path) -> Generator[str]:
    """`cronty serve` as anybody starts it; only the variables say that spans are wanted, and where."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {
        "CRONTY_DATA_DIR": str(data),
        "CRONTY_ALLOWED_HOSTS": loopback.address,
        "CRONTY_LOG_LEVEL": "warning",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{loopback.address}",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    command = [sys.executable, "-m", "cronty.cli.main", "serve", "--port", port]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    try:
        until = time.monotonic() + PATIENCE
        while not ready(f"http://127.0.0.1:{port}/ready"):
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("`cronty serve` didn't start.")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def ready(url: str) -> bool:
    try:
        return httpx2.get(url).status_code == 200
    except httpx2.TransportError:
        return False


async def schedule(mcp_url: str, key: str, hook: str) -> None:
    """What an agent does: one tool call, for a webhook in a second."""
    soon = datetime.now(UTC) + timedelta(seconds=1)
    asked = {
        "name": "report", "task": "webhook", "trigger_type": "once", "trigger_config": {"run_at": soon.isoformat()},
        "kwargs": {"url": hook},
    }  # fmt: skip
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=PATIENCE) as http,
        Client(streamable_http_client(mcp_url, http_client=http)) as client,
    ):
        made = await client.call_tool("schedule_job", asked)
        if made.is_error:
            sys.exit(str(made.content))


def draw(spans: Sequence[Seen]) -> str:
    """The traces of the job, each as a tree: whose a span is, when it began in its trace, and how long it took."""
    names = {one.id: one.name for one in spans}
    ours = {one.trace for one in spans if one.name.startswith("cronty.")}  # the client's handshake is a trace too
    roots = [one for one in spans if one.trace in ours and one.parent not in names]
    lines: list[str] = []
    for root in sorted(roots, key=lambda one: one.start):
        linked = "".join(f", linked to {names[link]}" for link in root.links if link in names)
        lines += [f"trace {root.trace.hex()[:8]}{linked}", *branches(root, spans, root.start), ""]
    return "\n".join(lines).rstrip()


def branches(span: Seen, spans: Sequence[Seen], began: int, first: str = "", rest: str = "") -> Iterator[str]:
    known = " ".join(span.attributes[name] for name in SHOWN if name in span.attributes)
    times = f"{(span.start - began) / 1e6:8.1f} ms {(span.end - span.start) / 1e6:8.1f} ms"
    yield f"  {first + span.name:<40} {span.service:<9} {times}  {known}".rstrip()
    below = sorted((one for one in spans if one.parent == span.id), key=lambda one: one.start)
    for number, one in enumerate(below):
        last = number == len(below) - 1
        yield from branches(one, spans, began, rest + ("└ " if last else "├ "), rest + ("  " if last else "│ "))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="cronty-trace-") as folder, on_loopback() as loopback:
        set_tracer_provider(loopback.provider_of("agent"))
        with cronty_serve(loopback, Path(folder)) as mcp_url:
            key = (Path(folder) / "local.key").read_text().strip()
            asyncio.run(schedule(mcp_url, key, f"http://{loopback.address}/hook"))
            for name in ("cronty.schedule", "cronty.fire"):
                loopback.wait_for(name)
        print(draw(loopback.spans))  # noqa: T201


if __name__ == "__main__":
    main()
