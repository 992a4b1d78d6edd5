"""`cronty open`: shows the dashboard to the user who runs the server."""

import os
import sys
import webbrowser
from pathlib import Path
from tempfile import NamedTemporaryFile

import typer

from cronty.cli.local_key import local_key_of
from cronty.cli.output import Json, print_json, refuse, say
from cronty.cli.ready import is_ready
from cronty.cli.service_folder import ServiceFolder
from cronty.contract.local_key import make_code
from cronty.settings import Settings


def open_dashboard(json: Json = False) -> None:
    data_dir = Settings().data_dir  # pyright: ignore[reportCallIssue] -- its defaults are fields
    spec = ServiceFolder(data_dir).spec()
    url = (os.environ.get("CRONTY_URL") or (spec.url if spec else "http://127.0.0.1:8125")).rstrip("/")
    if not is_ready(url, data_dir):
        refuse(f"Cronty isn't up at {url}.", hint="`cronty up` starts it.", json=json)
    if spec is not None and "--auth" in spec.arguments:
        refuse(f"{url} is for everyone with a key.", hint="Sign in there with yours.", json=json)
    link = f"{url}/sign-in?code={make_code(local_key_of(data_dir), 'open', url)}"
    if json:
        print_json({"link": link})
        return
    if _has_browser():
        webbrowser.open(_page_that_leads_to(link, data_dir).as_uri())
    say("The dashboard, for you alone. The link is good once, for 5 minutes:")
    typer.echo(link)


def _page_that_leads_to(link: str, data_dir: Path) -> Path:
    """A page that only this user can read. The command line of a browser, with a link in it, is for all to see."""
    path = data_dir.expanduser().resolve() / "open.html"
    with NamedTemporaryFile("w", dir=path.parent, prefix=".open-", delete=False) as page:
        page.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={link}"><a href="{link}">Cronty</a>\n')
    os.rename(page.name, path)
    return path


def _has_browser() -> bool:
    screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.stdout.isatty() and bool(screen)
