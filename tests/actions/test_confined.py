"""What a hostile program gets to that runs as the same user as the service: a real supervisor, a real program.

Root's tests run both as somebody who isn't root.
"""

import errno
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pytest

from cronty.actions import supervisor
from tests.agents.stage import IS_ROOT, python_for_agents
from tests.patience import PATIENCE

PLAIN_USER: Final = 54321
AS_PLAIN_USER: Final[Mapping[str, Any]] = (
    {"user": PLAIN_USER, "group": PLAIN_USER, "extra_groups": []} if IS_ROOT else {}
)
SECRET: Final = "cronty_key_of_the_owner"


@dataclass
class Home:
    """A home of a plain user, with the data folder of a service in it, and a folder for agents to work in."""

    folder: Path
    python: str
    changes: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def data(self) -> Path:
        return self.folder / ".local/share/cronty"

    @property
    def is_temporary(self) -> bool:
        return self.folder.is_relative_to("/tmp")

    @property
    def work(self) -> Path:
        """In a temporary home, the home itself: nothing but that is put back."""
        return self.folder if self.is_temporary else self.folder / "work"

    @cached_property
    def place(self) -> list[Any]:
        """The data folder, as the service knows it from its start."""
        found = self.data.stat()
        return [str(self.data), found.st_dev, found.st_ino]

    def run(
        self, program: str, *arguments: object, before: Sequence[str] = (), root: bool = False, **changes: object
    ) -> tuple[str, dict[str, Any]]:
        """What a program printed, a text of Python, and what its supervisor said. `before` starts that."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            order = {
                "socket": theirs.fileno(),
                "command": [self.python, "-c", program, *map(str, arguments)],
                "workdir": str(self.work),
                "timeout": PATIENCE,
                "grace": 0.5,
                "confined": True,
                "uid": None,
                "apart": True,
                "hidden": [self.place],
                "kept": [],
                "limits": {"DATA": 1 << 30},
                **self.changes,
                **changes,
            }
            ran = subprocess.run(
                [*before, self.python, "-I", "-S", str(self.folder / "supervisor.py"), json.dumps(order)],
                capture_output=True, check=False, cwd="/", pass_fds=[theirs.fileno()], text=True,
                **({} if root else AS_PLAIN_USER),
            )  # fmt: skip
            theirs.close()
            said = ours.recv(65_536)
        assert said, ran.stderr
        return ran.stdout + ran.stderr, json.loads(said)

    def probe(self, *before: str) -> str:
        """Why programs can't be kept apart, as the supervisor says."""
        command = [*before, self.python, "-I", "-S", str(self.folder / "supervisor.py"), "probe"]
        ran = subprocess.run(command, capture_output=True, check=True, cwd="/", text=True, **AS_PLAIN_USER)
        return ran.stdout


def own(path: Path) -> None:
    if IS_ROOT:
        os.chown(path, PLAIN_USER, PLAIN_USER)


@pytest.fixture
def home(request: pytest.FixtureRequest) -> Generator[Home]:
    python = python_for_agents()
    if python is None:
        pytest.skip("a plain user finds no Python here")
    where = getattr(request, "param", "/srv" if IS_ROOT else Path.home())
    made = Home(Path(tempfile.mkdtemp(prefix="cronty-home-", dir=where)), python)
    try:
        shutil.copy(supervisor.__file__, made.folder)
        (made.folder / "supervisor.py").chmod(0o644)
        made.data.mkdir(parents=True)
        made.work.mkdir(exist_ok=True)
        (made.data / "local.key").write_text(SECRET)
        for path in (made.folder, *made.folder.rglob("*")):
            own(path)
        assert made.place
        if why := made.probe():
            pytest.skip(f"no namespaces here: {why}")
        yield made
    finally:
        shutil.rmtree(made.folder)


anywhere = pytest.mark.parametrize("home", ["/srv" if IS_ROOT else str(Path.home()), "/tmp"], indirect=True)
in_a_temporary_folder = pytest.mark.parametrize("home", ["/tmp"], indirect=True)


MOVE = """
import os, sys
folder = sys.argv[1]
for path in (folder + "/.local/share", folder + "/.local", folder):
    try:
        os.rename(path, path + "-old")
        os.makedirs(folder + "/.local/share/cronty")
        print("moved", path)
    except OSError as error:
        print(error.strerror)
open(folder + "/.local/share/mine", "w").close()
"""

READ = """
import os, sys
for place, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name == "local.key":
            print(open(os.path.join(place, name)).read())
print("looked")
"""


@anywhere
def test_a_folder_on_the_way_to_ours_cannot_be_moved_and_can_be_written_in(home: Home) -> None:
    printed, _ = home.run(MOVE, home.folder)
    assert "moved" not in printed
    assert (home.folder / ".local/share/mine").exists()
    printed, _ = home.run(READ, home.folder)
    assert printed == "looked\n"


@anywhere
def test_if_it_has_been_moved_all_the_same_the_program_is_not_started(home: Home) -> None:
    home.data.parent.rename(home.folder / ".local/old")
    home.data.mkdir(parents=True)
    own(home.data.parent)
    own(home.data)
    printed, said = home.run(READ, home.folder)
    assert "isn't what it was" in said["error"]
    assert printed == ""


PIVOT = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
uid, gid = os.getuid(), os.getgid()
assert libc.unshare(0x10000000 | 0x00020000) == 0
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
    open(f"/proc/self/{name}", "w").write(text)
folder = os.open(sys.argv[1] + "/.local", os.O_RDONLY)
assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0
os.mkdir("/tmp/old")
assert libc.pivot_root(b"/tmp", b"/tmp/old") == 0
os.chdir("/")
assert libc.umount2(b"/old", 2) == 0  # all mounts are gone for us, and with them what holds the folders
os.rename("share", "old", src_dir_fd=folder, dst_dir_fd=folder)
if sys.argv[2] == "another":
    os.mkdir("share", dir_fd=folder)
    os.mkdir("share/cronty", dir_fd=folder)
print("moved")
"""


@anywhere
@pytest.mark.parametrize("left", ["nothing", "another"])
def test_whoever_moves_it_from_a_namespace_of_its_own_gains_nothing(home: Home, left: str) -> None:
    printed, _ = home.run(PIVOT, home.folder, left)
    if "moved" not in printed:
        pytest.skip(f"it can't be moved here: {printed}")
    printed, said = home.run(READ, home.folder)
    assert printed == ""
    assert "isn't what it was" in said["error"]


CONNECT = """
import os, socket, sys
print(os.path.exists(sys.argv[1]))
open("/tmp/mine", "w").close()
with open("note", "w") as note:
    note.write("kept")
print(sorted(os.listdir("/tmp")))
"""


@anywhere
def test_it_finds_nobodys_sockets_in_temporary_folders_and_keeps_its_own_folder(home: Home) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tmux-", dir="/tmp"))
    folder.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "default"))
        (folder / "default").chmod(0o777)
        printed, _ = home.run(CONNECT, folder / "default")
    shutil.rmtree(folder)
    within = [home.folder.name] if home.is_temporary else []
    assert printed == f"False\n{sorted(['mine', *within])}\n"
    assert (home.work / "note").read_text() == "kept"
    assert not Path("/tmp/mine").exists()


@in_a_temporary_folder
def test_a_working_folder_that_was_swapped_for_a_link_leads_to_nothing_of_ours(home: Home) -> None:
    (home.folder / "link").symlink_to(home.data)
    printed, said = home.run(READ, ".", workdir=str(home.folder / "link"))
    assert SECRET not in printed
    assert "error" in said or printed == "looked\n"


SHARE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(os.listdir("/dev/shm") == os.listdir("/tmp"), libc.shmget(int(os.sys.argv[1]), 0, 0))
"""


def test_it_has_shared_memory_of_its_own(home: Home) -> None:
    libc = supervisor.ctypes.CDLL(None)
    key = 0x63726F6E  # of our own, so that nobody else has it
    there = libc.shmget(key, 4096, 0o1666)
    with tempfile.NamedTemporaryFile(dir="/dev/shm"):
        try:
            printed, _ = home.run(SHARE, key)
        finally:
            libc.shmctl(there, 0, None)  # IPC_RMID
    assert printed == "True -1\n"


CALL = """
import socket, sys
with socket.socket(socket.AF_UNIX) as caller:
    print(caller.connect_ex(chr(0) + sys.argv[1]))
with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as caller:
    own.bind(chr(0) + sys.argv[1] + "-own")
    own.listen()
    print(caller.connect_ex(chr(0) + sys.argv[1] + "-own"))
"""


def test_it_reaches_no_abstract_socket_but_its_own(home: Home) -> None:
    if supervisor.ctypes.CDLL(None).syscall(444, None, 0, 1) < 6:
        pytest.skip("needs a Linux whose Landlock knows abstract sockets: 6.12")
    name = f"cronty-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        printed, _ = home.run(CALL, name)
    assert printed.split() == [str(errno.EPERM), "0"]


WRITE = """
import os, sys
for act in (lambda: open(sys.argv[1] + "/code.py", "w"), lambda: os.rename(sys.argv[1], sys.argv[1] + "2")):
    try:
        act()
        print("changed")
    except OSError as error:
        print(error.strerror)
"""


def test_it_cannot_change_the_code_that_we_run(home: Home) -> None:
    (home.folder / "lib/cronty").mkdir(parents=True)
    (home.folder / "lib/cronty/code.py").write_text("ours")
    for path in (home.folder / "lib", *(home.folder / "lib").rglob("*")):
        own(path)
    printed, _ = home.run(WRITE, home.folder / "lib/cronty", kept=[str(home.folder / "lib")])
    assert printed == "Read-only file system\nRead-only file system\n"
    printed, _ = home.run(WRITE, home.folder / "lib", kept=[str(home.folder / "lib")])
    assert printed == "Read-only file system\nDevice or resource busy\n"


FEW: Final = Path(__file__).parents[1] / "agents/few.py"


@pytest.mark.parametrize(("kind", "flag"), [("mnt", 0x00020000), ("ipc", 0x08000000)])
def test_where_namespaces_are_used_up_it_is_not_started(home: Home, kind: str, flag: int) -> None:
    few = [home.python, "-c", FEW.read_text(), kind, str(flag)]
    assert home.probe(*few, "1") == "", "there are some"
    printed, said = home.run(READ, home.folder, before=[*few, "1"])
    assert (printed, "No space left" in said["error"]) == ("", True)
    assert home.probe(*few, "0"), "there are none"


MOST = """
import os
names = ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup", "time")
print({open(f"/proc/sys/user/max_{name}_namespaces").read().strip() for name in names})
"""


def test_it_cannot_use_up_the_namespaces_of_its_user(home: Home) -> None:
    assert home.run(MOST)[0] == "{'32'}\n"


LIMIT = "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC)[0])"


def test_without_namespaces_its_processes_are_limited_too(home: Home) -> None:
    """By as many more as its user has."""
    printed, _ = home.run(LIMIT, apart=False, hidden=[], limits={"NPROC": 64})
    assert 64 < int(printed) < 64 + len(os.listdir("/proc")) * 100


@pytest.mark.skipif(not IS_ROOT, reason="shows what root's supervisor may do and its program may not")
def test_a_working_folder_behind_a_closed_one_is_not_entered_for_a_user_who_could_not(home: Home) -> None:
    closed = home.folder / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    (home.folder / "link").symlink_to(closed / "inner")
    account: dict[str, Any] = {"uid": PLAIN_USER, "gid": PLAIN_USER, "groups": [], "hidden": []}
    printed, said = home.run(READ, ".", root=True, workdir=str(home.folder / "link"), **account)
    assert printed == ""
    assert "workdir" in said["error"]
