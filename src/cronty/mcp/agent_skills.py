"""The skills that come with Cronty, served as MCP's Skills extension says (SEP-2640)."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.extension import Extension, MethodBinding, ResourceBinding
from mcp.server.mcpserver.resources import TextResource
from mcp.types import INVALID_PARAMS, PaginatedRequestParams, RequestParams

NAMES: Final = ("plan", "diagnose", "heartbeat")
FRESH_MS: Final = 3_600_000
"""How long a client may go without asking again: the texts change with the package only."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill in the format of agentskills.io: one file, whose head names it and says when to use it."""

    text: str

    @property
    def head(self) -> dict[str, str]:
        """Its frontmatter; ours has nothing but lines of `key: words`."""
        lines = self.text.removeprefix("---\n").partition("\n---\n")[0].splitlines()
        return dict(line.split(": ", 1) for line in lines)

    @property
    def uri(self) -> str:
        return f"skill://{self.head['name']}/SKILL.md"

    def entry(self) -> dict[str, Any]:
        """What a client is told of it, before it reads it and to check what it has read."""
        raw = self.text.encode()
        file = {"uri": self.uri, "digest": f"sha256:{sha256(raw).hexdigest()}", "size": len(raw)}
        return {"uri": self.uri, "frontmatter": self.head, "resources": [file]}


def read_skills() -> list[Skill]:
    folder = files("cronty.mcp") / "skills"
    return [Skill((folder / name / "SKILL.md").read_bytes().decode()) for name in NAMES]


class GetSkillParams(RequestParams):
    uri: str


class Skills(Extension):
    """Lists and serves them from memory, the same to everybody; they add no tool."""

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self) -> None:
        self._skills = read_skills()
        self._entries = {skill.uri: skill.entry() for skill in self._skills}

    def resources(self) -> Sequence[ResourceBinding]:
        return [
            ResourceBinding(
                TextResource(
                    uri=skill.uri,
                    name=skill.head["name"],
                    description=skill.head["description"],
                    mime_type="text/markdown",
                    text=skill.text,
                )
            )
            for skill in self._skills
        ]

    def methods(self) -> Sequence[MethodBinding]:
        return [
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", GetSkillParams, self._get),
        ]

    async def _list(self, _context: ServerRequestContext[Any, Any], _params: PaginatedRequestParams) -> dict[str, Any]:
        return _answer(skills=[*self._entries.values()])

    async def _get(self, _context: ServerRequestContext[Any, Any], params: GetSkillParams) -> dict[str, Any]:
        if (entry := self._entries.get(params.uri)) is None:
            known = ", ".join(self._entries)
            raise MCPError(INVALID_PARAMS, f"No skill is served at {params.uri!r}. These are: {known}.")
        return _answer(skill=entry)


def _answer(**content: Any) -> dict[str, Any]:
    return {"resultType": "complete", **content, "ttlMs": FRESH_MS, "cacheScope": "public"}
