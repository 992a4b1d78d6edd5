"""Builds the documentation as a site in build/site: `python -m tests.house.site`. Needs `requirements/site.txt`.

The pages stand in the repository as people read them there. For the site they are copied with the few that lie outside
`docs/`, and their links follow them.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote

from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parents[2]
CONFIG: Final = ROOT / "zensical.toml"
OUTSIDE: Final = {
    "deploy/README.md": "how-to/deploy.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "AGENTS.md": "project/rooms.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "LICENSE": "project/LICENSE.txt",
}
"""Files that aren't in `docs/`, and where they are on the site."""
LINK: Final = re.compile(r"(?<=\]\()([^)\s#]*)(#[^)\s]*)?(?=\))")
FENCE: Final = re.compile(r"^( *)(```|~~~).*?^\1\2[^\n]*$", re.MULTILINE | re.DOTALL)
COUNTED: Final = ("h1", "h2", "h3", "li", "pre", "table", "tr", "img")


def pages() -> dict[str, str]:
    """Every file of the site that others may link to: its path in the repository, and on the site."""
    found = [
        path.relative_to(ROOT).as_posix() for folder in ("docs", "examples") for path in ROOT.glob(f"{folder}/**/*")
    ]
    listed = {path: path.removeprefix("docs/") for path in sorted(found) if (ROOT / path).is_file()}
    return {path: to for path, to in listed.items() if "__pycache__" not in path} | {
        path: to for path, to in OUTSIDE.items() if (ROOT / path).is_file()
    }


def prose(text: str) -> str:
    """Without blocks and spans of code, whose brackets aren't links."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def links(text: str) -> list[tuple[str, str]]:
    """The links to other files and to headings: path (empty for this page) and anchor (may be empty)."""
    found = [(path, (anchor or "").removeprefix("#")) for path, anchor in LINK.findall(prose(text))]
    return [(path, anchor) for path, anchor in found if "://" not in path and not path.startswith("mailto:")]


def target(page: str, path: str) -> str:
    """Where a link of a page leads, as a path in the repository."""
    return os.path.normpath(PurePosixPath(page).parent / path) if path else page


def slugs(text: str) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        found[slug] = found.get(slug, -1) + 1
    return {f"{slug}_{n}" if n else slug for slug, times in found.items() for n in range(times + 1)}


def navigation() -> list[str]:
    """The pages in the order of the navigation."""

    def walk(entry: object) -> Iterator[str]:
        match entry:
            case str():
                yield entry
            case list():
                for one in entry:  # pyright: ignore[reportUnknownVariableType]
                    yield from walk(one)  # pyright: ignore[reportUnknownArgumentType]
            case dict():
                for one in entry.values():  # pyright: ignore[reportUnknownVariableType]
                    yield from walk(one)  # pyright: ignore[reportUnknownArgumentType]
            case _:
                raise TypeError(entry)

    return list(walk(tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]["nav"]))


def staged(page: str, text: str) -> str:
    """A page as the site's Markdown wants it: links to where files are, and what a list holds four columns in."""
    at = pages()
    here = PurePosixPath(at[page]).parent

    def moved(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        if not path or "://" in path or (to := at.get(target(page, path))) is None:
            return match[0]
        return os.path.relpath(to, here) + anchor

    lines: list[str] = []
    inside = False
    for line in LINK.sub(moved, text).splitlines():
        if re.match(r"\d+\. ", line):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        lines.append(f" {line}" if inside and line.startswith("   ") else line)
    return "\n".join(lines) + "\n"


def stage(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for path, to in pages().items():
        (folder / to).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            (folder / to).write_text(staged(path, (ROOT / path).read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copy(ROOT / path, folder / to)


class Page(HTMLParser):
    """What a built page refers to, its anchors, and how many of each element its article has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.refers: list[str] = []
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.counts = dict.fromkeys(COUNTED, 0)
        self.inside = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        refers = [value for name in ("href", "src") if (value := given.get(name))]
        self.refers += refers
        self.loads |= set(refers) if tag in ("script", "img", "link", "iframe") else set()
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "article":
            self.inside += 1
        if self.inside and tag in self.counts:
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self.inside -= 1


def broken(site: Path) -> list[str]:
    """References to files or anchors that aren't there, and whatever would be loaded from another host."""
    built = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    found: list[str] = []
    for path, page in built.items():
        for one in page.refers:
            if re.match(r"[a-z]+:|//", one):
                found += [f"{path.relative_to(site)}: {one}"] if one in page.loads else []
                continue
            to, _, anchor = one.partition("#")
            file = (path.parent / unquote(to.partition("?")[0])).resolve() if to else path
            file = file / "index.html" if file.is_dir() else file
            if not file.is_file() or (anchor and file in built and unquote(anchor) not in built[file].anchors):
                found.append(f"{path.relative_to(site)}: {one}")
    return sorted(set(found))


def drawn_otherwise(site: Path) -> list[str]:
    """Pages that have other headings, lists, tables or blocks on the site than in the repository."""
    found: list[str] = []
    plain = MarkdownIt("commonmark").enable("table")
    for path, to in pages().items():
        if not path.endswith(".md"):
            continue
        html = plain.render((ROOT / path).read_text(encoding="utf-8"))
        asked = {tag: len(re.findall(rf"<{tag}[ >/]", html)) for tag in COUNTED}
        name = to.removesuffix(".md")
        got = Page(site / ("index.html" if name == "index" else f"{name}/index.html")).counts
        if asked != got:
            found.append(f"{path}: { ({tag: (asked[tag], got[tag]) for tag in COUNTED if asked[tag] != got[tag]}) }")
    return found


def build() -> Path:
    stage(ROOT / "build/pages")
    site = ROOT / "build/site"
    shutil.rmtree(site, ignore_errors=True)
    subprocess.run([Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"], cwd=ROOT, check=True)
    return site


if __name__ == "__main__":
    built = build()
    wrong = broken(built) + drawn_otherwise(built)
    print("\n".join(wrong) or "The site is in build/site.")
    sys.exit(bool(wrong))
