"""A real Prometheus watches a server and workers while things break: each fault's alert fires, and clears.

It needs Debian's package prometheus, and ports of loopback from --port on.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg
import httpx2

from chaos.fleet import ROOT
from chaos.postgres import Postgres, own_postgres
from chaos.verdict import Figures
from cronty import Cronty
from cronty.store.migrate import migrate

RULES: Final = ROOT / "deploy/prometheus/rules.yaml"
APP: Final = """
from pathlib import Path
from cronty import Cronty

cronty = Cronty()

@cronty.task
def work() -> None:
    if Path("fail").exists():
        raise ValueError("told to fail")
"""
CONFIG: Final = """
global: {{scrape_interval: {every}s, evaluation_interval: {every}s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: cronty
    static_configs: [{{targets: {targets}}}]
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Times are seconds. `clears` is how long an alert may take to clear."""

    workers: int = 3
    jobs: int = 30
    lease: float = 10.0
    scrape_every: int = 5
    fires_within: float = 120.0
    clears: float = 400.0
    port: int = 19125


@dataclass(slots=True)
class Watch:
    """When each alert fired and cleared, by the monotonic clock."""

    api: str
    fired: dict[str, float] = field(default_factory=dict[str, float])
    cleared: dict[str, float] = field(default_factory=dict[str, float])

    async def keep_looking(self) -> None:
        async with httpx2.AsyncClient(base_url=self.api) as client:
            while True:
                await asyncio.sleep(0.25)
                try:
                    alerts = (await client.get("/api/v1/alerts")).json()["data"]["alerts"]
                except (httpx2.TransportError, ValueError, KeyError):
                    continue
                now, firing = (
                    time.monotonic(),
                    {one["labels"]["alertname"] for one in alerts if one["state"] == "firing"},
                )
                for name in firing:
                    self.fired.setdefault(name, now)
                    self.cleared.pop(name, None)
                for name in self.fired.keys() - firing:
                    self.cleared.setdefault(name, now)

    async def wait(self, seen: Mapping[str, float], names: set[str], patience: float) -> None:
        ends = time.monotonic() + patience
        while not names <= seen.keys() and time.monotonic() < ends:
            await asyncio.sleep(0.25)


class Processes:
    def __init__(self, url: str, folder: Path, plan: Plan) -> None:
        self._folder, self._plan, self._log = folder, plan, folder / "processes.log"
        self._environment = {**os.environ, "CRONTY_DATABASE_URL": url, "CRONTY_LEASE": str(plan.lease),
                             "CRONTY_DATA_DIR": str(folder / "data"), "PYTHONPATH": str(ROOT / "src")}  # fmt: skip
        self.all: list[subprocess.Popen[bytes]] = []

    def start(self, number: int) -> subprocess.Popen[bytes]:
        """0 is the server, the others are workers; each tells its metrics at a port of its own."""
        what = ["serve", "--app", "app", "--port", str(self._plan.port + 100)] if number == 0 else ["work", "app"]
        return self._run(
            sys.executable, "-m", "cronty.cli.main", *what, "--metrics-port", str(self._plan.port + number)
        )

    def prometheus(self) -> str:
        targets = json.dumps([f"127.0.0.1:{self._plan.port + number}" for number in range(self._plan.workers + 1)])
        config = CONFIG.format(every=self._plan.scrape_every, rules=RULES, targets=targets)
        (self._folder / "prometheus.yaml").write_text(config, encoding="utf-8")
        address = f"127.0.0.1:{self._plan.port + 200}"
        self._run(
            "prometheus", "--config.file=prometheus.yaml", "--storage.tsdb.path=tsdb", f"--web.listen-address={address}"
        )
        return f"http://{address}"

    def _run(self, *command: str) -> subprocess.Popen[bytes]:
        with open(self._log, "ab") as log:
            made = subprocess.Popen(command, cwd=self._folder, env=self._environment, stdout=log, stderr=log)
        self.all.append(made)
        return made

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        for one in self.all:
            one.kill()
            one.wait()


class Faults:
    def __init__(self, postgres: Postgres, folder: Path, processes: Processes, plan: Plan) -> None:
        self._postgres, self._folder, self._processes, self._plan = postgres, folder, processes, plan
        self.running: list[subprocess.Popen[bytes]] = []
        self._holder: asyncpg.Connection | None = None

    async def kill_worker(self) -> None:
        self.running[1].kill()

    async def start_worker(self) -> None:
        self.running[1].wait()
        self.running[1] = self._processes.start(1)

    async def fail(self) -> None:
        (self._folder / "fail").touch()

    async def stop_failing(self) -> None:
        (self._folder / "fail").unlink()

    async def lock(self) -> None:
        """A session that holds the table of what is due: everybody lives, and nothing fires."""
        self._holder = await asyncpg.connect(self._postgres.url)
        await self._holder.execute("begin; lock table cronty.due in exclusive mode")

    async def unlock(self) -> None:
        assert self._holder is not None
        await self._holder.close()

    async def stop_postgres(self) -> None:
        await asyncio.to_thread(self._postgres.kill)

    async def start_postgres(self) -> None:
        await asyncio.to_thread(self._postgres.start)

    async def freeze_worker(self) -> None:
        self.running[2].send_signal(signal.SIGSTOP)

    async def thaw_worker(self) -> None:
        self.running[2].send_signal(signal.SIGCONT)

    async def kill_all(self) -> None:
        for one in self.running:
            one.kill()

    async def start_all(self) -> None:
        for one in self.running:
            one.wait()
        self.running = [self._processes.start(number) for number in range(self._plan.workers + 1)]


async def drive(postgres: Postgres, plan: Plan, folder: Path) -> Figures:
    await migrate(postgres.url)
    (folder / "app.py").write_text(APP, encoding="utf-8")
    processes = Processes(postgres.url, folder, plan)
    faults = Faults(postgres, folder, processes, plan)
    try:
        faults.running = [processes.start(number) for number in range(plan.workers + 1)]
        async with httpx2.AsyncClient() as client:
            for number in range(plan.workers + 1):
                await _ready(client, f"http://127.0.0.1:{plan.port + number}/ready")
        async with Cronty(postgres.url, run_jobs=False) as door:
            for number in range(plan.jobs):
                await door.schedule_job(
                    f"job {number}", "work", "interval", {"seconds": 2}, policy={"attempts": 1, "pause_after": 0}
                )
        watch = Watch(processes.prometheus())
        looking = asyncio.create_task(watch.keep_looking())
        await asyncio.sleep(6 * plan.scrape_every)
        quiet = sorted(watch.fired)
        table: list[list[object]] = []
        # What clears at the end of a window of ten minutes isn't waited for: the unit tests have it.
        for name, begin, end, alerts, slow in (
            (
                "a worker is killed",
                faults.kill_worker,
                faults.start_worker,
                {"CrontyProcessDown"},
                {"CrontyWorkersDie"},
            ),
            ("a worker is frozen", faults.freeze_worker, faults.thaw_worker, {"CrontyProcessDown"}, set[str]()),
            (
                "the table of what is due is locked",
                faults.lock,
                faults.unlock,
                {"CrontyNothingFires", "CrontyLate"},
                set[str](),
            ),
            (
                "PostgreSQL is killed",
                faults.stop_postgres,
                faults.start_postgres,
                {"CrontyDatabaseAway", "CrontyEngineStuck"},
                set[str](),
            ),
            (
                "every process is killed",
                faults.kill_all,
                faults.start_all,
                {"CrontyNotSeen", "CrontyProcessDown"},
                set[str](),
            ),
            ("runs fail", faults.fail, faults.stop_failing, {"CrontyRunsFail"}, set[str]()),
        ):
            table += await _fault(watch, plan, name, (begin, end), alerts, slow)
        looking.cancel()
        return {"scenario": "alerts", "before": quiet, "table": table}
    except RuntimeError:
        print(processes.log[-3000:], file=sys.stderr)
        raise
    finally:
        processes.close()


async def _fault(
    watch: Watch,
    plan: Plan,
    name: str,
    acts: tuple[Callable[[], object], Callable[[], object]],
    alerts: set[str],
    slow: set[str],
) -> list[list[object]]:
    watch.fired = {one: at for one, at in watch.fired.items() if one in slow}
    watch.cleared.clear()
    began = time.monotonic()
    await acts[0]()  # pyright: ignore[reportGeneralTypeIssues]
    await watch.wait(watch.fired, alerts | slow, plan.fires_within)
    mended = time.monotonic()
    await acts[1]()  # pyright: ignore[reportGeneralTypeIssues]
    await watch.wait(watch.cleared, alerts, plan.clears)
    rows: list[list[object]] = []
    for one in sorted(alerts | slow):
        fired = round(watch.fired[one] - began, 1) if one in watch.fired else None
        cleared = round(watch.cleared[one] - mended, 1) if one in watch.cleared else None
        rows.append([name, one, fired, cleared])
        print(f"{name} -> {one}: {fired} s, cleared after {cleared} s", file=sys.stderr, flush=True)
    others = sorted(watch.fired.keys() - alerts - slow)
    print(f"  also: {', '.join(others) or 'nothing'}", file=sys.stderr, flush=True)
    return rows


async def _ready(client: httpx2.AsyncClient, url: str) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            if (await client.get(url)).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        await asyncio.sleep(0.2)
    raise RuntimeError(f"{url} isn't ready")


def run(plan: Plan) -> Figures:
    """The whole scenario on a PostgreSQL of its own; `broken` names the alerts that didn't fire, or didn't clear."""
    if shutil.which("prometheus") is None:
        sys.exit("This needs Prometheus: install Debian's package prometheus.")
    with own_postgres() as (postgres, folder):
        figures = asyncio.run(drive(postgres, plan, folder))
    rows: list[list[object]] = figures["table"]
    silent = [f"{alert} is silent" for _, alert, fired, _ in rows if fired is None]
    stuck = [
        f"{alert} doesn't clear" for _, alert, _, cleared in rows if cleared is None and alert != "CrontyWorkersDie"
    ]
    early = [f"{alert} for nothing" for alert in figures["before"]]
    return figures | {"broken": silent + stuck + early}
