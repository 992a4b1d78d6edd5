"""Whether anything runs the jobs that a command makes."""

from collections.abc import Awaitable

from cronty.cli.connection import Api
from cronty.cli.output import say
from cronty.contract.result import value_of


async def with_workers[T](api: Api, answer: Awaitable[T]) -> tuple[T, bool]:
    """The answer, and whether a worker is alive to run it; a server runs jobs itself."""
    found = await answer
    if api.local is None:
        return found, True
    fleet = value_of(await api.local.service.overview.fleet(api.local.caller))
    return found, any(worker.alive for worker in fleet.workers)


def warn_if_idle(armed: bool) -> None:
    if not armed:
        say("No worker is running, so nothing fires. Start one with `cronty up`.", "yellow", err=True)
