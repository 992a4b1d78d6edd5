"""A client of Cronty's REST API: `Client` for plain programs, `AsyncClient` for async ones. It needs httpx2 alone."""

from importlib import import_module
from typing import TYPE_CHECKING

from cronty.client.client import Client
from cronty.contract.result import CrontyError

if TYPE_CHECKING:
    from cronty.client.async_client import AsyncClient
else:

    def __getattr__(name: str) -> object:
        """`AsyncClient` is brought in when it is asked for, because a plain program doesn't need asyncio."""
        if name != "AsyncClient":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module("cronty.client.async_client").AsyncClient


__all__ = ["AsyncClient", "Client", "CrontyError"]
