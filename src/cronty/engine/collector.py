"""Python's garbage collector in a process of our own, where thousands of objects come and go each second."""

import gc
from typing import Final

YOUNG: Final = 10_000
"""So many new objects before the collector looks at them; most are gone by then. Python's own number is 2,000."""


def tune_collector() -> None:
    """Call it once everything is imported: what is there by now stays, and isn't looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
