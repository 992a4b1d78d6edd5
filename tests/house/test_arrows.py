"""The arrows between the rooms point down, and the contracts that say so can fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PLANTS = [
    ("timing/planted.py", "import cronty.scheduler", "Arrows point down"),
    ("engine/planted.py", "import cronty.scheduler", "Arrows point down"),
    ("telemetry.py", "import cronty.jobs", "Arrows point down"),
    ("attic.py", "", "Arrows point down"),
    ("engine/planted.py", "from asyncpg.pool import Pool", "Only store speaks to PostgreSQL"),
    ("scheduler.py", "import cronty.settings", "Only app and cli read settings"),
    ("jobs/planted.py", "from time import time", "timing and jobs are pure"),
]


def lint_imports(project: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the project in this folder, and not of the installed one."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_arrows_point_down() -> None:
    answer = lint_imports(ROOT)
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(("where", "line", "contract"), PLANTS)
def test_a_planted_import_breaks_its_contract(where: str, line: str, contract: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "src/cronty" / where).open("a", encoding="utf-8") as module:
        module.write(f"\n{line}\n")

    answer = lint_imports(tmp_path)

    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert f"{contract} BROKEN" in answer.stdout
    assert "1 broken" in answer.stdout
    # The culprit by name: proof that the copy was read.
    assert "cronty." + where.removesuffix(".py").replace("/", ".") in answer.stdout
