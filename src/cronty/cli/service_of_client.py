"""What a client that speaks stdio does so that its reminders fire after it has closed: it keeps the service up."""

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

from cronty.app import Cronty
from cronty.cli import service_keeper, service_units
from cronty.cli.own_copy import as_typed, lasting_python
from cronty.cli.service import Flaw, bring_up, is_taken, wait_for
from cronty.cli.service_folder import ServiceFolder, ServiceSpec, url_of
from cronty.store.local import NoDatabase

PORTS: Final = range(8125, 8145)
PATIENCE: Final = 30.0
"""Seconds that the first answer waits for the service to be up."""

NOTHING_FIRES: Final = "Nothing fires after this client has closed: "

log = logging.getLogger("cronty.service")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The service that a client wants: the environment for it, and where the user's own Cronty is, if there is one."""

    environment: Mapping[str, str]
    target: str | None = None


class AfterClosing:
    """Whether something fires once this client has closed. With the local database the service is started for it, in a
    thread, because a client waits neither for its tools nor at its end."""

    def __init__(self, cronty: Cronty, wanted: Wanted | None) -> None:
        self._cronty = cronty
        self._refused = wanted is None
        self._problem: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        settings = cronty.settings
        asked_for = ServiceFolder(settings.data_dir).spec() is not None
        if wanted is not None and settings.run is None and (settings.database_url is None or asked_for):
            work = (asyncio.get_running_loop(), settings.data_dir, wanted)
            threading.Thread(target=self._keep_up, args=work, name="service", daemon=True).start()
        else:
            self._problem.set_result(None)

    async def warning(self) -> str | None:
        """Why nothing will fire, and how to change that; None if all is well."""
        settings = self._cronty.settings
        if settings.database_url is not None:
            here = f"{socket.gethostname()}:{os.getpid()}"
            if await self._cronty.service.overview.has_other_worker(here):
                return None
            return as_typed(f"{NOTHING_FIRES}no worker runs on this database. `cronty serve` or `cronty work` is one.")
        try:
            problem = await asyncio.wait_for(asyncio.shield(self._problem), PATIENCE)
        except TimeoutError:
            problem = "the background service takes long to start. `cronty status` shows how it is."
        if problem is None and ServiceFolder(settings.data_dir).alive("keeper") is None:
            problem = "it was started with --no-service. `cronty up` starts the background service."
            if not self._refused:
                problem = "the background service was stopped. `cronty up` starts it."
        return None if problem is None else as_typed(NOTHING_FIRES + problem)

    def _keep_up(self, loop: asyncio.AbstractEventLoop, data_dir: Path, wanted: Wanted) -> None:
        try:
            problem = keep_up(data_dir, wanted)
        except NoDatabase:  # the client itself can't be opened then, and says why
            return
        except Exception as error:  # whatever it is, it must be told
            log.exception("the background service can't be started")
            problem = f"the background service can't be started: {error}. `cronty up` tries again."
        if problem is not None:
            log.warning("%s", as_typed(NOTHING_FIRES + problem))
        with suppress(RuntimeError):  # the client has closed meanwhile
            loop.call_soon_threadsafe(self._tell, problem)

    def _tell(self, problem: str | None) -> None:
        if not self._problem.done():
            self._problem.set_result(problem)


def keep_up(data_dir: Path, wanted: Wanted) -> str | None:
    """Make sure that the service is up; why it isn't, or None. What `cronty up` and `cronty down` asked for stands."""
    folder = ServiceFolder(data_dir)
    folder.make()
    with folder.lock("starting"):  # several clients may start at once
        before = folder.spec()
        if before is None:
            if folder.unwanted:
                return "`cronty down` has stopped the background service. `cronty up` starts it again."
            return _start_new(folder, wanted)
        if _is_older(before.version):
            python = lasting_python(data_dir)
            log.warning("the background service is of version %s; restarting it", before.version or "unknown")
            flaw = bring_up(folder, replace(before, python=python, version=version("cronty")), already=False)
        elif folder.alive("keeper") is None and before.kept_by == "background":
            log.warning(as_typed("the background service is gone; starting it again. `cronty down` ends it for good"))
            service_keeper.start(folder)
            flaw = wait_for(folder, before)
        else:
            flaw = wait_for(folder, before)
        return _in_words(flaw, folder)


def _start_new(folder: ServiceFolder, wanted: Wanted) -> str | None:
    kept = service_units.keeper_of_this_system()
    python = lasting_python(folder.path.parent)
    arguments = ["--app", wanted.target] if wanted.target else []
    for port in PORTS:
        url = url_of("127.0.0.1", port)
        if is_taken(url):
            continue
        where = ["--host", "127.0.0.1", "--port", str(port), *arguments]
        spec = ServiceSpec(where, url, kept, str(Path.cwd()), wanted.environment, python, version("cronty"))
        flaw = bring_up(folder, spec, already=False)
        if flaw is None:
            log.info(as_typed("the background service is up at %s, and stays. `cronty down` ends it"), url)
        return _in_words(flaw, folder)
    return "every port from 8125 to 8144 is taken. `cronty up --port` takes another one."


def _in_words(flaw: Flaw | None, folder: ServiceFolder) -> str | None:
    """Why nothing fires; None if it does."""
    if flaw is None:
        return None
    if flaw.fires:
        log.warning("the background service %s", flaw.text)
        return None
    lines = folder.last_lines(1)
    because = f" ({lines[0][-300:]})" if lines else ""
    return f"the background service isn't up: {flaw.text.removesuffix(' Its log:')}{because}. `cronty up` tries again."


def _is_older(than: str) -> bool:
    """Whether a service of that version is older than we are; unknown ones are."""
    return _numbers(than) < _numbers(version("cronty"))


def _numbers(text: str) -> list[int]:
    parts = text.split("+")[0].split(".")
    return [int("".join(each for each in part if each.isdigit()) or 0) for part in parts if part]
