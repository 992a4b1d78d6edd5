"""One `cronty serve` with a task of its own and a push service on loopback, for all tools from outside."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.npm import Npm, install
from tests.clients.serving import Served, accepting, serving
from tests.conftest import database_named

APP = '''
from cronty import Cronty

cronty = Cronty()

@cronty.task
def note(file: str, word: str) -> None:
    """Write a word down."""
    with open(file, "a") as opened:
        opened.write(word + "\\n")
'''


@pytest.fixture(scope="session")
def npm() -> Npm:
    return install()


@pytest.fixture(scope="session")
def own_url(server_url: str) -> Iterator[str]:
    """A database that no other test empties."""
    with database_named(server_url, f"cronty_clients_{os.getpid()}") as url:
        yield url


@pytest.fixture(scope="session")
def push_service() -> Iterator[str]:
    with accepting() as where:
        yield where


@pytest.fixture(scope="session")
def app_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app")
    (folder / "backup.py").write_text(APP)
    return folder


@pytest.fixture(scope="session")
def served(own_url: str, push_service: str, app_folder: Path) -> Iterator[Served]:
    with serving(
        app_folder, "--app", "backup:cronty", database_url=own_url, ntfy_url=f"http://{push_service}",
        allowed_hosts=push_service,
    ) as running:  # fmt: skip
        yield running
