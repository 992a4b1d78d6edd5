"""Converts a task's arguments and result between JSON and the types that its hints name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, Union, cast, get_args, get_origin, get_type_hints

import orjson
from pydantic import TypeAdapter, ValidationError, validate_call
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import to_jsonable_python

from cronty.actions.current import CurrentRun

_AS_IN_JSON: Final = frozenset({Any, object, str, int, float, bool, NoneType, dict, list})

type Arguments = tuple[Sequence[Any], Mapping[str, Any]]


class WrongArguments(Exception):
    """A task's arguments don't have the types that its hints name."""


class Hints:
    """The hints of one function. What pydantic knows nothing about passes as it is."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._hints = hints_of(function)
        given = [self._hints[one.name] for one in given_parameters(function, self._hints) if one.name in self._hints]
        self.convert = not all(map(_is_as_in_json, given))
        """Whether arguments read from JSON differ from what the function takes."""
        self.counts = any(map(_names_int, given))
        """Whether it takes whole numbers, which JSON may have as 7.0."""

    def restored(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments with the types that the hints name, made from what JSON can hold."""
        try:
            return self._validated(*args, **kwargs)
        except ValidationError as wrong:
            raise WrongArguments(
                _said(wrong, [one.name for one in given_parameters(self._function, self._hints)])
            ) from wrong

    def stored(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments as JSON can hold them, after a check against the hints."""
        self.restored(args, kwargs)
        return cast("list[Any]", to_json([*args])), cast("dict[str, Any]", to_json({**kwargs}))

    def misfit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Why the function can't be called with these, whatever their types are; None if it can."""
        try:
            inspect.signature(self._function).bind(*args, **kwargs)
        except TypeError as wrong:
            return str(wrong)
        return None

    def result(self, stored: object) -> Any:
        """The result as the return hint has it."""
        return stored if self._result is None else self._result.validate_json(orjson.dumps(stored))

    @cached_property
    def _validated(self) -> Callable[..., Arguments]:
        """A function with the same parameters that returns its arguments, as pydantic makes them."""
        parameters = [
            one.replace(annotation=self._hints.get(one.name, Any))
            for one in given_parameters(self._function, self._hints)
        ]
        try:
            return self._returning(parameters)
        except (PydanticSchemaGenerationError, PydanticUserError):
            return self._returning([one.replace(annotation=_if_known(one.annotation)) for one in parameters])

    def _returning(self, parameters: Sequence[inspect.Parameter]) -> Callable[..., Arguments]:
        def given(*args: Any, **kwargs: Any) -> Arguments:
            return args, kwargs

        given.__name__ = given.__qualname__ = getattr(self._function, "__name__", "task")
        given.__annotations__ = {one.name: one.annotation for one in parameters}
        given.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
        return validate_call(given)

    @cached_property
    def _result(self) -> TypeAdapter[Any] | None:
        hint = self._hints.get("return", Any)
        try:
            return None if _is_as_in_json(hint) else TypeAdapter(hint)
        except (PydanticSchemaGenerationError, PydanticUserError):
            return None


def hints_of(function: Callable[..., object]) -> dict[str, Any]:
    """The hints of a function, without those that can't be resolved, such as imports for type checkers alone."""
    is_object = not (inspect.isroutine(function) or isinstance(function, type) or hasattr(function, "__wrapped__"))
    source: Callable[..., object] = type(function).__call__ if is_object else function
    try:
        return get_type_hints(source, include_extras=True)
    except Exception:
        written: dict[str, Any] = getattr(source, "__annotations__", {})
        known = getattr(inspect.unwrap(source), "__globals__", {})
        return {name: hint for name in written for hint in _resolved(written[name], known)}


def _resolved(hint: Any, known: dict[str, Any]) -> list[Any]:
    """One hint, or none."""

    def one() -> None: ...

    one.__annotations__ = {"hint": hint}
    try:
        return [get_type_hints(one, known, include_extras=True)["hint"]]
    except Exception:
        return []


def _if_known(hint: Any) -> Any:
    """The hint, or Any if pydantic knows nothing about it."""
    try:
        TypeAdapter(hint)
    except (PydanticSchemaGenerationError, PydanticUserError):
        return Any
    return hint


def given_parameters(function: Callable[..., object], hints: Mapping[str, Any]) -> list[inspect.Parameter]:
    """The parameters that a caller gives; the one for the current run is left out."""
    parameters = list(inspect.signature(function).parameters.values())
    for place, one in enumerate(parameters):
        if hints.get(one.name) is CurrentRun:
            if one.default is one.empty or any(
                later.kind is not later.KEYWORD_ONLY for later in parameters[place + 1 :]
            ):
                message = f"Put {one.name} last in {getattr(function, '__name__', 'the task')}, as"
                raise ValueError(f"{message} `{one.name}: CurrentRun = current()`: nobody gives it.")
            del parameters[place]
            break
    return parameters


def to_json(value: object, fallback: Callable[[Any], Any] | None = None) -> Any:
    """A value as JSON can hold it: models, dataclasses, enums, dates and the like become what they are in JSON.

    `fallback` is called for what has no such form; without it, that is a TypeError.
    """
    return to_jsonable_python(value, fallback=fallback)


def _is_as_in_json(hint: Any) -> bool:
    """Whether a value that was read from JSON has this type already."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is dict and isinstance(hint, GenericAlias) and parts[0] not in (str, Any, object):
        return False  # JSON has text for keys
    if origin in (Union, UnionType) or (isinstance(hint, GenericAlias) and origin in (dict, list)):
        return all(map(_is_as_in_json, parts))
    return hint in _AS_IN_JSON


def _names_int(hint: Any) -> bool:
    return hint is int or any(map(_names_int, get_args(hint)))


def _said(wrong: ValidationError, parameters: Sequence[str]) -> str:
    first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
    where, *rest = first["loc"]
    if isinstance(where, int) and where < len(parameters):  # given by position
        where = parameters[where]
    return f"{'.'.join(map(str, (where, *rest)))}: {first['msg']}"
