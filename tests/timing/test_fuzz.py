"""No parser throws anything but its own refusal, nor takes long over it; a sample of what `fuzz` does by hand."""

import pytest

from tests.timing.fuzz import PARSERS, fuzz


@pytest.mark.parametrize("parser", PARSERS)
def test_any_input_is_read_or_refused(parser: str) -> None:
    seen = fuzz(parser, 2_500, 1)
    assert seen.wrong == []
    assert seen.accepted > seen.inputs // 25, "some of what is made up can be read"
    # By hand it is 10 ms; a machine of CI may have a bad moment.
    assert seen.worst < 0.1
