"""Spans are sent where OpenTelemetry's variables say, and nowhere unasked."""

import json
import subprocess
import sys

import pytest

from cronty import tracing
from cronty.cli.startup import set_up_spans
from cronty.settings import BadSetting
from tests.clients.serving import environment
from tests.patience import PATIENCE

VARIABLES = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROGRAM = """
import os
from cronty import tracing
from cronty.cli.startup import set_up_spans

set_up_spans()
with tracing.scheduling("task"):
    pass
print([name for name in os.environ if name.endswith("HEADERS")])
"""


@pytest.fixture(autouse=True)
def asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_HEADERS": "key=secret"},
    ],
)
def test_nobody_collects_spans_unasked(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    set_up_spans()
    assert not tracing.on()


def test_an_exporter_that_we_do_not_have_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(BadSetting, match="'zipkin': use console, otlp or none"):
        set_up_spans()


def test_the_console_is_standard_error_and_a_collectors_key_leaves_the_environment() -> None:
    asked = {"OTEL_TRACES_EXPORTER": "console", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret"}
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment() | asked, capture_output=True, text=True, check=True,
        timeout=PATIENCE,
    )  # fmt: skip
    assert said.stdout == "[]\n"
    span = json.loads(said.stderr)
    assert (span["name"], span["resource"]["attributes"]["service.name"]) == ("cronty.schedule", "cronty")


def test_without_the_extra_it_says_how_to_get_it() -> None:
    program = "import sys; sys.modules['opentelemetry.sdk'] = None\n" + PROGRAM
    said = subprocess.run(
        [sys.executable, "-c", program], env=environment() | {"OTEL_TRACES_EXPORTER": "otlp"}, capture_output=True,
        text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    assert "pip install 'cronty[otel]'" in said.stderr
