"""Connects to the first of the URL's servers that takes writes."""

import asyncio
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from cronty.store.faults import StoreMisnamed, StoreUnavailable, is_away, is_mistaken, told

ALONE: Final = 10.0
EACH: Final = 3.0
"""Seconds that a server may take to let us in, if it is the only one, and if there are others to try."""

ATTRIBUTE: Final = "target_session_attrs"
WRITABLE: Final = ("read-write", "primary")


class Hosts:
    """The servers that a URL names. They are tried one by one; one that didn't answer in time is tried last."""

    def __init__(self, url: str) -> None:
        try:
            self._urls = each_host(url)
        except ValueError as wrong:
            raise StoreMisnamed(f"CRONTY_DATABASE_URL can't be read: {wrong}") from wrong
        # Cronty is no use without writing, and a connection to a replica would be kept.
        self._wanted = {} if wanted_of(url) else {ATTRIBUTE: WRITABLE[0]}

    async def connect(self, **options: Any) -> asyncpg.Connection:
        """Raises StoreUnavailable with the fault of every server."""
        limit = EACH if len(self._urls) > 1 else ALONE
        faults: list[tuple[str, Exception]] = []
        for url in list(self._urls):
            try:
                return await asyncpg.connect(url, timeout=limit, **self._wanted, **options)
            except asyncio.CancelledError:
                self._try_last(url)  # the caller didn't want to wait that long
                raise
            except Exception as error:
                if not is_away(error) and not is_mistaken(error):
                    raise
                faults.append((url, error))
                if isinstance(error, TimeoutError):
                    self._try_last(url)
        raise _no_server(faults, limit) from faults[-1][1]

    def _try_last(self, url: str) -> None:
        self._urls.sort(key=lambda one: one == url)


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


def wanted_of(url: str) -> str | None:
    """What the URL itself says about the kind of server it wants."""
    return dict(parse_qsl(urlsplit(url).query)).get(ATTRIBUTE)


def _no_server(faults: list[tuple[str, Exception]], limit: float) -> StoreUnavailable:
    said = [_said(error, limit) for _, error in faults]
    if len(faults) > 1:
        said = [f"{_name(url)}: {text}" for (url, _), text in zip(faults, said, strict=True)]
    if all(is_mistaken(error) for _, error in faults):
        return StoreMisnamed(f"PostgreSQL can't be used as CRONTY_DATABASE_URL says: {'; '.join(said)}")
    return told(ConnectionError("; ".join(said))) or StoreUnavailable()


def _said(error: Exception, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {limit:g} s"
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "the server is read-only"
    return str(error) or type(error).__name__


def _name(url: str) -> str:
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    return parts.netloc.rpartition("@")[2] or ":".join(given[name] for name in ("host", "port") if name in given)
