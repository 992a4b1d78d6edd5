"""What clients and the registry are told of the server is what it offers."""

import json
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

from cronty.cli.commands import load_command
from tests.house.registry_files import MANIFEST, PROJECT, SERVER, manifest, pack, server, written


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


def test_the_bundle_has_the_manifest_and_the_whole_package(tmp_path: Path) -> None:
    pack(tmp_path / "one.mcpb")
    pack(tmp_path / "two.mcpb")
    assert (tmp_path / "one.mcpb").read_bytes() == (tmp_path / "two.mcpb").read_bytes()
    with ZipFile(tmp_path / "one.mcpb") as bundle:
        told = json.loads(bundle.read("manifest.json"))
        names = set(bundle.namelist())
    assert {told["server"]["entry_point"], "pyproject.toml", "README.md", "src/cronty/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "deploy/")) or "__pycache__" in name]
