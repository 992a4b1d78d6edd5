"""The page of grammar, and the engine that reads it."""

import re
from pathlib import Path

import pytest

from cronty.timing import BadTrigger, read_words
from cronty.timing.words import tokens
from cronty.timing.words.build import _ITEMS  # pyright: ignore[reportPrivateUsage]
from cronty.timing.words.engine import Grammar, Unreadable
from cronty.timing.words.vocabulary import WORDS
from tests.timing.phrases import now_in

PAGE = (Path(tokens.__file__).with_name("grammar.txt")).read_text(encoding="utf-8")
SMALL = Grammar(
    "start: item*\nitem: A B?\n| A B C -> longer\n| D !C\nSPACE: / /\nWORD: /[a-z]+/\nA: a\nB: b\nC: c\nD: d", {}
)


def names(text: str) -> list[str]:
    return [each.name for each in SMALL.parse("start", SMALL.tokens(text)).nodes("item", "longer")]


def test_the_longest_alternative_counts() -> None:
    assert names("a b c a b d a") == ["longer", "item", "item", "item"]


def test_what_must_not_follow_is_looked_at_and_not_taken() -> None:
    with pytest.raises(Unreadable):
        names("d c")


def test_the_furthest_token_is_named_with_what_could_stand_there() -> None:
    with pytest.raises(Unreadable) as bad:
        names("a b x")
    assert bad.value.token is not None
    assert (bad.value.token.text, bad.value.expected) == ("x", {"A", "C", "D"})


def test_the_page_uses_all_it_defines_and_defines_all_it_uses() -> None:
    plain = re.sub(r"(?m)(^|\s)//.*$", "", PAGE)
    rules = "\n".join(line for line in plain.splitlines() if re.match(r"[a-z_]+:|\s+\|", line))
    used = set(re.findall(r"\b[a-z_]+\b|\b[A-Z][A-Z_0-9]*\b", re.sub(r"->\s*\w+|^\w+:", "", rules, flags=re.MULTILINE)))
    defined = set(re.findall(r"^(\w+):", plain, re.MULTILINE)) | WORDS.keys()
    assert used - defined == set()
    assert defined - used == {"sentence", "SPACE", "WORD", "MARK", "FILLER"}


def test_every_item_has_a_meaning() -> None:
    grammar = tokens.grammar()
    (item,) = [rule for name, rule in grammar.rules.items() if name == "item"]
    kinds = {str(atom.what) for _, row in item for atom in row.atoms}
    assert {alias for kind in kinds for alias, _ in grammar.rules[kind]} <= _ITEMS.keys()


@pytest.mark.parametrize(
    "text", ["9," * 64, "9 " * 64, "first and " * 12, "may " * 32, "every " * 21, "1st,2nd," * 16, "a" * 128]
)
def test_a_repeated_word_is_answered_without_trying_everything(text: str) -> None:
    with pytest.raises(BadTrigger):
        read_words(text, now_in("Europe/Berlin"), "Europe/Berlin")
