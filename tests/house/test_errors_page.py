"""The page about errors has every code with what to do, and the texts it quotes are said."""

import re
from pathlib import Path

from cronty.contract.codes import CODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")


def rows(title: str) -> list[list[str]]:
    """The cells of a part's table, without its head."""
    part = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")][2:]


def test_every_code_is_there_as_it_is_said_with_what_to_do() -> None:
    said = {f"`{code}`": [str(one.status), one.meaning] for code, one in CODES.items()}
    assert {code: rest[:2] for code, *rest in rows("By code")} == said
    assert [row for row in rows("By code") if len(row) != 4 or len(row[3]) < 10] == []


def test_the_texts_it_quotes_are_in_the_source() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/cronty").rglob("*.py"))
    plain = re.sub(r"\"\s+f?\"", "", source)
    quoted = [row[0].strip("`") for row in rows("By text")]
    assert len(quoted) > 10
    parts = [part.strip() for text in quoted for part in text.split("…") if len(part.strip()) > 3]
    assert [part for part in parts if part not in plain] == []
