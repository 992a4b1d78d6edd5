"""How long a test waits for what must happen: long enough on a busy machine; when all is well it waits for nothing."""

from typing import Final

PATIENCE: Final = 120.0
