"""Asks each node whether it takes writes, `cronty serve` whether it is ready, and `cronty doctor` how things are."""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import Any

from chaos.failover.cluster import Cluster, get
from chaos.failover.plan import Plan
from chaos.failover.processes import Processes


class Watch:
    def __init__(self, cluster: Cluster, processes: Processes, plan: Plan) -> None:
        self._cluster, self._processes, self._plan = cluster, processes, plan
        self._writable: list[tuple[float, list[str]]] = []
        self._ready: list[tuple[float, float, int | None, str]] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._ask_nodes()), asyncio.create_task(self._ask_server())]

    async def _ask_nodes(self) -> None:
        nodes = self._cluster.nodes
        while True:
            answers = await asyncio.gather(*(node.is_primary() for node in nodes))
            named = [node.name for node, primary in zip(nodes, answers, strict=True) if primary]
            self._writable.append((time.time(), named))
            await asyncio.sleep(0.5)

    async def _ask_server(self) -> None:
        while True:
            began = time.time()
            status, text = await asyncio.to_thread(get, f"http://127.0.0.1:{self._plan.port + 40}/ready", None, 5.0)
            self._ready.append((began, time.time(), status, text[:160]))
            await asyncio.sleep(1)

    async def ask_doctor(self, ends: asyncio.Event) -> list[dict[str, Any]]:
        """Again and again, each answer beside what was so: `primary` is None while that changed."""
        answers: list[dict[str, Any]] = []
        while not ends.is_set():
            answer = await asyncio.to_thread(self._processes.doctor)
            at = float(answer.pop("at"))
            answers.append(answer | {"primary": self._could_write(at, time.time())})
            with suppress(TimeoutError):
                await asyncio.wait_for(ends.wait(), 8)
        return answers

    def primary_since(self, moment: float, other_than: str) -> float | None:
        """When there was a node to write to that isn't `other_than`."""
        return next((at for at, names in self._writable if at > moment and set(names) - {other_than}), None)

    def _could_write(self, begin: float, end: float) -> bool | None:
        near = [bool(names) for at, names in self._writable if begin - 1 <= at <= end + 1]
        return all(near) if near and all(near) == any(near) else None

    def figures(self, since: float) -> dict[str, Any]:
        """How true `/ready` was, and whether two nodes took writes at once."""
        asked = [one for one in self._ready if one[0] >= since]
        could = [self._could_write(begin, end) for begin, end, _, _ in asked]
        said_no = Counter(f"{status} {text}" for _, _, status, text in asked if status != 200)
        return {
            "two_primaries_seen": sum(len(names) > 1 for at, names in self._writable if at > since),
            "ready_yes_without_primary": sum(
                one[2] == 200 and so is False for one, so in zip(asked, could, strict=True)
            ),
            "ready_no_with_primary": sum(one[2] != 200 and so is True for one, so in zip(asked, could, strict=True)),
            "ready_silent": sum(status is None for _, _, status, _ in asked),
            "ready_said": said_no.most_common(3),
        }

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
