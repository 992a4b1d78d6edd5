"""What a client says about the time after it has closed, and when it leaves the service alone."""

import os
import socket
from pathlib import Path

import pytest

from cronty import Cronty
from cronty.cli.service_folder import ServiceFolder
from cronty.cli.service_of_client import AfterClosing, Wanted, keep_up


async def test_on_a_database_with_other_workers_no_service_is_started_and_nothing_is_said(
    url: str, tmp_path: Path
) -> None:
    async with Cronty(url, data_dir=tmp_path) as cronty:
        after = AfterClosing(cronty, Wanted({}))
        said = await after.warning()
        assert said is not None
        assert said.startswith("Nothing fires after this client has closed: no worker runs on this database.")
        overview = cronty.service.overview
        assert not await overview.has_other_worker(f"{socket.gethostname()}:{os.getpid()}")
        assert await overview.has_other_worker("another:1")
    assert ServiceFolder(tmp_path).spec() is None


def test_after_cronty_down_no_client_starts_it(tmp_path: Path) -> None:
    folder = ServiceFolder(tmp_path)
    folder.make()
    folder.mark_unwanted(True)
    said = keep_up(tmp_path, Wanted({}))
    assert said == "`cronty down` has stopped the background service. `cronty up` starts it again."
    assert (folder.spec(), folder.alive("keeper")) == (None, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "can't be used" in (keep_up(tmp_path / "data", Wanted({})) or "")
