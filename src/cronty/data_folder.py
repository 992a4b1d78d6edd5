"""Where a user's data is, unless CRONTY_DATA_DIR names another folder."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Final, cast

OF_ROOT: Final = Path("/var/lib/cronty")


def default_data_folder() -> Path:
    """Root's isn't in its home: PostgreSQL refuses to run as root, and the user it runs as can't get in there."""
    if sys.platform == "linux" and os.geteuid() == 0:
        return OF_ROOT
    # Imported when it is needed: a client that is given a key never asks.
    return cast("Path", import_module("platformdirs").user_data_path("cronty"))
