"""Every answer to a threat names a test that exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/threats.md"


def test_the_tests_the_threat_page_names_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 20
    missing = [
        f"{path}::{test}"
        for path, test in named
        if not (ROOT / path).is_file() or (test and f"def {test}(" not in (ROOT / path).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_every_threat_has_a_test_or_says_that_it_has_none() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| **")]
    assert [row for row in rows if "`tests/" not in row and "Not built yet" not in row] == []
