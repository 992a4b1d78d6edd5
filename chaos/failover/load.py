"""Jobs without an end, and the slots that each must have, worked out here and not by Cronty."""

from datetime import datetime, timedelta
from typing import Final

from chaos.failover.cluster import Node
from chaos.load import Spec, insert, run_id

PERIODS: Final = (10, 15, 20, 30)
WITHOUT_END: Final = 1_000_000


class Load:
    """Intervals of 10 to 30 s, and every twentieth a cron of every minute; every 25th run takes a second."""

    def __init__(self, count: int, start: datetime) -> None:
        minute = (start + timedelta(minutes=1)).replace(second=0, microsecond=0)
        self._specs: list[Spec] = []
        for number in range(1, count + 1):
            period = PERIODS[number % 4]
            arguments = {"seconds": 1.0 if number % 25 == 0 else 0.0}
            if number % 20 == 0:
                spec = Spec("tick", minute, WITHOUT_END, timedelta(minutes=1), True, arguments=arguments)
            else:
                first = start + timedelta(milliseconds=(number * 7919) % (period * 1000))
                spec = Spec("tick", first, WITHOUT_END, timedelta(seconds=period), arguments=arguments)
            self._specs.append(spec)

    def slots(self, since: datetime, through: datetime) -> set[str]:
        """Run ids of all slots in [since, through)."""
        expected: set[str] = set()
        for number, spec in enumerate(self._specs, 1):
            passed = max(0, -((spec.first - since) // spec.period))
            slot = spec.first + passed * spec.period
            while slot < through:
                expected.add(run_id(number, slot))
                slot += spec.period
        return expected

    async def insert(self, node: Node) -> None:
        await insert(node.url, self._specs)
