"""What an operation is, and how it becomes a method of every Python API.

`Operation(ShowJob, JobDetail, …)` takes the request class as a callable, so that its constructor's parameters become
`P`. As an attribute of an API class it is a method with those parameters: `api.job_status("job_1")` on a sync API,
`await api.job_status("job_1")` on an async one. No method is written by hand.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast, get_type_hints, overload

import orjson

from cronty.contract.caller import Caller, Scope
from cronty.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

type Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
type Group = Literal["jobs", "runs", "inbox", "time", "messages", "owner"]


class Unset(Enum):
    """Marks a field of an edit as left out, which is different from set to null."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What a client may assume about a call before making it."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of a number, in the annotation of its field; one outside of them is refused with this code."""

    lowest: int
    highest: int
    code: str


SECRET: Final = frozenset({"url"})
"""Fields whose value is never repeated in an answer."""

MOST_MEMBERS: Final = 2000
"""How many texts or objects a list in a request may have; each operation may allow fewer."""

CHANGES: Final = ToolHints()
READS: Final = ToolHints(read_only=True, idempotent=True)
REPEATABLE: Final = ToolHints(idempotent=True)


class SyncApi(ABC):
    @abstractmethod
    def ask[R, A](self, operation: "Operation[..., R, A]", request: R, /) -> A: ...


class AsyncApi(ABC):
    @abstractmethod
    async def ask[R, A](self, operation: "Operation[..., R, A]", request: R, /) -> A: ...


class Operation[**P, R, A]:
    """`refusals` are the `Err` codes beyond those that any call may return.

    `tool`: MCP offers it as a tool. `retry`: a client that got no answer may repeat the call.
    """

    name: str

    def __init__(
        self,
        request: Callable[P, R],
        answer: type[A],
        method: Method,
        path: str,
        *,
        title: str,
        group: Group,
        scope: Scope | None,
        hints: ToolHints = CHANGES,
        status: int = 200,
        refusals: tuple[str, ...] = (),
        tool: bool = True,
        retry: bool | None = None,
    ) -> None:
        self.request = request
        self.answer = answer
        self.method: Method = method
        self.path = path
        self.title = title
        self.group: Group = group
        self.scope: Scope | None = scope
        self.hints = hints
        self.status = status
        self.refusals = refusals
        self.tool = tool
        self.retry = hints.read_only if retry is None else retry

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, api: None, kind: type) -> Self: ...
    @overload
    def __get__(self, api: SyncApi, kind: type) -> Callable[P, A]: ...
    @overload
    def __get__(self, api: AsyncApi, kind: type) -> Callable[P, Coroutine[None, None, A]]: ...
    def __get__(self, api: SyncApi | AsyncApi | None, kind: type) -> object:
        if api is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> object:
            return api.ask(self, self.request(*args, **kwargs))

        call.__name__, call.__doc__ = self.name, self.description
        call.__wrapped__ = self.request  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
        return call

    @property
    def by_kind(self) -> bool:
        """Whether it changes or runs a job: what the job does decides on the scope then, too."""
        return self.group in ("jobs", "runs") and not self.hints.read_only

    @property
    def needs(self) -> str:
        """The scope in words."""
        if self.scope is None:
            return "any token"
        prompts = "" if not self.by_kind else f", for a prompt `prompts` {'too' if self.scope == 'run' else 'instead'}"
        return f"the scope `{self.scope}`{prompts}"

    @property
    def description(self) -> str:
        return " ".join((self.request.__doc__ or "").split())

    @property
    def example(self) -> Mapping[str, object]:
        """An example request; empty if it has no fields."""
        return cast("Mapping[str, object]", getattr(self.request, "EXAMPLE", {}))

    @cached_property
    def fields(self) -> Mapping[str, Mapping[str, Any]]:
        """The JSON schema of each field, by its name in JSON, each with its description."""
        found: dict[str, Mapping[str, Any]] = {}
        for kind in cast("type", self.request).__mro__:  # only the class that declares a field knows its description
            schema = _type_adapter(kind).json_schema() if is_dataclass(kind) else {}
            for name, one in cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {})).items():
                found[name] = {**_plain(one), **found.get(name, {})}
        return {self.wire_names.get(name, name): schema for name, schema in found.items()}

    @cached_property
    def bounds(self) -> Mapping[str, Between]:
        """The fields whose number has bounds."""
        hints = get_type_hints(self.request, include_extras=True)
        found = ((name, getattr(hint, "__metadata__", ())) for name, hint in hints.items())
        return {name: one for name, known in found for one in known if isinstance(one, Between)}

    def out_of_bounds(self, request: R) -> Err | None:
        """What is wrong with a number of this request, or None."""
        for name, bound in self.bounds.items():
            if not bound.lowest <= (given := getattr(request, name)) <= bound.highest:
                said = f"{given:g}" if isinstance(given, float) else str(given)[:80]
                hint = f"Use a number from {bound.lowest} to {bound.highest}."
                return Err(bound.code, f"Invalid {name}: {said}", hint, name)
        return None

    @cached_property
    def required(self) -> list[str]:
        """The fields without a default, by their names in JSON."""
        names = cast("list[str]", self.adapter.json_schema().get("required", []))
        return [self.wire_names.get(name, name) for name in names]

    @property
    def wire_names(self) -> Mapping[str, str]:
        """JSON names of fields whose JSON name is a Python keyword."""
        return cast("Mapping[str, str]", getattr(self.request, "WIRE", {}))

    @cached_property
    def adapter(self) -> "TypeAdapter[R]":
        return _type_adapter(cast("type[R]", self.request))

    @cached_property
    def answers(self) -> "TypeAdapter[A]":
        return _type_adapter(self.answer)

    def read(self, given: Mapping[str, object]) -> Result[R]:
        """The request from these JSON values, or what is wrong with them."""
        names = {wire: name for name, wire in self.wire_names.items()}
        if (refused := self._too_much(given)) is not None:
            return refused
        named = {names.get(name, name): value for name, value in given.items()}
        try:
            return Ok(self.adapter.validate_json(orjson.dumps(named)))
        except orjson.JSONEncodeError as wrong:
            return Err("bad_request", f"That isn't valid JSON: {wrong}.", "Use JSON values only.")
        except ValueError as wrong:
            return self._refusal(cast("ValidationError", wrong))

    def _too_much(self, given: Mapping[str, object]) -> Err | None:
        """What is counted before anything is looked at: every wrong value costs time, also one that isn't shown."""
        if len(given) > len(self.fields):
            return self._no_such_field(next(name for name in given if name not in self.fields))
        for name in self._counted:
            if (
                isinstance(value := given.get(name), list)
                and len(members := cast("list[object]", value)) > MOST_MEMBERS
            ):
                return Err("bad_request", f"{name} has {len(members)} members.", f"Give at most {MOST_MEMBERS}.", name)
        return None

    @cached_property
    def _counted(self) -> list[str]:
        """The lists whose members are checked one by one."""
        every = {name: [schema, *schema.get("anyOf", ())] for name, schema in self.fields.items()}
        return [name for name, schemas in every.items() if any(one.get("items") for one in schemas)]

    def check(self, request: R) -> Result[R]:
        """The request made in Python, or what is wrong with it."""
        try:
            return Ok(self.adapter.validate_python(request))
        except ValueError as wrong:
            return self._refusal(cast("ValidationError", wrong))

    def _refusal(self, wrong: "ValidationError") -> Err:
        """The first error, with a hint that says how to fix it."""
        first = wrong.errors(include_url=False, include_context=False)[0]
        name, *inner = [str(part) for part in first["loc"]]
        name = self.wire_names.get(name, name)
        if first["type"] in ("unexpected_keyword_argument", "extra_forbidden") and not inner:
            return self._no_such_field(name)
        if first["type"] in ("missing", "missing_argument"):
            return Err("bad_request", f"{name} is required.", self.meaning_of(name), name)
        can_be_shown = isinstance(first["input"], str | int | float) and name not in SECRET
        value = f", not {_shown(first['input'])}" if can_be_shown else ""
        place = ".".join([name, *(part for part in inner if part.isdecimal())])
        return Err("bad_request", f"{place}: {str(first['msg']).rstrip('.')}{value}.", self.meaning_of(name), name)

    def _no_such_field(self, name: str) -> Err:
        known = list(self.fields)
        near = get_close_matches(name[:80], known, 1, cutoff=0.7)
        meant = f"Did you mean {near[0]}? " if near else ""
        hint = f"{meant}Known fields: {', '.join(known) or 'none'}."
        return Err("bad_request", f"There is no field {name[:80]}.", hint, name[:80])

    def meaning_of(self, name: str) -> str:
        return str(self.fields.get(name, {}).get("description", ""))

    def given(self, request: R) -> dict[str, object]:
        """The fields of a request that differ from their defaults, under their JSON names."""
        found = cast("dict[str, object]", self.adapter.dump_python(request, mode="json", exclude_defaults=True))
        return {self.wire_names.get(name, name): value for name, value in found.items()}

    def by(self, handler: Callable[[Caller, R], Awaitable[Result[A]]]) -> "Handler":
        """Pair the operation with its handler; the types of request and answer are checked."""
        return Handler(self.name, handler)


@dataclass(frozen=True, slots=True)
class Handler:
    name: str
    answer: Callable[[Caller, Any], Awaitable[Result[Any]]]


def operations_of(table: type) -> Iterator[Operation[..., Any, Any]]:
    return (cast("Operation[..., Any, Any]", one) for one in vars(table).values() if isinstance(one, Operation))


def _type_adapter[T](kind: type[T]) -> "TypeAdapter[T]":
    # Imported on the first call: pydantic takes as long to import as all of the rest of `cronty.client`.
    return cast("TypeAdapter[T]", import_module("pydantic").TypeAdapter(kind))


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a field without its title and without `Unset`, which in JSON means leaving the field out."""
    plain = {key: value for key, value in schema.items() if key != "title" and value != UNSET.value}
    choices = [one for one in plain.get("anyOf", []) if one != {"$ref": "#/$defs/Unset"}]
    choices = [one for one in choices if one != {"type": "string", "format": "date-time"}]
    if len(choices) == 1:
        return {**choices[0], **{key: value for key, value in plain.items() if key != "anyOf"}}
    return {**plain, "anyOf": choices} if choices else plain


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
