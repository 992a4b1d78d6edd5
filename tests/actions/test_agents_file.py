"""The operator's file of agents is checked once, and what is wrong in it is named."""

from pathlib import Path
from typing import cast

import pytest

from cronty import Cronty
from cronty.actions.agents import PRESETS, Agent, BadAgents, read_agents

GOOD = """
[agents.claude]
deliver = "command"
command = ["claude", "-p", "--output-format", "json"]
timeout = 60
workdir = "/srv/claude"
environment = ["ANTHROPIC_API_KEY"]

[agents.ops]
deliver = "webhook"
url = "https://ops.example.com/wake"

[agents.me]

[agents.coder]
preset = "codex"
timeout = 30
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "agents.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_agents_are_read_by_name(tmp_path: Path) -> None:
    codex = cast("list[str]", PRESETS["codex"]["command"])
    assert read_agents(written(tmp_path, GOOD)) == {
        "claude": Agent(
            "claude",
            "command",
            ("claude", "-p", "--output-format", "json"),
            timeout=60,
            workdir="/srv/claude",
            environment=("ANTHROPIC_API_KEY",),
        ),
        "ops": Agent("ops", "webhook", url="https://ops.example.com/wake"),
        "me": Agent("me"),
        "coder": Agent("coder", "command", tuple(codex), timeout=30, environment=("OPENAI_API_KEY",)),
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[agents.x]\ndeliver = "pigeon"', ["'x'", "deliver", "'pigeon'", '"command"']),
        ('[agents.x]\ncommand = ["true"]', ["'x'", "command", 'deliver = "command"']),
        ('[agents.x]\ndeliver = "command"', ["'x'", "command = ["]),
        ('[agents.x]\ndeliver = "command"\ncommand = "claude -p"', ["command", "list"]),
        ('[agents.x]\ndeliver = "command"\ncommand = ["a"]\ntimeout = 0', ["timeout", "600"]),
        ('[agents.x]\ndeliver = "command"\ncommand = ["a"]\ntimeout = true', ["timeout", "600"]),
        ('[agents.x]\ndeliver = "command"\ncommand = ["a"]\nworkdir = "here"', ["workdir", "/srv/claude"]),
        ('[agents.x]\ndeliver = "command"\ncommand = ["a"]\nenvironment = ["A=1"]', ["environment", "without their"]),
        ('[agents.x]\ndeliver = "webhook"', ["url", "https://"]),
        ('[agents.x]\npreset = "hal"', ["preset", "'hal'", '"codex"']),
        ('[agents.x]\npreset = "claude"\ncommand = ["a"]', ["preset", "leave out command"]),
        ('[agents.x]\nshell = "rm"', ["'x'", "'shell'", "known are"]),
        ('[agents."a b"]', ["'a b'", "[agents.claude]"]),
        ("[agent.x]", ["[agent]", "[agents.claude]"]),
        ("agents = 1", ["[agents.claude]"]),
        ("agents.x = 1", ["[agents.x]"]),
        ("[agents", ["isn't TOML"]),
    ],
)
def test_what_is_wrong_is_named_with_a_correct_example(tmp_path: Path, text: str, named: list[str]) -> None:
    with pytest.raises(BadAgents) as caught:
        read_agents(written(tmp_path, text))
    assert str(tmp_path / "agents.toml") in str(caught.value)
    for part in named:
        assert part in str(caught.value)


def test_a_missing_file_and_a_forbidden_url_are_said_when_a_cronty_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONTY_AGENTS_FILE", str(tmp_path / "agents.toml"))
    with pytest.raises(BadAgents, match="can't be read"):
        Cronty("postgresql://nowhere")
    written(tmp_path, '[agents.x]\ndeliver = "webhook"\nurl = "http://169.254.169.254/"')
    with pytest.raises(BadAgents, match="'x': url"):
        Cronty("postgresql://nowhere")


def test_a_worker_performs_the_agents_it_can_wake_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRONTY_AGENTS_FILE", str(written(tmp_path, GOOD)))
    tasks = Cronty("postgresql://nowhere").registry.tasks
    assert [name for name in tasks if name.startswith("prompt")] == ["prompt:claude", "prompt:ops", "prompt:coder"]
