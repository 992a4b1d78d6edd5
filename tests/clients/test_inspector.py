"""The MCP Inspector, as people run it: strict schemas in both eras, and each tool called once."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from tests.clients.npm import Npm
from tests.clients.serving import CRONTY, Served

pytestmark = [pytest.mark.npm, pytest.mark.timeout(400)]

type Answer = dict[str, Any]


class Inspector:
    """Calls by turns in the old and in the new era."""

    def __init__(self, npm: Npm, served: Served, folder: Path) -> None:
        self._npm, self._folder = npm, folder
        self._target = (f"{served.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {served.key}")
        self.called: set[str] = set()

    def ask(self, *arguments: str, target: tuple[str, ...] = ()) -> tuple[str, str]:
        """What it says, as answer and remarks; it must be content."""
        asked = ("--cli", *(target or self._target), *arguments)
        done = self._npm.run(".bin/mcp-inspector", *asked, cwd=self._folder)
        assert done.returncode == 0, f"{asked}: {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        return done.stdout, done.stderr

    def call(self, tool: str, arguments: Mapping[str, object], *target: str) -> Answer:
        self.called.add(tool)
        era = ("legacy", "modern")[len(self.called) % 2]
        named = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        said, _ = self.ask("--method", "tools/call", *named, "--format", "json", "--protocol-era", era, target=target)
        result = json.loads(said)["result"]
        assert not result.get("isError"), result
        assert not result["structuredContent"].get("error"), result
        assert result["content"][0]["text"]
        return result["structuredContent"]

    def call_all(self, *calls: tuple[str, Mapping[str, object]]) -> list[Answer]:
        """Three at a time: most of a call is Node starting."""
        with ThreadPoolExecutor(3) as hands:
            asked = [hands.submit(self.call, tool, arguments) for tool, arguments in calls]
            return [one.result() for one in asked]


@pytest.fixture
def inspector(npm: Npm, served: Served, tmp_path: Path) -> Inspector:
    return Inspector(npm, served, tmp_path)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_no_schema_of_ours_has_an_error_by_the_strict_rules(inspector: Inspector, era: str) -> None:
    _, remarks = inspector.ask("--method", "tools/list", "--strict", "--protocol-era", era)
    assert "\n0 errors, " in remarks


@pytest.mark.long
def test_each_tool_answers_the_inspector(inspector: Inspector, own_url: str, tmp_path: Path) -> None:
    topic = {"notification_topic": "ann-phone"}
    listed, _ = inspector.ask("--method", "tools/list", "--format", "json")
    note = {"task": "note", "args": [str(tmp_path / "words"), "hello"]}
    job, doomed, once, often, prompt, _, _, _ = inspector.call_all(
        ("schedule_job", {"name": "j", "trigger_type": "interval", "trigger_config": {"hours": 1}, **note}),
        ("schedule_notification", {"message": "Call mum", "delay": "2h", **topic}),
        ("schedule_notification", {"message": "Call dad", "delay": "3h", **topic}),
        ("schedule_cron_notification", {"message": "Up", "cron": "30 8 * * 1-5", "timezone": "Europe/Berlin", **topic}),
        ("schedule", {"at": "tomorrow at 9:00", "prompt": "Look at my pull requests."}),
        ("schedule", {"at": "in 1 second", "prompt": "Say hello."}),
        ("preview_schedule", {"schedule": "every weekday at 8:30", "timezone": "Europe/Berlin"}),
        ("send_push_notification", {"message": "Build is green", **topic}),
    )
    job_id, task_id = job["job_id"], prompt["task"]["id"]
    inbox, *_ = inspector.call_all(
        ("read_inbox", {"wait_seconds": 20}),
        ("run_job_now", {"job_id": job_id}),
        ("change_slot", {"job_id": job_id}),
        ("job_status", {"job_id": job_id}),
        ("list_jobs", {"status": "pending"}),
        ("list_tasks", {}),
        ("list_channels", {}),
        ("set_zone", {"timezone": "Europe/Berlin"}),
        ("list_scheduled_notifications", topic),
        ("pause_schedule", {"schedule_id": often["schedule_id"]}),
        ("delete_schedule", {"schedule_id": doomed["schedule_id"]}),
        ("schedule_list", {}),
        ("schedule_edit", {"id": task_id, "at": "tomorrow at 10:00"}),
        ("edit_job", {"job_id": job_id, "name": "renamed"}),
    )
    [item] = inbox["items"]
    settled, runs, *_ = inspector.call_all(
        ("acknowledge_inbox", {"receipts": [item["receipt"]], "report": "Said."}),
        ("list_runs", {"job_id": job_id}),
        ("redrive_runs", {"run_ids": [item["receipt"]]}),
        ("resume_schedule", {"schedule_id": often["schedule_id"]}),
        ("schedule_cancel", {"id": task_id}),
        ("cancel_job", {"job_id": once["schedule_id"]}),
    )
    assert settled["acknowledged"] == [item["receipt"]]
    assert runs["runs"]
    inspector.call("get_current_time", {}, CRONTY, "mcp", "-e", f"CRONTY_DATABASE_URL={own_url}")
    tools = cast("list[Answer]", json.loads(listed)["result"]["tools"])
    assert inspector.called == {tool["name"] for tool in tools}
