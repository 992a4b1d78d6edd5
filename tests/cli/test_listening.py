"""How `cronty serve` listens."""

import socket

from cronty.cli.listening import listen


def test_what_it_accepts_sends_at_once() -> None:
    [listening] = listen("127.0.0.1", 0, 5)
    with listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
