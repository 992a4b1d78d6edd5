"""What we are made of is what we chose: packages by hash, tools by version, vendored files by what they hold."""

import re
import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cronty.cli.doctor import _database, _locks  # pyright: ignore[reportPrivateUsage]
from cronty.store.health import Health
from tests.house.sbom import bill_of_materials

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src/cronty/web/dashboard/static"
VENDORED = {
    "htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    "inter-latin.woff2": "3100e775e8616cd2611beecfa23a4263d7037586789b43f035236a2e6fbd4c62",
}
HEALTH = Health(
    180004, "18.4", datetime.now(UTC), 1, 0, None, None, 0, None, 0, read_only=False,
    weeks=16, connections=18, locks_each=64, max_connections=100,
)  # fmt: skip


def locked(name: str) -> dict[str, str]:
    """The packages of a file, each with its lines."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    parts = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    return {canonicalize_name(re.split(r"[\[=]", part)[0]): part for part in parts}


def needed() -> set[str]:
    """Every package that is installed with some extra on this machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    todo = [Requirement(one) for group in groups for one in group]
    found = set[str]()
    while todo:
        one = todo.pop()
        extras = [{"extra": extra} for extra in ("", *one.extras)]
        if one.name == "cronty" or f"{one.name}{sorted(one.extras)}" in found:
            continue
        found.add(f"{one.name}{sorted(one.extras)}")
        try:
            inner = [Requirement(line) for line in requires(one.name) or []]
        except PackageNotFoundError:  # of another system
            continue
        todo += [line for line in inner if line.marker is None or any(line.marker.evaluate(env) for env in extras)]
    return {canonicalize_name(name.partition("[")[0]) for name in found}


def test_the_bill_of_materials_names_every_locked_package_and_vendored_file_with_its_hashes() -> None:
    bill = bill_of_materials()
    assert bill == bill_of_materials()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = {str(one["name"]): one for one in cast("list[dict[str, Any]]", bill["components"])}
    extras, runtime = locked("extras.txt"), locked("runtime.txt")
    assert listed.keys() == extras.keys() | VENDORED.keys()
    assert {name for name, one in listed.items() if one["scope"] == "required"} == runtime.keys()
    for name, lines in extras.items():
        assert f"=={listed[name]['version']}" in lines
        assert [one["content"] for one in listed[name]["hashes"]] == re.findall(r"sha256:([0-9a-f]{64})", lines)
        assert listed[name]["purl"] == f"pkg:pypi/{name}@{listed[name]['version']}"
    assert {name: listed[name]["hashes"][0]["content"] for name in VENDORED} == VENDORED


def test_every_package_of_every_extra_is_locked_by_hash() -> None:
    files = {name: locked(f"{name}.txt") for name in ("extras", "runtime", "dev", "image", "build", "site")}
    assert needed() - files["extras"].keys() == set()
    assert files["runtime"].keys() - files["image"].keys() == set()
    for packages in files.values():
        assert [name for name, lines in packages.items() if "--hash=sha256:" not in lines] == []
    pins = {name: {one: re.findall(r"==\S+", part)[0] for one, part in file.items()} for name, file in files.items()}
    assert pins["extras"].items() <= pins["dev"].items(), "CI tests what people install"
    assert pins["build"].items() <= pins["dev"].items(), "CI builds with what the image builds with"
    assert pins["image"].items() <= pins["extras"].items()
    assert pins["runtime"].items() <= pins["extras"].items()


def test_vendored_files_are_what_they_were() -> None:
    theirs = {path.name for pattern in ("*.min.*", "*.woff2") for path in STATIC.glob(pattern)}
    assert theirs == VENDORED.keys()
    for name, expected in VENDORED.items():
        assert sha256((STATIC / name).read_bytes()).hexdigest() == expected, f"{name} is another file now"


def test_what_ci_installs_is_pinned() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.search(r"^uv_version=[\d.]+\nuv_sha256=[0-9a-f]{64}$", script, re.MULTILINE)
    for line in script.splitlines():
        if "pip install" in line:
            assert "==$uv_version" in line or "--require-hashes" in line or "--no-deps --no-build-isolation" in line, (
                line
            )


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda path: path.name)
def test_hosted_workflows_run_the_proof_with_pinned_actions_and_few_rights(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    workflow = cast("dict[str, Any]", yaml.safe_load(text))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert workflow["permissions"] == {"contents": "read"}
    assert {"run": ".ci/run"} in steps
    used = [step["uses"] for step in steps if "uses" in step]
    assert [one for one in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", one)] == []
    assert [
        one for one in re.findall(r"pip install .*", text) if "--require-hashes" not in one and "--no-deps" not in one
    ] == []
    assert [one for one in re.findall(r"-r (\S+)", text) if not (ROOT / one).is_file()] == []


@pytest.mark.parametrize(
    ("number", "version", "good", "said"),
    [
        (180004, "18.4", True, "PostgreSQL 18.4"),
        (180003, "18.3", False, "install 18.4 or newer"),
        (150003, "15.3", False, "install 15.18 or newer"),
        (150018, "15.18", True, "PostgreSQL 15.18"),
        (140030, "14.30", False, "15 is the oldest"),
        (190000, "19.0", True, "PostgreSQL 19.0"),
    ],
)
def test_the_doctor_judges_the_minor_version(number: int, version: str, good: bool, said: str) -> None:
    fine, _, words = _database(replace(HEALTH, version_number=number, version=version))
    assert fine is good
    assert said in words


def test_the_doctor_says_what_to_set_for_a_long_history() -> None:
    assert _locks(HEALTH) == (True, "locks", "16 weeks of history and 18 connections take up to 1440 of 6400")
    assert _locks(replace(HEALTH, weeks=400)) == (
        False,
        "locks",
        "400 weeks of history and 18 connections take up to 36000 of 6400: set max_locks_per_transaction to 360 or"
        " more, and restart PostgreSQL",
    )
