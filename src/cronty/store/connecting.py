"""Connects to the first server in the URL that accepts writes."""

import asyncio
import socket
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import asyncpg

from cronty.store.faults import (
    StoreMisnamed,
    StoreUnavailable,
    is_away,
    is_misnamed,
    refuses_parameters,
    store_fault,
)

ALONE: Final = 10.0
EACH: Final = 3.0
"""Seconds to wait for a connection, if there is one server and if there are several."""

ATTRIBUTE: Final = "target_session_attrs"
WRITABLE: Final = ("read-write", "primary")


class Hosts:
    """The servers that a URL names. They are tried in order; one that timed out is tried last from then on."""

    def __init__(self, url: str, setting: str = "CRONTY_DATABASE_URL", *, pooled: bool = False) -> None:
        self._setting = setting
        try:
            self._urls = each_host(url)
        except ValueError as wrong:
            raise StoreMisnamed(f"{setting} can't be read: {wrong}") from wrong
        # Cronty must write, and a connection to a read-only replica would stay in the pool.
        # A pooler has its own answer, from the first connection that it made: after a failover it is an old one.
        self._wanted = {} if pooled or wanted_of(url) else {ATTRIBUTE: WRITABLE[0]}

    async def connect(self, **options: Any) -> asyncpg.Connection:
        """Raises StoreUnavailable with the error of every server if none can be used."""
        limit = EACH if len(self._urls) > 1 else ALONE
        faults: list[tuple[str, Exception]] = []
        for url in list(self._urls):
            try:
                return await asyncpg.connect(url, timeout=limit, **self._wanted, **options)
            except asyncio.CancelledError:
                self._try_last(url)  # the caller's own timeout has passed
                raise
            except Exception as error:
                if not is_away(error) and not is_misnamed(error):
                    raise
                faults.append((url, error))
                if isinstance(error, TimeoutError):
                    self._try_last(url)
        raise self._no_server(faults, limit) from faults[-1][1]

    def _try_last(self, url: str) -> None:
        self._urls.sort(key=lambda one: one == url)

    def _no_server(self, faults: list[tuple[str, Exception]], limit: float) -> StoreUnavailable:
        texts = [_text(url, error, limit) for url, error in faults]
        if len(faults) > 1:
            texts = [f"{_name(url)}: {text}" for (url, _), text in zip(faults, texts, strict=True)]
        if all(is_misnamed(error) for _, error in faults):
            return StoreMisnamed(f"PostgreSQL can't be used as {self._setting} says: {'; '.join(texts)}")
        return store_fault(ConnectionError("; ".join(texts))) or StoreUnavailable()


def each_host(url: str) -> list[str]:
    """A URL for each server that the URL names, by `//one,two/` or by `?host=one,two`."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    if hosts:
        return [urlunsplit(parts._replace(netloc=f"{login}{at}{host}")) for host in hosts.split(",")]
    given = dict(parse_qsl(parts.query))
    named = given.get("host", "").split(",")
    if len(named) == 1:
        return [url]
    ports = given.pop("port", "").split(",")
    ports *= len(named) if len(ports) == 1 else 1
    if len(ports) != len(named):
        raise ValueError(f"it names {len(named)} hosts and {len(ports)} ports")
    places = [{"host": host} | ({"port": port} if port else {}) for host, port in zip(named, ports, strict=True)]
    return [f"{url.partition('?')[0]}?{urlencode(given | place)}" for place in places]


def place_of(url: str) -> str:
    """The database that a URL names, and where it is; without the login."""
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    named = parts.path.strip("/") or given.get("dbname") or given.get("database")
    name = unquote(named or parts.username or given.get("user") or "the database")
    return f"{name} at {_name(url) or 'this machine'}"


def wanted_of(url: str) -> str | None:
    """The `target_session_attrs` in the URL, if any."""
    return dict(parse_qsl(urlsplit(url).query)).get(ATTRIBUTE)


def _text(url: str, error: Exception, limit: float) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host {_name(url)} isn't found ({error.strerror})"
    if isinstance(error, TimeoutError):
        return f"no answer within {limit:g} s"
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "the server is read-only"
    if refuses_parameters(error):
        return f"a pooler is there ({error}). Set CRONTY_DIRECT_URL to PostgreSQL's own address, past the pooler"
    return str(error) or "the connection broke off"


def _name(url: str) -> str:
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    return parts.netloc.rpartition("@")[2] or ":".join(given[name] for name in ("host", "port") if name in given)
