"""A prompt for an agent: it waits in its owner's inbox until an agent settles it, or a worker wakes its agent."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cronty.actions.agents import Agent
from cronty.actions.tasks import PermanentError, current_run
from cronty.actions.webhook import Webhook
from cronty.jobs.envelope import Envelope, RunFacts

type About = Callable[[int, int, datetime], Awaitable[RunFacts | None]]
"""What is known about a run, by the ids of its owner and its job, and its slot; None if it isn't there any more."""

WEBHOOK_PATIENCE: Final = timedelta(seconds=10)


def prompt(prompt: str, agent: str | None = None, data: object = None) -> None:
    """Tell an agent something when the time comes: the prompt waits in the inbox until it is read and settled, or
    wakes its agent if the operator has registered it.

    `agent` says which one it is for (left out: whichever reads first); `data` goes along, apart from the
    instruction. Example kwargs: {"prompt": "Look at my open pull requests and sum up what needs me."}
    """
    raise NotImplementedError("A prompt is settled by the agent that reads it, not performed by a worker.")


@dataclass(frozen=True, slots=True)
class Registered:
    """An agent of the operator's file. `own` is the owner that whoever sits at the machine is."""

    agent: Agent
    about: About
    own: str


async def envelope_of(
    registered: Registered, prompt: str, agent: str | None, data: object, patience: timedelta
) -> Envelope:
    """The envelope of the run being performed; its agent has `patience` from now on."""
    name = registered.agent.name
    run = current_run()
    facts = await registered.about(run.owner_id, run.job_id, run.scheduled_for)
    if facts is None:
        raise PermanentError("Its run isn't there any more.")
    if not registered.agent.serves(facts.owner, registered.own):
        raise PermanentError(
            f"Agent {name!r} isn't available to {facts.owner!r}; whoever runs this service can allow it."
        )
    return Envelope(prompt, data, agent or name, facts, run.attempt, facts.now + patience)


@dataclass(frozen=True, slots=True)
class WebhookAgent:
    """An agent that is woken by a signed call to its operator's URL; an answer of 2xx means that it has been."""

    registered: Registered
    webhook: Webhook

    async def wake(self, prompt: str, agent: str | None = None, data: object = None) -> dict[str, object]:
        """Wake the agent by its webhook. Schedule it as a prompt for this agent."""
        envelope = await envelope_of(self.registered, prompt, agent, data, WEBHOOK_PATIENCE)
        registered = self.registered.agent
        return await self.webhook.wake(registered.name, registered.url, envelope.facts.owner, envelope.as_json())
