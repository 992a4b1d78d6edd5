"""Runs `cronty` as a process of its own, forked from one that has imported it: importing takes most of a start."""

import asyncio
import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from cronty.cli.main import main
from tests.patience import PATIENCE

# As a user would, but for the entry point: that `cronty` itself starts is shown by the tests of its clients.
_IMPORTED = ("cronty.app", "cronty.scheduler.service", "cronty.store.migrate", "rich.table")


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str


@cache
def _server() -> IO[bytes]:
    """Where the process that has imported `cronty` reads which command to fork a child for. It ends with this one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.forked"], stdin=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert process.stdin is not None
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    return process.stdin


async def run(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path | None = None, stdin: str = ""
) -> Said:
    with TemporaryDirectory(prefix="cronty-said-") as scratch:
        (Path(scratch) / "in").write_text(stdin)
        asked = {"arguments": arguments, "environment": environment, "folder": str(folder or ""), "scratch": scratch}
        _server().write(json.dumps(asked).encode() + b"\n")
        _server().flush()
        async with asyncio.timeout(PATIENCE):
            while not (Path(scratch) / "code").exists():
                await asyncio.sleep(0.005)
        code, out, err = ((Path(scratch) / name).read_text() for name in ("code", "out", "err"))
    return Said(int(code), out, err)


def serve() -> None:
    for name in _IMPORTED:
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _wait_for(json.loads(line))
            os._exit(0)


def _wait_for(asked: dict[str, object]) -> None:
    """Fork once more, and write down how that ended."""
    child = os.fork()
    if child == 0:
        _become(asked)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    place = Path(str(asked["scratch"])) / "code"
    place.with_suffix(".new").write_text(str(code))
    place.with_suffix(".new").rename(place)


def _become(asked: dict[str, object]) -> None:
    scratch = Path(str(asked["scratch"]))
    os.setsid()
    for number, name, mode in ((0, "in", os.O_RDONLY), (1, "out", os.O_WRONLY), (2, "err", os.O_WRONLY)):
        os.dup2(os.open(scratch / name, mode | os.O_CREAT), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 -- what was read ahead is another command's
    os.environ.clear()
    os.environ.update(asked["environment"])  # pyright: ignore[reportArgumentType, reportCallIssue]
    time.tzset()
    if asked["folder"]:
        os.chdir(str(asked["folder"]))
    sys.path.insert(0, os.getcwd())
    sys.argv = ["cronty", *asked["arguments"]]  # pyright: ignore[reportGeneralTypeIssues]
    code = 0
    try:
        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
