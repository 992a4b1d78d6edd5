"""The folder of the background service: its spec, the pid files of its two processes, and its log.

A pid alone doesn't prove that a process is alive, because the number may be reused. So each process holds a lock on its
pid file, which the kernel releases however the process ends. The file is locked before it gets its name, so a locked
file always has the right pid in it.
"""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, cast

import orjson

from cronty.own_files import NotOurs, read_own
from cronty.store.local import NoDatabase
from cronty.store.private_file import BadPrivateFile, private_folder

Role = Literal["keeper", "serving"]
Kept = Literal["systemd", "launchd", "background"]

MAX_LOGGED: Final = 4 * 1024 * 1024
"""Size in bytes at which the log is rotated; one old log is kept."""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """The options of `cronty up`, kept until `cronty down`.

    `arguments` are those of `cronty serve`; `environment` is all that the service gets of the shell's variables;
    `python` runs it, and `version` is Cronty's.
    """

    arguments: list[str]
    url: str
    kept_by: Kept
    folder: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    python: str = sys.executable
    version: str = ""

    def same_as(self, other: "ServiceSpec") -> bool:
        """Whether both describe the same service; only CRONTY_ variables are compared."""
        return (self.arguments, self.kept_by, _own(self.environment), self.python, self.version) == (
            other.arguments,
            other.kept_by,
            _own(other.environment),
            other.python,
            other.version,
        )


@dataclass(frozen=True, slots=True)
class Alive:
    """A live process; `starts` is how often the keeper has started the server."""

    pid: int
    since: datetime
    starts: int = 1


class ServiceFolder:
    """The folder `service` in the data folder; each data folder has one service."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.path = private_folder(data_dir) / "service"
        self.log = self.path / "service.log"

    def make(self) -> None:
        try:
            private_folder(self._data_dir, make=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
            self.path.chmod(0o700)  # the spec may hold secrets
        except OSError as error:
            raise NoDatabase(
                f"The folder {self.path} can't be used: {error}. Set CRONTY_DATA_DIR to another one."
            ) from error

    # -- the spec -----------------------------------------------------------------------------------------------

    def spec(self) -> ServiceSpec | None:
        try:
            return ServiceSpec(**orjson.loads(read_own(self.path / "spec.json")))
        except NotOurs as others:
            raise BadPrivateFile(f"{self.path / 'spec.json'} {others.flaw}. Fix it with: {others.mend}") from None
        except (OSError, orjson.JSONDecodeError, TypeError):
            return None

    def save_spec(self, spec: ServiceSpec) -> None:
        self._write(self.path / "spec.json", orjson.dumps(asdict(spec), option=orjson.OPT_INDENT_2))

    def remove_spec(self) -> None:
        (self.path / "spec.json").unlink(missing_ok=True)

    @property
    def unwanted(self) -> bool:
        """Whether `cronty down` was the last that was asked for: then no client starts the service."""
        return (self.path / "down").exists()

    def mark_unwanted(self, unwanted: bool) -> None:
        if unwanted:
            (self.path / "down").touch()
        else:
            (self.path / "down").unlink(missing_ok=True)

    def working_folder(self, spec: ServiceSpec) -> Path:
        """The working folder of the service: where `cronty up` was run, or this folder if that is gone."""
        return started_in if (started_in := Path(spec.folder)).is_dir() else self.path

    # -- processes ----------------------------------------------------------------------------------------------

    def alive(self, role: Role) -> Alive | None:
        """The process in this role, if it is alive."""
        try:
            file = os.open(self.path / f"{role}.pid", os.O_RDWR)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            facts = cast("dict[str, int]", orjson.loads(os.read(file, 4096)))
            return Alive(facts["pid"], datetime.fromtimestamp(facts["since"], UTC), facts["starts"])
        finally:
            os.close(file)
        return None

    def is_served_by_us(self) -> bool:
        """Whether this process is the server of the service."""
        return (serving := self.alive("serving")) is not None and serving.pid == os.getpid()

    def mark_portless(self, portless: bool) -> None:
        """Called by the server: whether it fires without its port, which another program has."""
        if portless:
            self._write(self.path / "portless", str(os.getpid()).encode())
        else:
            (self.path / "portless").unlink(missing_ok=True)

    def is_portless(self) -> bool:
        """Whether the server that is alive has said so."""
        try:
            said = (self.path / "portless").read_text(encoding="ascii")
        except OSError:
            return False
        return (serving := self.alive("serving")) is not None and said == str(serving.pid)

    def prepare(self, role: Role) -> tuple[int, Path]:
        """A locked pid file, still empty and unnamed until `announce`; the lock belongs to its descriptor."""
        file, name = tempfile.mkstemp(prefix=f"{role}.new-", dir=self.path)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file, Path(name)

    def announce(self, role: Role, file: int, name: Path, starts: int = 1) -> None:
        """Called by the process that has this role from now on."""
        now = int(datetime.now(UTC).timestamp())
        os.write(file, orjson.dumps({"pid": os.getpid(), "since": now, "starts": starts}))
        os.rename(name, self.path / f"{role}.pid")

    @contextmanager
    def lock(self, name: str = "lock") -> Generator[None]:
        """Only one process at a time may change this folder."""
        file = os.open(self.path / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    # -- the log ------------------------------------------------------------------------------------------------

    def open_log(self) -> int:
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def bound_log(self) -> None:
        """Rotate a long log. It is emptied in place, because the server keeps it open for appending."""
        with suppress(FileNotFoundError):
            if self.log.stat().st_size > MAX_LOGGED:
                shutil.copyfile(self.log, self.path / "service.log.1")
                os.truncate(self.log, 0)

    def last_lines(self, count: int = 8) -> list[str]:
        try:
            with open(self.log, "rb") as opened:
                opened.seek(max(0, self.log.stat().st_size - 16_384))
                lines = opened.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        return [line for line in lines if line.strip()][-count:]

    def _write(self, path: Path, content: bytes) -> None:
        """Write the whole file or nothing, readable only by this user."""
        file, name = tempfile.mkstemp(dir=self.path)
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
        os.rename(name, path)


def _own(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("CRONTY_")}


def url_of(host: str, port: int) -> str:
    """The URL on this machine of a server that listens there."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"
