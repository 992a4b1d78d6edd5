#!/usr/bin/env python3
"""An agent that looks for whatever it may not have, and says what it found.

Its arguments: a text that stands in every secret (backwards, or it would find its own), the data folder of the service,
and the port of its API.
"""

import ctypes
import json
import os
import socket
import sys
import urllib.error
import urllib.request

MOST = 4_000_000


def main(marker: str, folder: str, port: str) -> None:
    sys.stdin.read()
    marker = marker[::-1]
    found = {
        "uid": os.geteuid(),
        "descriptors": [name for name in os.listdir("/proc/self/fd") if int(name) > 2 and is_open(int(name))],
        "environment": [name for name, value in os.environ.items() if marker in value],
        "processes": [seen for pid in others() for seen in look_into(pid, marker)],
        "files": [*uncover(folder), *read_all(folder, marker), *around(folder, marker)],
        "database": [path for path in sockets(folder) if is_let_in(path)],
        "api": status_of(int(port)),
        "root": can_become_root(),
    }
    print(json.dumps(found))


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def others() -> list[int]:
    """Every process but ourselves; our supervisor, its parent the service, PostgreSQL and the rest."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def look_into(pid: int, marker: str) -> list[str]:
    seen: list[str] = []
    for name in ("environ", "maps", "mem", "cmdline"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as opened:
                text = b"" if name == "mem" else opened.read(MOST)
        except OSError:
            continue
        if marker.encode() in text:
            seen.append(f"{pid} {name} holds a secret")
        elif name == "mem" and is_a_service(pid):
            seen.append(f"{pid} {name} is open")
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
        if is_a_service(pid):
            seen.append(f"{pid} fd: {len(links)} open descriptors of a service")
    except OSError:
        pass
    if is_a_service(pid) and ctypes.CDLL(None).ptrace(16, pid, 0, 0) == 0:  # PTRACE_ATTACH
        seen.append(f"{pid} can be traced")
    return seen


def is_a_service(pid: int) -> bool:
    """By its command line, which everybody may read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as opened:
            words = opened.read(MOST).split(b"\0")
    except OSError:
        return False
    return b"serve" in words and any(word.endswith(b"cronty") for word in words)


def read_all(folder: str, marker: str) -> list[str]:
    read: list[str] = []
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                with open(os.path.join(place, name), "rb") as opened:
                    text = opened.read(MOST)
            except OSError:
                continue
            holds = " holds a secret" if marker.encode() in text else ""
            read.append(os.path.relpath(os.path.join(place, name), folder) + holds)
    return sorted(read)[:20]


def around(folder: str, marker: str) -> list[str]:
    """The same folder, as other processes see it."""
    return [name for pid in others() for name in read_all(f"/proc/{pid}/root{folder}", marker)]


def uncover(folder: str) -> list[str]:
    """Take away what lies over the folder, also with the rights that a namespace of our own gives."""
    libc = ctypes.CDLL(None)
    place, taken = os.fsencode(folder), [] if libc.umount2(os.fsencode(folder), 2) else ["it could be uncovered"]
    if os.fork() == 0:
        libc.unshare(0x10000000 | 0x00020000)  # CLONE_NEWUSER, CLONE_NEWNS
        os._exit(0 if libc.umount2(place, 2) == 0 and read_all(folder, "") else 1)
    return taken + ([] if os.wait()[1] else ["it could be uncovered in a namespace"])


def sockets(folder: str) -> list[str]:
    """Where PostgreSQL listens on this machine: in its folder, and wherever the system says."""
    found = {os.path.join(folder, "postgres/.s.PGSQL.5432")}
    with open("/proc/net/unix", encoding="utf-8") as opened:
        found |= {line.split()[-1] for line in opened if ".s.PGSQL." in line}
    return sorted(path for path in found if path.startswith(folder))


def is_let_in(path: str) -> bool:
    """Whether PostgreSQL accepts us as its superuser, without a password."""
    wanted = b"user\0postgres\0database\0postgres\0\0"
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.settimeout(5)
            opened.connect(path)
            opened.sendall((len(wanted) + 8).to_bytes(4, "big") + (196608).to_bytes(4, "big") + wanted)
            answer = opened.recv(9)
    except OSError:
        return False
    return answer[:1] == b"R" and answer[5:9] == bytes(4)


def status_of(port: int) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/jobs", timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def can_become_root() -> bool:
    try:
        os.setuid(0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
