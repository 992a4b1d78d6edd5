"""The folder of a service that stays up: what was asked for, who keeps it up, what serves, and its log.

Whether a process lives is never told by its number, which may be another's by now. Each holds a lock on a file that
has its number in it, which the kernel takes back however it ends. The file is locked before it gets its name, so
whoever finds it locked finds the right number in it.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, cast

import orjson

from cronty.store.local import NoDatabase

Role = Literal["keeper", "serving"]
Kept = Literal["systemd", "launchd", "background"]

MOST_LOGGED: Final = 4 * 1024 * 1024
"""Bytes of a log before it moves aside; the one before it is kept."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What `cronty up` was asked for; it stands until `cronty down`.

    `arguments` are those of `cronty serve`; `environment` is all that the service sees of the one it was asked in.
    """

    arguments: list[str]
    url: str
    kept_by: Kept
    folder: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def same_as(self, other: "Wish") -> bool:
        """Whether both ask for the same service; what else a terminal has set makes no difference."""
        return (self.arguments, self.kept_by, _own(self.environment)) == (
            other.arguments,
            other.kept_by,
            _own(other.environment),
        )


@dataclass(frozen=True, slots=True)
class Alive:
    """A process that is alive; `starts` is how often the server has been started before it stayed."""

    pid: int
    since: datetime
    starts: int = 1


class Place:
    """The service's own folder among the data; one service for each."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir.expanduser().resolve() / "service"
        self.log = self.folder / "service.log"

    def make(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o700)  # what was asked for may hold secrets
        except OSError as error:
            raise NoDatabase(
                f"The folder {self.folder} can't be used: {error}. Set CRONTY_DATA_DIR to another one."
            ) from error

    # -- what was asked for -------------------------------------------------------------------------------------

    def wish(self) -> Wish | None:
        try:
            return Wish(**orjson.loads((self.folder / "wish.json").read_bytes()))
        except (OSError, orjson.JSONDecodeError, TypeError):
            return None

    def ask_for(self, wish: Wish) -> None:
        self._write(self.folder / "wish.json", orjson.dumps(asdict(wish), option=orjson.OPT_INDENT_2))

    def ask_for_nothing(self) -> None:
        (self.folder / "wish.json").unlink(missing_ok=True)

    def folder_of(self, wish: Wish) -> Path:
        """Where the service works: where it was asked for, or here if that is gone."""
        return asked if (asked := Path(wish.folder)).is_dir() else self.folder

    # -- who lives ----------------------------------------------------------------------------------------------

    def alive(self, role: Role) -> Alive | None:
        """The process in this role, if it lives."""
        try:
            file = os.open(self.folder / f"{role}.pid", os.O_RDWR)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            said = cast("dict[str, int]", orjson.loads(os.read(file, 4096)))
            return Alive(said["pid"], datetime.fromtimestamp(said["since"], UTC), said["starts"])
        finally:
            os.close(file)
        return None

    def prepare(self, role: Role) -> tuple[int, Path]:
        """A locked file that is yet to be filled and named with `announce`; the lock goes with its descriptor."""
        file, name = tempfile.mkstemp(prefix=f"{role}.new-", dir=self.folder)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file, Path(name)

    def announce(self, role: Role, file: int, name: Path, starts: int = 1) -> None:
        """Called by the process that has this role from now on."""
        now = int(datetime.now(UTC).timestamp())
        os.write(file, orjson.dumps({"pid": os.getpid(), "since": now, "starts": starts}))
        os.rename(name, self.folder / f"{role}.pid")

    @contextmanager
    def turn(self) -> Generator[None]:
        """One process at a time changes anything here."""
        file = os.open(self.folder / "turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    # -- the log ------------------------------------------------------------------------------------------------

    def open_log(self) -> int:
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def bound_log(self) -> None:
        """Move a long log aside. It is emptied in place, because the server holds it open, and appends."""
        with suppress(FileNotFoundError):
            if self.log.stat().st_size > MOST_LOGGED:
                shutil.copyfile(self.log, self.folder / "service.log.1")
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
        """Whole or not at all, and for nobody else's eyes."""
        file, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
        os.rename(name, path)


def _own(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("CRONTY_")}


def url_of(host: str, port: int) -> str:
    """Where a server that listens there is called from this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"
