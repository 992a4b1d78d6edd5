"""Shell completion of job ids, if a database is running and answers fast."""

import asyncio
import os
from typing import Annotated, Final

import typer

from cronty.app import Cronty
from cronty.settings import Settings

PATIENCE: Final = 2.0
"""Seconds after which completion gives up."""

_MOST: Final = 100


def complete_jobs(incomplete: str) -> list[tuple[str, str]]:
    """Job numbers and names that start with what was typed."""
    try:
        settings = Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields
        if settings.database_url is None and not (settings.data_dir / "postgres/postmaster.pid").exists():
            return []
        found = asyncio.run(asyncio.wait_for(_jobs(), PATIENCE))
    except Exception:  # an error message would spoil the line being typed
        return []
    wanted = incomplete.lower()
    return [(number, name) for number, name in found if number.startswith(wanted) or name.lower().startswith(wanted)]


async def _jobs() -> list[tuple[str, str]]:
    async with Cronty(owner=os.environ.get("CRONTY_OWNER", "local"), run_jobs=False) as cronty:
        answer = await cronty.list_jobs(limit=_MOST)
        return [(job.job_id.split("_")[1], job.name) for job in answer.jobs]


Id = Annotated[
    str, typer.Argument(help="The job's name, or its number, as `cronty list` shows it.", autocompletion=complete_jobs)
]
