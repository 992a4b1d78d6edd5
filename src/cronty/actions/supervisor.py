"""Stands between the service and a program it starts: holds the program to its limits, and ends all it has started.

It runs as a script of its own, on the standard library alone, so nothing of the service is in its memory. A program
that isn't trusted can't break out of its session: whatever loses its parent comes to the supervisor, which ends it. It
learns from one socket that the service is gone (the socket ends, also after a kill -9) and says there how the program
ended. Where the service is root the program gets a user of its own; where it isn't, a mount namespace in which the
folders of the service are empty, if the system allows that. In either case its processes get numbers of their own, if
the system allows that: it can't name ours, so it can't signal us or the service, and all of them end at one blow.
"""

import ctypes
import errno
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, Final

# Of prctl, unshare and mount, which the standard library doesn't name in every version.
_PDEATHSIG: Final = 1
_SUBREAPER: Final = 36
_NO_NEW_PRIVILEGES: Final = 38
_DUMPABLE: Final = 4
_NEW_USER_AND_MOUNTS: Final = 0x10000000 | 0x00020000
_NEW_MOUNTS: Final = 0x00020000
_NEW_PROCESSES: Final = 0x20000000
_PLAIN: Final = 2 | 4 | 8
_READ_ONLY_AND_PLAIN: Final = 1 | 2 | 4
_BIND: Final = 4096
_PRIVATE_THROUGHOUT: Final = 16384 | 1 << 18

_NOT_ALLOWED: Final = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL)
_MOST_NAMESPACES: Final = "/proc/sys/user/max_user_namespaces"

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
    try:
        hidden = bool(given["hidden"]) and _hide(given["hidden"])
        first = _first_process(hidden) if _LINUX and given["confined"] else None
        program = _start(given, apart=hidden or given["uid"] is not None)
    except (OSError, subprocess.SubprocessError) as error:
        _say(service, {"error": str(error)})
        return
    said = _watch(program.pid, service, bell, given["timeout"], given["grace"])
    if first is not None:
        with suppress(OSError):
            os.kill(first, signal.SIGKILL)
    _end_everything(program.pid, given["grace"])
    _say(service, said | {"hidden": hidden})
    os._exit(0)  # nothing is left to do, and what Popen does at the end would look for a child that is gone


def _ring(_number: int, _frame: object) -> None:
    """That there is a handler is enough: then the bell is rung."""


def _first_process(apart: bool) -> int | None:
    """The first of a family of processes with numbers of their own; what we start from now on belongs to it.

    It takes in whoever loses a parent. When it is killed the system kills the whole family, and no member can do that.
    `apart` if we have mounts of our own already. None where the system doesn't allow it.
    """
    libc = ctypes.CDLL(None)
    if libc.unshare(_NEW_PROCESSES if apart else _NEW_PROCESSES | _NEW_MOUNTS):
        return None
    ready, told = os.pipe()
    if (pid := os.fork()) != 0:
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        return pid
    _control(_PDEATHSIG, signal.SIGKILL)
    _control(_DUMPABLE, 0)
    # Its members find themselves in /proc by their own numbers, and nobody else.
    if apart or libc.mount(None, b"/", None, _PRIVATE_THROUGHOUT, None) == 0:
        libc.mount(b"proc", b"/proc", b"proc", _PLAIN, None)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them
    os.write(told, b"!")
    os.closerange(0, 1024)  # the pipes of the program among them
    while True:
        signal.pause()


def _start(given: dict[str, Any], *, apart: bool) -> "subprocess.Popen[bytes]":
    """`apart` if the program's processes are counted apart from everybody else's."""
    limits: dict[str, int] = given["limits"]

    def confine() -> None:
        if _LINUX:  # after the user has changed, which would undo it
            _control(_PDEATHSIG, signal.SIGKILL)
            if given["confined"]:
                _control(_NO_NEW_PRIVILEGES, 1)
        for name, most in limits.items():
            if name != "NPROC" or apart:
                kind = getattr(resource, f"RLIMIT_{name}")
                ceiling = resource.getrlimit(kind)[1]
                most = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
                with suppress(ValueError, OSError):  # macOS knows fewer
                    resource.setrlimit(kind, (most, most))

    options: dict[str, Any] = {"cwd": given["workdir"], "start_new_session": True, "preexec_fn": confine}
    if given["uid"] is not None:
        options |= {"user": given["uid"], "group": given["gid"], "extra_groups": given["groups"]}
    # One thread and nothing of the service in it: here a function between fork and exec does no harm.
    return subprocess.Popen[bytes](given["command"], **options)


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


def _hide(paths: list[str]) -> bool:
    """Empty folders and files in their places, for us and what we start; False where the system doesn't allow it.

    Where it does and this once can't, the program must not be started: somebody may have used up what there is.
    """
    if not _LINUX:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    try:
        _require(libc.unshare(_NEW_USER_AND_MOUNTS))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as opened:
                opened.write(text)
        _require(libc.mount(None, b"/", None, _PRIVATE_THROUGHOUT, None))
    except OSError as error:
        if error.errno in _NOT_ALLOWED or _none_at_all():
            return False
        raise
    for path in paths:
        place = os.fsencode(path)
        if os.path.isdir(path):
            options = b"size=4k,mode=0555"
            _require(libc.mount(b"none", place, b"tmpfs", _READ_ONLY_AND_PLAIN, options))
        elif os.path.exists(path):
            _require(libc.mount(b"/dev/null", place, None, _BIND, None))
    with suppress(OSError), open(_MOST_NAMESPACES, "w", encoding="ascii") as opened:
        opened.write(str(_NESTED))
    return True


def _none_at_all() -> bool:
    """Whether the system's owner has set the number of namespaces to none."""
    try:
        with open(_MOST_NAMESPACES, encoding="ascii") as opened:
            return int(opened.read()) == 0
    except (OSError, ValueError):
        return False


def _require(failed: int) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, f"its namespace can't be made: {os.strerror(number)}")


def _control(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _say(service: socket.socket, said: dict[str, object]) -> None:
    with suppress(OSError):  # it is gone
        service.sendall(json.dumps(said).encode())


if __name__ == "__main__":
    main(sys.argv[1])
