"""A client of Cronty's REST API: `Client` for plain programs, `AsyncClient` for async ones. It needs httpx2 alone."""

from cronty.client.client import AsyncClient, Client
from cronty.contract.result import CrontyError

__all__ = ["AsyncClient", "Client", "CrontyError"]
