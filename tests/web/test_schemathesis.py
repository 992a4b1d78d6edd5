"""A short form of the conformance run; the long one is made by hand."""

from pathlib import Path

import pytest

from tests.web.schemathesis_run import conform


@pytest.mark.timeout(180)
def test_made_up_calls_of_two_owners_break_nothing_and_show_nothing_foreign(own_url: str, tmp_path: Path) -> None:
    figures = conform(own_url, tmp_path, 150)
    assert figures.calls >= 150
    assert figures.faults == []
    assert figures.broken == []
    assert figures.foreign == []
    assert figures.statuses[201] > 0, "or nothing was there to be seen"
