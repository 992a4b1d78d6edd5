"""Inside the fence no forbidden address is connected to, whatever a library does."""

import logging
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address

import pytest

from cronty.actions.fence import Fence
from tests.actions.servers import answer, plain
from tests.patience import PATIENCE

LOCAL = ip_address("127.0.0.1")


def connect(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=5):
        pass


async def test_loopback_is_out_of_reach_unless_it_was_given() -> None:
    async with plain(answer(200)) as server:
        shut = Fence()
        with pytest.raises(ConnectionRefusedError):
            shut.run(lambda: connect("127.0.0.1", server.port))
        assert shut.refused
        other_port = Fence([(LOCAL, server.port + 1)])
        with pytest.raises(ConnectionRefusedError):
            other_port.run(lambda: connect("localhost", server.port))
        given = Fence([(LOCAL, server.port)])
        given.run(lambda: connect("127.0.0.1", server.port))
        assert not given.refused


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "100.64.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1"])
def test_no_private_address_is_connected_to(host: str) -> None:
    with pytest.raises(ConnectionRefusedError, match=r"socket\.connect isn't possible here"):
        Fence().run(lambda: connect(host, 80))


def send_datagram() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("127.0.0.1", 514))


def call_the_machine_itself() -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("/dev/log")


@pytest.mark.parametrize(
    "leave",
    [
        send_datagram,
        call_the_machine_itself,
        lambda: threading.Thread(target=print).start(),
        lambda: subprocess.run(["true"], check=True),
    ],
)
def test_there_is_no_way_around(leave: Callable[[], object]) -> None:
    fence = Fence()
    with pytest.raises((OSError, RuntimeError)):
        fence.run(leave)
    assert fence.refused


async def test_outside_everything_is_as_before() -> None:
    Fence().run(lambda: None)
    async with plain(answer(200)) as server:
        connect("127.0.0.1", server.port)


def test_what_is_logged_inside_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = logging.getLogger("somebody.else")
    Fence().run(lambda: log.error("canary"))
    log.error("after")
    assert [record.getMessage() for record in caplog.records] == ["after"]


def test_a_call_that_waits_for_ever_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        fence = Fence([(LOCAL, port)])

        def wait() -> None:
            asking = HTTPConnection("127.0.0.1", port)
            asking.request("GET", "/")
            with suppress(OSError, HTTPException):
                asking.getresponse()
            asking.close()

        silent.settimeout(PATIENCE)
        waiting = threading.Thread(target=lambda: fence.run(wait))
        waiting.start()
        connected, _ = silent.accept()
        with connected:
            connected.recv(100)  # it has asked, and gets no answer
            fence.cut()
            waiting.join(PATIENCE)
            assert not waiting.is_alive()
    with pytest.raises(ConnectionRefusedError):
        fence.run(lambda: connect("127.0.0.1", port))
    assert not fence.refused
