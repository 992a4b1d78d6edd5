"""Ends a worker process whose event loop is blocked by a task, so that the run counts as a crash."""

import faulthandler
import os
import threading
from collections.abc import Callable
from time import sleep
from typing import Final

CHECK_EVERY: Final = 0.5
STUCK: Final = 70
"""The exit code, EX_SOFTWARE in sysexits.h."""


def watch(turns: Callable[[], int], patience: float, ended: Callable[[], bool]) -> None:
    """End the process, with a stack trace, if `turns` doesn't change for `patience` seconds.

    It counts checks instead of time, so that a process that was suspended isn't taken for stuck.
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
