"""A standard input that ends when the client closes it, or when we decide to stop.

The SDK reads it in a thread that only ends with the input: without this, a server that must stop while its client is
still connected would wait forever.
"""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress


def make_stdin_end_when_told() -> Callable[[], None]:
    """Replace standard input with a pipe that passes everything on; returns a function that ends it."""
    original = os.dup(0)
    reading, writing = os.pipe()
    hearing, telling = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    ended = threading.Event()

    def pass_on() -> None:
        with suppress(OSError):
            while hearing not in select.select([original, hearing], [], [])[0]:
                chunk = os.read(original, 65536)
                if not chunk:
                    break
                while chunk:
                    chunk = chunk[os.write(writing, chunk) :]
        os.close(writing)

    def hang_up() -> None:
        if not ended.is_set():
            ended.set()
            os.close(telling)

    threading.Thread(target=pass_on, name="standard input", daemon=True).start()
    return hang_up
