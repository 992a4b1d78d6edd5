"""A service started by uvx lives on when uv's cache is emptied, and hints name a command that is there."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from cronty.cli.output import say
from cronty.cli.own_copy import is_in_uv_cache, lasting_python, own_command, remove_other_copies

LIBRARY = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """uv's, with an environment over another one, from which we run."""
    made = tmp_path / "cache/uv"
    for name, texts in {
        "archive-v0/base": {"thing.py": "NAME = 'base'", "other.py": "NAME = 'other'"},
        "builds-v0/.tmp1": {"thing.py": "NAME = 'layer'", "_uv_ephemeral_overlay.pth": "/nowhere"},
    }.items():
        (made / name / LIBRARY).mkdir(parents=True)
        for file, text in texts.items():
            (made / name / LIBRARY / file).write_text(text)
    (made / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
    (made / "archive-v0/base/bin").mkdir()
    (made / "archive-v0/base/bin/cronty").touch(0o755)
    monkeypatch.setattr(sys, "prefix", str(made / "builds-v0/.tmp1"))
    monkeypatch.setattr(
        sys, "path", [str(made / "builds-v0/.tmp1" / LIBRARY), str(made / "archive-v0/base" / LIBRARY), *sys.path]
    )
    monkeypatch.setenv("PATH", str(made / "archive-v0/base/bin"))
    own_command.cache_clear()
    yield made
    own_command.cache_clear()


def test_outside_the_cache_it_runs_from_where_it_is(tmp_path: Path) -> None:
    assert not is_in_uv_cache(tmp_path / "archive-v0/x")
    assert lasting_python(tmp_path) == sys.executable
    assert list(tmp_path.iterdir()) == []


def test_a_copy_works_after_the_cache_is_emptied(cache: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    before = os.umask(0)
    try:
        python = lasting_python(data)
    finally:
        os.umask(before)
    copied = [one for one in data.rglob("*") if not one.is_symlink()]
    assert len(copied) > 5
    assert [one for one in copied if one.stat().st_mode & 0o022] == []  # root's data folder lets others pass through
    assert lasting_python(data) == python
    shutil.rmtree(cache)
    told = subprocess.run(
        [python, "-c", "import other, sys, thing; print(thing.NAME, other.NAME, sys.prefix)"],
        capture_output=True, text=True, check=True, env={"PATH": os.defpath},
    )  # fmt: skip
    assert told.stdout.split() == ["layer", "other", str(Path(python).parents[1])]
    assert [one.name for one in data.iterdir()] == [Path(python).parents[1].name]


def test_copies_of_earlier_versions_go(cache: Path, tmp_path: Path) -> None:
    python = lasting_python(tmp_path)
    (tmp_path / "environment-0.0.1-abc/bin").mkdir(parents=True)
    (tmp_path / "postgres").mkdir()
    remove_other_copies(tmp_path, python)
    assert sorted(one.name for one in tmp_path.glob("[ep]*")) == sorted([Path(python).parents[1].name, "postgres"])


def test_hints_name_the_command_that_is_there(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say("cronty: It isn't up. `cronty up` starts it, and `cronty` alone says how. Make one: cronty add x")
    uvx = "uvx --from 'cronty[web,local]' cronty"
    assert " ".join(capsys.readouterr().out.split()) == (
        f"cronty: It isn't up. `{uvx} up` starts it, and `cronty` alone says how. Make one: {uvx} add x"
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/cronty").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    own_command.cache_clear()
    say("`cronty up` starts it.")
    assert capsys.readouterr().out == "`cronty up` starts it.\n"
