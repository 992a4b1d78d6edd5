"""A prompt for an agent: nobody performs it here, it waits in its owner's inbox until an agent settles it."""


def prompt(prompt: str, agent: str | None = None, data: object = None) -> None:
    """Tell an agent something when the time comes: the prompt waits in the inbox until it is read and settled.

    `agent` says which one it is for (left out: whichever reads first); `data` goes along, apart from the
    instruction. Example kwargs: {"prompt": "Look at my open pull requests and sum up what needs me."}
    """
    raise NotImplementedError("A prompt is settled by the agent that reads it, not performed by a worker.")
