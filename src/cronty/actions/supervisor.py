"""Stands between the service and a program it starts: holds the program to its limits, and ends all it has started.

It runs as a script of its own, on the standard library alone, so nothing of the service is in its memory. A program
that isn't trusted can't break out of its session: whatever loses its parent comes to the supervisor, which ends it. It
learns from one socket that the service is gone (the socket ends, also after a kill -9) and says there how the program
ended. Where the service is root the program gets a user of its own; where it isn't, mounts of its own (`_furnish`), in
which the folders of the service are empty. In either case its processes get numbers and shared memory of their own: it
can't name ours, so it can't signal us or the service, and all of them end at one blow. Whether the system allows that
is asked once, when the service starts (`probe`). From then on a program that can't be kept apart isn't started:
somebody may have used up what there is.
"""

import ctypes
import errno
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

# Of prctl, unshare and mount, which the standard library doesn't name in every version.
_PDEATHSIG: Final = 1
_SUBREAPER: Final = 36
_NO_NEW_PRIVILEGES: Final = 38
_DUMPABLE: Final = 4
_NEW_MOUNTS: Final = 0x00020000
_NEW_SHARED_MEMORY: Final = 0x08000000
_NEW_USER: Final = 0x10000000
_NEW_PROCESSES: Final = 0x20000000
_READ_ONLY: Final = 1
_NO_SETUID_NO_DEVICES: Final = 2 | 4
_PLAIN: Final = 2 | 4 | 8
_BIND: Final = 4096
_BIND_THROUGHOUT: Final = 4096 | 16384
_CHANGE: Final = 32
_RELATIVE_TIMES: Final = 1 << 21
_PRIVATE_THROUGHOUT: Final = 16384 | 1 << 18

_LANDLOCK_CREATE: Final = 444
_LANDLOCK_RESTRICT: Final = 446
_ABSTRACT_SOCKETS: Final = 1

_NOT_ALLOWED: Final = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL)
_KINDS: Final = ("user", "mnt", "pid", "ipc", "net", "uts", "cgroup", "time")
_MOST: Final = "/proc/sys/user/max_{}_namespaces"
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/dev/shm")

_LINUX: Final = sys.platform == "linux"
_PROCESSES: Final = os.open("/proc", os.O_RDONLY) if _LINUX else -1
"""As the service sees them, whatever is mounted there later."""

_NESTED: Final = 32
"""How many namespaces a program may make, for a sandbox of its own: with all of them, others would get none."""


def main(text: str) -> None:
    given: dict[str, Any] = json.loads(text)
    service = socket.socket(fileno=given["socket"])
    service.set_inheritable(False)
    bell, ring = socket.socketpair()
    ring.setblocking(False)
    signal.set_wakeup_fd(ring.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _ring)
    if _LINUX and given["confined"]:  # a command of the operator's may leave a daemon behind, as under cron
        _control(_SUBREAPER, 1)
    first = None
    try:
        if given["apart"]:
            _part()
            if given["hidden"]:
                _furnish(given)
            first = _first_process()
        program = _start(given)
    except (OSError, subprocess.SubprocessError) as error:
        _say(service, {"error": str(error)})
        os._exit(0)  # with the first process, if there is one
    said = _watch(program.pid, service, bell, given["timeout"], given["grace"])
    if first is not None:
        with suppress(OSError):
            os.kill(first, signal.SIGKILL)
    _end_everything(program.pid, given["grace"])
    _say(service, said)
    os._exit(0)  # nothing is left to do, and what Popen does at the end would look for a child that is gone


def probe() -> str:
    """Why this system doesn't let programs be kept apart from us; empty if it does."""
    if not _LINUX:
        return "this isn't Linux"
    try:
        _part()
        if os.geteuid() != 0:
            _mount(None, "/tmp", "tmpfs", _NO_SETUID_NO_DEVICES)
        os.kill(_first_process(), signal.SIGKILL)
    except OSError as error:
        if error.errno in _NOT_ALLOWED or _none_at_all():
            return error.strerror or str(error)
    return ""


def _ring(_number: int, _frame: object) -> None:
    """That there is a handler is enough: then the bell is rung."""


def _part() -> None:
    """Mounts, shared memory and, for what we start, numbers of processes that are our own; if we aren't root, in a
    namespace in which we may change them."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    own = 0 if uid == 0 else _NEW_USER
    _require(libc.unshare(own | _NEW_MOUNTS | _NEW_SHARED_MEMORY | _NEW_PROCESSES), "namespaces")
    if own:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as opened:
                opened.write(text)
    _mount(None, "/", None, _PRIVATE_THROUGHOUT)


def _first_process() -> int:
    """The first of a family of processes with numbers of their own; what we start from now on belongs to it.

    It takes in whoever loses a parent. When it is killed the system kills the whole family, and no member can do that.
    """
    ready, told = os.pipe()
    if (pid := os.fork()) != 0:
        os.close(told)
        with open(ready, "rb") as opened:
            flaw = opened.read()
        if flaw:
            number = int(flaw)
            raise OSError(number, f"/proc can't be mounted: {os.strerror(number)}")
        return pid
    _control(_PDEATHSIG, signal.SIGKILL)
    _control(_DUMPABLE, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    try:  # its members find themselves in /proc by their own numbers, and nobody else
        _mount("proc", "/proc", "proc", _PLAIN)
    except OSError as error:
        os.write(told, str(error.errno).encode())
        os._exit(1)
    os.closerange(0, 1024)  # the pipes of the program among them
    while True:
        signal.pause()


def _start(given: dict[str, Any]) -> "subprocess.Popen[bytes]":
    limits: dict[str, int] = given["limits"]
    if "NPROC" in limits and _LINUX and given["uid"] is None and not given["hidden"]:
        limits["NPROC"] += _threads_of_our_user()  # they are counted together
    if _LINUX:  # nobody looks into us, nor takes our descriptors
        _control(_DUMPABLE, 0)

    def confine() -> None:
        if _LINUX:  # after the user has changed, which would undo it
            _control(_PDEATHSIG, signal.SIGKILL)
            if given["confined"]:
                _control(_NO_NEW_PRIVILEGES, 1)
                _leave_abstract_sockets()
        os.chdir(given["workdir"] or ".")  # as that user, who may not be able to
        for name, most in limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            ceiling = resource.getrlimit(kind)[1]
            most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
            with suppress(ValueError, OSError):  # macOS knows fewer
                resource.setrlimit(kind, (most, most))

    options: dict[str, Any] = {"start_new_session": True, "preexec_fn": confine}
    if given["uid"] is not None:
        options |= {"user": given["uid"], "group": given["gid"], "extra_groups": given["groups"]}
    # One thread and nothing of the service in it: here a function between fork and exec does no harm.
    try:
        return subprocess.Popen[bytes](given["command"], **options)
    except subprocess.SubprocessError as error:  # which says no more than that the function failed
        raise OSError(errno.EACCES, f"its user can't get into its workdir {given['workdir']}") from error


def _leave_abstract_sockets() -> None:
    """Let it call no abstract socket but those of its own programs; a Linux before 6.12 can't."""
    libc = ctypes.CDLL(None)
    handled = struct.pack("QQQ", 0, 0, _ABSTRACT_SOCKETS)  # of files and ports nothing
    rules = libc.syscall(_LANDLOCK_CREATE, handled, ctypes.c_size_t(len(handled)), 0)
    if rules >= 0:
        libc.syscall(_LANDLOCK_RESTRICT, rules, 0)
        os.close(rules)


def _threads_of_our_user() -> int:
    total = 0
    for name in os.listdir(_PROCESSES):
        if name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                with open(os.open(f"{name}/status", os.O_RDONLY, dir_fd=_PROCESSES), encoding="utf-8") as opened:
                    said = dict(line.split(":", 1) for line in opened if ":" in line)
                if int(said["Uid"].split()[0]) == os.getuid():
                    total += int(said["Threads"])
    return total


def _watch(
    program: int, service: socket.socket, bell: socket.socket, timeout: float, grace: float
) -> dict[str, object]:
    """Wait for its end, for its time to be up, or for the service to be gone or to want its end."""
    ends, asked = time.monotonic() + timeout, False
    late = False
    while True:
        status = _reap(program)
        if status is not None:
            return {"status": status, "late": late}
        left = max(0.0, ends - time.monotonic())
        ready, _, _ = select.select([bell] if asked else [bell, service], [], [], min(left, 3600.0))
        if bell in ready:
            bell.recv(4096)
        over = time.monotonic() >= ends
        if asked and over:
            return {"status": -signal.SIGKILL, "late": late}
        if not asked and (over or service in ready):
            asked, late, ends = True, over, time.monotonic() + grace
            with suppress(OSError):
                os.killpg(program, signal.SIGTERM)


def _reap(program: int) -> int | None:
    """Everything that has ended; the exit status of the program if it is among it."""
    found = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                found = os.waitstatus_to_exitcode(status)
    return found


def _end_everything(program: int, grace: float) -> None:
    """The program's group, and whatever came to us because it had left that group and lost its parent."""
    ends = time.monotonic() + grace
    while True:
        with suppress(OSError):
            os.killpg(program, signal.SIGKILL)
        for pid in _children():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _reap(program)
        if not _children() or time.monotonic() > ends:
            return
        time.sleep(0.005)


def _children() -> list[int]:
    """By what the system says, because a program can lie about anything else."""
    found: list[int] = []
    if _LINUX:
        for name in os.listdir(_PROCESSES):
            if name.isdigit():
                with suppress(OSError):  # it has ended meanwhile
                    with open(os.open(f"{name}/stat", os.O_RDONLY, dir_fd=_PROCESSES), "rb") as opened:
                        fields = opened.read().rpartition(b")")[2].split()
                    if int(fields[1]) == os.getpid():
                        found.append(int(name))
    return found


def _furnish(given: dict[str, Any]) -> None:
    """What the program finds where, in the order in which it has to be done; whatever fails, it isn't started."""
    hidden: list[tuple[str, int, int]] = given["hidden"]
    kept: list[str] = given["kept"]
    workdir: str = given["workdir"]
    _give_temporary_folders(given["limits"].get("DATA", 1 << 30), [workdir, *kept])
    _fasten([*(path for path, _, _ in hidden), *kept])
    for path in kept:
        _make_read_only(path, workdir)
    for path, device, inode in hidden:
        _hide(path, device, inode, workdir)
    for kind in _KINDS:
        with suppress(OSError), open(_MOST.format(kind), "w", encoding="ascii") as opened:
            opened.write(str(_NESTED))


def _give_temporary_folders(size: int, used: Iterable[str]) -> None:
    """One empty folder for all of them, because everybody's sockets and shared memory are there. What is `used` and
    stood in one stands there again: where it is by itself, not where a link leads."""
    places = {os.path.realpath(place) for place in _TEMPORARY if os.path.isdir(place)}
    opened = {os.open(path, os.O_PATH) for path in used if os.path.exists(path)}
    back = {os.readlink(f"/proc/self/fd/{one}"): one for one in opened}
    first, *others = sorted(places)
    _mount(None, first, "tmpfs", _NO_SETUID_NO_DEVICES, f"size={size},mode=1777")
    for place in others:
        _mount(first, place, None, _BIND)
    for path, source in sorted(back.items()):
        if _is_temporary(path):
            if os.path.isdir(f"/proc/self/fd/{source}"):
                os.makedirs(path, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.close(os.open(path, os.O_CREAT, 0o600))
            _mount(f"/proc/self/fd/{source}", path, None, _BIND_THROUGHOUT)
        os.close(source)


def _is_temporary(path: str) -> bool:
    return any(path.startswith(f"{os.path.realpath(place)}/") for place in _TEMPORARY)


def _fasten(paths: Iterable[str]) -> None:
    """Keep the program from moving any folder on the way there: the next one would find another in its place. A folder
    that is a mount can be written in, and not be renamed."""
    above: set[str] = set()
    for path in paths:
        while (path := os.path.dirname(path)) != "/":
            if os.path.isdir(path) and _is_ours(os.path.dirname(path)):
                above.add(path)
    for path in sorted(above):
        _mount(path, path, None, _BIND_THROUGHOUT)


def _is_ours(path: str) -> bool:
    """Whether we may change what is in it, or can give ourselves the right."""
    return os.access(path, os.W_OK) or os.stat(path).st_uid == os.geteuid()


def _make_read_only(path: str, workdir: str) -> None:
    """Unless the program is to work there."""
    if path == "/" or not os.path.exists(path) or f"{os.path.realpath(workdir)}/".startswith(f"{path}/"):
        return
    _mount(path, path, None, _BIND_THROUGHOUT)
    # What else it is mounted with has to be said again. The names of flags differ in one place.
    known = os.statvfs(path).f_flag
    flags = known & (_PLAIN | os.ST_NOATIME | os.ST_NODIRATIME) | (_RELATIVE_TIMES if known & os.ST_RELATIME else 0)
    _mount(None, path, None, _CHANGE | _BIND | _READ_ONLY | flags)


def _hide(path: str, device: int, inode: int, workdir: str) -> None:
    """Put an empty folder or file there.

    With namespaces of its own a program may move the folder all the same, and the next one must not find it somewhere
    else. So it, for a file the folder it is in, must be what it was when the service started, as `device` and `inode`
    say, which are 0 if it wasn't there; and nobody can put another there meanwhile, because we hold it open.
    """
    opened = os.open(path, os.O_PATH) if os.path.exists(path) else None
    held = f"/proc/self/fd/{opened}"
    is_folder = opened is not None and os.path.isdir(held)
    place = held if is_folder else os.path.dirname(path)
    found = os.stat(place) if os.path.isdir(place) else None
    out_of_reach = _is_temporary(path) and not path.startswith(f"{os.path.realpath(workdir)}/")
    is_it = found is not None and (found.st_dev, found.st_ino) == (device, inode)
    if inode and not is_it and not out_of_reach and _can_be_moved(path):
        raise OSError(errno.ESTALE, f"{path} isn't what it was when the service started: put it back, or restart")
    if is_folder:
        _mount(None, held, "tmpfs", _READ_ONLY | _NO_SETUID_NO_DEVICES, "size=4k,mode=0555")
    elif opened is not None:
        _mount("/dev/null", held, None, _BIND)
    if opened is not None:
        os.close(opened)


def _can_be_moved(path: str) -> bool:
    while (path := os.path.dirname(path)) != "/":
        if not os.path.isdir(path) or _is_ours(path):
            return True
    return False


def _none_at_all() -> bool:
    """Whether the system's owner has set the number of namespaces of a kind that we need to none."""
    for kind in _KINDS[:4]:
        with suppress(OSError, ValueError), open(_MOST.format(kind), encoding="ascii") as opened:
            if int(opened.read()) == 0:
                return True
    return False


def _mount(source: str | None, place: str, kind: str | None, flags: int, options: str | None = None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    texts = [None if one is None else os.fsencode(one) for one in (source or "none", place, kind, options)]
    _require(libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"what it finds at {place}")


def _require(failed: int, what: str) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, f"{what} can't be made: {os.strerror(number)}")


def _control(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _say(service: socket.socket, said: dict[str, object]) -> None:
    with suppress(OSError):  # it is gone
        service.sendall(json.dumps(said).encode())


if __name__ == "__main__":
    if sys.argv[1] == "probe":
        sys.stdout.write(probe())
    else:
        main(sys.argv[1])
