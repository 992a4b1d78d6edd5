"""Ends what a process has started, also what is in a session of its own."""

import os
import signal
import sys
from contextlib import suppress


def end_descendants(process: int) -> None:
    """Kill them all, and who starts new ones meanwhile. One whose parent has ended is nobody's any more, and goes on.

    Where the system doesn't say who is whose, none is found.
    """
    seen: set[int] = set()
    while fresh := descendants(process) - seen:
        for pid in fresh:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        seen |= fresh


def descendants(process: int) -> set[int]:
    """Those that live."""
    parents = _parents() if sys.platform == "linux" else {}
    found: set[int] = set()
    members = {process}
    while members := {pid for pid, parent in parents.items() if parent in members} - found:
        found |= members
    return found


def _parents() -> dict[int, int]:
    """The parent of each process that lives."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as opened:  # it may have ended meanwhile
                # The second field is a name in parentheses, which may hold spaces.
                state, parent, *_ = opened.read().rpartition(b")")[2].split()
                if state not in (b"Z", b"X"):
                    found[int(name)] = int(parent)
    return found
