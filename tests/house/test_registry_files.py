"""What clients and the registry are told of the server is what it offers."""

import json
import os
import struct
import subprocess
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from cronty.cli.commands import load_command
from tests.house.registry_files import (
    ICON,
    MANIFEST,
    PROJECT,
    REPOSITORY,
    ROOT,
    SERVER,
    manifest,
    pack,
    server,
    written,
)


def test_the_files_are_as_generated() -> None:
    assert SERVER.read_text(encoding="utf-8") == written(server()), "Run `just reference`."
    assert MANIFEST.read_text(encoding="utf-8") == written(manifest()), "Run `just reference`."


def test_they_start_a_command_that_is_there_with_extras_that_are_there() -> None:
    (package,) = server()["packages"]
    assert load_command(package["packageArguments"][0]["value"]).name == "mcp"
    asked = package["runtimeArguments"][0]["value"].partition("[")[2].partition("]")[0].split(",")
    args = manifest()["server"]["mcp_config"]["args"]
    assert asked == [name for flag, name in pairwise(args) if flag == "--extra"]
    assert set(asked) <= PROJECT["optional-dependencies"].keys()
    assert args[-2:] == ["cronty", "mcp"]
    assert len(server()["description"]) <= 100, "the registry takes no more"


def test_until_there_is_a_public_repository_nothing_is_published_under_a_name_of_somebody() -> None:
    assert server(None)["name"] == "com.example/cronty", "reserved: nobody can prove that it is theirs"
    assert "icons" not in server(None), "the registry takes addresses alone, and there is none"
    told = server("ann/cronty-home")
    assert told["name"] == "io.github.ann/cronty"
    assert told["repository"]["url"] == "https://github.com/ann/cronty-home"
    [icon] = told["icons"]
    assert icon["src"].startswith("https://")
    assert icon["src"].endswith(f"/ann/cronty-home/v{PROJECT['version']}/{ICON.relative_to(ROOT)}")
    assert len(icon["src"]) <= 255
    head = ICON.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    assert icon["sizes"] == ["{}x{}".format(*struct.unpack(">II", head[16:]))]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (f"mcp-name: {server()['name']}" in readme) is (REPOSITORY is not None)


@pytest.mark.parametrize(
    ("named", "marked", "good"),
    [(None, None, False), ("bob/cronty", "bob", False), ("ann/cronty", None, False), ("ann/cronty", "ann", True)],
)
def test_a_release_is_refused_until_the_registrys_entry_is_of_its_repository(
    named: str | None, marked: str | None, good: bool, tmp_path: Path
) -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    [script] = [step["run"] for step in workflow["jobs"]["release"]["steps"] if "server.json" in step.get("run", "")]
    (tmp_path / "server.json").write_text(written(server(named)))
    (tmp_path / "README.md").write_text(f"# Cronty\n<!-- mcp-name: io.github.{marked}/cronty -->" if marked else "")
    ran = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env={**os.environ, "GITHUB_REPOSITORY": "ann/cronty"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode == 0) is good, ran.stderr
    assert good or f"server.json is for {server(named)['name']}" in ran.stderr


def test_the_bundle_has_the_manifest_and_the_whole_package(tmp_path: Path) -> None:
    pack(tmp_path / "one.mcpb")
    pack(tmp_path / "two.mcpb")
    assert (tmp_path / "one.mcpb").read_bytes() == (tmp_path / "two.mcpb").read_bytes()
    with ZipFile(tmp_path / "one.mcpb") as bundle:
        told = json.loads(bundle.read("manifest.json"))
        names = set(bundle.namelist())
    assert {told["server"]["entry_point"], told["icon"], "pyproject.toml", "README.md", "src/cronty/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "deploy/")) or "__pycache__" in name]
