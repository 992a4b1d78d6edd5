"""What an owner gives to Cronty is found by nobody else: not by another owner, and not in the operator's log.

Every secret here is of its own kind, so that whichever turns up says where it came from. Channels have a test of
their own, in test_channels.py.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, override

import pytest
from mcp import Client, MCPError

from cronty import Cronty
from cronty.actions.signatures import secrets_of
from cronty.contract.caller import local_caller
from cronty.contract.requests import ScheduleJob
from cronty.contract.result import Err, Ok
from cronty.jobs.run import Run
from cronty.mcp.context import ToolContext
from cronty.mcp.server import CrontyServer
from cronty.store.sealing import new_key, read_keys
from tests.actions.servers import Plain, answer, listening, plain
from tests.agents.stage import Stage
from tests.mcp.caller import Caller, held, until

PUBLISHED = answer(200, b'{"id":"sPs71M8A2T","time":1803888000}')
OVER = ("done", "failed")

GIVEN = {
    kind: f"canary-{kind}-7f3a9c"
    for kind in (
        "query", "path-of-a-hook", "header", "body", "password", "arg", "kwarg", "prompt", "data", "message", "title",
        "click", "name", "tag", "refused",
    )
}  # fmt: skip
"""What an owner puts into jobs: theirs to see, nobody else's, and nothing for the log."""

KEY = new_key()
[SIGNING], [WAKING] = secrets_of(read_keys(KEY), "webhook", "ann"), secrets_of(read_keys(KEY), "wake", "called")
TRUSTED = {
    "environment": "canary-environment-7f3a9c", "escaped": 'canary-"escaped"-7f3ä9c', "ntfy": "tk_canary7f3a9c",
    "agent-url": "canary-agent-url-7f3a9c", "signing": SIGNING, "waking": WAKING, "key": KEY,
}  # fmt: skip
"""What the operator trusts Cronty with: for no owner and for no log."""

RAISED = "canary-exception-7f3a9c"
"""What somebody's own task raises: its owner's to see, and the log's, where whoever runs the task looks for it."""


def found(canaries: Iterable[str], text: str) -> list[str]:
    """Also in the spellings that JSON has for them, however deep it is nested."""
    low = text.lower().replace("\\", "")
    return [
        one for one in canaries if any(form.lower().replace("\\", "") in low for form in (one, json.dumps(one)[1:-1]))
    ]


@dataclass
class House:
    """An installation with two owners: Ann, who has secrets, and Bob, who looks around."""

    cronty: Cronty
    echo: Plain
    ntfy: Plain
    dropping: int
    jobs: dict[str, int] = field(default_factory=dict[str, int])

    async def add(self, name: str, task: str, *args: object, **kwargs: object) -> int:
        """A job of Ann's for a distant day, run now."""
        request = ScheduleJob(
            f"{name} {GIVEN['name']}", task, "interval", {"days": 3000}, args=args, kwargs=kwargs,
            policy={"attempts": 1}, tags=[GIVEN["tag"]],
        )  # fmt: skip
        made = await self.cronty.service.scheduler.schedule(local_caller("ann"), request)
        assert isinstance(made, Ok), made
        self.jobs[name] = made.value.number
        assert isinstance(await self.cronty.service.scheduler.run_now(local_caller("ann"), made.value.number), Ok)
        return made.value.number

    async def run_of(self, name: str) -> Run:
        async def look() -> list[Run]:
            runs = await self.cronty.service.scheduler.list_runs(local_caller("ann"), self.jobs[name])
            assert isinstance(runs, Ok)
            return list(runs.value)

        [run] = await until(look, lambda runs: bool(runs) and runs[0].state in OVER)
        return run


def agents_file(folder: Path, echo: Plain, stage: Stage) -> Path:
    def command(*manner: str) -> str:
        return stage.agent(*manner, environment=["CANARY_ENVIRONMENT", "CANARY_ESCAPED"], owners=["ann"])

    path = folder / "agents.toml"
    said = json.dumps(TRUSTED["environment"])[1:-1]
    path.write_text(
        f"[agents.teller]\n{command('environment')}\n[agents.failing]\n{command('exit', '1', f'no: {said}')}\n"
        f'[agents.called]\ndeliver = "webhook"\nurl = "{echo.url}/wake?key={TRUSTED["agent-url"]}"\n'
        'owners = ["ann"]\n',
        encoding="utf-8",
    )
    path.chmod(0o600)
    return path


class Echo(Plain):
    """Says what it was called by, as many servers do, and more than it should know."""

    @override
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await super().serve(reader, writer)
        call = self.received[-1]
        secret = WAKING if b'"agent.woken"' in call.body else SIGNING
        said = f"Cannot {call.line} {call.headers.get('x-api-key')} {secret}"
        writer.write(answer(404, said.encode()))


@asynccontextmanager
async def echoing() -> AsyncGenerator[Echo]:
    echo = Echo(answers=[b""])
    async with listening(echo.serve) as port:
        echo.port = port
        yield echo


@asynccontextmanager
async def house_of(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path, stage: Stage) -> AsyncGenerator[House]:
    async def hang_up(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    refusing = answer(401, json.dumps({"error": f"{TRUSTED['ntfy']} is no token"}).encode())
    async with (
        echoing() as echo,
        plain(PUBLISHED, refusing) as ntfy,
        listening(hang_up) as dropping,
    ):
        settings = {
            "CRONTY_NTFY_URL": ntfy.url, "CRONTY_NTFY_TOKEN": TRUSTED["ntfy"],
            "CRONTY_NTFY_TOKEN_OWNERS": "*",
            "CRONTY_SECRET_KEY": KEY, "CRONTY_AGENTS_FILE": str(agents_file(folder, echo, stage)),
            "CRONTY_ALLOWED_HOSTS": f"{echo.allowed}@*,{ntfy.allowed},127.0.0.1:{dropping}@*",
            "CANARY_ENVIRONMENT": TRUSTED["environment"], "CANARY_ESCAPED": TRUSTED["escaped"],
        }  # fmt: skip
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        cronty = Cronty(url)

        @cronty.task
        def keep(secret: str, *, other: str) -> int:  # pyright: ignore[reportUnusedFunction]
            return len(secret + other)

        @cronty.task
        def stumble(secret: str) -> None:  # pyright: ignore[reportUnusedFunction]
            raise ValueError(RAISED)

        async with cronty:
            yield House(cronty, echo, ntfy, dropping)


async def live(house: House) -> dict[str, Run]:
    """Ann uses all there is, and much of it fails."""
    hook = f"/{GIVEN['path-of-a-hook']}?token={GIVEN['query']}"
    rest: dict[str, object] = {"headers": {"X-Api-Key": GIVEN["header"]}, "body": {"secret": GIVEN["body"]}}
    await house.add("echoing hook", "webhook", url=house.echo.url + hook, **rest)
    await house.add("dropping hook", "webhook", url=f"http://127.0.0.1:{house.dropping}{hook}", **rest)
    await house.add("forbidden hook", "webhook", url=f"https://169.254.169.254{hook}", **rest)
    await house.add("unreadable hook", "webhook", url=f"https://ann:{GIVEN['password']}@example.com{hook}", **rest)
    message = {"message": GIVEN["message"], "title": GIVEN["title"], "click": f"https://example.com/{GIVEN['click']}"}
    await house.add("reminder", "notify", topic="ann-phone", **message)
    await house.run_of("reminder")
    await house.add("refused reminder", "notify", topic="ann-phone", **message)
    await house.add("task", "keep", GIVEN["arg"], other=GIVEN["kwarg"])
    await house.add("failing task", "stumble", GIVEN["arg"])
    for agent in ("teller", "failing", "called"):
        await house.add(agent, "prompt", prompt=GIVEN["prompt"], data={"secret": GIVEN["data"]}, agent=agent)
    await house.add("inbox", "prompt", prompt=GIVEN["prompt"], data={"secret": GIVEN["data"]})
    for flawed in ({"url": [GIVEN["refused"]]}, {"url": "https://example.com", GIVEN["refused"]: 1}):
        request = ScheduleJob("flawed", "webhook", "interval", {"days": 1}, kwargs=flawed)
        assert isinstance(await house.cronty.service.scheduler.schedule(local_caller("ann"), request), Err)
    return {name: await house.run_of(name) for name in house.jobs if name != "inbox"}


async def look_around(house: House, bob: Caller, runs: dict[str, Run]) -> list[str]:
    """Everything that Bob is told, who knows all of Ann's ids and topics."""
    said = [
        await bob.said(tool)
        for tool in (
            "list_jobs", "list_runs", "list_tasks", "list_scheduled_notifications", "schedule_list", "read_inbox",
        )
    ]  # fmt: skip
    said.append(await bob.said("read_inbox", agent="teller"))
    said.append(await bob.said("list_jobs", name=GIVEN["name"][:6], tag="canary"))
    said.append(await bob.said("list_scheduled_notifications", notification_topic="ann-phone"))
    said.append(await bob.said("redrive_runs", run_ids=[run.run_id for run in runs.values()]))
    for run in runs.values():
        said.append(await bob.said("acknowledge_inbox", receipts=[f"{run.run_id}#1"]))
    for job_id in map(str, house.jobs.values()):
        for tool in ("job_status", "list_runs", "run_job_now", "cancel_job"):
            said.append(await bob.said(tool, job_id=job_id))
        said.append(await bob.said("edit_job", job_id=job_id, name="mine"))
        for tool in ("pause_schedule", "resume_schedule", "delete_schedule"):
            said.append(await bob.said(tool, schedule_id=job_id))
        said.append(await bob.said("schedule_edit", id=int(job_id), prompt="mine"))
        said.append(await bob.said("schedule_cancel", id=int(job_id)))
        with pytest.raises(MCPError) as refused:
            await bob.client.read_resource(f"job://{job_id}")
        said.append(repr(refused.value))
    said.append((await bob.client.read_resource("schedules://ann-phone")).model_dump_json())
    for owned in (
        house.cronty.service.runs.failed(local_caller("bob")),
        house.cronty.service.inbox.read(local_caller("bob"), limit=100),
    ):
        said.append(repr(await owned))
    return said


@pytest.fixture
def every_logger(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Whatever any library says, at whatever level."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, name)
    return caplog


async def test_secrets_are_found_by_nobody_else(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: Stage, every_logger: pytest.LogCaptureFixture
) -> None:
    async with house_of(url, monkeypatch, tmp_path, stage) as house:
        runs = await live(house)
        server = CrontyServer(ToolContext(house.cronty, lambda: local_caller("bob")))
        async with held(Client(server)) as client:
            heard = await look_around(house, Caller(client), runs)
        inbox = await house.cronty.service.inbox.read(local_caller("ann"), limit=100)
        shown = [
            await house.cronty.service.scheduler.show(local_caller("ann"), job_id) for job_id in house.jobs.values()
        ]

    # It did happen, and all of it to Ann: a canary that is never sent anywhere proves nothing.
    states = {name: run.state for name, run in runs.items()}
    assert {name for name, state in states.items() if state == "done"} == {"reminder", "task", "teller"}, states
    assert [GIVEN["prompt"] in one.prompt for one in inbox.value] == [True] if isinstance(inbox, Ok) else False
    assert RAISED in (runs["failing task"].error or "")
    assert len(found(GIVEN.values(), repr(shown))) == len(GIVEN) - 1
    sent = repr([house.echo.received, house.ntfy.received])
    assert {GIVEN["query"], GIVEN["header"], GIVEN["message"], TRUSTED["ntfy"], TRUSTED["agent-url"]} <= {
        *found([*GIVEN.values(), *TRUSTED.values()], sent)
    }

    everything = [*GIVEN.values(), *TRUSTED.values(), RAISED]
    assert [(said, hits) for said in heard if (hits := found(everything, said))] == [], "Bob was told"
    assert found(TRUSTED.values(), repr([runs, inbox, shown])) == [], "an owner was told what is the operator's"
    logged = "\n".join(f"{one.getMessage()} {one.__dict__}" for one in every_logger.records) + every_logger.text
    assert found([*GIVEN.values(), *TRUSTED.values()], logged) == []
    assert {one.name for one in every_logger.records if found([RAISED], repr(one.__dict__))} == {"cronty.tasks"}
