"""Writes docs/reference/tools.md from the tools themselves; a test holds the page to them."""

from pathlib import Path
from typing import Any, cast

from mcp.types import Tool

from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import grouped_tools
from cronty.mcp.tool import Group

PAGE = Path(__file__).parents[2] / "docs/reference/tools.md"
HEAD = """\
# MCP tools

Generated from the tools themselves by `just reference`; a test holds this page to them. Every tool that takes an id
takes any form of it: `job_12_1794729600`, `scd_c`, `12`. Times may be ISO 8601 or words. With
`cronty mcp --tools jobs,inbox` less is offered; the tools of the last group are always there.

Beside the tools: the resources `cron://examples`, `timezones://valid`, `limits://mine`, `schedules://{topic}` and
`job://{job_id}` (the last two with change notices for clients of the 2026-07-28 protocol), the prompts
`plan_my_week` and `why_did_it_not_run`, and the [skills](../how-to/skills.md) `skill://plan/SKILL.md`,
`skill://diagnose/SKILL.md` and `skill://heartbeat/SKILL.md`.
"""
TITLES: dict[Group, str] = {
    "jobs": "Jobs",
    "notifications": "Notifications",
    "agenda": "Agenda: prompts for agents",
    "inbox": "Inbox: prompts whose time has come",
    "time": "Time",
}


def page() -> str:
    nowhere = ToolContext(cast("Any", None), lambda: local_caller("nobody"))
    parts = [HEAD]
    group: Group | None = None
    for of, tool in grouped_tools(nowhere):
        if of != group:
            group = of
            parts.append(f"## {TITLES[group]}\n")
        parts.append(_section(tool))
    return "\n".join(parts)


def _section(tool: Tool) -> str:
    hints = tool.annotations
    assert hints is not None
    named = {
        "read-only": hints.read_only_hint,
        "destructive": hints.destructive_hint,
        "repeatable": hints.idempotent_hint,
        "reaches outside": hints.open_world_hint,
    }
    kinds = ", ".join(name for name, holds in named.items() if holds) or "makes something new each time"
    lines = [f"### `{tool.name}`\n", f"*{tool.title}* ({kinds}). {tool.description}\n"]
    required = tool.input_schema.get("required", [])
    if properties := tool.input_schema["properties"]:
        lines += ["| parameter | type | meaning |", "| --- | --- | --- |"]
        lines += [_row(name, schema, name in required) for name, schema in properties.items()]
        lines.append("")
    answer = tool.output_schema
    assert answer is not None
    lines.append("Answers with: " + ", ".join(f"`{name}`" for name in answer["properties"]) + ".\n")
    return "\n".join(lines)


def _row(name: str, schema: dict[str, Any], required: bool) -> str:
    kind = schema.get("type", "any")
    if choices := schema.get("enum"):
        kind = ", ".join(f"`{choice}`" for choice in choices)
    default = f" Default {schema['default']}." if schema.get("default") not in (None, "") else ""
    meaning = f"{schema.get('description', '')}{default}".replace("|", "\\|")
    return f"| `{name}`{' (required)' if required else ''} | {kind} | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
