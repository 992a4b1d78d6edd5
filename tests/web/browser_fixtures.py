"""A real browser before a real `cronty serve`, with a demo to look at; skipped where there is no Chromium."""

import asyncio
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import asyncpg
import pytest
from platformdirs import user_cache_path
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from cronty.contract.local_key import make_code
from cronty.store.migrate import migrate
from tests.clients.serving import Served, serving
from tests.conftest import with_database
from tests.web.demo import SECRET_KEY, furnish

AXE = "4.14.0"
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_WATCH = """
window.noticed = [];
window.pwned = () => window.noticed.push("a script that isn't ours ran");
document.addEventListener("securitypolicyviolation", (event) =>
  window.noticed.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
_APP = '''
from cronty import Cronty

cronty = Cronty()

@cronty.task
def greet(name: str) -> dict[str, str]:
    """Say hello."""
    return {"said": f"hello {name}"}
'''

type Look = Literal["light", "dark", "phone"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Gone with its module: the loop it keeps would be in the way of other tests."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def own_database(server_url: str, name: str, fill: Callable[[str], Coroutine[Any, Any, Any]]) -> Generator[str]:
    """A migrated database that is gone afterwards."""
    name = f"cronty_{name}_{os.getpid()}"

    async def prepare(*statements: str) -> None:
        connection = await asyncpg.connect(server_url)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    async def build(url: str) -> None:
        await migrate(url)
        await fill(url)

    _apart(prepare(f"drop database if exists {name} with (force)", f"create database {name}"))
    url = with_database(server_url, name)
    _apart(build(url))
    yield url
    _apart(prepare(f"drop database {name} with (force)"))


def _apart(work: Coroutine[Any, Any, None]) -> None:
    """In a thread of its own, because Playwright keeps an event loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


@contextmanager
def furnished(
    server_url: str, folder: Path, name: str, fill: Callable[[str], Coroutine[Any, Any, Any]]
) -> Generator[Served]:
    """`cronty serve` over a database that was filled before."""
    (folder / "greetings.py").write_text(_APP)
    with (
        own_database(server_url, name, fill) as url,
        serving(
            folder, "--app", "greetings:cronty", database_url=url, secret_key=SECRET_KEY, keep_days="400"
        ) as served,
    ):
        yield served


@pytest.fixture(scope="module")
def demo(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with furnished(server_url, tmp_path_factory.mktemp("demo"), "demo", furnish) as served:
        yield served


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go: the folder CRONTY_PICTURES names, or one that is thrown away."""
    folder = Path(os.environ.get("CRONTY_PICTURES") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def looking(browser: Browser, served: Served, look: Look = "light", zone: str | None = None) -> Generator[Page]:
    """A page that notes scripts and styles that aren't ours, and everything it complains about; signed in by a link."""
    context = _context(browser, look, zone)
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.set_default_timeout(15_000)
    page.goto(f"{served.url}/sign-in?code={make_code(served.key, 'open', served.url)}")
    page.wait_for_url(f"{served.url}/")
    try:
        yield page
    finally:
        context.close()


def _context(browser: Browser, look: Look, zone: str | None) -> BrowserContext:
    if look == "phone":
        return browser.new_context(
            viewport={"width": 390, "height": 844}, color_scheme="light", has_touch=True, is_mobile=True,
            timezone_id=zone,
        )  # fmt: skip
    return browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme=look, timezone_id=zone)


def noticed(page: Page) -> list[str]:
    return page.evaluate("window.noticed")


def axe() -> str:
    """The source of axe-core, kept in the user's cache folder; the test is skipped where npm can't be reached."""
    place = user_cache_path("cronty-tests") / f"axe-{AXE}.js"
    if not place.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm isn't installed, and axe-core comes from it")
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            done = subprocess.run(
                [npm, "pack", "--silent", f"axe-core@{AXE}"], cwd=folder, capture_output=True, text=True, check=False,
                timeout=120,
            )  # fmt: skip
            if done.returncode:
                pytest.skip(f"npm can't get axe-core: {done.stderr[-200:]}")
            with tarfile.open(next(Path(folder).glob("*.tgz"))) as packed:
                member = packed.extractfile("package/axe.min.js")
                assert member is not None
                fresh = Path(folder) / "axe.js"
                fresh.write_bytes(member.read())
            fresh.replace(place)
    return place.read_text(encoding="utf-8")


def violations(page: Page, source: str) -> list[str]:
    """What axe finds serious or critical, in a line each."""
    page.evaluate(source)
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)"
    )
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary'][:300]}" for one in grave]
