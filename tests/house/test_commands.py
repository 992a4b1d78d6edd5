"""Every `cronty` command on the pages is one that exists, with options and arguments that it takes."""

import re
import shlex

import pytest
import typer

from cronty.cli.commands import COMMANDS
from tests.house.site import ROOT
from tests.house.test_fleet import parse

PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^ *```(?:sh|console)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
START = rf"(?:^|[;&|(]) *(?:[A-Z_]+=\S+ +)*cronty +({'|'.join(COMMANDS)})\b(.*)"


def in_blocks(text: str) -> list[str]:
    """The commands, without what prompts, shells and comments add; of a session only what was typed."""
    found: list[str] = []
    for block in BLOCK.findall(text):
        # A line goes on after a backslash, and inside of single quotes.
        lines = re.sub(
            r"(?<=\s)'[^'\n]*\n[^']*'", lambda quoted: quoted[0].replace("\n", " "), block.replace("\\\n", " ")
        ).splitlines()
        typed = [line.strip() for line in lines if line.strip().startswith("$ ")] or [line.strip() for line in lines]
        for line in typed:
            if command := re.search(START, line.removeprefix("$ ")):
                found.append(f"{command[1]}{command[2]}")
    return found


def words(command: str) -> list[str]:
    """Up to a comment, a pipe, the end of a `$(…)` or a redirection."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;()<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    taken: list[str] = []
    for word in lexer:
        if word and set(word) <= set("|&;()<>"):
            break
        taken.append(word)
    return taken


def commands() -> list[tuple[str, str]]:
    return [(page.relative_to(ROOT).as_posix(), one) for page in PAGES for one in in_blocks(page.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "command"), commands())
def test_a_command_on_a_page_is_one_that_exists(page: str, command: str) -> None:
    try:
        parse(words(command))
    except typer.BadParameter as refused:
        if "does not exist" not in refused.message:  # a file of the reader's needn't be here
            raise


def test_commands_are_found_and_wrong_ones_are_noticed() -> None:
    assert len(commands()) > 60
    text = "```console\n$ A=1 cronty add 'in 2h' \\\n    Tea --notify me  # soon\nadded\n$ x=$(cronty key | cat)\n```\n"
    assert [words(one) for one in in_blocks(text)] == [["add", "in 2h", "Tea", "--notify", "me"], ["key"]]
    with pytest.raises(Exception, match="--no-such"):
        parse(["add", "in 2h", "--no-such"])
