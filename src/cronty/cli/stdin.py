"""A standard input that ends when its client hangs up, or when we do.

The SDK reads it in a thread that nothing but its end can end: without this, a server that has to leave while its
client stays would wait for ever.
"""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress


def make_stdin_end_when_told() -> Callable[[], None]:
    """Put a pipe in the place of standard input that passes everything on; what is returned ends it, once."""
    wire = os.dup(0)
    reading, writing = os.pipe()
    hearing, telling = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    told = threading.Event()

    def pass_on() -> None:
        with suppress(OSError):
            while hearing not in select.select([wire, hearing], [], [])[0]:
                chunk = os.read(wire, 65536)
                if not chunk:
                    break
                while chunk:
                    chunk = chunk[os.write(writing, chunk) :]
        os.close(writing)

    def hang_up() -> None:
        if not told.is_set():
            told.set()
            os.close(telling)

    threading.Thread(target=pass_on, name="standard input", daemon=True).start()
    return hang_up
