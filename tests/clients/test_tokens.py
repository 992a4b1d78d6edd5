"""What offering our tools costs a model: counted by a tokenizer, guarded by characters where there is none."""

import json
from typing import Any, Final, cast

import pytest
from mcp import Client

from cronty import Cronty
from cronty.contract.caller import local_caller
from cronty.mcp.context import ToolContext
from cronty.mcp.server import GROUPS, CrontyServer
from cronty.mcp.tool import Group
from tests.clients.npm import Npm

MAX_TOKENS: Final = 12_000
CHARACTERS_PER_TOKEN: Final = 3.8
"""Measured with o200k_base over the JSON that a client gets: 4.0 (30,763 characters, 7,682 tokens)."""


async def tools_list(*groups: Group) -> str:
    """The result of tools/list as it goes over the wire."""
    cronty = Cronty("postgresql://localhost:1/nowhere")
    async with Client(
        CrontyServer(ToolContext(cronty, lambda: local_caller("ann")), groups or GROUPS), cache=None
    ) as client:
        listed = await client.list_tools()
    return listed.model_dump_json(by_alias=True, exclude_none=True)


def names(listed: str) -> list[str]:
    return [tool["name"] for tool in cast("list[dict[str, Any]]", json.loads(listed)["tools"])]


async def test_all_tools_stay_within_their_allowance_by_characters() -> None:
    assert len(await tools_list()) <= MAX_TOKENS * CHARACTERS_PER_TOKEN


async def test_fewer_groups_are_fewer_tools() -> None:
    everything, notifications, inbox = await tools_list(), await tools_list("notifications"), await tools_list("inbox")
    assert set(names(notifications)) < set(names(everything))
    assert names(inbox) == ["read_inbox", "acknowledge_inbox", "preview_schedule", "get_current_time", "set_zone"]
    assert len(inbox) < len(notifications) < len(everything) / 2


@pytest.mark.npm
@pytest.mark.timeout(400)
async def test_all_tools_stay_within_their_allowance_by_tokens(npm: Npm) -> None:
    texts = [await tools_list(), *[await tools_list(group) for group in GROUPS if group != "time"]]
    [tokens, *by_group] = npm.count_tokens(texts)
    print(json.dumps({"tokens": tokens, "characters": len(texts[0]), "by_group": by_group}))
    assert tokens <= MAX_TOKENS
    assert len(texts[0]) / tokens >= CHARACTERS_PER_TOKEN  # else the guard by characters is too generous
