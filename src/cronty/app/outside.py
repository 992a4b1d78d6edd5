"""Everything that calls out: the guarded HTTP client, and the built-in tasks that use it."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from cronty.actions.buttons import ReminderButtons, phone_address
from cronty.actions.command import Surroundings, agent_tasks
from cronty.actions.courier import Courier
from cronty.actions.notify import Notify, Token
from cronty.actions.outbound import Outbound, require_success
from cronty.actions.prompt import prompt
from cronty.actions.shell import Shell
from cronty.actions.tasks import Registry
from cronty.actions.webhook import Webhook
from cronty.app.keys import with_the_key
from cronty.jobs.action import COMMAND
from cronty.jobs.envelope import RunFacts
from cronty.settings import Settings
from cronty.store.sealing import read_keys


@dataclass(frozen=True, slots=True)
class Lookups:
    """What actions ask the database for, by the ids that a run has."""

    channel: Callable[[int, str], Awaitable[str | None]]
    """From an owner and a topic to the URL of the channel of that name."""
    owner: Callable[[int], Awaitable[str | None]]
    """From an owner's id to its name."""
    facts: Callable[[int, int, datetime], Awaitable[RunFacts | None]]
    """From a run, by owner, job and slot, to what an envelope says about it."""


class Outside:
    """Open from the start; `aclose` ends its connections. `own` is the owner that the settings are for."""

    def __init__(self, settings: Settings, own: str, lookups: Lookups) -> None:
        self._settings, self.own, self._lookups = settings, own, lookups
        served = frozenset(_listed(settings.ntfy_token_owners) or [own]) | {None}
        token = Token(settings.ntfy_token.get_secret_value(), served) if settings.ntfy_token else None
        self.outbound = Outbound(_listed(settings.allowed_hosts), own=own)
        self.courier = Courier(self.outbound, _listed(settings.channel_schemes))
        self.notify = Notify(
            self.outbound,
            settings.ntfy_url,
            token,
            courier=self.courier,
            find=lookups.channel,
            about=lookups.facts,
            buttons=ReminderButtons(self.keys, phone_address(settings.public_url)),
        )

    def keys(self) -> list[bytes]:
        """The installation's keys, the newest first; none if it has none."""
        return with_the_key(self._settings, read_keys) or []

    def register(self, registry: Registry) -> None:
        """What can be scheduled with nothing registered: declarative actions, never code."""
        settings = self._settings
        webhook = Webhook(self.outbound, self._lookups.owner, self.keys)
        registry.add(self.notify.notify, "notify")
        registry.add(webhook.webhook, "webhook")
        registry.declare(prompt)
        if settings.commands is not None:
            registry.add(Shell(settings.commands, os.environ).command, COMMAND)
        if settings.agents_file is not None:
            kept = [] if settings.commands is None else [settings.commands]
            around = Surroundings(self._lookups.facts, os.environ, self.own, settings.secret_places, kept)
            for name, (wake, owners) in agent_tasks(settings.agents_file, webhook, around).items():
                registry.add(wake, name, owners)

    async def fetch(self, url: str) -> bytes:
        answer = await self.outbound.send("GET", url)
        require_success(answer, url)
        return answer.body

    async def aclose(self) -> None:
        await self.courier.aclose()
        await self.outbound.aclose()


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
