"""Connecting to a database that moves, hangs, fills up or is read-only; and what is left behind in a session."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

import asyncpg
import pytest

from cronty.jobs.result import Ok
from cronty.scheduler import Scheduler
from cronty.store import connecting, database as database_module
from cronty.store.connecting import Hosts, each_host
from cronty.store.database import Database, StoreBusy, StoreUnavailable, query
from cronty.store.faults import StoreMisnamed, is_away, is_elsewhere, is_unwritable
from cronty.store.job_store import JobStore
from cronty.telemetry import Outage
from tests.conftest import add, with_database

ROLE = "select current_user || ' for ' || coalesce(nullif(current_setting('cronty.owner', true), ''), 'nobody')"


# -- which fault means what -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "away", "elsewhere"),
    [
        (asyncpg.ReadOnlySQLTransactionError("25006"), True, True),
        (asyncpg.ConnectionDoesNotExistError("08003"), True, True),
        (asyncpg.AdminShutdownError("57P01"), True, True),
        (asyncpg.CannotConnectNowError("57P03"), True, True),
        (asyncpg.PostgresIOError("58030"), True, True),
        (asyncpg.TransactionTimeoutError("25P04"), True, True),
        (asyncpg.TargetServerAttributeNotMatched("no host"), True, True),
        (asyncpg.InternalClientError("cannot switch to state 11"), True, True),
        (asyncpg.InterfaceError("connection is closed"), True, True),
        (ConnectionResetError(), True, True),
        (TimeoutError(), True, True),
        (asyncpg.QueryCanceledError("57014"), True, False),
        (asyncpg.DiskFullError("53100"), True, False),
        (asyncpg.TooManyConnectionsError("53300"), True, False),
        (asyncpg.UniqueViolationError("23505"), False, False),
        (asyncpg.InvalidTextRepresentationError("22P02"), False, False),
        (asyncpg.ClientConfigurationError("bad URL"), False, False),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), False, False),
        (asyncpg.UndefinedTableError("42P01"), False, False),
        (ZeroDivisionError(), False, False),
    ],
)  # fmt: skip
def test_an_error_says_whether_the_database_is_away_and_whether_to_look_elsewhere(
    error: Exception, away: bool, elsewhere: bool
) -> None:
    assert (is_away(error), is_elsewhere(error)) == (away, elsewhere)


async def test_a_value_that_cannot_be_written_is_told_from_a_fault(sql: asyncpg.Connection) -> None:
    for arguments in (("\ud800",), ("a\0b",), (7,)):
        with pytest.raises(Exception) as raised:  # noqa: PT011 -- which one is what we ask
            await sql.fetchval("select $1::text", *arguments)
        assert is_unwritable(raised.value), arguments
        assert not is_away(raised.value)


# -- several servers in a URL ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "each"),
    [
        ("postgresql://u:p@one:1,two/db?x=1", ["postgresql://u:p@one:1/db?x=1", "postgresql://u:p@two/db?x=1"]),
        ("postgresql://one/db", ["postgresql://one/db"]),
        ("postgresql:///db?host=/run/pg", ["postgresql:///db?host=/run/pg"]),
        (
            "postgresql:///db?host=one,two&port=1,2",
            ["postgresql:///db?host=one&port=1", "postgresql:///db?host=two&port=2"],
        ),
        (
            "postgresql:///db?host=one,two&port=6",
            ["postgresql:///db?host=one&port=6", "postgresql:///db?host=two&port=6"],
        ),
    ],
)
def test_a_url_may_name_several_servers(url: str, each: list[str]) -> None:
    assert each_host(url) == each


@contextmanager
def silent_server() -> Generator[str]:
    """Takes connections and never says a word, as a frozen machine does."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def nobody_there() -> str:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"127.0.0.1:{closed.getsockname()[1]}"


class Proxy:
    """A way in over TCP to a server that may listen on a socket only; it counts who comes, and can hang."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.address, self.came, self.hangs = "", 0, False
        self._path = "" if parts.hostname else dict(one.split("=") for one in parts.query.split("&"))["host"]
        self._url = url

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.address = "127.0.0.1:{}".format(server.sockets[0].getsockname()[1])
        return server

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError
