"""What each short form of a scenario must show. It prints its figures."""

import json

from chaos.verdict import Figures
from tests.patience import PATIENCE

LONG = 1.5 * PATIENCE


def keeps_its_promises(figures: Figures) -> None:
    print(json.dumps(figures))
    assert figures["broken"] == [], figures
