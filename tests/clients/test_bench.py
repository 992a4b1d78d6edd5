"""The bench for MCP runs, in small; its figures are for people, not for a pass mark."""

import pytest

from bench import mcp
from chaos.postgres import Postgres


@pytest.mark.long
async def test_every_call_is_measured_beside_its_bare_statements() -> None:
    postgres = Postgres(shared_buffers="32MB")
    try:
        postgres.start()
        found = await mcp.latency(postgres.url, jobs=100, calls=3)
    finally:
        postgres.close()
    by_name = {str(one["what"]): one for one in found}
    assert list(by_name) == [
        "protocol alone", "get_current_time", "schedule_job", "list_jobs", "job_status", "cancel_job"
    ]  # fmt: skip
    for what in ("schedule_job", "list_jobs", "job_status", "cancel_job"):
        assert by_name[what]["calls"] == 3
        assert "ratio" in by_name[what]
