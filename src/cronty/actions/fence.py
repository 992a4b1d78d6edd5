"""A fence around code that connects by itself: whatever it resolves or follows, it reaches no forbidden address.

A library that opens its own connections can't be handed a checked address: between our look at a name and its own, the
name may have changed. So we stand beneath it, where Python announces each connection before making it (an audit hook),
and refuse there. A fenced call may connect to public addresses and to those it was given, and to nothing else; it
starts no thread and no process, which would be outside of the fence; and what libraries log meanwhile is dropped,
because their words hold URLs.
"""

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final, cast

from cronty.actions.addresses import Address, as_address, kind_of

_CONNECTING: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LEAVING: Final = frozenset({
    "_thread.start_new_thread", "_thread.start_joinable_thread", "subprocess.Popen", "os.system", "os.exec", "os.fork",
    "os.forkpty", "os.posix_spawn", "os.spawn", "socket.bind",
})  # fmt: skip


class Fence:
    """For one call; `refused` says afterwards whether it tried to leave."""

    def __init__(self, given: Collection[tuple[Address, int]] = ()) -> None:
        self._given = frozenset(given)
        self._sockets: list[socket.socket] = []
        self._cut = False
        self._lock = threading.Lock()
        self.refused = False

    def run[T](self, call: Callable[[], T]) -> T:
        """Perform the call inside, in this thread; only a refusal to connect reaches it, as an OSError."""
        _stand_guard()
        token = _inside.set(self)
        try:
            with unlogged():
                return call()
        finally:
            _inside.reset(token)
            self._let_go()

    def cut(self) -> None:
        """End the call's connections, from another thread: one that only waits for an answer gets to its end."""
        with self._lock:
            self._cut = True
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def check(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _LEAVING or self._cut:
            self._refuse(event)
        if event in _CONNECTING:
            if not self._is_open(arguments[1]):
                self._refuse(event)
            if event == "socket.connect":
                self._remember(cast("socket.socket", arguments[0]))

    def _is_open(self, where: object) -> bool:
        if not isinstance(where, tuple):  # a socket of the machine's own
            return False
        host, port = cast("tuple[object, object]", where[:2])
        address = as_address(host) if isinstance(host, str) else None
        return address is not None and (kind_of(address) is None or (address, port) in self._given)

    def _refuse(self, event: str) -> None:
        self.refused = self.refused or not self._cut
        raise ConnectionRefusedError(f"{event} isn't possible here")

    def _remember(self, connecting: socket.socket) -> None:
        """By a descriptor of our own: TLS takes the first one over."""
        with self._lock:
            self._sockets.append(socket.socket(fileno=os.dup(connecting.fileno())))

    def _let_go(self) -> None:
        with self._lock:
            for one in self._sockets:
                one.close()
            self._sockets.clear()


_inside: ContextVar[Fence | None] = ContextVar("cronty_fence", default=None)
_unlogged: ContextVar[bool] = ContextVar("cronty_unlogged", default=False)
_standing = threading.Lock()
_hooked = False


def _stand_guard() -> None:
    """The hook is set with the first fenced call, because there is no taking it back."""
    global _hooked
    with _standing:
        if not _hooked:
            sys.addaudithook(_on_event)
            _hooked = True


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if (event in _CONNECTING or event in _LEAVING) and (fence := _inside.get()) is not None:
        fence.check(event, arguments)


@contextmanager
def unlogged() -> Generator[None]:
    """What is logged meanwhile is dropped: libraries log URLs, and what other sides answer."""
    for known in [logging.root, *list(logging.root.manager.loggerDict.values())]:
        if isinstance(known, logging.Logger):
            known.addFilter(_is_logged)  # adding it twice changes nothing
    token = _unlogged.set(True)
    try:
        yield
    finally:
        _unlogged.reset(token)


def _is_logged(_record: logging.LogRecord) -> bool:
    return not _unlogged.get()
