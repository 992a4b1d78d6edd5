"""The page about actions names everything they take."""

from pathlib import Path
from typing import cast

import pytest

from cronty.actions.notify import Notify
from cronty.actions.outbound import Outbound
from cronty.actions.tasks import Registry, Task
from cronty.actions.webhook import Webhook

PAGE = Path(__file__).parents[2] / "docs/reference/actions.md"
REGISTRY = Registry()
TASKS = [
    REGISTRY.add(Notify(Outbound()).notify, "notify"),
    REGISTRY.add(Webhook(Outbound()).webhook, "webhook"),
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
