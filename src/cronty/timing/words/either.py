"""Sentences with "or" in them that leave a choice: `tomorrow at 9 or 10`, `on Monday or Tuesday at 9`.

Each of the sentences that may be meant has one side of the "or". What stands for both sides is kept: the day, the
"every", and "am" or "in the morning" after the last of several times.
"""

from dataclasses import replace
from typing import Final

from cronty.timing.words.engine import Node, Token

_DAYS: Final = ("weekdays", "date", "relative", "month_days", "edge")
_TIMES: Final = ("clocks",)
_LISTS: Final = ("weekday_list", "month_days", "clocks")
_MAX_ORS: Final = 3
_MAX_PARTS: Final = 24  # who leaves a choice says no more than that
_AMPM: Final = frozenset({"TIME_OF_12"})


def sides(sentence: Node) -> list[Node]:
    """The sentences on either side of the first "or", which may have another; none if it can't be taken apart."""
    parts = list(sentence.parts)
    ors = sum(isinstance(part, Token) and "OR" in part.kinds for part in parts)
    if ors > _MAX_ORS or len(parts) > _MAX_PARTS:
        return []
    place = next((at for at, part in enumerate(parts) if isinstance(part, Token) and "OR" in part.kinds), 0)
    left, right = parts[:place], parts[place + 1 :]
    while left and isinstance(left[-1], Token):
        left.pop()
    if not left or not right or not isinstance(left[-1], Node) or not isinstance(right[0], Node):
        return []
    one, other = _inner(left[-1]), _inner(right[0])
    if _kind(one) == _kind(other) != ():
        found = [*_each(_like(one, other)), *_each(other)]
        if left[-1].node("each") is not None and one.name == other.name == "weekdays":
            # "every Monday or Thursday" may be both of them.
            found.append(_both(one, other))
        return [_sentence([*left[:-1], _wrapped(left[-1], each), *right[1:]]) for each in found]
    if any(_kind(_inner(each)) == _TIMES for each in left if isinstance(each, Node)):
        # "tomorrow at 9 or Friday at 10", "Friday at 9 or Monday".
        timed = any(_kind(_inner(each)) == _TIMES for each in right if isinstance(each, Node))
        times = [each for each in left if isinstance(each, Node) and _kind(_inner(each)) == _TIMES]
        if timed and not any(isinstance(each, Node) and _kind(_inner(each)) != _TIMES for each in right):
            # "6 tonight or 7": both are tonight.
            days = [each for each in left if each not in times]
            return [_sentence(left), _sentence([*days, *right])]
        return [_sentence(left), _sentence(right if timed else [*right, *times])]
    return []


def _sentence(parts: list[Node | Token]) -> Node:
    return Node("sentence", tuple(parts))


def _inner(item: Node) -> Node:
    """What an item of a sentence is; the day itself if it has "every" before it."""
    (node,) = [each for each in item.parts if isinstance(each, Node)]
    days = [each for each in node.parts if isinstance(each, Node)]
    return days[0] if node.name == "each" and len(days) == 1 else node


def _wrapped(item: Node, inner: Node) -> Node:
    """The item with something else in it, and the "every" that it had."""
    (node,) = [each for each in item.parts if isinstance(each, Node)]
    if node.name != "each" or inner.name in _TIMES:
        return Node("item", (inner,))
    parts = tuple(inner if isinstance(each, Node) else each for each in node.parts)
    return Node("item", (replace(node, parts=parts),))


def _kind(node: Node) -> tuple[str, ...]:
    return _TIMES if node.name in _TIMES else _DAYS if node.name in _DAYS else ()


def _each(node: Node) -> list[Node]:
    """`Monday, Tuesday or Friday` are three; with "and" it is one."""
    listed = node.node("weekday_list") or node
    marks = {token.text for token in listed.tokens("LINK")}
    if listed.name not in _LISTS or marks != {","}:
        return [node]
    lead = tuple(each for each in listed.parts[:1] if isinstance(each, Token) and "LINK" not in each.kinds)
    members = [each for each in listed.parts if isinstance(each, Node) and each.name != "of"]
    tail = tuple(each for each in listed.parts if isinstance(each, Node) and each.name == "of")
    found = [replace(listed, parts=(*lead, each, *tail)) for each in members]
    if listed is node:
        return found
    return [replace(node, parts=tuple(one if part is listed else part for part in node.parts)) for one in found]


def _both(one: Node, other: Node) -> Node:
    days = [*one.nodes("weekday_list")[0].parts, *other.nodes("weekday_list")[0].parts]
    return replace(one, parts=(Node("weekday_list", tuple(days)),))


def _like(one: Node, other: Node) -> Node:
    """`9 or 10 am`, `the 1st or 2nd of the month`: what is said after the last one holds for those before it."""
    if other.name == "month_days" and (of := other.node("of")) is not None and one.node("of") is None:
        return replace(one, parts=(*one.parts, of))
    last = other.nodes("clock")[-1] if other.nodes("clock") else None
    if last is None:
        return one
    part = tuple(each for each in last.parts if isinstance(each, Token))
    face = next(each for each in last.parts if isinstance(each, Node))
    half = next((each.text[-2:] for each in (*face.tokens("TIME_OF_12"), *face.tokens("AMPM"))), "")
    parts = tuple(
        _with_half(each, half, part) if isinstance(each, Node) and each.name == "clock" else each for each in one.parts
    )
    return replace(one, parts=parts)


def _with_half(clock: Node, half: str, part: tuple[Token, ...]) -> Node:
    (face, *own) = clock.parts
    if own or not isinstance(face, Node):
        return clock
    number = face.token("SMALL", "TIME") if len(face.parts) == 1 else None
    if half and number is not None:
        return replace(clock, parts=(Node("written", (Token(_AMPM, f"{number.text} {half}"),)),))
    return replace(clock, parts=(face, *part))
