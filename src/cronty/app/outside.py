"""What reaches outside: the one guarded way out, and the built-in tasks that use it."""

import os
from collections.abc import Awaitable, Callable
from datetime import datetime

from cronty.actions.command import agent_tasks
from cronty.actions.courier import Courier
from cronty.actions.notify import Notify
from cronty.actions.outbound import Outbound, require_success
from cronty.actions.prompt import prompt
from cronty.actions.shell import Shell
from cronty.actions.tasks import Registry
from cronty.actions.webhook import Webhook
from cronty.jobs.action import COMMAND
from cronty.jobs.envelope import RunFacts
from cronty.settings import Settings

type FindChannel = Callable[[int, str], Awaitable[str | None]]
"""From an owner's id and a topic to the URL of the channel of that name."""

type FindFacts = Callable[[int, int, datetime], Awaitable[RunFacts | None]]
"""From a run, by the ids of its owner and its job and its slot, to what an envelope says about it."""


class Outside:
    """Open from the start; `aclose` ends its connections."""

    def __init__(self, settings: Settings, channel: FindChannel) -> None:
        token = settings.ntfy_token.get_secret_value() if settings.ntfy_token else None
        self.outbound = Outbound(_listed(settings.allowed_hosts))
        self.courier = Courier(self.outbound, _listed(settings.channel_schemes))
        self.notify = Notify(self.outbound, settings.ntfy_url, token, courier=self.courier, find=channel)
        self._webhook = Webhook(self.outbound, _listed(settings.webhook_secrets))

    def register(self, registry: Registry, settings: Settings, facts: FindFacts) -> None:
        """What can be scheduled with nothing registered: declarative actions, never code."""
        registry.add(self.notify.notify, "notify")
        registry.add(self._webhook.webhook, "webhook")
        registry.declare(prompt)
        if settings.commands is not None:
            registry.add(Shell(settings.commands, os.environ).command, COMMAND)
        if settings.agents_file is not None:
            for name, wake in agent_tasks(settings.agents_file, self._webhook, facts, os.environ).items():
                registry.add(wake, name)

    async def fetch(self, url: str) -> bytes:
        answer = await self.outbound.send("GET", url)
        require_success(answer, url)
        return answer.body

    async def aclose(self) -> None:
        await self.courier.aclose()
        await self.outbound.aclose()


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
