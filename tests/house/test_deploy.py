"""What `deploy/` asks Prometheus for exists, and every alert has its test."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cronty.metrics import ALL, Histogram

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus/rules.yaml"
TESTS = DEPLOY / "prometheus/rules_test.yaml"
BOARD = DEPLOY / "grafana/cronty.json"
HOW_TO = Path(__file__).parents[2] / "docs/how-to/prometheus.md"


def told() -> Iterator[str]:
    for metric in ALL:
        ends = ("_bucket", "_sum", "_count") if isinstance(metric, Histogram) else ("",)
        yield from (f"{metric.name}{end}" for end in ends)


@pytest.mark.parametrize("path", [RULES, TESTS, BOARD], ids=lambda path: path.name)
def test_only_metrics_that_are_told_are_asked_for(path: Path) -> None:
    asked = set(re.findall(r"\bcronty_\w+", path.read_text(encoding="utf-8")))
    assert asked
    assert asked <= set(told())


def test_labels_of_the_dashboard_are_labels_of_its_metrics() -> None:
    known = {label for metric in ALL for label in metric.labels} | {"instance", "le"}
    panels = json.loads(BOARD.read_text(encoding="utf-8"))["panels"]
    asked = [target for panel in panels for target in panel.get("targets", [])]
    assert len(asked) > 20
    for one in asked:
        assert set(re.findall(r"\{\{(\w+)\}\}", one["legendFormat"])) <= known
        by = re.findall(r"by \(([\w, ]+)\)", one["expr"])
        assert {label.strip() for group in by for label in group.split(",")} <= known


def test_every_alert_is_tested_and_listed() -> None:
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8"))
    assert len(alerts) > 10
    tests, page = TESTS.read_text(encoding="utf-8"), HOW_TO.read_text(encoding="utf-8")
    assert [one for one in alerts if one not in tests or f"`{one}`" not in page] == []


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool isn't installed")
@pytest.mark.parametrize("command", [("check", "rules", RULES.name), ("test", "rules", TESTS.name)], ids=" ".join)
def test_promtool_agrees(command: tuple[str, ...]) -> None:
    said = subprocess.run(["promtool", *command], cwd=RULES.parent, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
