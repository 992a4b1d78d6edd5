"""Whether two workers that perform a task of one name are of one program."""

import pytest

from cronty.jobs.performers import Home, Performer, compared


def there(package: str, place: str | None = "a", program: str | None = None) -> Performer:
    return Performer("host:1", "report", program, Home(package, place))


@pytest.mark.parametrize(
    ("program", "home", "other", "verdict"),
    [
        (None, Home("shop", "a"), there("shop"), "same"),
        (None, Home("shop", "a"), there("bakery"), "other"),
        # names that both give themselves decide, wherever they are
        ("shop", Home("main", "a"), there("jobs", "b", "shop"), "same"),
        ("shop", Home("main", "a"), there("main", "a", "bakery"), "other"),
        # a version that gives itself a name beside one that doesn't
        ("shop", Home("main", "a"), there("main"), "same"),
        (None, Home("main", "a"), there("main", "a", "shop"), "same"),
        # a file that was renamed, and says what it was called
        ("main", Home("jobs", "a"), there("main"), "same"),
        (None, Home("main", "a"), there("jobs", "a", "main"), "same"),
        # what has no folder, as in an interactive interpreter
        (None, Home("main", None), there("main", "a"), "same"),
    ],
)
def test_programs_are_told_apart_by_what_they_are_called(
    program: str | None, home: Home, other: Performer, verdict: str
) -> None:
    assert compared(program, home, other, by_place=False) == verdict
    assert compared(program, home, other, by_place=True) == verdict


def test_a_folder_tells_them_apart_only_on_a_machine_of_ones_own() -> None:
    assert compared(None, Home("main", "b"), there("main"), by_place=True) == "other"
    assert compared(None, Home("main", "b"), there("main"), by_place=False) == "unsure"
