"""Fixtures for pytest, for those who ask: `pytest_plugins = ["cronty.testing.fixtures"]` in their `conftest.py`."""

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cronty.store.migrate import migrate
from cronty.store.scratch import empty, scratch_server


@pytest.fixture(scope="session")
def cronty_server() -> Iterator[str]:
    """The URL of a migrated database on a PostgreSQL of the tests' own, which lasts as long as they do."""
    with scratch_server() as url:
        _done(migrate(url))
        yield url


@pytest.fixture
def cronty_database(cronty_server: str) -> str:
    """The same database, without any jobs, runs and keys."""
    _done(empty(cronty_server))
    return cronty_server


def _done(call: Coroutine[None, None, object]) -> None:
    """In a thread, because a loop may be running in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, call).result()
