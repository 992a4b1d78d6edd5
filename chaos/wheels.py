"""Builds Cronty as it is and as a newer version of it, each as a wheel unpacked into a folder to run from."""

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from chaos.fleet import ROOT

NEWER_VERSION: Final = "99.0.0"
NEWER_ZONES: Final = "2099z"
NEWER_FIELD: Final = "novelty"
NEWER_MIGRATION: Final = "9001_newer"

_MIGRATION: Final = """-- outside a transaction
-- older code: keeps working
alter table cronty.jobs add column if not exists novelty int;
create index concurrently if not exists due_novelty on cronty.due (owner_id, next_at);
create index concurrently if not exists runs_novelty on cronty.runs (owner_id, started_at);
"""


def build(folder: Path, *, newer: bool = False) -> Path:
    """The folder to put first on PYTHONPATH."""
    source, out = folder / "source", folder / "unpacked"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, source)
    if newer:
        make_newer(source)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(out)
    return out


def make_newer(source: Path) -> None:
    """A policy field, a zone database and a migration that the version beside it doesn't know."""
    package = source / "src/cronty"
    zones = f'def tzdata_version() -> str:\n    return "{NEWER_ZONES}"\n'
    _change(
        source / "pyproject.toml", lambda text: re.sub(r'(?m)^version = ".*"', f'version = "{NEWER_VERSION}"', text)
    )
    _change(
        package / "jobs/policy.py",
        lambda text: re.sub(r"(?m)^(class Policy:\n(?:.*\n)*?)(\n    @property)", _with_field, text, count=1),
    )
    _change(package / "timing/zones.py", lambda text: f"{text}\n\n{zones}")
    (package / f"store/migrations/{NEWER_MIGRATION}.sql").write_text(_MIGRATION, encoding="utf-8")


def _with_field(found: re.Match[str]) -> str:
    return f"{found[1]}    {NEWER_FIELD}: float = 0.0\n{found[2]}"


def _change(path: Path, change: Callable[[str], str]) -> None:
    before = path.read_text(encoding="utf-8")
    after = change(before)
    if after == before:
        raise RuntimeError(f"{path.name} doesn't look as it did: nothing was made newer")
    path.write_text(after, encoding="utf-8")
