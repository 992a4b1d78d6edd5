"""Public holidays by the codes of countries and regions, from a package that may be missing."""

import subprocess
import sys
from datetime import date

import holidays
import pytest

from cronty.timing import BadTrigger
from cronty.timing.country_names import CODES_BY_NAME
from cronty.timing.public_holidays import YEARS_AHEAD, country_code, is_outdated, public_holidays, source_of

WITHOUT = """
import sys
sys.modules["holidays"] = None
from cronty.timing.public_holidays import public_holidays
public_holidays("DE", 2027)
"""


def test_a_region_has_the_days_of_its_country_and_its_own() -> None:
    germany, bavaria = public_holidays("DE", 2027), public_holidays("DE-BY", 2027)
    assert germany.off[date(2027, 12, 25)] == "holiday (Christmas Day)"
    assert germany.off.keys() < bavaria.off.keys()
    assert max(germany.off).year == 2027 + YEARS_AHEAD - 1


def test_a_country_goes_by_its_name_too() -> None:
    names = ("Germany", "germany", "United States", "USA", "us", "England", "Czech Republic", "Bavaria", "California")
    assert [country_code(name) for name in names] == ["DE", "DE", "US", "US", "US", "GB-ENG", "CZ", "DE-BY", "US-CA"]
    assert [country_code(name) for name in ("de", "xx", "German", "Atlantis")] == ["DE", None, "DE", None]


def test_every_code_that_is_kept_by_name_has_holidays() -> None:
    supported: dict[str, list[str]] = holidays.list_supported_countries()
    for code in {code for codes in CODES_BY_NAME.values() for code in codes}:
        country, _, region = code.partition("-")
        assert country in supported, code
        assert not region or region in supported[country], code


def test_a_name_of_two_places_is_asked_about() -> None:
    with pytest.raises(BadTrigger) as refused:
        country_code("Georgia")
    assert refused.value.hint == 'Say "holidays in GE" or "holidays in US-GA".'


@pytest.mark.parametrize("name", ["XX", "DE-QQ"])
def test_what_is_no_country_is_refused(name: str) -> None:
    with pytest.raises(BadTrigger, match="No public holidays are known"):
        public_holidays(name, 2027)


def test_without_the_package_it_is_said_how_to_get_it() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert "pip install 'cronty[holidays]'" in ended.stderr


def test_days_are_made_anew_by_a_newer_package_or_in_a_later_year_and_never_by_an_older_one() -> None:
    assert not is_outdated(source_of(2027), 2027)
    assert is_outdated(source_of(2027), 2028)
    assert not is_outdated(source_of(2028), 2027)
    assert is_outdated("holidays 0.1 2027", 2027)
    assert not is_outdated("holidays 99.0 2026", 2027)
