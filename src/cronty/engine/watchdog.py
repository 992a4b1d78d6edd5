"""Ends a worker whose event loop is held by a task: better to die of it and be counted than to live on like that."""

import faulthandler
import os
import threading
from collections.abc import Callable
from time import sleep
from typing import Final

CHECK_EVERY: Final = 0.5
STUCK: Final = 70
"""The exit code, as in sysexits: an internal fault of the software."""


def watch(turns: Callable[[], int], patience: float, ended: Callable[[], bool]) -> None:
    """End the process if `turns` doesn't change for `patience` seconds, with a trace of what holds it.

    Checks are counted, not time, so that a process that was frozen itself isn't taken for stuck.
    """

    def look() -> None:
        seen, checks = turns(), 0
        while not ended():
            sleep(CHECK_EVERY)
            now = turns()
            seen, checks = now, (checks + 1 if now == seen else 0)
            if checks * CHECK_EVERY > patience:
                faulthandler.dump_traceback()
                os._exit(STUCK)

    threading.Thread(target=look, name="cronty-watchdog", daemon=True).start()
