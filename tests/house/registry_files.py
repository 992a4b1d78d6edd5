"""Writes server.json and deploy/mcpb/manifest.json from what Cronty offers; with `pack`, the bundle into dist/.

`server.json` is for the MCP registry, a `.mcpb` bundle for clients that install one with a click. A test holds both
files to the tools, the settings and the version.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import grouped_tools
from cronty.settings import SECRET_VARIABLES, Settings

ROOT: Final = Path(__file__).parents[2]
SERVER: Final = ROOT / "server.json"
MANIFEST: Final = ROOT / "deploy/mcpb/manifest.json"
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ICON: Final = ROOT / "deploy/mcpb/icon.png"
REPOSITORY: Final[str | None] = None
"""Whose the public repository is and its name, with a slash between; None until there is one. The registry's entry then
gets its name, and README.md the line `mcp-name: …`, by which the registry sees that the package is ours."""

ASKED: Final = ("database_url", "data_dir", "zone")
"""The settings that whoever installs it may want to set."""


def server(repository: str | None = REPOSITORY) -> dict[str, Any]:
    extras = "cronty[web,local]"
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        # Nobody can prove to the registry that example.com is theirs, so nothing is published under it by mistake.
        "name": f"io.github.{repository.partition('/')[0]}/cronty" if repository else "com.example/cronty",
        "title": "Cronty",
        "description": PROJECT["description"],
        "version": PROJECT["version"],
        **(_of_repository(repository) if repository else {}),
        "packages": [
            {
                "registryType": "pypi",
                "identifier": PROJECT["name"],
                "version": PROJECT["version"],
                "runtimeHint": "uvx",
                "runtimeArguments": [{"type": "named", "name": "--from", "value": f"{extras}=={PROJECT['version']}"}],
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
                "environmentVariables": [_variable(name) for name in ASKED],
            }
        ],
    }


def _of_repository(repository: str) -> dict[str, Any]:
    """What needs a public address; of an icon the registry takes nothing else."""
    icon = f"https://raw.githubusercontent.com/{repository}/v{PROJECT['version']}/{ICON.relative_to(ROOT)}"
    return {
        "repository": {"url": f"https://github.com/{repository}", "source": "github"},
        "icons": [{"src": icon, "mimeType": "image/png", "sizes": ["512x512"]}],
    }


def _variable(name: str) -> dict[str, Any]:
    variable = f"CRONTY_{name.upper()}"
    secret = {"isSecret": True} if variable in SECRET_VARIABLES else {}
    return {"name": variable, "description": Settings.model_fields[name].description, "isRequired": False} | secret


def manifest() -> dict[str, Any]:
    nowhere = ToolContext(cast("Any", None), lambda: local_caller("nobody"))
    run = ["run", "--quiet", "--directory", "${__dirname}", "--extra", "web", "--extra", "local", "cronty", "mcp"]
    return {
        "manifest_version": "0.4",
        "name": PROJECT["name"],
        "display_name": "Cronty",
        "version": PROJECT["version"],
        "description": PROJECT["description"],
        "author": PROJECT["authors"][0],
        "icon": ICON.name,
        "server": {
            "type": "uv",
            "entry_point": "src/cronty/cli/main.py",
            "mcp_config": {"command": "uv", "args": run},
        },
        "tools": [{"name": tool.name, "description": tool.title} for _, tool in grouped_tools(nowhere)],
        "prompts_generated": True,
        "keywords": PROJECT["keywords"],
        "license": PROJECT["license"],
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": PROJECT["requires-python"]}},
    }


def written(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def bundled() -> list[str]:
    """The files of the bundle besides its manifest and icon: what `uv run` needs to build and start the package."""
    parts = ["LICENSE", "README.md", "pyproject.toml", "share", "src"]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *parts], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return sorted(filter(None, listed.stdout.split("\0")))


def pack(path: Path) -> None:
    """The same files give the same bundle."""
    with ZipFile(path, "w", ZIP_DEFLATED) as bundle:
        beside = [(path.name, path.read_bytes()) for path in (MANIFEST, ICON)]
        for name, content in beside + [(name, (ROOT / name).read_bytes()) for name in bundled()]:
            bundle.writestr(ZipInfo(name), content, ZIP_DEFLATED)


if __name__ == "__main__":
    MANIFEST.parent.mkdir(exist_ok=True)
    SERVER.write_text(written(server()), encoding="utf-8")
    MANIFEST.write_text(written(manifest()), encoding="utf-8")
    if sys.argv[1:] == ["pack"]:
        (ROOT / "dist").mkdir(exist_ok=True)
        pack(ROOT / f"dist/cronty-{PROJECT['version']}.mcpb")
