"""A worker process doesn't look at what it imported again and again."""

import subprocess
import sys

PROGRAM = """
import gc
from cronty.cli import processes

before = gc.get_threshold()
processes._begin(None)
print(gc.get_freeze_count() > 50_000, gc.get_threshold()[0] > before[0], gc.isenabled())
"""


def test_what_a_process_has_imported_is_left_alone_by_the_garbage_collector() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "True", "True"]
