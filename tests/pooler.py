"""A real PgBouncer in front of the tests' PostgreSQL, and the way through it.

`CRONTY_TEST_PGBOUNCER` names the program; else it is looked for where programs are. PgBouncer lets in the server's user
and those that a test names, without a password, over TCP on loopback.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest

from tests.patience import PATIENCE

KEEPS_PREPARED = (1, 21)
"""The version of PgBouncer from which on statements may be prepared in transaction mode."""


@dataclass(frozen=True)
class PgBouncer:
    """Its address, and the server behind it."""

    port: int
    server_url: str

    def url_of(self, url: str) -> str:
        """The same database, through the pooler; as the same user, who needs no password here."""
        parts = urlsplit(url)
        user = quote(unquote(parts.username or dict(parse_qsl(parts.query)).get("user", "postgres")))
        return f"postgresql://{user}@127.0.0.1:{self.port}{parts.path}"


def direct_only(reason: str) -> pytest.MarkDecorator:
    """For a test of what a pooled run (`CRONTY_TEST_POOLED`) can't show."""
    return pytest.mark.skipif("CRONTY_TEST_POOLED" in os.environ, reason=f"through a pooler: {reason}")


def carried() -> dict[str, str]:
    """What must be passed on to a process that gets no other environment, so that it imports what the tests import and
    goes through the pooler as they do."""
    return {name: os.environ[name] for name in ("PYTHONPATH", "CRONTY_TEST_POOLER") if name in os.environ}


def program() -> str | None:
    """Where PgBouncer is, if it is anywhere."""
    beside = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    return os.environ.get("CRONTY_TEST_PGBOUNCER") or shutil.which("pgbouncer", path=beside)


@cache
def version() -> tuple[int, ...]:
    said = subprocess.run([program() or "", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"PgBouncer (\d+)\.(\d+)", said)
    assert found is not None, said
    return int(found[1]), int(found[2])


def need_pgbouncer(*, at_least: tuple[int, int] = (1, 0)) -> None:
    """Skip the test if there is none, or only an old one."""
    if program() is None:
        pytest.skip("PgBouncer isn't installed (Debian's package pgbouncer, or CRONTY_TEST_PGBOUNCER names it)")
    if version() < at_least:
        pytest.skip(f"PgBouncer is {version()[0]}.{version()[1]}, and this needs {at_least[0]}.{at_least[1]} or newer")


@contextmanager
def pgbouncer(server_url: str, *users: str, **settings: object) -> Generator[PgBouncer]:
    """In transaction mode unless told otherwise; stopped in the end."""
    with tempfile.TemporaryDirectory(prefix="cronty-pgbouncer-") as made, socket.socket() as free:
        folder = Path(made)
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        (folder / "users.txt").write_text("".join(f'"{user}" "{word}"\n' for user, word in _logins(server_url, users)))
        (folder / "pgbouncer.ini").write_text(_ini(server_url, folder, {"listen_port": port, **settings}))
        if os.geteuid() == 0:  # PgBouncer refuses to run as root
            for path in (folder, *folder.iterdir()):
                path.chmod(0o755)
        free.close()
        as_other = ["--user", _who_gets_to(_host(server_url))] if os.geteuid() == 0 else []
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                [program() or "", *as_other, str(folder / "pgbouncer.ini")], stderr=log, stdout=log
            )
            try:
                _wait_for(port, process, folder / "log")
                yield PgBouncer(port, server_url)
            finally:
                process.kill()
                process.wait()


def _logins(server_url: str, users: tuple[str, ...]) -> Generator[tuple[str, str]]:
    parts = urlsplit(server_url)
    yield unquote(parts.username or "postgres"), unquote(parts.password or "")
    yield from ((user, "secret") for user in users)


def _host(url: str) -> str:
    parts = urlsplit(url)
    return parts.hostname or dict(parse_qsl(parts.query))["host"]


def _who_gets_to(host: str) -> str:
    """A user without rights; for a server in a folder that is closed to others, whose folder it is."""
    return Path(host).owner() if host.startswith("/") else "nobody"


def _ini(server_url: str, folder: Path, settings: Mapping[str, object]) -> str:
    parts = urlsplit(server_url)
    lines = {
        "listen_addr": "127.0.0.1",
        "unix_socket_dir": "",
        "auth_type": "trust",
        "auth_file": folder / "users.txt",
        "pool_mode": "transaction",
        "max_client_conn": 500,
        "default_pool_size": 20,
        "server_idle_timeout": 5,
        **settings,
    }
    return "\n".join(
        ["[databases]", f"* = host={_host(server_url)} port={parts.port or 5432}", "[pgbouncer]"]
        + [f"{name} = {value}" for name, value in lines.items()]
    )


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < ends, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
