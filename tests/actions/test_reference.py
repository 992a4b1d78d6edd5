"""The page about actions names everything they take."""

from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import cast

import pytest

from cronty.actions.agents import PRESETS, Agent
from cronty.actions.notify import Notify
from cronty.actions.outbound import Outbound
from cronty.actions.prompt import prompt
from cronty.actions.tasks import Registry, Task
from cronty.actions.webhook import Webhook
from tests.actions.servers import anns
from tests.jobs.test_envelope import ENVELOPE

PAGE = Path(__file__).parents[2] / "docs/reference/actions.md"
REGISTRY = Registry()
TASKS = [
    REGISTRY.add(Notify(Outbound()).notify, "notify"),
    REGISTRY.add(Webhook(Outbound(), anns).webhook, "webhook"),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_parameter_is_documented_and_described(task: Task) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, schema in cast("dict[str, dict[str, object]]", task.parameters["properties"]).items():
        assert f"| `{name}` |" in page
        assert schema["description"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_text_an_agent_reads_has_an_example(task: Task) -> None:
    assert f"Example: {task.name}(" in task.doc


def test_everything_about_prompts_agents_and_envelopes_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in (*signature(prompt).parameters, *(field.name for field in fields(Agent)[1:])):
        assert f"| `{name}` |" in page
    for name in (*ENVELOPE.as_json(), *ENVELOPE.provenance, *PRESETS):
        assert f"`{name}`" in page
