"""The commands that run until they are told to stop: mcp, serve and work."""

import asyncio
import sys
from contextlib import redirect_stdout
from typing import Annotated, Final

import typer

from cronty.actions.secrecy import hide_process, take_from_environment
from cronty.app import Cronty
from cronty.app.assembly import queues_of
from cronty.cli import service
from cronty.cli.service_of_client import Wanted
from cronty.cli.startup import MetricsPort, extra, load, opened, probed, set_metrics_port, set_up_logging
from cronty.engine.collector import tune_collector
from cronty.settings import SECRET_VARIABLES, Settings, remember

App = Annotated[str | None, typer.Option("--app", help="Where your own Cronty and its tasks are, as module:name.")]
Tools = Annotated[str, typer.Option(help="Which groups of tools to offer, comma-separated.")]
EVERY_TOOL: Final = "jobs,notifications,agenda,inbox"


def work(
    target: Annotated[str, typer.Argument(help="Where your Cronty is, as module:name, for example backup:cronty.")],
    concurrency: Annotated[int | None, typer.Option(min=1, max=10_000, help="How many runs at once.")] = None,
    queue: Annotated[
        str | None,
        typer.Option(help="Perform only tasks of these queues, separated by commas; `default` has the others."),
    ] = None,
    metrics_port: MetricsPort = None,
) -> None:
    cronty = _begin(target)
    set_metrics_port(cronty, metrics_port)
    cronty.run_jobs = cronty.die_when_stuck = True
    if concurrency is not None:
        cronty.settings = cronty.settings.model_copy(update={"concurrency": concurrency})
    if queue is not None:
        cronty.settings = cronty.settings.model_copy(update={"queues": queue})
        queues_of(cronty.settings)  # refuse bad ones now
    asyncio.run(_work_until_stopped(cronty))


def mcp(
    target: App = None,
    tools: Tools = EVERY_TOOL,
    no_service: Annotated[
        bool, typer.Option("--no-service", help="Don't start the background service: jobs run while this does.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only the tools that look; none that changes something.")
    ] = False,
) -> None:
    environment = service.environment_of(_settings())  # before the secrets are taken out of it
    with redirect_stdout(sys.stderr):  # the user's module may print while it is loaded
        cronty = _begin(target)
    wanted = None if no_service else Wanted(environment, target)
    extra("cronty.cli.serve", "mcp").serve_stdio(cronty, tools, wanted, read_only=read_only)


def serve(
    target: App = None,
    tools: Tools = EVERY_TOOL,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8125,
    name: Annotated[list[str] | None, typer.Option(help="Another host name clients may call it by.")] = None,
    auth: Annotated[bool, typer.Option("--auth", help="Others can reach it: each needs a key of their own.")] = False,
    metrics_port: MetricsPort = None,
) -> None:
    cronty = _begin(target)
    extra("cronty.cli.serve", "mcp").serve(cronty, tools, host, port, name or [], metrics_port, auth=auth)


def _begin(target: str | None) -> Cronty:
    """The program, or a Cronty of our own. From now on nobody else of the same user reads the secrets of this process.

    The program is loaded before they are taken out of the environment: its modules may look for them there.
    """
    hide_process()
    settings = _settings()
    set_up_logging(settings.log_level, settings.log_format)
    program = None if target is None else load(target)
    remember(take_from_environment(SECRET_VARIABLES))
    tune_collector()
    return program or Cronty()


def _settings() -> Settings:
    return Settings()  # pyright: ignore[reportCallIssue] -- its defaults are fields


async def _work_until_stopped(cronty: Cronty) -> None:
    async with probed(cronty), opened(cronty) as stopping:
        await stopping.wait()
