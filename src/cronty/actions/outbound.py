"""The guard: every connection we make to the outside goes through here.

An owner names an address and we connect to it from inside our network, so the address is hostile until proven
otherwise. A name is resolved once; every answer must pass the table; the connection goes to an address that passed,
while Host, SNI and the certificate check keep the name. What is asked again could be answered differently, so
nothing is: no redirect is followed, no proxy or cookie comes into it, and no connection is used twice, because
a pool would know it by its address and two names may share one.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from re import compile as pattern
from typing import Any, Final, Literal, cast

import httpx2

from cronty import metrics
from cronty.actions.addresses import ALLOWLISTABLE, Address, as_address, host_name_error, kind_of
from cronty.actions.allowed import USUAL_PORTS, AllowedHosts
from cronty.actions.names import Names
from cronty.actions.tasks import PermanentError, RetryAfter, TargetGone

TIME_LIMIT: Final = 10.0
READ_LIMIT: Final = 64 * 1024
MAX_URL: Final = 2048
MAX_RETRY_AFTER: Final = timedelta(hours=1)

_ADDRESSES_TRIED: Final = 4
_CONNECT_LIMIT: Final = 3.0  # for an address that has others behind it
_URL: Final = pattern(r"([Hh][Tt][Tt][Pp][Ss]?)://([^/?#@]+)([/?#].*)?")

type Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
Category = Literal[
    "timeout", "tls", "refused", "dns", "reset", "protocol", "unreachable", "http_429", "http_5xx", "undelivered"
]

_SENTENCES: Final[Mapping[Category, str]] = {
    "timeout": "there was no complete answer in time",
    "tls": "no trusted TLS connection; its certificate must be valid for this name",
    "refused": "it refused the connection",
    "dns": "its name could not be resolved",
    "reset": "it broke the connection off",
    "protocol": "it closed the connection without a proper HTTP answer",
    "unreachable": "there is no way to reach it",
}


class CallRefused(PermanentError):
    """Ours to refuse: nothing was sent, and trying again can't help."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"We don't call {_shown(host)!r}: {reason}.")
        self.reason = reason


class CallRejected(PermanentError):
    """The other side has said no, and trying again can't help."""


class CallGone(CallRejected, TargetGone):
    """The other side has said no, for good."""


class CallFailed(RetryAfter):
    """It may go better another time; `category` says what went wrong, never in the other side's words. `arrived`: the
    other side may have got it, and done what it was asked for."""

    def __init__(
        self, message: str, category: Category, wait: timedelta = timedelta(0), *, arrived: bool = True
    ) -> None:
        super().__init__(message, wait)
        self.category: Category = category
        self.arrived = arrived


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; all of it is untrusted. `truncated` if there was more than we read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


@dataclass(frozen=True, slots=True)
class Target:
    """Where a URL leads, spelled in the one way we compare; `allowed` if an operator named it."""

    url: httpx2.URL
    host: str
    port: int
    allowed: bool


class Outbound:
    """One per process. `allowed_hosts` ("host" or "host:port", and "@owner") may be private, and may be called by plain
    http. Every call is some owner's, or, where that is None, the operator's; `own` is the owner of the installation."""

    def __init__(
        self, allowed_hosts: Sequence[str] = (), *, own: str = "local", time_limit: float = TIME_LIMIT,
        read_limit: int = READ_LIMIT, resolver: Resolver | None = None, names: Names | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        if isinstance(allowed_hosts, str):  # it would be taken for a sequence of one-letter hosts
            raise TypeError(f"allowed_hosts is a list of hosts, not {allowed_hosts!r}.")
        self._allowed = AllowedHosts(allowed_hosts, own, _spelled)
        self._time_limit = time_limit
        self._read_limit = read_limit
        self._resolver = resolver
        self._names = names or Names()
        self._tls = tls
        self._opened: httpx2.AsyncHTTPTransport | None = None

    def check(self, url: str, owner: str | None = None) -> None:
        """Raise `CallRefused` for what is refused whatever its name resolves to; sends nothing."""
        target = self._target(url, owner)
        if (address := as_address(target.host)) is not None:
            _require_open(target, [address])

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        owner: str | None = None,
    ) -> Answer:
        """Any status is an answer. Raises `CallRefused`, or `CallFailed` if there was none."""
        try:
            answer = await self._send(method, url, headers or {}, body, owner)
        except CallRefused:
            metrics.CALLS.add(1, "forbidden")
            raise
        except CallFailed as failed:
            metrics.CALLS.add(1, failed.category)
            raise
        metrics.CALLS.add(1, f"{answer.status // 100}xx")
        return answer

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes, owner: str | None) -> Answer:
        target = self._target(url, owner)
        try:
            async with asyncio.timeout(self._time_limit):
                addresses = await self._addresses(target, owner)
                return await self._exchange(target, addresses, method, headers, body)
        except (OSError, httpx2.TransportError) as error:
            category = _category(error)
            said = f"Calling {_shown(target.host)!r} failed: {_SENTENCES[category]}."
            raise CallFailed(said, category, arrived=not _is_before_sending(error)) from error

    async def permit(
        self,
        host: str,
        port: int,
        *,
        ports: frozenset[int] = USUAL_PORTS,
        encrypted: bool = True,
        owner: str | None = None,
    ) -> Sequence[Address]:
        """Where somebody else's code may connect to on behalf of an owner; raises as `send` does."""
        spelled = f"[{host}]" if ":" in host else host
        parsed, name = _read_host(f"https://{spelled}:{port}/", host)
        target = self._admit(parsed, name, port, owner, encrypted=encrypted, ports=ports)
        try:
            async with asyncio.timeout(self._time_limit):
                return await self._addresses(target, owner)
        except OSError as error:
            category = _category(error)
            raise CallFailed(f"Calling {_shown(name)!r} failed: {_SENTENCES[category]}.", category) from error

    async def aclose(self) -> None:
        """Let go of what calls have needed; another call takes it up again."""
        self._names.close()
        if self._opened is not None:
            transport, self._opened = self._opened, None
            await transport.aclose()

    def _open(self) -> httpx2.AsyncHTTPTransport:
        """Made with the first call: most processes never make one, and reading the certificates takes time."""
        if self._opened is None:
            self._opened = httpx2.AsyncHTTPTransport(
                verify=True if self._tls is None else self._tls,
                trust_env=False,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
            )
        return self._opened

    # -- where to -----------------------------------------------------------------------------------------------

    def _target(self, url: str, owner: str | None) -> Target:
        # Of a URL that can't be read nothing is said: a password or a token may stand where its host should be.
        if len(url) > MAX_URL:
            raise CallRefused("…", f"the URL has {len(url)} characters, and at most {MAX_URL} are read")
        if not url.isprintable() or " " in url or "\\" in url or not (found := _URL.fullmatch(url)):
            raise CallRefused("…", "it isn't a plain URL such as https://example.com/path, without user or password")
        parsed, host = _read_host(url, found[2] if found[2].startswith("[") else found[2].partition(":")[0])
        port = {"https": 443, "http": 80}[parsed.scheme] if parsed.port is None else parsed.port
        if parsed.scheme != "https" and not self._allowed.allow(host, port, owner):
            raise CallRefused(host, "only https is allowed")
        return self._admit(parsed, host, port, owner)

    def _admit(
        self,
        url: httpx2.URL,
        host: str,
        port: int,
        owner: str | None,
        *,
        encrypted: bool = True,
        ports: frozenset[int] = USUAL_PORTS,
    ) -> Target:
        allowed = self._allowed.allow(host, port, owner)
        if not allowed and not encrypted:
            raise CallRefused(host, "only encrypted connections are allowed")
        if not allowed and port not in ports:
            *others, last = sorted(ports, reverse=True)
            accepted = ", ".join(map(str, others))
            raise CallRefused(host, f"port {port} isn't allowed, only {accepted} and {last}")
        return Target(url, host, port, allowed)

    async def _addresses(self, target: Target, owner: str | None) -> Sequence[Address]:
        """Every address of the host, if all of them are open to us."""
        if (literal := as_address(target.host)) is not None:
            found = [literal]
        else:
            if self._resolver is not None:
                answers = await self._resolver(target.host, target.port)
            else:
                answers = await self._names.find(target.host, target.port, owner)
            found = [address for answer in dict.fromkeys(answers) if (address := as_address(answer)) is not None]
            if not found or len(found) < len(set(answers)):
                raise socket.gaierror(socket.EAI_NONAME, "no address")
        _require_open(target, found)
        return found

    # -- there and back -----------------------------------------------------------------------------------------

    async def _exchange(
        self, target: Target, addresses: Sequence[Address], method: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        *others, last = addresses[:_ADDRESSES_TRIED]
        for address in others:
            try:
                return await self._exchange_with(target, address, _CONNECT_LIMIT, method, headers, body)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):  # nothing was sent yet
                continue
        return await self._exchange_with(target, last, None, method, headers, body)

    async def _exchange_with(
        self, target: Target, address: Address, connect_limit: float | None, method: str,
        headers: Mapping[str, str], body: bytes,
    ) -> Answer:  # fmt: skip
        ours = {
            "host": target.url.netloc.decode(),
            "connection": "close",
            "accept-encoding": "identity",
            "user-agent": "cronty",
        }
        request = httpx2.Request(
            method,
            target.url.copy_with(host=str(address)),
            headers={**{name.lower(): value for name, value in headers.items()}, **ours},
            content=body,
            extensions={"sni_hostname": target.host, "timeout": {"connect": connect_limit}},
        )
        response = await self._open().handle_async_request(request)
        try:
            kept, truncated = await self._read(response)
        finally:
            await response.aclose()
        return Answer(response.status_code, response.headers, kept, truncated)

    async def _read(self, response: httpx2.Response) -> tuple[bytes, bool]:
        """Raw, because a small answer may unpack into a huge one."""
        kept = bytearray()
        async for part in response.aiter_raw():
            kept += part
            if len(kept) > self._read_limit:
                return bytes(kept[: self._read_limit]), True
        return bytes(kept), False


def require_success(answer: Answer, host: str, said: str = "") -> None:
    """Return for 2xx; else raise what the status means: try again later, or never."""
    if 200 <= answer.status < 300:
        return
    words = f"{_shown(host)!r} answered {answer.status}"
    if said:
        words += f"; the server said: {said!r}"
    if answer.status == 429 or answer.status >= 500:
        wait = retry_after(answer.headers.get("retry-after", ""), datetime.now(UTC))
        if answer.status == 429:
            raise CallFailed(f"{words}.", "http_429", wait, arrived=False)
        raise CallFailed(f"{words}.", "http_5xx", wait)
    if answer.status == 410:
        raise CallGone(f"{words}. Gone: the receiver asked not to be called again.")
    if answer.status < 400:
        raise CallRejected(f"{words}. Redirects are not followed: name the URL it ends at.")
    raise CallRejected(f"{words}. Trying again can't help.")


def retry_after(header: str, now: datetime) -> timedelta:
    """How long a server asks us to wait, in seconds or as a date; nothing if it makes no sense, at most an hour."""
    text = header.strip()
    try:
        if text.isascii() and text.isdigit():
            wait = timedelta(seconds=int(text[:9]))
        else:
            until = parsedate_to_datetime(text)
            wait = until.replace(tzinfo=until.tzinfo or UTC) - now
    except (ValueError, OverflowError):
        return timedelta(0)
    return min(max(wait, timedelta(0)), MAX_RETRY_AFTER)


def untrusted_text(text: str, most: int, *, lines: bool = False) -> str:
    """Somebody else's words, fit to be shown: capped, without control or invisible characters."""
    kept = "".join(one if one.isprintable() or (lines and one in "\n\t") else " " for one in text[: 4 * most])
    return (kept if lines else " ".join(kept.split()))[:most]


def without(secrets: Collection[str], value: object) -> Any:
    """The same text or JSON with `[secret]` where a secret stood."""
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, "[secret]")
        return value
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {without(secrets, name): without(secrets, inner) for name, inner in items}
    return [without(secrets, one) for one in cast("list[object]", value)] if isinstance(value, list) else value


def _read_host(url: str, shown: str) -> tuple[httpx2.URL, str]:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise CallRefused(shown, "it isn't a host we can read") from None
    host = parsed.raw_host.decode("ascii").lower()
    if (address := as_address(host)) is not None:
        return parsed, str(address)
    if flaw := host_name_error(host):
        raise CallRefused(shown, flaw)
    return parsed, host


def _spelled(host: str) -> str:
    try:
        return _read_host(f"http://{host}/", host)[1]
    except CallRefused as refused:
        raise ValueError(host) from refused


def _require_open(target: Target, addresses: Sequence[Address]) -> None:
    """One bad answer among good ones is enough: which of them would be used is somebody else's choice."""
    for address in addresses:
        kind = kind_of(address)
        if kind is not None and not (target.allowed and kind in ALLOWLISTABLE):
            raise CallRefused(
                target.host, f"it has a {kind} address" if kind != "embedded IPv4" else "it hides an IPv4 address"
            )


def _is_before_sending(error: BaseException) -> bool:
    """Whether there was no connection yet. TLS, for one, may fail before and after something was sent."""
    kinds = (httpx2.ConnectError, httpx2.ConnectTimeout, socket.gaierror)
    return any(isinstance(one, kinds) for one in _chain(error))


def _category(error: BaseException) -> Category:
    """By type alone: texts come from the other side, or change with versions."""
    chain = list(_chain(error))
    kinds: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], Category], ...] = (
        (ssl.SSLError, "tls"),
        (socket.gaierror, "dns"),
        ((TimeoutError, httpx2.TimeoutException), "timeout"),
        (ConnectionRefusedError, "refused"),
        ((ConnectionError, httpx2.ReadError, httpx2.WriteError), "reset"),
        (httpx2.ProtocolError, "protocol"),
    )
    for kind, category in kinds:
        if any(isinstance(one, kind) for one in chain):
            return category
    return "unreachable"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _shown(host: str) -> str:
    return untrusted_text(host, 100)
