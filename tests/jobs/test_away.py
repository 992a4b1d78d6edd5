"""What an owner is told after nothing was running."""

from datetime import UTC, datetime, timedelta

import pytest

from cronty.jobs.away import Away, told

SINCE = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)
AWAY = Away(1, SINCE, SINCE + timedelta(hours=3), 2, 5, 1, ["Backup"], ["Stand-up"])


@pytest.mark.parametrize(
    ("zone_name", "when"),
    [
        ("Asia/Tokyo", "From Mon 1 Mar 17:00 to Mon 1 Mar 20:00, Asia/Tokyo."),
        ("Mars/Olympus_Mons", "From Mon 1 Mar 08:00 to Mon 1 Mar 11:00, UTC."),
    ],
)
def test_times_are_the_owners_or_utc_where_its_zone_is_not_known(zone_name: str, when: str) -> None:
    alert = told(AWAY, "phone", zone_name)
    assert alert is not None
    assert alert.message.splitlines() == [
        when,
        "Ran late: Backup (2 in all).",
        "Caught up by a later run: 5 times.",
        "Missed: Stand-up.",
    ]
