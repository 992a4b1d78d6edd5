"""Keeps what this process knows from other processes of the same user."""

import ctypes
import os
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import Final

_SET_DUMPABLE: Final = 4
_ENVIRONMENT: Final = (49, 50)  # where it begins and ends: fields of /proc/self/stat, counted from 0


def hide_process() -> None:
    """From now on only root can look into our memory, environment and descriptors, or trace us; no core is dumped."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def take_from_environment(names: Collection[str]) -> dict[str, str]:
    """The values of these variables, which are then in the environment no more: children don't inherit them, and what
    the system remembers of how we were started is overwritten."""
    taken = {name: value for name in names if (value := os.environ.pop(name, None)) is not None}
    if taken and sys.platform == "linux":
        with suppress(OSError, ValueError):
            _overwrite(taken)
    return taken


def _overwrite(names: Collection[str]) -> None:
    """`/proc/self/environ` shows the memory that the environment was in when the process began."""
    with open("/proc/self/stat", "rb") as opened:
        # The second field is a name in parentheses, which may hold spaces.
        fields = opened.read().rpartition(b")")[2].split()
    start, end = (int(fields[number - 2]) for number in _ENVIRONMENT)
    block = (ctypes.c_char * (end - start)).from_address(start)
    heads = tuple(os.fsencode(f"{name}=") for name in names)
    offset = 0
    for entry in block.raw.split(b"\0"):
        if entry.startswith(heads):
            head = entry.index(b"=") + 1
            ctypes.memset(start + offset + head, ord("*"), len(entry) - head)
        offset += len(entry) + 1
