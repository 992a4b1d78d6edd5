"""Writes the plugin for Claude Code and Codex, and the two lists in which they find it, from the package.

`plugins/cronty` is one folder for both: each has a manifest of its own there, and they share the skills and the file
that says how to start the server. The skills are copies of those in the package; a test holds all of it to the package.
"""

from typing import Any, Final

from cronty.mcp.agent_skills import read_skills
from tests.house.registry_files import PROJECT, ROOT, written

PLUGIN: Final = "plugins/cronty"
ABOUT: Final[dict[str, Any]] = {
    "name": PROJECT["name"],
    "version": PROJECT["version"],
    "description": PROJECT["description"],
    "author": PROJECT["authors"][0],
    "license": PROJECT["license"],
    "keywords": PROJECT["keywords"],
}


def claude() -> dict[str, Any]:
    """`skills/` and `.mcp.json` are where Claude Code looks by itself."""
    return ABOUT


def codex() -> dict[str, Any]:
    return ABOUT | {
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "interface": {
            "displayName": "Cronty",
            "shortDescription": "Schedules and reminders that fire with every client closed",
            "longDescription": "Plan reminders, prompts and jobs in words, find out why one did or didn't run, and be "
            "an agent that wakes itself. Needs the program `cronty` on this machine.",
            "developerName": PROJECT["authors"][0]["name"],
            "category": "Productivity",
            "capabilities": ["Interactive", "Write"],
            "defaultPrompt": [
                "Remind me in two minutes to stretch.",
                "Every weekday at 8:30, look at my pull requests.",
                "Why did my reminder not come?",
            ],
        },
    }


def server() -> dict[str, Any]:
    return {"mcpServers": {"cronty": {"command": "cronty", "args": ["mcp"]}}}


def claude_marketplace() -> dict[str, Any]:
    return {
        "name": "cronty",
        "description": PROJECT["description"],
        "owner": PROJECT["authors"][0],
        "plugins": [{"name": "cronty", "source": f"./{PLUGIN}", "description": PROJECT["description"]}],
    }


def codex_marketplace() -> dict[str, Any]:
    return {
        "name": "cronty",
        "interface": {"displayName": "Cronty"},
        "plugins": [
            {
                "name": "cronty",
                "source": {"source": "local", "path": f"./{PLUGIN}"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        ],
    }


def files() -> dict[str, str]:
    """Every file, by its path in the repository."""
    return {
        ".claude-plugin/marketplace.json": written(claude_marketplace()),
        ".agents/plugins/marketplace.json": written(codex_marketplace()),
        f"{PLUGIN}/.claude-plugin/plugin.json": written(claude()),
        f"{PLUGIN}/.codex-plugin/plugin.json": written(codex()),
        f"{PLUGIN}/.mcp.json": written(server()),
        **{f"{PLUGIN}/skills/{skill.head['name']}/SKILL.md": skill.text for skill in read_skills()},
    }


if __name__ == "__main__":
    for path, text in files().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
