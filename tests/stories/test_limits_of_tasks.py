"""Limits of tasks, as the page about them tells it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE


async def test_the_program_of_the_page_does_what_it_says(url: str) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/limits-of-tasks.md").read_text(encoding="utf-8")
    program = page.partition("```python\n")[2].partition("```")[0]
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", program],
        env={**os.environ, "CRONTY_DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert ran.stdout.splitlines() == ["12 pages, never more than 2 at once", "['One t', 'Three']"], ran.stderr
