"""The skills over MCP: a client lists, reads and checks them; what they name is there, and their examples work."""

import re
from collections.abc import AsyncGenerator, Iterator
from hashlib import sha256
from typing import Any

import httpx2
import orjson
import pytest
import yaml
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import INVALID_PARAMS, Request, TextResourceContents
from pydantic import BaseModel

from cronty import Cronty
from cronty.asgi import http_app
from cronty.cli.commands import COMMANDS
from cronty.contract.caller import local_caller
from cronty.contract.result import Ok
from cronty.jobs.policy import Policy
from cronty.mcp.agent_skills import NAMES, Skill, read_skills
from cronty.mcp.server import GROUPS
from tests.actions.servers import serving
from tests.mcp.caller import ERAS, Caller, held, text_of
from tests.mcp.test_tools import nodes

SKILLS = read_skills()
NEW = pytest.mark.parametrize("caller", ["2026-07-28"], indirect=True)


class Anything(BaseModel, extra="allow"):
    """Whatever was answered."""


@pytest.fixture(params=ERAS)
async def agent(request: pytest.FixtureRequest, cronty: Cronty) -> AsyncGenerator[Client]:
    """An agent with a key that may do nothing but read, over HTTP."""
    key = await cronty.service.identity.add_key(local_caller("ann"), "an agent's", ["read"])
    assert isinstance(key, Ok)
    app = http_app(cronty, GROUPS, ["127.0.0.1:*"])
    async with (
        held(app.router.lifespan_context(app)),
        serving(app) as port,
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key.value.text}"}) as http,
        held(Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http),
                    mode=ERAS[request.param])) as client,
    ):  # fmt: skip
        assert client.protocol_version == request.param
        yield client


async def ask(client: Client, method: str, **params: str) -> dict[str, Any]:
    request = Request[dict[str, str], str](method=method, params=params)
    return (await client.session.send_request(request, Anything)).model_dump()


async def test_a_client_lists_reads_and_checks_them(agent: Client) -> None:
    able = agent.server_capabilities
    assert able.resources is not None
    if agent.protocol_version == "2026-07-28":  # before, there was no place to say it
        assert able.extensions == {"io.modelcontextprotocol/skills": {}}

    answer = await ask(agent, "skills/list")
    assert (answer["resultType"], answer["cacheScope"]) == ("complete", "public")
    assert answer["ttlMs"] > 0
    assert "nextCursor" not in answer
    listed = {one.uri: one for one in (await agent.list_resources()).resources}
    assert [entry["uri"] for entry in answer["skills"]] == [f"skill://{name}/SKILL.md" for name in NAMES]
    for entry in answer["skills"]:
        [content] = (await agent.read_resource(entry["uri"])).contents
        assert isinstance(content, TextResourceContents)
        raw = content.text.encode()
        assert entry["resources"] == [
            {"uri": entry["uri"], "digest": f"sha256:{sha256(raw).hexdigest()}", "size": len(raw)}
        ]
        assert yaml.safe_load(content.text.split("---\n")[1]) == entry["frontmatter"]
        about = listed[entry["uri"]]
        assert (about.name, about.description) == (entry["frontmatter"]["name"], entry["frontmatter"]["description"])
        assert about.mime_type == content.mime_type == "text/markdown"
        alone = await ask(agent, "skills/get", uri=entry["uri"])
        assert alone["skill"] == entry
        assert (alone["resultType"], alone["ttlMs"]) == ("complete", answer["ttlMs"])


async def test_what_is_not_a_skill_is_an_invalid_parameter(agent: Client) -> None:
    for uri in ("skill://nothing/SKILL.md", "skill://plan", "cron://examples"):
        with pytest.raises(MCPError, match=f"No skill is served at '{uri}'. These are: skill://plan/SKILL.md,") as said:
            await ask(agent, "skills/get", uri=uri)
        assert said.value.code == INVALID_PARAMS
    with pytest.raises(MCPError) as said:
        await agent.read_resource("skill://plan/scripts/run.py")
    assert said.value.code == INVALID_PARAMS


@NEW
async def test_nothing_is_read_from_disk_for_a_request(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("cronty.mcp.agent_skills.files")
    assert len((await ask(caller.client, "skills/list"))["skills"]) == len(NAMES)
    assert (await caller.client.read_resource("skill://plan/SKILL.md")).contents


@pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
def test_one_is_short_and_in_the_format(skill: Skill) -> None:
    head = yaml.safe_load(skill.text.split("---\n")[1])
    assert head == skill.head
    assert head.keys() == {"name", "description"}
    assert head["name"] in NAMES
    assert "Use it when" in head["description"]
    assert len(head["description"]) <= 1024
    assert len(skill.text.splitlines()) < 120
    assert skill.text.count("## Example: ") == 2


def examples(skill: Skill) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls of its examples: a tool and its arguments in a line each."""
    for block in re.findall(r"^```\n(.+?)^```$", skill.text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            tool, _, arguments = line.partition(" ")
            yield tool, orjson.loads(arguments)


@NEW
@pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
async def test_what_one_names_is_there(skill: Skill, caller: Caller) -> None:
    tools = await caller.tools()
    schemas = [schema for tool in tools.values() for schema in (tool.input_schema, tool.output_schema)]
    known = {name for schema in schemas for node in nodes(schema) for name in node.get("properties", {})}
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", skill.text))
    assert len(named & tools.keys()) >= 5
    assert named - tools.keys() - known - set(Policy.__dataclass_fields__) == set()
    assert set(re.findall(r"`cronty ([a-z]+)", skill.text)) <= set(COMMANDS)


@NEW
@pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
async def test_its_examples_are_calls_that_the_tools_take(skill: Skill, caller: Caller) -> None:
    calls = [*examples(skill)]
    assert len(calls) >= 5
    for tool, arguments in calls:
        if tool == "send_push_notification":  # which would send it
            Draft202012Validator((await caller.tools())[tool].input_schema).validate(arguments)  # pyright: ignore[reportUnknownMemberType]
            continue
        result = await caller.raw(tool, **arguments | ({"wait_seconds": 0} if "wait_seconds" in arguments else {}))
        assert result.structured_content is not None, (tool, text_of(result))
        assert not result.is_error or "error" in result.structured_content, (tool, text_of(result))
        if (
            error := result.structured_content.get("error")
        ) and "not found" not in error:  # no job of the story is there
            assert "may mean" in error, (tool, error)
