"""Three nodes of PostgreSQL under Patroni, and the etcd they agree by; all on loopback."""

import asyncio
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import asyncpg

from chaos.failover.plan import Plan

AWAY: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
FIRST_SAFE_OVER_V3: Final = (3, 1)
"""Older ones let a leader that wakes up take the lock back over etcd's API v3 (patroni#2689): writes are lost."""


class Trouble(Exception):
    """The cluster didn't do what it was asked to; nothing is said about Cronty."""


def get(url: str, data: bytes | None = None, timeout: float = 2.0) -> tuple[int | None, str]:
    """Status and text; None as status if nobody answered in time."""
    try:
        request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode(errors="replace")
    except (OSError, ValueError) as error:
        return None, type(error).__name__


def send(pids: Iterable[int | None], number: signal.Signals) -> None:
    for pid in pids:
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


class Node:
    """One PostgreSQL and its Patroni."""

    def __init__(self, number: int, plan: Plan, folder: Path) -> None:
        self.name, self._plan = f"n{number}", plan
        self.rest, self.port = plan.port + 10 + number, plan.port + 20 + number
        self._folder = folder / self.name
        self._data = self._folder / "data"
        self._patroni: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/cronty?sslmode=disable"

    def configure(self, over: str) -> None:
        self._folder.mkdir(mode=0o700)
        path = self._folder / "patroni.yml"  # JSON is YAML
        path.write_text(json.dumps(self._configuration(over), indent=1))
        for place in (self._folder, path):
            shutil.chown(place, self._plan.user)

    def _configuration(self, over: str) -> dict[str, object]:
        plan = self._plan
        logins = {"superuser": "postgres", "replication": "replicator", "rewind": "rewinder"}
        trusted = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
        settings = {
            "max_connections": 200, "shared_buffers": "128MB", "wal_keep_size": "512MB", "max_wal_size": "1GB",
            "unix_socket_directories": str(self._folder), "log_min_messages": "warning", "logging_collector": "off",
        }  # fmt: skip
        here = f"127.0.0.1:{self.rest}"
        return {
            "scope": "cronty", "name": self.name,
            "restapi": {"listen": here, "connect_address": here},
            over: {"host": f"127.0.0.1:{plan.port}"},
            "bootstrap": {
                "dcs": {
                    "ttl": plan.ttl, "loop_wait": plan.loop_wait, "retry_timeout": plan.loop_wait,
                    "maximum_lag_on_failover": 64 * 1024 * 1024, "synchronous_mode": plan.sync,
                    "postgresql": {
                        "use_pg_rewind": True, "use_slots": True, "pg_hba": trusted, "parameters": settings,
                    },
                },
                "initdb": [{"encoding": "UTF8"}, {"auth": "trust"}, "data-checksums"],
                "pg_hba": trusted,
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self._data), "bin_dir": str(plan.programs()),
                "authentication": {kind: {"username": name, "password": "p"} for kind, name in logins.items()},
                "pgpass": str(self._folder / "pgpass"),
                "parameters": {"unix_socket_directories": str(self._folder)},
            },
        }  # fmt: skip

    def start(self) -> None:
        with open(self._folder / "patroni.log", "ab") as log:
            self._patroni = subprocess.Popen(
                ["patroni", str(self._folder / "patroni.yml")], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                user=self._plan.user, group=pwd.getpwnam(self._plan.user).pw_gid, extra_groups=[],
                start_new_session=True, cwd=self._folder,
                env={"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": str(self._folder), "LANG": "C.UTF-8"},
            )  # fmt: skip

    def patroni(self) -> int | None:
        return None if self._patroni is None else self._patroni.pid

    def postmaster(self) -> int | None:
        with suppress(OSError, ValueError, IndexError):
            pid = int((self._data / "postmaster.pid").read_text().split()[0])
            if "postgres" in Path(f"/proc/{pid}/comm").read_text():
                return pid
        return None

    def backends(self) -> dict[int, str]:
        """The postmaster's children, with their titles."""
        postmaster, found = self.postmaster(), dict[int, str]()
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError, IndexError, ValueError):
                if postmaster and int(path.read_text().rsplit(")", 1)[1].split()[1]) == postmaster:
                    title = (path.parent / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(path.parent.name)] = title.decode(errors="replace")
        return found

    def kill(self) -> None:
        """kill -9, Patroni first so that it can't start PostgreSQL again."""
        postmaster = self.postmaster()
        if self._patroni is not None:
            self._patroni.kill()
            self._patroni.wait()
        send([postmaster], signal.SIGKILL)

    def close(self) -> None:
        everything = {self.patroni(), self.postmaster(), *self.backends()}
        send(everything, signal.SIGCONT)
        self.kill()
        send(everything - {self.patroni()}, signal.SIGKILL)

    async def ask(self, question: str, *arguments: object, database: str = "cronty", timeout: float = 3) -> list[Any]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=self.port, user="postgres", database=database, timeout=timeout, ssl=False,
            server_settings={"application_name": "chaos"},
        )  # fmt: skip
        try:
            return await connection.fetch(question, *arguments, timeout=max(timeout, 60))
        finally:
            connection.terminate()

    async def is_primary(self, timeout: float = 1) -> bool:
        with suppress(*AWAY):
            return not (await self.ask("select pg_is_in_recovery()", database="postgres", timeout=timeout))[0][0]
        return False


class Cluster:
    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan, self._folder = plan, folder
        self.nodes = [Node(number, plan, folder) for number in (1, 2, 3)]
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        self.url = f"postgresql://cronty@{hosts}/cronty?target_session_attrs={plan.attrs}&sslmode=disable"
        self._etcd: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        over = "etcd3" if _patroni_version() >= FIRST_SAFE_OVER_V3 else "etcd"
        self._start_etcd(old_interface=over == "etcd")
        for node in self.nodes:
            node.configure(over)
        first = self.nodes[0]
        first.start()
        await until(lambda: self.leader() is first, 90, "the first node to lead")
        for node in self.nodes[1:]:
            node.start()
        await self.whole()
        await first.ask("create role cronty login createrole", database="postgres")
        await first.ask("create database cronty owner cronty", database="postgres")

    def _start_etcd(self, *, old_interface: bool) -> None:
        clients, peers = (f"http://127.0.0.1:{self._plan.port + one}" for one in (0, 1))
        with open(self._folder / "etcd.log", "ab") as log:
            self._etcd = subprocess.Popen(
                ["etcd", "--data-dir", str(self._folder / "etcd"), "--listen-client-urls", clients,
                 "--advertise-client-urls", clients, "--listen-peer-urls", peers,
                 "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
                 *(["--enable-v2=true"] if old_interface else [])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def members(self) -> list[dict[str, Any]]:
        for node in self.nodes:
            status, text = get(f"http://127.0.0.1:{node.rest}/cluster", timeout=1)
            if status == 200:
                return json.loads(text)["members"]
        return []

    def leader(self) -> Node | None:
        for node in self.nodes:
            if get(f"http://127.0.0.1:{node.rest}/primary", timeout=1)[0] == 200:
                return node
        return None

    async def primary(self) -> Node:
        """The node that takes writes; there must be one."""
        for node in self.nodes:
            if await node.is_primary(3):
                return node
        raise Trouble("there is no primary")

    async def whole(self, patience: float = 150) -> None:
        """Wait for one leader and two replicas that follow it closely, on one timeline."""

        def good() -> bool:
            members = self.members()
            roles = [str(one["role"]) for one in members]
            close = [one for one in members if isinstance(one.get("lag"), int) and one["lag"] < 1_000_000]
            synced = not self._plan.sync or "sync_standby" in roles
            same = len({one.get("timeline") for one in members}) == 1
            return roles.count("leader") == 1 and len(close) == 2 and synced and same

        await until(good, patience, "a whole cluster")

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        if self._etcd:
            self._etcd.kill()
            self._etcd.wait()


async def until(condition: Callable[[], bool], patience: float, what: str) -> None:
    ends = time.monotonic() + patience
    while time.monotonic() < ends:
        if await asyncio.to_thread(condition):
            return
        await asyncio.sleep(0.25)
    raise Trouble(f"waited {patience:g} s in vain for {what}")


def _patroni_version() -> tuple[int, ...]:
    said = subprocess.run(["patroni", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])
