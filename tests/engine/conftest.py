"""What tests of this room share."""

import pytest

from tests.engine.test_task_limits import Room


@pytest.fixture
def room() -> Room:
    return Room()
