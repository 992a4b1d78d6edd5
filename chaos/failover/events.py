"""What is done to the cluster."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from chaos.failover.cluster import Cluster, Node, Trouble, get, send, until
from chaos.failover.plan import Plan

type Event = Callable[[Cluster, Plan, Node], Awaitable[None]]


async def switchover(cluster: Cluster, plan: Plan, old: Node) -> None:
    """Planned, by Patroni."""
    able = [one["name"] for one in cluster.members() if one["role"] == ("sync_standby" if plan.sync else "replica")]
    if not able:
        raise Trouble("nobody can take over")
    order = json.dumps({"leader": old.name, "candidate": able[0]}).encode()
    status, text = await asyncio.to_thread(get, f"http://127.0.0.1:{old.rest}/switchover", order, 60.0)
    if status != 200:
        raise Trouble(f"Patroni refused: {status} {text}")


async def kill(cluster: Cluster, _plan: Plan, old: Node) -> None:
    """kill -9 of the primary and its Patroni; they come back when another one leads."""
    old.kill()
    await _rejoin(cluster, old)


async def lagkill(cluster: Cluster, plan: Plan, old: Node) -> None:
    """The same, after the replicas got nothing for `lag` seconds, as over a slow network."""
    send([pid for pid, title in old.backends().items() if "walsender" in title], signal.SIGSTOP)
    await asyncio.sleep(plan.lag)
    before = old.backends()
    old.kill()
    send(before, signal.SIGKILL)  # what stands still can't notice that its postmaster is gone
    await _rejoin(cluster, old)


async def freeze(_cluster: Cluster, plan: Plan, old: Node) -> None:
    """Everything on the primary's node stands still for a while, as on a stalled machine."""
    await _stop([old.patroni(), old.postmaster(), *old.backends()], plan.frozen)


async def zombie(_cluster: Cluster, plan: Plan, old: Node) -> None:
    """Only Patroni and the postmaster stand still: open connections go on working on the old primary."""
    await _stop([old.patroni(), old.postmaster()], plan.frozen)


async def none(_cluster: Cluster, plan: Plan, _old: Node) -> None:
    """Nothing; what is measured without an event."""
    await asyncio.sleep(plan.rest)


EVENTS: Final[Mapping[str, Event]] = {
    event.__name__: event for event in (switchover, kill, lagkill, freeze, zombie, none)
}


async def _rejoin(cluster: Cluster, old: Node) -> None:
    await until(lambda: cluster.leader() not in (None, old), 180, "a successor")
    await asyncio.sleep(5)
    old.start()


async def _stop(pids: Iterable[int | None], seconds: float) -> None:
    stopped = list(pids)
    send(stopped, signal.SIGSTOP)
    try:
        await asyncio.sleep(seconds)
    finally:
        send(stopped, signal.SIGCONT)
