"""The client: the words of the tools over a real server, typed, light, and patient where that is safe."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import httpx2
import orjson
import pytest

from cronty import client as exported
from cronty.client import AsyncClient, Client, CrontyError
from cronty.client.calls import unreachable
from cronty.contract.operation import Operation
from cronty.contract.operations import Operations
from cronty.web.rest.openapi import openapi_document
from tests.clients.serving import Served, free_port
from tests.patience import PATIENCE
from tests.web.conftest import key_of

HEAVY = (
    "asyncio", "asyncpg", "fastapi", "mcp", "starlette", "pydantic", "cronty.app", "cronty.store", "cronty.jobs",
    "platformdirs", "typer",
)  # fmt: skip


def test_it_brings_httpx2_and_nothing_of_the_server() -> None:
    code = f"import sys, cronty.client; print([name for name in {HEAVY!r} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert said.stdout.strip() == "[]"


def test_it_has_every_operation_by_its_name() -> None:
    paths = openapi_document()["paths"]
    named = {operation["operationId"] for methods in paths.values() for operation in methods.values()}
    own = {name for name, member in vars(Operations).items() if isinstance(member, Operation)}
    assert own | {"events"} == named
    assert hasattr(Client, "events")
    assert hasattr(AsyncClient, "events")


def test_its_page_names_every_export() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/client.md").read_text(encoding="utf-8")
    missing = [name for name in (*exported.__all__, "jobs", "runs", "trail", "events") if f"`{name}" not in page]
    assert missing == []


@pytest.fixture
def anns(served: Served, own_url: str) -> Iterator[Client]:
    with Client(served.url, asyncio.run(key_of(own_url, "client"))) as made:
        yield made


def test_a_program_schedules_looks_changes_and_ends(anns: Client) -> None:
    made = anns.schedule_job("words", "say", "interval", {"days": 1}, ["hello"], tags=["t"])
    assert made.schedule == "Every 24 hours"
    assert anns.job_status(made.job_id).tags == ["t"]
    assert anns.edit_job(made.job_id, expected_version=1, name="other").version == 2
    with pytest.raises(CrontyError) as stale:
        anns.edit_job(made.job_id, expected_version=1, name="third")
    assert stale.value.code == "version_conflict"
    assert stale.value.hint
    assert anns.pause_job(made.job_id).paused is True
    assert anns.resume_job(made.job_id).paused is False
    run = anns.run_job_now(made.job_id).run_id
    assert anns.show_run(run).name == "other"
    assert anns.cancel_job(made.job_id).status == "cancelled"
    anns.delete_job(made.job_id)
    with pytest.raises(CrontyError, match="Job not found") as gone:
        anns.job_status(made.job_id)
    assert gone.value.code == "not_found"
    assert anns.who_am_i().owner == "client"
    assert next(anns.trail()).what == "deleted"


def test_pages_are_one_list(anns: Client) -> None:
    for number in range(5):
        anns.schedule_job(f"page {number}", "say", "interval", {"days": 1}, ["x"], tags=["pages"])
    assert sorted(job.name for job in anns.jobs(tag="pages", limit=2)) == [f"page {number}" for number in range(5)]


def test_everything_else_answers(anns: Client) -> None:
    assert anns.preview_schedule("0 9 * * *", count=2).slots
    assert anns.get_current_time("Europe/Berlin").timezone == "Europe/Berlin"
    assert "say" in [task.name for task in anns.list_tasks().tasks]
    assert anns.read_inbox().items == []
    assert anns.acknowledge_inbox(["run_1_1#1"]).refused == ["run_1_1#1"]
    assert anns.redrive_runs(["run_1_1"]).refused == ["run_1_1"]
    assert anns.list_failed_runs().runs == []
    assert anns.list_channels().channels == []
    assert anns.show_limits().limits
    key = anns.add_key("other", ["read"])
    assert key.id in [one.id for one in anns.list_keys().keys]
    anns.revoke_key(key.id)
    for refused in (
        lambda: anns.save_channel("phone", "gopher://x"),
        lambda: anns.remove_channel("phone"),
        lambda: anns.try_channel("phone"),
        lambda: anns.send_push_notification("x", "No Topic"),
        lambda: anns.list_runs("job_999999_9"),
    ):
        with pytest.raises(CrontyError):
            refused()


@pytest.fixture
async def bobs(served: Served, own_url: str) -> AsyncGenerator[AsyncClient]:
    async with AsyncClient(served.url, await key_of(own_url, "async")) as client:
        yield client


async def test_the_async_one_is_awaited_and_hears_what_happens(bobs: AsyncClient) -> None:
    job = await bobs.schedule_job("heard", "say", "interval", {"days": 1}, ["x"])
    started = await bobs.run_job_now(job.job_id)
    begin = "2026-01-01T00:00:00Z"
    async with asyncio.timeout(PATIENCE):
        async for event in bobs.events(begin):
            assert event.run_id == started.run_id
            if event.verdict == "done":
                break
    assert [run.verdict async for run in bobs.runs(job.job_id, limit=1)] == ["done"]
    assert [one.name async for one in bobs.jobs(limit=1)] == ["heard"]
    assert "created" in [entry.what async for entry in bobs.trail()]
    with pytest.raises(CrontyError) as gone:
        await bobs.job_status("job_999999_9")
    assert gone.value.code == "not_found"


def test_a_plain_program_hears_what_happens(anns: Client) -> None:
    job = anns.schedule_job("heard", "say", "interval", {"days": 1}, ["x"])
    started = anns.run_job_now(job.job_id).run_id
    begin = "2026-01-01T00:00:00Z"
    verdicts = (event.verdict for event in anns.events(begin) if event.run_id == started)
    assert "done" in verdicts


def test_a_key_that_is_not_good_is_said(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONTY_DATA_DIR", str(tmp_path))  # no key of the machine's user is found there
    for key, code in ((None, "no_token"), ("cronty_1_nonsense", "bad_token")):
        with Client(served.url, key) as client, pytest.raises(CrontyError) as refused:
            client.list_jobs()
        assert refused.value.code == code
        with Client(served.url, key) as client, pytest.raises(CrontyError) as deaf:
            next(client.events())
        assert deaf.value.code == code


def test_a_server_that_is_not_there_is_said() -> None:
    with Client(f"http://127.0.0.1:{free_port()}", tries=2) as client:
        for call in (client.list_jobs, lambda: next(client.events())):
            with pytest.raises(CrontyError, match="can't be reached") as away:
                call()
            assert away.value.code == "unreachable"


JOB: dict[str, Any] = {
    "job_id": "1", "name": "x", "next_run": None, "status": "pending", "schedule": "", "timezone": "UTC",
    "next_runs": [], "version": 1,
}  # fmt: skip


class Flaky(BaseHTTPRequestHandler):
    """Answers in turn what a test wants; remembers what it was asked."""

    statuses: ClassVar[list[int]] = []
    asked: ClassVar[list[tuple[str, str, str | None]]] = []

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", "0")))
        self.asked.append((self.command, self.path, self.headers.get("Idempotency-Key")))
        body = orjson.dumps(
            {"code": "unavailable", "detail": "away", "jobs": [], "total": 0, "cursor": None, "timezone": "UTC"} | JOB
        )
        self.send_response(self.statuses.pop(0))
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = do_PATCH = _answer

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def flaky() -> Iterator[str]:
    Flaky.statuses, Flaky.asked = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_may_be_repeated_is_tried_again_and_nothing_else(flaky: str) -> None:
    with Client(flaky) as client:
        Flaky.statuses = [503, 503, 200]
        assert client.list_jobs().jobs == []
        Flaky.statuses = [503, 201]
        client.schedule_job("x", "say", "interval", {"days": 1})
        keys = {key for method, _, key in Flaky.asked if method == "POST"}
        assert len(keys) == 1, "the same key both times"
        assert None not in keys
        for call in (
            lambda: client.run_job_now("1"),
            lambda: client.delete_job("1"),
            lambda: client.edit_job("1", name="x"),
        ):
            Flaky.asked.clear()
            Flaky.statuses = [503, 200]
            with pytest.raises(CrontyError) as away:
                call()
            assert (away.value.code, len(Flaky.asked)) == ("unavailable", 1)
        Flaky.statuses, Flaky.asked = [503] * 9, []
        with pytest.raises(CrontyError):
            client.list_jobs()
        assert len(Flaky.asked) == 3


@pytest.mark.parametrize(
    ("failure", "why"),
    [(httpx2.ReadTimeout(""), "no answer in time"), (httpx2.ReadError(""), "the connection broke off")],
)
def test_a_server_that_cannot_be_reached_is_told_without_the_name_of_an_exception(failure: Exception, why: str) -> None:
    assert unreachable("http://home", failure).message == f"http://home can't be reached: {why}."
