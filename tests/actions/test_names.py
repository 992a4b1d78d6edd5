"""Names that take long to resolve hold up their own owner, and nobody else."""

import asyncio
import socket
import threading
from collections.abc import Generator, Sequence

import pytest

from cronty.actions.names import Names
from cronty.actions.outbound import CallFailed, Outbound
from cronty.actions.shares import EACH, Shares
from tests.patience import PATIENCE


class Zone:
    """Names whose server answers when it is told to, and others that are answered at once."""

    def __init__(self) -> None:
        self.told = threading.Event()
        self.asked: list[str] = []

    def look_up(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host.startswith("slow"):
            self.told.wait(PATIENCE)
        return ["192.0.2.1"]


@pytest.fixture
def zone() -> Generator[Zone]:
    made = Zone()
    yield made
    made.told.set()


async def test_one_owners_slow_names_hold_up_nobody_else(zone: Zone) -> None:
    names = Names(zone.look_up, time_limit=PATIENCE)
    slow = [asyncio.create_task(names.find(f"slow{number}.example", 443, "bob")) for number in range(200)]
    while len(zone.asked) < EACH:
        await asyncio.sleep(0.001)
    for owner in ("ann", None):
        assert await names.find("fast.example", 443, owner) == ["192.0.2.1"]
    assert len([host for host in zone.asked if host.startswith("slow")]) == EACH, "the others wait for their turn"
    assert not any(one.done() for one in slow)
    zone.told.set()
    await asyncio.gather(*slow)
    names.close()


async def test_giving_up_frees_no_thread_that_is_still_busy(zone: Zone) -> None:
    names = Names(zone.look_up, time_limit=0.05)
    for number in range(3 * EACH):
        with pytest.raises(socket.gaierror):
            await names.find(f"slow{number}.example", 443, "bob")
    assert len(zone.asked) == EACH
    names.close()


async def test_a_name_that_is_not_resolved_in_time_is_said_to_be_that(zone: Zone) -> None:
    outbound = Outbound(names=Names(zone.look_up, time_limit=0.05))
    with pytest.raises(CallFailed, match="its name could not be resolved") as failed:
        await outbound.send("POST", "https://slow.example/", owner="bob")
    assert failed.value.category == "dns"
    await outbound.aclose()


async def test_a_share_that_is_not_used_any_more_is_forgotten() -> None:
    shares = Shares("test")
    await asyncio.gather(*(shares.run(f"owner {number}", lambda: None) for number in range(100)))
    async with asyncio.timeout(PATIENCE):
        while shares.owners:
            await asyncio.sleep(0.001)
    shares.close()
