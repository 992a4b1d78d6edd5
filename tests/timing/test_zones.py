"""Zone names, and where the rules behind them come from."""

import struct
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import pairwise

import pytest
import tzdata

from cronty.timing import BadTrigger, Cron, tzdata_version, zone

REGION = 'Use a region name such as "Europe/Berlin" or "America/New_York", or "UTC".'


def test_the_rules_come_from_the_pinned_package() -> None:
    assert zoneinfo.TZPATH == ()
    assert tzdata_version() == tzdata.IANA_VERSION
    assert zone("Europe/Berlin") is zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Zulu", "UTC"),
        ("Asia/Calcutta", "Asia/Kolkata"),
        ("US/Eastern", "America/New_York"),
        ("GB", "Europe/London"),
        # Shares its rules with Berlin today, and is still where Swedes live.
        ("Europe/Stockholm", "Europe/Stockholm"),
    ],
)
def test_an_old_name_becomes_the_name_in_use(name: str, key: str) -> None:
    assert zone(name).key == key
    assert Cron("0 9 * * *", name).zone == key


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Europe/Berln", 'Did you mean "Europe/Berlin"'),
        ("Eurpoe/Berlin", 'Did you mean "Europe/Berlin"?'),
        ("America/Londn", 'Did you mean "Europe/London"?'),
        ("europe/berlin", 'Did you mean "Europe/Berlin"?'),
        ("Berlin", 'Did you mean "Europe/Berlin"?'),
        ("New York", 'Did you mean "America/New_York"?'),
        ("utc", 'Did you mean "UTC"?'),
        ("Calcutta", 'Did you mean "Asia/Kolkata"?'),
        ("EST", 'It is an abbreviation; did you mean "America/New_York"?'),
        ("pst", 'It is an abbreviation; did you mean "America/Los_Angeles"?'),
        ("CEST", 'It is an abbreviation; did you mean "Europe/Berlin"?'),
        ("+02:00", "It is a fixed offset, without daylight saving time."),
        ("-0530", "It is a fixed offset, without daylight saving time."),
        ("UTC+2", "It is a fixed offset, without daylight saving time."),
        ("GMT+1", "It is a fixed offset, without daylight saving time."),
        ("Etc/GMT-3", "It is a fixed offset, without daylight saving time."),
        ("GMT", 'Did you mean "UTC", or "Europe/London"?'),
    ],
)
def test_a_bad_zone_is_explained(name: str, advice: str) -> None:
    with pytest.raises(BadTrigger) as refused:
        zone(name)
    assert str(refused.value).startswith(f"Unknown time zone: {name}. {advice}")
    assert str(refused.value).endswith(REGION)


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus_Mons", "Factory", "localtime", "../etc/passwd", "posix/Europe/Berlin", "\0"]
)
def test_only_names_of_the_package_are_zones(name: str) -> None:
    with pytest.raises(BadTrigger, match="Unknown time zone"):
        zone(name)


def test_a_huge_name_is_refused_without_repeating_it() -> None:
    with pytest.raises(BadTrigger) as refused:
        zone("+1" * 500_000)
    assert len(str(refused.value)) < 300


def changes(name: str) -> Iterator[int]:
    """The instants at which a zone's offset changes, read from its file."""
    data = files(tzdata).joinpath("zoneinfo", *name.split("/")).read_bytes()
    leap, standard, seconds, count, types, letters = header(data, 0)
    first = 44 + count * 5 + types * 6 + letters + seconds * 8 + standard + leap
    _, _, _, count, types, _ = header(data, first)
    times = struct.unpack_from(f">{count}q", data, first + 44)
    indexes = data[first + 44 + 8 * count : first + 44 + 9 * count]
    offsets = [struct.unpack_from(">l", data, first + 44 + 9 * count + 6 * each)[0] for each in range(types)]
    before = None
    for moment, index in zip(times, indexes, strict=True):
        if offsets[index] != before:
            yield moment
        before = offsets[index]


def header(data: bytes, start: int) -> tuple[int, int, int, int, int, int]:
    return struct.unpack_from(">6l", data, start + 20)


def test_no_zone_changes_twice_within_six_days() -> None:
    # The search for changes steps by five days; a shorter stretch in a future package would slip through.
    names = (files(tzdata) / "zones").read_text(encoding="utf-8").split()
    shortest = min(later - earlier for name in names for earlier, later in pairwise(changes(name)))
    assert timedelta(seconds=shortest) > timedelta(days=6)


def test_a_zone_keeps_its_rules_far_ahead() -> None:
    summer = Cron("0 12 * * *", "Europe/Berlin").after(datetime(2500, 7, 1, tzinfo=UTC))
    assert summer == datetime(2500, 7, 1, 10, tzinfo=UTC)
