"""The plugin for Claude Code and Codex is what the package says, in the form that both ask for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cronty.cli.commands import load_command
from tests.house.plugin_files import PLUGIN, files
from tests.house.registry_files import PROJECT, ROOT
from tests.house.test_docs import files_in_git

SEMVER = re.compile(r"\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?")
INTERFACE = {"displayName", "shortDescription", "longDescription", "developerName", "category"}


def of(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def test_the_files_are_as_generated_and_there_is_no_other() -> None:
    made = files()
    for path, text in made.items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, "Run `just reference`."
    there = {path.relative_to(ROOT).as_posix() for path in files_in_git()}
    ours = {path for path in there if path.startswith(("plugins/", ".claude-plugin/", ".agents/"))}
    assert ours == {*made, f"{PLUGIN}/README.md"}


@pytest.mark.parametrize("folder", [".claude-plugin", ".codex-plugin"])
def test_a_manifest_has_what_its_client_asks_for(folder: str) -> None:
    manifest = of(f"{PLUGIN}/{folder}/plugin.json")
    assert manifest["name"] == Path(PLUGIN).name == PROJECT["name"]
    assert SEMVER.fullmatch(manifest["version"])
    assert manifest["description"]
    assert manifest["author"].keys() <= {"name", "email", "url"}
    known = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords"}
    if folder == ".claude-plugin":  # it finds the skills and the server where they are
        assert manifest.keys() <= known
        return
    assert manifest.keys() - known == {"skills", "mcpServers", "interface"}
    for key in ("skills", "mcpServers"):
        assert manifest[key].startswith("./")
        assert (ROOT / PLUGIN / manifest[key]).exists()
    shown = manifest["interface"]
    assert shown.keys() == INTERFACE | {"capabilities", "defaultPrompt"}
    assert all(shown[key].strip() for key in INTERFACE)
    assert len(shown["defaultPrompt"]) <= 3
    assert all(len(prompt) <= 128 for prompt in shown["defaultPrompt"])


def test_the_server_it_starts_is_a_command_that_is_there() -> None:
    settings = of(f"{PLUGIN}/.mcp.json")
    assert settings.keys() == {"mcpServers"}
    [(name, server)] = settings["mcpServers"].items()
    assert (name, server["command"]) == ("cronty", next(iter(PROJECT["scripts"])))
    assert load_command(*server["args"]).name == "mcp"


@pytest.mark.parametrize("path", [".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"])
def test_a_marketplace_leads_to_the_plugin(path: str) -> None:
    marketplace = of(path)
    [plugin] = marketplace["plugins"]
    assert re.fullmatch(r"[a-z][a-z0-9-]*", marketplace["name"])
    if path.startswith(".claude"):
        assert marketplace["owner"]["name"]
        source = plugin["source"]
    else:
        assert plugin["policy"] == {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
        assert plugin["category"]
        assert plugin["source"]["source"] == "local"
        source = plugin["source"]["path"]
    assert source.startswith("./")
    assert (ROOT / source / ".claude-plugin/plugin.json").is_file()
    assert of(f"{source}/.claude-plugin/plugin.json")["name"] == plugin["name"]
