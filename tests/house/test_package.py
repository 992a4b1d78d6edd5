"""The wheel and the sdist hold what is needed, and nothing else."""

import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata
from trove_classifiers import classifiers  # pyright: ignore[reportMissingTypeStubs]

from cronty.cli.commands import COMMANDS
from cronty.mcp.agent_skills import NAMES
from tests.house.test_docs import REGISTRY_HOSTS, ROOT, files_in_git

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAME = f"cronty-{PROJECT['project']['version']}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def wheel(built: Path) -> Iterator[ZipFile]:
    with ZipFile(built / f"{NAME}-py3-none-any.whl") as opened:
        yield opened


def in_git(*folders: str) -> set[str]:
    return {path for one in files_in_git() if (path := one.relative_to(ROOT).as_posix()).startswith(folders)}


def test_the_wheel_has_the_package_what_shells_and_man_read_and_nothing_else(wheel: ZipFile) -> None:
    code = {path.removeprefix("src/") for path in in_git("src/cronty/")}
    shared = {f"{NAME}.data/data/{path}" for path in in_git("share/")}
    about = {
        f"{NAME}.dist-info/{one}" for one in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    assert set(wheel.namelist()) == code | shared | about
    # What isn't Python and would be missed only by whoever has no checkout:
    for needed in (
        *("py.typed", "store/migrations/0001_foundation.sql", "web/dashboard/templates/base.html"),
        *(f"mcp/skills/{name}/SKILL.md" for name in NAMES),
    ):
        assert f"cronty/{needed}" in code
    assert any(name.endswith("/man1/cronty.1") for name in shared)


def test_what_the_package_says_of_itself_is_complete(wheel: ZipFile) -> None:
    text = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    told = Metadata.from_email(text, validate=True)
    assert (told.license_expression, told.description_content_type) == ("Apache-2.0", "text/markdown")
    assert Parser().parsestr(text).get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(told.classifiers or []) <= classifiers
    versions = [one.rpartition(" ")[2] for one in told.classifiers or [] if "Python :: 3." in one]
    assert versions == ["3.12", "3.13", "3.14"]
    assert all(told.requires_python and told.requires_python.contains(one) for one in versions)
    assert told.summary == PROJECT["project"]["description"]
    assert told.keywords == sorted(PROJECT["project"]["keywords"])
    assert [host for host in REGISTRY_HOSTS if host in text] == []


def test_the_sdist_has_what_it_takes_to_build_test_and_deploy(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as opened:
        names = {name.removeprefix(f"{NAME}/") for name in opened.getnames()}
    folders = (
        *("src/", "share/", "tests/", "bench/", "chaos/", "docs/", "deploy/", "examples/", "requirements/", ".ci/"),
        *("plugins/", ".agents/", ".claude-plugin/"),
    )
    assert in_git(*folders) - names == set()
    assert {"LICENSE", "README.md", "CHANGELOG.md", "justfile", "pyproject.toml"} <= names
    assert {name for name in names if name.startswith(("build/", "deploy/secrets/"))} == set()


def test_the_man_page_names_every_command() -> None:
    page = (ROOT / "share/man/man1/cronty.1").read_text(encoding="utf-8").replace(r"\-", "-")
    assert [name for name in COMMANDS if f".SS cronty {name}" not in page] == []
