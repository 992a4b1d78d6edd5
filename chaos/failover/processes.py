"""`cronty work`, `cronty serve` and `cronty doctor` beside the cluster, and what they say."""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from chaos.failover.plan import Plan

_TARGET: Final = "chaos.failover.tasks:cronty"
_ROOT: Final = Path(__file__).parents[2]
_SPOKEN: Final = re.compile(r"\d{4}-\d\d-\d\d ")
_GONE: Final = re.compile(r"(\d+) worker\(s\) gone")  # telemetry.rescued


class Processes:
    """Nobody ever kills one of them here: each that is taken for dead is a mistake."""

    def __init__(self, plan: Plan, url: str, folder: Path) -> None:
        self._plan, self._folder = plan, folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, list[str]] = {}
        self._read: dict[str, int] = {}
        self.traces = folder / "traces"
        self.traces.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CRONTY_")}
        self._environment = kept | {
            "CRONTY_DATABASE_URL": url, "CRONTY_LEASE": str(plan.lease), "CHAOS_TRACES": str(self.traces),
            "COLUMNS": "200", "CRONTY_DATA_DIR": str(folder / "data"),
        }  # fmt: skip

    def migrate(self) -> None:
        subprocess.run(self._cronty("migrate"), env=self._environment, check=True, timeout=120, stdout=sys.stderr)

    def start(self) -> None:
        for number in range(self._plan.workers):
            self._spawn(f"work{number}", self._cronty("work", _TARGET))
        self._spawn("serve", self._cronty("serve", "--app", _TARGET, "--port", str(self._plan.port + 40)))

    def _cronty(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "cronty.cli.main", *arguments]

    def _spawn(self, name: str, command: list[str]) -> None:
        self._commands[name] = command
        with open(self._folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                command, cwd=_ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def replace(self) -> list[str]:
        """Start again what has ended, as a supervisor would; which ones."""
        gone = [name for name, process in self.processes.items() if process.poll() is not None]
        for name in gone:
            self._spawn(name, self._commands[name])
        return gone

    def doctor(self) -> dict[str, Any]:
        """What the doctor says, and what its exit code is."""
        began = time.time()
        done = subprocess.run(
            self._cronty("doctor", "--json"), env=self._environment, capture_output=True, text=True, timeout=90,
            check=False,
        )  # fmt: skip
        wrong = done.stderr.strip().splitlines()[-1:] or [""]
        with suppress(ValueError, KeyError):
            found = json.loads(done.stdout)["findings"]
            wrong = [f"{one['what']}: {one['said']}" for one in found if not one["good"]]
        took = round(time.time() - began, 1)
        return {"at": began, "exit": done.returncode, "took": took, "said": "; ".join(wrong)[:300]}

    def words(self) -> dict[str, Any]:
        """What has been said since the last call, counted."""
        lines: list[str] = []
        for name in self.processes:
            with (self._folder / f"{name}.log").open("rb") as log:
                log.seek(self._read.get(name, 0))
                lines += log.read().decode(errors="replace").splitlines()
                self._read[name] = log.tell()
        spoken = [line for line in lines if _SPOKEN.match(line)]
        kinds = Counter(re.sub(r"\d+", "N", line.split(" ", 2)[2])[:110] for line in spoken)
        return {
            "log_lines": len(lines),
            "tracebacks": sum(line.startswith("Traceback") for line in lines),
            "struck_off": sum(int(found[1]) for line in spoken if (found := _GONE.search(line))),
            "log_kinds": kinds.most_common(12),
        }

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
