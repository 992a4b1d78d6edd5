"""The protocol's own conformance suite: the scenarios that mean something for a server with tools of its own."""

from pathlib import Path
from typing import Final

import pytest

from tests.clients.npm import Npm
from tests.clients.serving import Served, keyed

pytestmark = [pytest.mark.npm, pytest.mark.timeout(400)]

BASELINE: Final = Path(__file__).with_name("conformance-baseline.yml")
STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"
SCENARIOS: Final = [
    *(
        (STATELESS, name)
        for name in (
            "tools-list", "resources-list", "prompts-list", "caching", "sep-2164-resource-not-found",
            "http-header-validation", "server-sse-multiple-streams", "input-required-result-unsupported-methods",
            "dns-rebinding-protection", "server-stateless", "sep-2640-skills-enumeration",
            "sep-2640-skills-manifest",
        )
    ),
    *(
        (HANDSHAKE, name)
        for name in (
            "server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection",
        )
    ),
]  # fmt: skip


def conform(npm: Npm, served: Served, folder: Path, spec: str, scenario: str, baseline: Path) -> tuple[int, str]:
    with keyed(served) as url:
        done = npm.run(
            ".bin/conformance", "server", "--url", f"{url}/mcp", "--scenario", scenario, "--spec-version", spec,
            "--expected-failures", str(baseline), "--force",  # or those of an extension are left out
            cwd=folder, timeout=120,
        )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("spec", "scenario"), SCENARIOS)
def test_the_server_conforms(npm: Npm, served: Served, tmp_path: Path, spec: str, scenario: str) -> None:
    code, said = conform(npm, served, tmp_path, spec, scenario, BASELINE)
    assert code == 0, said
    assert "SUCCESS" in said


def test_an_excuse_that_is_no_longer_needed_fails(npm: Npm, served: Served, tmp_path: Path) -> None:
    stale = tmp_path / "stale.yml"
    stale.write_text("server:\n  - tools-list:tools-name-format\n")
    code, said = conform(npm, served, tmp_path, STATELESS, "tools-list", stale)
    assert code == 1, said
    assert "stale" in said.lower()
