"""Suggests known words for a misspelled one."""

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

_LIKENESS: Final = 0.75


def near(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known words that are most like this one, the best first."""
    letters = Counter(word)
    # Comparing with hundreds of words takes 20 ms; a word that shares too few letters can't be near.
    likely = [each for each in known if _similar_length(len(each), len(word)) and _shares(letters, each)]
    return get_close_matches(word, likely, n=most, cutoff=_LIKENESS)


def _similar_length(one: int, other: int) -> bool:
    return 2 * min(one, other) >= _LIKENESS * (one + other)


def _shares(letters: Counter[str], word: str) -> bool:
    """difflib's ratio counts letters in order, so it can't be higher than this one, which counts them in any order."""
    return 2 * (letters & _letters(word)).total() >= _LIKENESS * (letters.total() + len(word))


@lru_cache(maxsize=4096)
def _letters(known: str) -> Counter[str]:
    return Counter(known)
