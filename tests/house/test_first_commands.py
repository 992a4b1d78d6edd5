"""The dashboard names the same commands as the README to connect an agent: nothing is released under a name yet."""

from pathlib import Path

from cronty.web.dashboard.first import CLIENTS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_commands_that_connect_an_agent_are_those_of_the_readme() -> None:
    assert [command for _, command in CLIENTS if command not in README] == []
