"""Every page is on the site and can be reached, and links between pages lead to what is there."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.house.site import ROOT, broken, build, drawn_otherwise, links, navigation, pages, slugs, staged, target

READ_IN_THE_REPOSITORY = ["README.md"]
MARKDOWN = [path for path in [*pages(), *READ_IN_THE_REPOSITORY] if path.endswith(".md")]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_once() -> None:
    listed = navigation()
    assert len(listed) > 30
    assert sorted(listed) == sorted(to for to in pages().values() if to.endswith(".md"))


@pytest.mark.parametrize("page", MARKDOWN)
def test_links_lead_to_files_and_headings_that_are_there(page: str) -> None:
    lost: list[str] = []
    for path, anchor in links(read(page)):
        to = target(page, path)
        if not (ROOT / to).exists() or (anchor and to.endswith(".md") and anchor not in slugs(read(to))):
            lost.append(f"{path}#{anchor}")
    assert lost == []


@pytest.mark.parametrize("page", [path for path in pages() if path.endswith(".md")])
def test_what_a_page_links_to_is_on_the_site(page: str) -> None:
    assert [path for path, _ in links(read(page)) if target(page, path) not in pages()] == []


# With the first release this goes, and the pages say what they then can.
@pytest.mark.parametrize("page", MARKDOWN)
def test_no_page_installs_what_is_not_released(page: str) -> None:
    assert re.findall(r"(?:pip install|uv tool install|uvx --from) '?cronty(?!\S* cronty …)", read(page)) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = (
        "# A page\n\n## Why this?\n\n[one](other.md#part) `[no](link)` [two](#why-this) [away](https://example.com)\n"
    )
    assert links(text) == [("other.md", "part"), ("", "why-this")]
    assert slugs(text) == {"a-page", "why-this"}
    assert target("docs/how-to/team.md", "../../deploy/README.md") == "deploy/README.md"
    assert "[deploy](deploy.md)" in staged("docs/how-to/team.md", read("docs/how-to/team.md"))


# It takes 5 s of a core, and is left out only where the tools for it aren't installed.
@pytest.mark.skipif(find_spec("zensical") is None, reason="Zensical isn't installed: requirements/site.txt")
def test_the_site_builds_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    site: Path = build()
    assert broken(site) == []
    assert drawn_otherwise(site) == []
