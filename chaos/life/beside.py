"""Lives side by side, in processes that each have a core and a PostgreSQL of their own."""

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from chaos.verdict import Figures


class Answer(Protocol):
    """The end of a pipe from which figures come."""

    def recv(self) -> Any: ...


class Given(Protocol):
    """The end of a pipe into which figures go."""

    def send(self, obj: Any, /) -> None: ...


def side_by_side[T](run: Callable[[T], Figures], parts: Sequence[T]) -> Figures:
    """The figures of all parts together; a part that ended without any is broken."""
    context = multiprocessing.get_context("spawn")
    begun: list[tuple[BaseProcess, Answer]] = []
    found: list[Figures] = []
    try:
        for core, part in enumerate(parts):
            answer, given = context.Pipe(duplex=False)
            process = context.Process(target=_live, args=(run, part, core, given))
            process.start()
            given.close()
            begun.append((process, answer))
        for process, answer in begun:
            try:
                found.append(answer.recv())
            except EOFError:
                process.join()
                found.append({"broken": [f"a process ended with {process.exitcode} and said why above"]})
    finally:
        for process, _ in begun:
            process.terminate()
        for process, _ in begun:
            process.join()
    return _together(found)


def _live[T](run: Callable[[T], Figures], part: T, core: int, given: Given) -> None:
    """PostgreSQL answers faster on the core that asks, as only one of them has something to do at a time."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})
    given.send(run(part))


def _together(found: Sequence[Figures]) -> Figures:
    figures: Figures = {}
    for one in found:
        for name, value in one.items():
            if name == "of_kind":
                figures[name] = _sum(figures.get(name, {}), value)
            elif name == "seconds":
                figures[name] = max(figures.get(name, 0.0), value)
            elif isinstance(value, str) or name not in figures:
                figures[name] = value
            else:
                figures[name] += value
    return figures


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(one) + Counter(other)).items()))
