"""The Python in README and docs, as a reader would type it: both type checkers pass over it, strict."""

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
AROUND = "from cronty import Cronty\n\n\nasync def example(cronty: Cronty) -> None:\n"
PYRIGHT = """
[tool.basedpyright]
typeCheckingMode = "strict"
reportUnusedExpression = false
reportUnusedImport = false
"""


def examples() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for page in PAGES:
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            text = dedent(block)
            name = f"{page.parent.name}_{page.stem}_{number}".lower().replace("-", "_")
            found.append((name, text if _is_whole(text) else _wrap(text)))
    return found


def _is_whole(text: str) -> bool:
    try:
        return bool(compile(text, "example", "exec"))
    except SyntaxError:
        return False


def _wrap(text: str) -> str:
    """A few lines of a program that is async already."""
    return AROUND + indent(text, "    ")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    for name, text in examples():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        if called := re.match(r"# (\w+\.py)\n", text):  # others of its page import it by this name
            (folder / called[1]).write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text(PYRIGHT)
    return folder


def check(written: Path, *command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=written, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_examples() -> None:
    assert len(examples()) >= 8


def test_pyright_passes_over_every_example(written: Path) -> None:
    check(written, "basedpyright", "--level", "error", "--pythonpath", sys.executable, ".")


def test_mypy_passes_over_every_example(written: Path) -> None:
    check(written, "mypy", "--strict", "--cache-dir", "cache", ".")
