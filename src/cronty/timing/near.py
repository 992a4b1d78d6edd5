"""Suggests known words for a misspelled one."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

_LIKENESS: Final = 0.75

type Letters = frozenset[tuple[str, int]]
"""The letters of a word; one that comes again counts again, because each is told apart by how many came before it."""


def near(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known words that are most like this one, the best first."""
    # Comparing with hundreds of words takes 20 ms. difflib's ratio counts letters in order, so it can't be higher than
    # this one, which counts them in any order.
    letters, length = _letters(word), len(word)
    likely = [
        each
        for each in known
        if 2 * min(len(each), length) >= (enough := _LIKENESS * (len(each) + length))
        and 2 * len(letters & _letters_of_known(each)) >= enough
    ]
    return get_close_matches(word, likely, n=most, cutoff=_LIKENESS)


def _letters(word: str) -> Letters:
    return frozenset((letter, word.count(letter, 0, place)) for place, letter in enumerate(word))


@lru_cache(maxsize=4096)
def _letters_of_known(word: str) -> Letters:
    return _letters(word)
