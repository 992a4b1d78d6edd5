"""Gives up a life that stands still, instead of waiting forever."""

import threading
import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 60.0
"""Real seconds without a step after which a life hangs. One takes milliseconds, on a busy machine a second."""


class Watch(threading.Thread):
    """A thread of its own, as the event loop may be what hangs; `progress` is anything that changes with every step."""

    def __init__(self, progress: Callable[[], object], give_up: Callable[[], None], patience: float = PATIENCE) -> None:
        super().__init__(name="watch", daemon=True)
        self._progress, self._give_up, self._patience = progress, give_up, patience
        self._over = threading.Event()

    def run(self) -> None:
        seen, since = self._progress(), time.monotonic()
        while not self._over.wait(self._patience / 20):
            now = self._progress()
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > self._patience:
                self._give_up()
                return

    def end(self) -> None:
        self._over.set()
        self.join()
