"""Suggestions for misspelled words."""

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from cronty.timing.near import near


def test_a_letter_that_comes_twice_counts_twice() -> None:
    assert near("weel", ["week"]) == ["week"]
    assert near("noom", ["noon"]) == ["noon"]


@given(word=st.text("abc", max_size=8), known=st.text("abc", max_size=8))
def test_leaving_out_unlikely_words_first_drops_none_that_is_near(word: str, known: str) -> None:
    """difflib takes the word as its second sequence."""
    ratio = SequenceMatcher(None, known, word).ratio()
    assert near(word, [known]) == ([known] if ratio >= 0.75 else [])
