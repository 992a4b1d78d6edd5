"""Where a reminder goes: a channel by its name, or an ntfy topic that is named as one."""

from collections.abc import Sequence
from typing import Final

from cronty.cli.connection import Api
from cronty.contract.result import CrontyError, Err

TOPIC: Final = "ntfy:"
"""What stands before the name of a topic: a name alone is a channel's, so that no message gets public by mistake."""

HELP: Final = "Send it to this channel, or to a topic of ntfy: ntfy:my-topic."


async def destination(api: Api, named: str | None) -> str:
    """The channel or topic that is named; the only channel there is, if none is."""
    if named is not None and named.startswith(TOPIC):
        return named.removeprefix(TOPIC)
    try:
        names = [one.name for one in (await api.list_channels()).channels]
    except CrontyError as refused:
        if named is None or refused.code != "missing_scope":
            raise
        return named  # the server knows whether it is a channel's
    if named is None and len(names) == 1:
        return names[0]
    if named is None or named not in names:
        raise CrontyError(_unknown(named, names))
    return named


def _unknown(named: str | None, names: Sequence[str]) -> Err:
    make = f"cronty channel add {named or 'phone'} ntfy://ntfy.sh/TOPIC"
    if named is not None:
        yours = f"Yours: {', '.join(names)}. " if names else ""
        message = f"There is no channel {named!r}."
        hint = f"{yours}`{make}` makes it; --notify {TOPIC}{named} sends to the public topic of that name."
    elif names:
        message = f"Which channel? There are {', '.join(names)}."
        hint = f"Name one: --notify {names[0]}. Or say what it is: --prompt, --agent, --command or --task."
    else:
        message = "A reminder needs a channel to go to, and there is none yet."
        hint = (
            f"Make one, with a topic that nobody guesses and that the ntfy app on your phone listens to: `{make}`. "
            "Then repeat this. For a prompt to an agent add --prompt."
        )
    return Err("unknown_channel", message, hint)
