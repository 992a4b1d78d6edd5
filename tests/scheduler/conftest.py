"""The service that every surface asks, with a worker whose duties are done by the test."""

from collections.abc import AsyncGenerator

import pytest

from cronty import Cronty
from cronty.scheduler.service import Service
from tests.conftest import HandClock, Hands, hands_of


@pytest.fixture
async def cronty(url: str, clock: HandClock) -> AsyncGenerator[Cronty]:
    made = Cronty(url, owner="ann", clock=clock, run_jobs=False)

    @made.task
    def greet(name: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Greet somebody."""
        return f"Hello {name}"

    async with made:
        yield made


@pytest.fixture
async def worker(url: str, clock: HandClock, cronty: Cronty) -> AsyncGenerator[Hands]:
    async with hands_of(url, clock, cronty.registry) as made:
        await made.store.publish_tasks(cronty.registry.published())
        yield made


@pytest.fixture
def service(cronty: Cronty, worker: Hands) -> Service:
    assert worker.engine.worker
    return cronty.service
