"""Reads a grammar, and texts by that grammar.

A grammar is a list of terminals (`NAME: word word`, or `NAME: /shape/`) and rules (`name: A b? (C | d)* !E -> alias`).
A token may be of several kinds: "second" is a unit and an ordinal. At every place each rule is tried once, its longest
alternative counts (of equals the first), and what it took is never given back: the time is bounded by the number of
tokens times the size of the grammar, whatever the text is, and by a number of steps, above which it is `TooMuch`: about
twice what a long sentence takes. `!E` looks ahead: what follows must not be E.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_ATOM: Final = re.compile(r"[A-Za-z_]\w*|[()|?*!]")
_MAX_STEPS: Final = 1_000
_UNKNOWN: Final = frozenset({"UNKNOWN"})
_NO_KINDS: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text, in lower case, and what it may be."""

    kinds: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """What a rule took: tokens and nodes, in the order of the text."""

    name: str
    parts: "tuple[Node | Token, ...]"

    def node(self, *names: str) -> "Node | None":
        """The first node with one of these names that is a part of this one."""
        return next((each for each in self.parts if isinstance(each, Node) and each.name in names), None)

    def nodes(self, *names: str) -> "list[Node]":
        """All nodes with one of these names that are parts of this one."""
        return [each for each in self.parts if isinstance(each, Node) and each.name in names]

    def token(self, *kinds: str) -> Token | None:
        """The first token of one of these kinds that is a part of this one."""
        return next(iter(self.tokens(*kinds)), None)

    def tokens(self, *kinds: str) -> list[Token]:
        """All tokens of one of these kinds that are parts of this one."""
        return [each for each in self.parts if isinstance(each, Token) and not each.kinds.isdisjoint(kinds)]


class Unreadable(Exception):
    """The furthest token that was reached (None at the end of the text), and the kinds that could stand there."""

    def __init__(self, token: Token | None, before: Token | None, expected: frozenset[str]) -> None:
        super().__init__(token, expected)
        self.token = token
        self.before = before
        self.expected = expected


class TooMuch(Unreadable):
    """The text says more than any sentence does."""

    def __init__(self) -> None:
        super().__init__(None, None, frozenset())


type _What = "str | frozenset[str] | tuple[_Row, ...]"


@dataclass(slots=True)
class _Atom:
    """A rule, a set of terminals or a group of alternatives; how often it may come, or what must not follow.

    `begins` has the kinds with which it may begin, or is None if it may be nothing at all.
    """

    what: _What
    mark: str = ""
    begins: frozenset[str] | None = None


@dataclass(slots=True)
class _Row:
    """Atoms one after the other; the kinds with which they may begin, or None if they may be nothing at all."""

    atoms: tuple[_Atom, ...]
    begins: frozenset[str] | None = None


type _Fitting = tuple[list[tuple[str, _Row]], frozenset[str]]
type _Found = tuple[int, tuple[Node | Token, ...]]


class Grammar:
    """The rules of a grammar, and its terminals; `words` gives terminals whose words stand elsewhere."""

    def __init__(self, text: str, words: Mapping[str, Iterable[str]]) -> None:
        self.rules: dict[str, list[tuple[str, _Row]]] = {}
        self.kinds: dict[str, frozenset[str]] = {}
        self._fitting: dict[tuple[str, frozenset[str]], _Fitting] = {}
        shapes: list[str] = []
        for kind, members in words.items():
            self._add_words(kind, members)
        for name, body in _definitions(text):
            if name.islower():
                self.rules[name] = [each for line in body.split("\n|") for each in _alternatives(name, line)]
            elif body.startswith("/"):
                shapes.append(f"(?P<{name}>{body.strip('/')})")
            else:
                self._add_words(name, body.split())
        self._shapes = re.compile("|".join(shapes))
        for alternatives in self.rules.values():
            for _, row in alternatives:
                self._note_beginning(row)
                self._note_beginnings(row)

    def _note_beginning(self, row: _Row) -> frozenset[str] | None:
        """Work out with which kinds a row may begin; no rule begins with itself."""
        begins: frozenset[str] = frozenset()
        for atom in row.atoms:
            if atom.mark == "!":
                continue
            found = self._beginning(atom.what)
            begins |= found or frozenset()
            if found is not None and not atom.mark:
                row.begins = begins
                break
        return row.begins

    def _note_beginnings(self, row: _Row) -> None:
        """The same for each atom of a row, and for the rows within."""
        for atom in row.atoms:
            atom.begins = self._beginning(atom.what)
            if isinstance(atom.what, tuple):
                for each in atom.what:
                    self._note_beginnings(each)

    def _beginning(self, what: _What) -> frozenset[str] | None:
        if isinstance(what, frozenset):
            return what
        rows = [row for _, row in self.rules[what]] if isinstance(what, str) else what
        found = [row.begins or self._note_beginning(row) for row in rows]
        known = [each for each in found if each is not None]
        return _NO_KINDS.union(*known) if len(known) == len(found) else None

    def fitting(self, rule: str, kinds: frozenset[str]) -> "_Fitting":
        """The alternatives of a rule that may begin with a token of these kinds, and what the others begin with."""
        found = self._fitting.get((rule, kinds))
        if found is None:
            fit: list[tuple[str, _Row]] = []
            others = _NO_KINDS
            for alias, row in self.rules[rule]:
                if row.begins is None or not kinds.isdisjoint(row.begins):
                    fit.append((alias, row))
                else:
                    others |= row.begins
            found = self._fitting[rule, kinds] = fit, others
        return found

    def _add_words(self, kind: str, members: Iterable[str]) -> None:
        for word in members:
            self.kinds[word] = self.kinds.get(word, frozenset()) | {kind}

    def tokens(self, text: str) -> list[Token]:
        """Split a text in lower case; a word that no terminal has is of the kind UNKNOWN, a FILLER is left out."""
        found: list[Token] = []
        at = 0
        while at < len(text):
            match = self._shapes.match(text, at)
            if match is None:
                raise Unreadable(Token(frozenset(), text[at]), None, frozenset())
            at = match.end()
            kind, word = match.lastgroup or "", match[0]
            if kind == "WORD":
                word = word.rstrip(".")
                kinds = self.kinds.get(word, _UNKNOWN)
                found += [Token(kinds, word)] if "FILLER" not in kinds else []
            elif kind != "SPACE":
                found.append(Token(self.kinds.get(word, frozenset()) | {kind}, word))
        return found

    def parse(self, rule: str, tokens: list[Token]) -> Node:
        """Read all tokens by a rule, or raise `Unreadable`."""
        attempt = _Attempt(self, tokens)
        found = attempt.rule(rule, 0)
        if found is not None and found[0] == len(tokens):
            return found[1]
        at = attempt.furthest
        expected = frozenset(attempt.expected)
        raise Unreadable(tokens[at] if at < len(tokens) else None, tokens[at - 1] if at else None, expected)


def _definitions(text: str) -> list[tuple[str, str]]:
    """Each name with what is after its colon; a line that begins with a bar goes on with the one before."""
    found: list[tuple[str, str]] = []
    for line in (re.sub(r"(^|\s)//.*", "", each).strip() for each in text.splitlines()):
        if line.startswith("|"):
            name, body = found.pop()
            found.append((name, f"{body}\n{line}"))
        elif line:
            name, _, body = line.partition(":")
            found.append((name, body.strip()))
    return found


def _alternatives(name: str, line: str) -> list[tuple[str, _Row]]:
    body, _, alias = line.partition("->")
    rows, rest = _rows(_ATOM.findall(body))
    assert not rest, line
    return [(alias.strip() or name, row) for row in rows]


def _rows(atoms: list[str]) -> tuple[tuple[_Row, ...], list[str]]:
    """The alternatives up to the bracket that closes them, and what is left."""
    rows: list[list[_Atom]] = [[]]
    while atoms and atoms[0] != ")":
        word, atoms = atoms[0], atoms[1:]
        if word == "|":
            rows.append([])
            continue
        mark = ""
        if word == "!":
            mark, word, atoms = "!", atoms[0], atoms[1:]
        what: _What = word if word.islower() else frozenset({word})
        if word == "(":
            group, rest = _rows(atoms)
            what, atoms = _one_of(group), rest[1:]
        if atoms[:1] in (["?"], ["*"]):
            mark, atoms = atoms[0], atoms[1:]
        rows[-1].append(_Atom(what, mark))
    return tuple(_Row(tuple(each)) for each in rows), atoms


def _one_of(rows: tuple[_Row, ...]) -> _What:
    """A group of nothing but terminals is a set of them."""
    kinds: frozenset[str] = frozenset()
    for row in rows:
        only = row.atoms[0].what if len(row.atoms) == 1 and not row.atoms[0].mark else None
        if not isinstance(only, frozenset):
            return rows
        kinds |= only
    return kinds


class _Attempt:
    """One reading of one row of tokens."""

    def __init__(self, grammar: Grammar, tokens: list[Token]) -> None:
        self._grammar = grammar
        self._tokens = tokens
        self._kinds = [*(each.kinds for each in tokens), _NO_KINDS]
        self._memo: dict[tuple[str, int], tuple[int, Node] | None] = {}
        self._steps = 0
        self._looks_ahead = False
        self.furthest = 0
        self.expected: set[str] = set()

    def rule(self, name: str, at: int) -> tuple[int, Node] | None:
        key = (name, at)
        if key in self._memo:
            return self._memo[key]
        best: tuple[int, Node] | None = None
        fitting, others = self._grammar.fitting(name, self._kinds[at])
        self._expect(others, at)
        for alias, row in fitting:
            found = self._row(row, at)
            if found is not None and (best is None or found[0] > best[0]):
                best = (found[0], Node(alias, found[1]))
        self._memo[key] = best
        return best

    def _row(self, row: _Row, at: int) -> _Found | None:
        if row.begins is not None and self._kinds[at].isdisjoint(row.begins):
            self._expect(row.begins, at)
            return None
        taken: list[Node | Token] = []
        for atom in row.atoms:
            begins = atom.begins
            if begins is not None and self._kinds[at].isdisjoint(begins):
                if atom.mark != "!":
                    self._expect(begins, at)
                if atom.mark:
                    continue
                return None
            found = self._marked(atom, at)
            if found is None:
                return None
            at = found[0]
            taken += found[1]
        return at, tuple(taken)

    def _marked(self, atom: _Atom, at: int) -> _Found | None:
        if atom.mark == "!":
            before, self._looks_ahead = self._looks_ahead, True
            found = self._atom(atom.what, at)
            self._looks_ahead = before
            return (at, ()) if found is None else None
        found = self._atom(atom.what, at)
        if atom.mark == "":
            return found
        if found is None:
            return at, ()
        if atom.mark == "?":
            return found
        at, taken = found[0], list(found[1])
        while (more := self._atom(atom.what, at)) is not None and more[0] > at:
            at = more[0]
            taken += more[1]
        return at, tuple(taken)

    def _atom(self, what: _What, at: int) -> _Found | None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise TooMuch
        if isinstance(what, frozenset):
            if not self._kinds[at].isdisjoint(what):
                return at + 1, (self._tokens[at],)
            self._expect(what, at)
            return None
        if isinstance(what, str):
            node = self.rule(what, at)
            return None if node is None else (node[0], (node[1],))
        found = [each for row in what if (each := self._row(row, at)) is not None]
        return max(found, key=lambda each: each[0], default=None)

    def _expect(self, kinds: frozenset[str], at: int) -> None:
        if at < self.furthest or self._looks_ahead:
            return
        if at > self.furthest:
            self.furthest = at
            self.expected.clear()
        self.expected |= kinds
