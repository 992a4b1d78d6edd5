"""The word somebody may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LIKENESS: Final = 0.75


def near(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known words that are most like this one, the best first."""
    letters = frozenset(word)
    # Comparing with hundreds of words takes 20 ms; what shares few letters, or isn't nearly as long, can't be near.
    likely = [each for each in known if _is_long_enough(len(each), len(word)) and _shares(letters, each)]
    return get_close_matches(word, likely, n=most, cutoff=_LIKENESS)


def _is_long_enough(one: int, other: int) -> bool:
    return 2 * min(one, other) >= _LIKENESS * (one + other)


def _shares(letters: frozenset[str], word: str) -> bool:
    return len(letters.intersection(word)) >= _LIKENESS * len(letters)
