"""Modules and functions stay small enough to read in one sitting."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/cronty"
MODULE_LIMIT = 600
FUNCTION_LIMIT = 80

# What may be larger, by name ("engine/work.py", "engine/work.py:perform"), and why.
EXCUSED: dict[str, str] = {}


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    """Every function with its length, decorators and docstring included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = prefix + node.name
            if not isinstance(node, ast.ClassDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                yield name, (node.end_lineno or node.lineno) - first + 1
            yield from functions(node, name + ".")
        else:
            yield from functions(node, prefix)


def too_large(source: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in sorted(source.rglob("*.py")):
        module = path.relative_to(source).as_posix()
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > MODULE_LIMIT:
            found[module] = lines
        for name, length in functions(ast.parse(text)):
            if length > FUNCTION_LIMIT:
                found[f"{module}:{name}"] = length
    return found


def test_nothing_is_too_large_without_a_reason() -> None:
    unexcused = {name: lines for name, lines in too_large(SOURCE).items() if name not in EXCUSED}
    assert unexcused == {}, "Split it, or name it in EXCUSED with its reason."


def test_nothing_is_excused_that_became_small() -> None:
    assert EXCUSED.keys() <= too_large(SOURCE).keys()


def test_the_measure_sees_what_is_too_large(tmp_path: Path) -> None:
    body = "        pass\n" * FUNCTION_LIMIT
    (tmp_path / "long.py").write_text(f"class Room:\n    async def wander(self):\n{body}", encoding="utf-8")
    (tmp_path / "tall.py").write_text("\n" * (MODULE_LIMIT + 1), encoding="utf-8")
    assert too_large(tmp_path) == {
        "long.py:Room.wander": FUNCTION_LIMIT + 1,
        "tall.py": MODULE_LIMIT + 1,
    }
