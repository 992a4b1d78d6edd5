"""Push notifications through ntfy: what one may hold, and publishing it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, cast
from urllib.parse import urlsplit

from pydantic import Field

from cronty.actions.allowed import EVERYBODY
from cronty.actions.buttons import ReminderButtons
from cronty.actions.courier import Courier, is_ntfy
from cronty.actions.ntfy import Ahead, publish
from cronty.actions.outbound import MAX_URL, Outbound
from cronty.actions.prompt import About
from cronty.actions.tasks import CurrentRun, PermanentError, current_run
from cronty.contract.result import Err
from cronty.jobs.action import Action
from cronty.jobs.dashed_name import RULE, is_dashed_name
from cronty.jobs.envelope import RunFacts
from cronty.jobs.moments import local_text
from cronty.jobs.run import message_id

MAX_MESSAGE_BYTES: Final = 4096
MAX_TITLE: Final = 250
MAX_TAGS: Final = 20
MAX_BUTTONS: Final = 3

_WEB: Final = frozenset({"http", "https"})
_CLICK: Final = _WEB | {"mailto", "geo", "tel", "ntfy"}
_BUTTONS: Final[Mapping[str, frozenset[str]]] = {
    "view": frozenset({"url"}),
    "http": frozenset({"url", "method", "headers", "body"}),
    "broadcast": frozenset({"intent", "extras"}),
}
_EVERY_BUTTON: Final = frozenset({"action", "label", "clear"})

# The parameters of `notify`, as agents read them.
Message = Annotated[str, Field(description="The text; at most 4096 bytes.")]
Topic = Annotated[
    str,
    Field(
        description="Who gets it, an ntfy topic or the name of a channel: "
        "lower-case letters and digits with single dashes, at most 64."
    ),
]
Title = Annotated[str | None, Field(description="A line above the message.")]
Priority = Annotated[Annotated[int, Field(ge=1, le=5)] | None, Field(description="1 silent, 3 usual, 5 urgent.")]
Tags = Annotated[list[str] | None, Field(description="Labels; emoji names such as 'warning' show as emoji.")]
Markdown = Annotated[bool, Field(description="Whether the message is Markdown.")]
Click = Annotated[str | None, Field(description="The URL that a tap opens.")]
Icon = Annotated[str | None, Field(description="URL of a PNG or JPEG shown beside it.")]
Attach = Annotated[str | None, Field(description="URL of a file to attach.")]
Filename = Annotated[str | None, Field(description="What the attached file is called.")]
Buttons = Annotated[
    list[dict[str, object]] | None,
    Field(description="Up to 3 buttons, such as {'action': 'view', 'label': 'Open', 'url': 'https://example.com'}."),
]


type Finder = Callable[[int, str], Awaitable[str | None]]
"""The URL of the channel of that name, of whoever owns the job; None if there never was one."""


@dataclass(frozen=True, slots=True)
class Token:
    """An access token of the operator's for the ntfy server, and whose notifications go with it; None is the operator.

    Whoever is allowed by it reaches every topic that it opens."""

    text: str
    owners: frozenset[str | None]

    def serves(self, owner: str | None) -> bool:
        return owner in self.owners or EVERYBODY in self.owners


class Notify:
    """`base_url` is the ntfy server; a private one must also be among the guard's allowed hosts."""

    def __init__(
        self,
        outbound: Outbound,
        base_url: str = "https://ntfy.sh",
        token: Token | None = None,
        *,
        courier: Courier | None = None,
        find: Finder | None = None,
        about: About | None = None,
        buttons: ReminderButtons | None = None,
    ) -> None:
        self._outbound = outbound
        self._url = base_url.rstrip("/") + "/"
        self._token = token
        self._courier = courier or Courier(outbound)
        self._find = find
        self._about = about
        self._buttons = buttons

    async def notify(
        self,
        message: Message,
        topic: Topic,
        title: Title = None,
        priority: Priority = None,
        tags: Tags = None,
        markdown: Markdown = False,
        click: Click = None,
        icon: Icon = None,
        attach: Attach = None,
        filename: Filename = None,
        actions: Buttons = None,
    ) -> dict[str, object]:
        """Send a notification to a channel of the job's owner, or to everybody who listens to an ntfy topic.

        Use it to reach a person: a reminder, an alert, a result. If there is a channel called `topic` it goes there,
        else to the ntfy topic. Returns what is known of it: id, topic or channel, time. If the other side is busy or
        unreachable it is tried again; ntfy apps that know sequence ids show it once. What arrives late says when it was
        planned for. If ntfy was given it ahead of its time, or a button under it was pressed before it is sent again,
        nothing is sent, and the note says so.

        Example: notify(message="Backup finished", topic="ann-backups", title="Backups", tags=["tada"])
        """
        fields: dict[str, object] = {
            "topic": topic, "message": message, "title": title, "priority": priority, "tags": tags,
            "markdown": markdown, "click": click, "icon": icon, "attach": attach, "filename": filename,
            "actions": actions,
        }  # fmt: skip
        if flaw := check_notification(**fields):
            raise PermanentError(flaw.message)
        run, facts = await self._run()
        if facts is not None and facts.reminder and (note := _seen(facts)):
            return {"channel": topic, "time": int(facts.scheduled_for.timestamp()), "note": note}
        url = None if run is None or self._find is None else await self._find(run.owner_id, topic)
        if facts is not None and facts.planned is not None:
            fields["message"] = with_note(message, facts.planned)
        if actions is None and facts is not None:
            fields["actions"] = self._buttons_under(url, facts)
        return await self._deliver(url, fields, None if facts is None else facts.owner, _sequence(run, facts))

    async def push(self, url: str | None, owner: str | None = None, /, **fields: Any) -> dict[str, object]:
        """Send fields that were checked, outside of a run; `url` is the channel's, None for the ntfy topic."""
        return await self._deliver(url, fields, owner)

    async def hand_over(self, url: str, run: CurrentRun, owner: str, kwargs: Mapping[str, Any], sequence: str) -> None:
        """Give ntfy a run's notification ahead of its time, to be sent at its slot; `url` is the channel's."""
        if flaw := undeliverable(Action("notify", (), kwargs)):
            raise PermanentError(flaw.message)
        fields = dict(kwargs)
        if fields.get("actions") is None and self._buttons is not None:
            fields["actions"] = self._buttons.under(run, run.scheduled_for)
        await self._courier.hand_over(url, fields, Ahead(run.scheduled_for, sequence), owner)

    async def take_back(self, url: str, sequence: str, owner: str) -> None:
        """Have ntfy forget what it was given ahead, by its id."""
        await self._courier.take_back(url, sequence, owner)

    def public_at(self, owner: str) -> str | None:
        """The host where everybody who knows the name of an owner's topic can read it; None if that takes a token."""
        server = urlsplit(self._url)
        guarded = self._token is not None and self._token.serves(owner)
        return None if guarded or server.scheme != "https" else server.hostname  # plain http is for private hosts

    async def _run(self) -> tuple[CurrentRun | None, RunFacts | None]:
        """The run, and what is known about it."""
        try:
            run = current_run()
        except LookupError:  # somebody tries it out, outside of a run
            return None, None
        return run, None if self._about is None else await self._about(run.owner_id, run.job_id, run.scheduled_for)

    def _buttons_under(self, url: str | None, facts: RunFacts) -> list[dict[str, object]] | None:
        """Done and snooze, for a reminder that goes to ntfy."""
        if self._buttons is None or not facts.reminder or not is_ntfy(url):
            return None
        return self._buttons.under(current_run(), facts.now)

    async def _deliver(
        self, url: str | None, fields: Mapping[str, object], owner: str | None, sequence: str | None = None
    ) -> dict[str, object]:
        if url is not None:
            return await self._courier.deliver(url, fields, owner, sequence=sequence)
        token = self._token.text if self._token is not None and self._token.serves(owner) else None
        return await publish(self._outbound, self._url, token, fields)


def _seen(facts: RunFacts) -> str | None:
    """Why a reminder needn't be sent; None if it must be."""
    if facts.handed_at is not None:
        return f"delivered by ntfy, handed over at {local_text(facts.handed_at.replace(microsecond=0), facts.zone)}"
    return None if facts.pressed is None else "not sent again: it was done or snoozed"


def _sequence(run: CurrentRun | None, facts: RunFacts | None) -> str | None:
    """The id of the message that ntfy may have of a run already."""
    return (
        None
        if run is None or facts is None or facts.handed is None
        else message_id(run.job_id, run.scheduled_for, facts.handed)
    )


def with_note(message: str, note: str) -> str:
    """The message with a note in brackets below it, shortened if it has to be."""
    below = f"\n({note})"
    room = MAX_MESSAGE_BYTES - len(below.encode())
    return message.encode()[:room].decode(errors="ignore") + below


def check_notification(
    message: object, topic: object, title: object = None, priority: object = None, tags: object = None,
    markdown: object = False, click: object = None, icon: object = None, attach: object = None,
    filename: object = None, actions: object = None,
) -> Err | None:  # fmt: skip
    """None if ntfy would take it; else what is wrong, with the value and what is accepted. Sends nothing."""

    def flaws() -> Iterator[tuple[str, str | None]]:
        yield "message", _flaw_of_message(message)
        yield "topic", _flaw_of_topic(topic)
        yield "title", _flaw_of_line("title", title, MAX_TITLE)
        if priority is not None and (type(priority) is not int or not 1 <= priority <= 5):
            yield "priority", f"priority must be a whole number from 1 to 5, not {_shown(priority)}."
        yield "tags", _flaw_of_tags(tags)
        if not isinstance(markdown, bool):
            yield "markdown", f"markdown must be true or false, not {_shown(markdown)}."
        yield "click", _flaw_of_url("click", click, _CLICK)
        yield "icon", _flaw_of_url("icon", icon, _WEB)
        yield "attach", _flaw_of_url("attach", attach, _WEB)
        yield "filename", _flaw_of_line("filename", filename, 255)
        if filename is not None and attach is None:
            yield "attach", f"filename {_shown(filename)} names an attachment: give its URL in attach as well."
        yield "actions", _flaw_of_buttons(actions)

    return next((Err("bad_arguments", flaw, field=field) for field, flaw in flaws() if flaw), None)


def undeliverable(action: Action) -> Err | None:
    """Why ntfy would never take what an action sends: better said now than in the night it is due."""
    if action.task != "notify" or action.args:
        return None
    try:
        return check_notification(**action.kwargs)
    except TypeError:
        return None  # a parameter is missing or unknown; the door says which


def _flaw_of_message(message: object) -> str | None:
    if not isinstance(message, str) or not message.strip():
        return f"message must be a string, not {_shown(message)}."
    if (size := len(message.encode(errors="replace"))) > MAX_MESSAGE_BYTES:
        return f"message has {size} bytes, and ntfy shows at most {MAX_MESSAGE_BYTES}; shorten it, or attach a URL."
    return None


def _flaw_of_topic(topic: object) -> str | None:
    if is_dashed_name(topic):
        return None
    return f"topic must be {RULE}, such as 'ann-alerts', not {_shown(topic)}."


def _flaw_of_line(name: str, value: object, most: int) -> str | None:
    if value is None or (isinstance(value, str) and 0 < len(value) <= most and value.isprintable()):
        return None
    return f"{name} must be one line of 1 to {most} characters, not {_shown(value)}."


def _flaw_of_tags(tags: object) -> str | None:
    if tags is None:
        return None
    labels = _as_list(tags)
    if labels is None or len(labels) > MAX_TAGS:
        return f"tags must be a list of at most {MAX_TAGS} labels, not {_shown(tags)}."
    for tag in labels:
        if not isinstance(tag, str) or not 0 < len(tag) <= 64 or not tag.isprintable() or "," in tag:
            return f"A tag must be 1 to 64 characters without commas, not {_shown(tag)}."
    return None


def _flaw_of_url(name: str, value: object, schemes: frozenset[str]) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and len(value) <= MAX_URL and value.isprintable() and " " not in value:
        scheme, _, rest = value.partition(":")
        if scheme.lower() in schemes and rest and (scheme.lower() not in _WEB or len(rest) > 2):
            return None
    return f"{name} must be a URL that begins with {', '.join(sorted(schemes))}, not {_shown(value)}."


def _flaw_of_buttons(buttons: object) -> str | None:
    if buttons is None:
        return None
    given = _as_list(buttons)
    if given is None:
        return f"actions must be a list of buttons, not {_shown(buttons)}."
    if len(given) > MAX_BUTTONS:
        return f"actions holds {len(given)} buttons, and a notification has room for {MAX_BUTTONS}."
    return next((flaw for one in given if (flaw := _flaw_of_button(one))), None)


def _flaw_of_button(button: object) -> str | None:
    if not isinstance(button, Mapping):
        return f"A button must be an object with action and label, not {_shown(button)}."
    given = cast("Mapping[str, object]", button)
    known = _BUTTONS.get(str(given.get("action")))
    if known is None:
        return f"A button's action must be one of {', '.join(_BUTTONS)}, not {_shown(given.get('action'))}."
    if unknown := sorted(set(given) - known - _EVERY_BUTTON):
        accepted = ", ".join(sorted(known | _EVERY_BUTTON))
        return f"A button with action {given['action']!r} has no {unknown[0]!r}; it takes {accepted}."
    if given.get("label") is None:
        return f"A button needs a label: {_shown(given)}."
    if "url" in known and given.get("url") is None:
        return f"A button with action {given['action']!r} needs a url: {_shown(given)}."
    schemes = _CLICK if given["action"] == "view" else _WEB
    return _flaw_of_line("A button's label", given["label"], 100) or _flaw_of_url(
        "A button's url", given.get("url"), schemes
    )


def _as_list(value: object) -> Sequence[object] | None:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
