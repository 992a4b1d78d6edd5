"""An agent that is a program is started, fed, held to its limits and ended with all it has started."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

import cronty
from cronty.actions.agents import Agent
from cronty.actions.command import MAX_SAID, CommandAgent
from cronty.actions.program import Program
from cronty.actions.prompt import Registered
from cronty.actions.tasks import MAX_RESULT_BYTES, CurrentRun, Registry, outcome_of_async
from cronty.jobs.envelope import RunFacts
from cronty.jobs.outcome import Done, Failed, Outcome, Snoozed
from tests.patience import PATIENCE

PROGRAM = str(Path(__file__).parents[1] / "agents/agent.py")
SLOT = datetime(2027, 3, 1, 8, tzinfo=UTC)
FACTS = RunFacts(7, "ann", "review", "UTC", SLOT, {"surface": "python"}, SLOT, None, asked_for=False, now=SLOT)
ESCAPED = 'schlüssel "7\\2"'
SOURCE = {
    "PATH": os.environ["PATH"],
    "HOME": "/nowhere",
    "KEY": "sk-very-secret",
    "ESCAPED": ESCAPED,
    "OTHER": "not yours",
}


def agent(*manner: str, timeout: float = 20, environment: tuple[str, ...] = ()) -> Agent:
    command = (sys.executable, PROGRAM, *manner)
    return Agent("helper", "command", command, timeout=timeout, environment=environment, owners=("ann",))


def wake(what: Agent, *, attempt: int = 1, grace: float = 5) -> Awaitable[Outcome]:
    async def about(_owner_id: int, _job_id: int, _slot: datetime) -> RunFacts:
        return FACTS

    task = Registry().add(CommandAgent(Registered(what, about, "local"), SOURCE, grace=grace).wake, "prompt:helper")
    arguments = json.dumps({"args": [], "kwargs": {"prompt": "Look.", "data": {"room": 3}}})
    return outcome_of_async(task, CurrentRun(1024, 7168, 7, SLOT, attempt), arguments)


async def result(what: Agent) -> object:
    outcome = await wake(what)
    assert isinstance(outcome, Done), outcome
    return None if outcome.result is None else json.loads(outcome.result)


async def failure(what: Agent, **options: float) -> Failed:
    outcome = await wake(what, **options)  # pyright: ignore[reportArgumentType]
    assert isinstance(outcome, Failed), outcome
    return outcome


async def noted(path: Path) -> list[int]:
    """The processes that a program wrote down once it was ready."""
    async with asyncio.timeout(PATIENCE):
        while not os.path.exists(path):  # noqa: ASYNC240
            await asyncio.sleep(0.01)
    return json.loads(await asyncio.to_thread(path.read_text, encoding="utf-8"))


def living(note: Path) -> list[psutil.Process]:
    """Every process with this path in its command line, which children have from their parent. What a program takes for
    the number of a process may be one that only its family knows."""
    found: list[psutil.Process] = []
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if str(note) in " ".join(one.cmdline()) and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found


def is_alive(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def gone(note: Path) -> None:
    """A process that was killed may take a moment to be gone."""
    async with asyncio.timeout(PATIENCE):
        while living(note):
            await asyncio.sleep(0.01)


async def test_it_reads_its_envelope_and_what_it_prints_is_the_result() -> None:
    said = await result(agent("echo"))
    assert isinstance(said, str)
    assert said.index("# Instruction") < said.index("Look.") < said.index("# Data") < said.index('"room": 3')
    assert await result(agent("say", "two need you")) == "two need you\n"
    assert await result(agent("say", '{"needs": 2}')) == {"needs": 2}


async def test_it_may_settle_its_run_itself() -> None:
    assert await result(agent("say", '{"cronty": {"outcome": "quiet"}}')) == {"quiet": True}
    assert await result(agent("say", '{"cronty": {"outcome": "done", "report": "ok"}}')) == "ok"
    snoozed = await wake(agent("say", '{"cronty": {"outcome": "snooze", "for": "1h"}}'))
    assert snoozed == Snoozed(timedelta(hours=1))
    failed = await failure(agent("say", '{"cronty": {"outcome": "failed", "report": "no access"}}'))
    assert failed == Failed("no access", permanent=True)
    for odd in ('{"cronty": {"outcome": "snooze", "for": "whenever"}}', '{"cronty": {"outcome": "meh"}}'):
        assert "outcome" in (error := (await failure(agent("say", odd))).error) or "snooze" in error


async def test_an_answer_wrapped_by_claude_may_settle_its_run_too() -> None:
    wrapped = json.dumps({"type": "result", "result": '{"cronty": {"outcome": "quiet"}}', "num_turns": 1})
    assert await result(agent("say", wrapped)) == {"quiet": True}
    plain = {"type": "result", "result": "nothing new, so I stay quiet"}
    assert await result(agent("say", json.dumps(plain))) == plain, "no magic words"


async def test_only_what_is_named_is_in_its_environment_and_its_secrets_never_come_back() -> None:
    seen = await result(agent("environment", environment=("KEY", "MISSING")))
    assert isinstance(seen, dict)
    assert {"PATH", "HOME", "KEY", "CRONTY_RUN"} <= seen.keys() <= {"PATH", "HOME", "KEY", "CRONTY_RUN", "LC_CTYPE"}
    assert str(seen["CRONTY_RUN"]).startswith("msg_")  # pyright: ignore[reportUnknownArgumentType]
    assert seen["KEY"] == "[secret]"
    assert "sk-very-secret" not in (await failure(agent("exit", "1", "sk-very-secret", environment=("KEY",)))).error


@pytest.mark.parametrize("outcome", ["done", "failed"])
async def test_a_secret_does_not_come_back_in_another_spelling(outcome: str) -> None:
    seen = await result(agent("environment", environment=("ESCAPED",)))
    assert isinstance(seen, dict)
    assert seen["ESCAPED"] == "[secret]"
    inner = json.dumps({"cronty": {"outcome": outcome, "report": f"I have {ESCAPED}"}})
    said = await wake(agent("say", json.dumps({"result": inner}), environment=("ESCAPED",)))
    assert "I have [secret]" in (said.error if isinstance(said, Failed) else str(getattr(said, "result", "")))


async def test_where_too_much_is_cut_off_no_secret_is_cut_in_two() -> None:
    beginning = await wake(agent("say", "x" * (64 * 1024 - 8) + "sk-very-secret", environment=("KEY",)))
    assert isinstance(beginning, Done)
    assert "sk-very" not in str(beginning)
    with_log = await failure(agent("exit", "1", "sk-very-secret" + "y" * 4089, environment=("KEY",)))
    assert "secret" not in with_log.error


@pytest.mark.parametrize(("status", "permanent"), [(75, False), (1, True), (64, True)])
async def test_its_exit_status_says_whether_to_try_again(status: int, permanent: bool) -> None:
    failed = await failure(agent("exit", str(status), "the last line"))
    assert failed.permanent is permanent
    assert "the last line" in failed.error
    assert "Traceback" not in failed.error


async def test_only_a_capped_last_line_of_its_complaints_is_shown() -> None:
    failed = await failure(agent("exit", "1", "y" * 5000))
    assert "y" * MAX_SAID in failed.error
    assert "y" * (MAX_SAID + 1) not in failed.error


async def test_killed_by_a_signal_is_failed() -> None:
    assert await failure(agent("die")) == Failed("Agent 'helper' was ended by signal 9.", permanent=True)


async def test_of_too_much_output_the_beginning_is_kept_and_says_so() -> None:
    outcome = await wake(agent("flood"))
    assert isinstance(outcome, Done)
    assert len(outcome.result or "") <= MAX_RESULT_BYTES
    kept = json.loads(outcome.result or "")
    assert (kept["truncated"], kept["bytes"]) == (True, 10_000_000)
    assert len(kept["text"]) > MAX_RESULT_BYTES // 2


async def test_output_that_is_not_text_is_kept_as_far_as_it_is() -> None:
    assert await result(agent("bytes")) == "caf\ufffd \ufffd \ufffd\ufffd"


async def test_json_too_deep_to_be_kept_is_text() -> None:
    deep = "[" * 300 + "]" * 300
    assert await result(agent("say", deep)) == f"{deep}\n"
    wrapped = json.dumps(
        {"result": json.dumps({"cronty": {"outcome": "done", "report": "r"}})[:-1] + f', "x": {deep}}}'}
    )
    assert await result(agent("say", wrapped)) == json.loads(wrapped)


@pytest.mark.parametrize("manner", ["sleep", "deaf", "fork"])
async def test_past_its_time_it_is_ended_with_all_it_has_started(manner: str, tmp_path: Path) -> None:
    note, seconds = tmp_path / "note", 1.5
    while not os.path.exists(note):  # noqa: ASYNC240 -- on a busy machine it may need more time to get going
        outcome = await wake(agent(manner, str(note), timeout=seconds), grace=0.3)
        said = f"Agent 'helper' ran longer than its {seconds:g} s and was stopped."
        assert outcome == Failed(said, permanent=True)
        seconds *= 2
    await gone(note)


@pytest.mark.parametrize("manner", ["sleep", "deaf", "fork"])
async def test_cancelled_it_is_ended_with_all_it_has_started(manner: str, tmp_path: Path) -> None:
    note = tmp_path / "note"
    waking = asyncio.ensure_future(wake(agent(manner, str(note)), grace=0.3))
    await noted(note)
    assert living(note)
    waking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waking
    await gone(note)


async def test_a_child_left_behind_ends_with_its_parent(tmp_path: Path) -> None:
    assert await result(agent("leave", str(tmp_path / "note"))) == "done"
    await noted(tmp_path / "note")
    await gone(tmp_path / "note")


async def test_a_child_that_left_its_session_and_lost_its_parent_ends_too(tmp_path: Path) -> None:
    assert await result(agent("escape", str(tmp_path / "note"))) == "done"
    await noted(tmp_path / "note")
    await gone(tmp_path / "note")


@pytest.mark.skipif(os.geteuid() != 0, reason="without root only a program from which folders are hidden is apart")
async def test_nobody_gets_away_by_killing_its_supervisor(tmp_path: Path) -> None:
    note = tmp_path / "note"
    assert await result(agent("mutiny", str(note))) == "done"
    await gone(note)


async def test_what_a_trusted_program_puts_into_a_session_of_its_own_goes_on(tmp_path: Path) -> None:
    """As under cron: a command may start a daemon."""
    command = (sys.executable, PROGRAM, "escape", str(tmp_path / "note"))
    await Program("command", command, SOURCE, "/", 20, grace=0.1).run(b"")
    [daemon] = await noted(tmp_path / "note")
    assert is_alive(daemon)
    psutil.Process(daemon).kill()


WORKER = """
import asyncio, os, sys
from cronty.actions.program import Program

program = Program("agent", sys.argv[1:], dict(os.environ), "/", 600)
asyncio.run(program.run(b""))
"""


async def test_killed_with_its_worker_nothing_of_it_is_left(tmp_path: Path) -> None:
    note = tmp_path / "note"
    command = (sys.executable, PROGRAM, "fork", str(note))
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, *command)
    await noted(note)
    worker.kill()
    await worker.wait()
    await gone(note)


MOVED = """
import asyncio, logging, os, sys
from cronty.actions.program import Program, ProgramFailed

logging.basicConfig(stream=sys.stdout)
for _ in range(2):
    try:
        asyncio.run(Program("agent", ["true"], {}, "/", 600).run(b""))
        print("started")
    except ProgramFailed:
        os.rename(sys.argv[1] + "-old", sys.argv[1])
    else:
        os.rename(sys.argv[1], sys.argv[1] + "-old")
        os.mkdir(sys.argv[1])
"""


async def test_it_is_not_started_by_code_that_somebody_put_in_the_place_of_ours(tmp_path: Path) -> None:
    library = tmp_path / "library"
    shutil.copytree(Path(cronty.__file__).parent, library / "cronty")
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MOVED, str(library)),
        env={**os.environ, "PYTHONPATH": str(library)},
        stdout=asyncio.subprocess.PIPE,
    )
    said = (await worker.communicate())[0].decode()
    assert said.count("started\n") == 1
    assert f"{library} isn't what it was when the service started" in said


async def test_it_is_held_to_limits_of_the_system() -> None:
    limits = await result(replace(agent("limits"), memory=512, processes=64))
    expected = {"CORE": 0, "NOFILE": 4096, "DATA": 512 << 20}
    assert isinstance(limits, dict)
    assert {name: limits[name] for name in expected} == expected


async def test_an_agent_is_not_woken_for_an_owner_it_is_not_there_for() -> None:
    refused = await failure(replace(agent("echo"), owners=("bob",)))
    assert refused.permanent
    assert refused.error == "Agent 'helper' isn't available to 'ann'; whoever runs this service can allow it."
    assert (await failure(replace(agent("echo"), owners=()))).permanent, "nor by default"


@pytest.mark.parametrize(
    "missing",
    [replace(agent("echo"), command=("/no/such/program",)), replace(agent("echo"), workdir="/no/such/folder")],
)
async def test_a_program_that_is_not_there_is_named_by_its_agent_only(missing: Agent) -> None:
    failed = await failure(missing)
    assert failed.permanent
    assert "'helper'" in failed.error
    assert "no/such" not in failed.error
