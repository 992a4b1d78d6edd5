"""What the pages, the names and the locked files promise is kept."""

import json
import re
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from packaging.requirements import Requirement

import cronty
import cronty.testing
from cronty import Cronty
from cronty.contract.operations import ALL
from cronty.jobs.job import STATUSES, JobState
from cronty.jobs.limits import Limits
from cronty.jobs.policy import Policy
from cronty.jobs.run import RUN_STATES
from cronty.settings import Settings

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/cronty"
NOT_ROOMS = {"utils", "helpers", "manager", "common", "core", "services", "models"}

# In two halves, so that this file doesn't hold what it forbids.
REGISTRY_HOSTS = ["py" + "pi.org", "python" + "hosted.", "npm" + "js.", "deb.deb" + "ian."]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def runtime_dependencies() -> list[Requirement]:
    return [Requirement(line) for line in tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]]


def files_in_git() -> list[Path]:
    """Tracked files, and new ones that aren't ignored."""
    listed = subprocess.run(
        # CI may check out as one user and test as another.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize(("page", "limit"), [("README.md", 150), ("CONTRIBUTING.md", 100)])
def test_a_page_people_start_with_is_short(page: str, limit: int) -> None:
    assert len(read(page).splitlines()) < limit


@pytest.mark.parametrize("dependency", runtime_dependencies(), ids=lambda dependency: dependency.name)
def test_every_runtime_dependency_is_argued_for(dependency: Requirement) -> None:
    assert f"| `{dependency.name}` |" in read("docs/explanation/dependencies.md")


@pytest.mark.parametrize("dependency", runtime_dependencies(), ids=lambda dependency: dependency.name)
@pytest.mark.parametrize("locked", ["requirements/runtime.txt", "requirements/extras.txt", "requirements/dev.txt"])
def test_every_runtime_dependency_is_locked_as_declared(dependency: Requirement, locked: str) -> None:
    pin = re.search(rf"^{re.escape(dependency.name)}==(\S+)", read(locked), re.MULTILINE)
    assert pin, f"{dependency.name} is missing: run `just lock`."
    assert dependency.specifier.contains(pin[1]), f"{pin[0]} is not {dependency}: run `just lock`."


def test_no_module_is_named_after_nothing() -> None:
    names = [path.relative_to(SOURCE).with_suffix("").parts for path in SOURCE.rglob("*.py")]
    assert [parts for parts in names if NOT_ROOMS.intersection(parts)] == []


def test_every_query_is_run_by_someone() -> None:
    store = "\n".join(path.read_text(encoding="utf-8") for path in (SOURCE / "store").glob("*.py"))
    queries = [path.stem for path in (SOURCE / "store/queries").glob("*.sql")]
    assert queries
    assert [name for name in queries if not re.search(rf"\b{re.escape(name)}\b", store)] == []


def test_no_file_names_a_package_registry() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in files_in_git()
        for text in [path.read_text(encoding="utf-8", errors="ignore").lower()]
        for host in REGISTRY_HOSTS
        if host in text
    ]
    assert found == []


def test_every_setting_is_documented_with_its_default() -> None:
    page = read("docs/reference/settings.md")
    for name, setting in Settings.model_fields.items():
        assert f"`CRONTY_{name.upper()}`" in page
        assert (setting.description or "") in page
        if setting.default is not None and not setting.default_factory:
            assert f"| `{setting.default}` |" in page


def test_every_policy_field_is_documented_with_its_default() -> None:
    page = read("docs/reference/policy.md")
    for field in fields(Policy):
        if field.name == "unread":  # nobody sets it
            continue
        assert f"| `{field.name}` | `{json.dumps(field.default)}` |" in page


def test_every_limit_is_documented_with_its_default() -> None:
    page = read("docs/reference/limits.md")
    for field in fields(Limits):
        assert f"| `{field.name}` | `{json.dumps(field.default)}` |" in page


def test_every_state_is_documented() -> None:
    page = read("docs/reference/states.md")
    for state in (*RUN_STATES, *get_args(JobState), *STATUSES):
        assert f"`{state}`" in page


def test_every_public_name_is_documented() -> None:
    page = read("docs/reference/python.md")
    members = [name for name in dir(Cronty) if not name.startswith("_") and name not in ("open_database", *ALL)]
    for name in (*cronty.__all__, *cronty.testing.__all__, *members):
        assert name in page, name
