"""Where a user's data is, unless CRONTY_DATA_DIR names another folder."""

import os
import sys
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

OF_ROOT: Final = Path("/var/lib/cronty")


def default_data_folder() -> Path:
    """Root's isn't in its home: PostgreSQL refuses to run as root, and the user it runs as can't get in there."""
    return OF_ROOT if sys.platform == "linux" and os.geteuid() == 0 else user_data_path("cronty")
