"""Sends spans where OpenTelemetry's own variables say; needs the extra `otel`."""

from sys import stderr
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from opentelemetry.trace import set_tracer_provider

from cronty.actions.secrecy import take_from_environment

SECRET_HEADERS: Final = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")


def export_spans(exporter: str) -> None:
    """To standard error (`console`) or to a collector (`otlp`), from a thread of its own, until this process ends."""
    to = ConsoleSpanExporter(out=stderr) if exporter == "console" else OTLPSpanExporter()
    take_from_environment(SECRET_HEADERS)  # they may hold a key of the collector's, and the exporter has read them
    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "cronty"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(to))
    set_tracer_provider(provider)
