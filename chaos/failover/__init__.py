"""A primary is switched over, killed, frozen or half dead under Patroni: which promises hold through a failover?"""

import asyncio
import json
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from chaos.failover.cluster import AWAY, Cluster, Trouble, get, until
from chaos.failover.events import EVENTS
from chaos.failover.load import Load
from chaos.failover.plan import Plan as Plan
from chaos.failover.processes import Processes
from chaos.failover.verdict import UNSETTLED, broken, examine
from chaos.failover.watch import Watch
from chaos.verdict import Figures


class Scenario:
    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        self._cluster = Cluster(plan, folder)
        self._processes = Processes(plan, self._cluster.url, folder)
        self._watch = Watch(self._cluster, self._processes, plan)
        self._start = datetime.now(UTC)
        self._load = Load(0, self._start)

    async def run(self) -> list[Figures]:
        """Every event's figures, said as soon as they are known."""
        table: list[Figures] = []
        try:
            await self._prepare()
            since = self._start
            for kind in self._plan.kinds():
                figures, since = await self._event(kind, since)
                print(json.dumps(figures), flush=True)
                table.append(figures)
        finally:
            self._watch.close()
            self._processes.close()
            self._cluster.close()
        return table

    async def _prepare(self) -> None:
        await self._cluster.start()
        await asyncio.to_thread(self._processes.migrate)
        self._start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=8)
        self._load = Load(self._plan.jobs, self._start)
        await self._load.insert(self._cluster.nodes[0])
        self._processes.start()
        ready = f"http://127.0.0.1:{self._plan.port + 40}/ready"
        await until(lambda: get(ready)[0] == 200, 90, "`cronty serve`")
        self._watch.start()
        await asyncio.sleep(8 + self._plan.rest)

    async def _event(self, kind: str, since: datetime) -> tuple[Figures, datetime]:
        """One event and what came of it; and from where the next one counts."""
        cluster, plan, processes = self._cluster, self._plan, self._processes
        old = await cluster.primary()
        processes.words()
        event_at, ends, trouble = time.time(), asyncio.Event(), None
        asking = asyncio.create_task(self._watch.ask_doctor(ends))
        try:
            await EVENTS[kind](cluster, plan, old)
            await cluster.whole()
        except Trouble as error:
            trouble = str(error)
        whole_after = round(time.time() - event_at, 1)
        await asyncio.sleep(plan.rest)
        ends.set()
        doctor, replaced = await asking, processes.replace()
        through = datetime.now(UTC) - timedelta(seconds=5)
        settled = await self._settled(through)
        figures = {
            "event": kind, "sync": plan.sync, "old": old.name, "new": (await cluster.primary()).name,
            "trouble": trouble, "whole_after": whole_after, "restarted": replaced,
            **await examine(cluster, processes, self._load, self._watch, (since, through), event_at, old),
            **processes.words(), "doctor": doctor,
        }  # fmt: skip
        return figures | {"broken": broken(figures, plan)}, through if settled else since

    async def _settled(self, through: datetime) -> bool:
        """Wait until nothing due before `through` is unfired or unfinished; whether it came to that."""
        ends = time.monotonic() + self._plan.patience
        while time.monotonic() < ends:
            try:
                if not (await (await self._cluster.primary()).ask(UNSETTLED, through))[0][0]:
                    return True
            except (Trouble, *AWAY):
                pass
            await asyncio.sleep(1)
        return False


def run(plan: Plan) -> Figures:
    """Every event on a cluster of its own; `broken` in the figures names the promises that some event broke."""
    with ExitStack() as stack:
        given = plan.folder or stack.enter_context(TemporaryDirectory(prefix="cronty-failover-"))
        folder = Path(given).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # PostgreSQL runs as another user
        table = asyncio.run(Scenario(plan, folder).run())
    found = sorted({name for figures in table for name in figures["broken"]})
    return {"scenario": "failover", "sync": plan.sync, "events": len(table), "broken": found}
