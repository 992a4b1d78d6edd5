"""One job, from the MCP call to the receiver of its webhook, through three programs: the page shows what is seen."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.clients.serving import environment
from tests.conftest import database_named
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]


def shape(drawing: str) -> list[str]:
    """A drawing without its ids and times."""
    return [re.sub(r"trace \w+|[\d.]+ ms", "…", " ".join(line.split())) for line in drawing.strip().splitlines()]


def test_the_spans_of_a_job_are_as_the_page_shows_them(server_url: str) -> None:
    with database_named(server_url, f"cronty_traced_{os.getpid()}") as url:
        told = subprocess.run(
            [sys.executable, "-m", "examples.trace_of_a_job"], env=environment(database_url=url), cwd=ROOT,
            capture_output=True, text=True, timeout=2 * PATIENCE, check=False,
        )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    page = (ROOT / "docs/how-to/tracing.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert shape(told.stdout) == shape(shown)
    assert shape(told.stdout)[-5:] == [
        "cronty.fire cronty … … webhook 1 done",
        "├ cronty.plan cronty … …",
        "├ cronty.perform cronty … … webhook 1 done",
        "│ └ POST /hook receiver … …",
        "└ cronty.settle cronty … …",
    ]
