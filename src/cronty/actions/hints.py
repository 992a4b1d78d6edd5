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

    def restored(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments with the types that the hints name, made from what JSON can hold."""
        if self._validated is None:
            return args, kwargs
        try:
            return self._validated(*args, **kwargs)
        except ValidationError as wrong:
            raise WrongArguments(_said(wrong)) from wrong

    def stored(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments as JSON can hold them, after a check against the hints."""
        self.restored(args, kwargs)
        return cast("list[Any]", to_json([*args])), cast("dict[str, Any]", to_json({**kwargs}))

    def result(self, stored: object) -> Any:
        """The result as the return hint has it."""
        return stored if self._result is None else self._result.validate_json(orjson.dumps(stored))

    @cached_property
    def _validated(self) -> Callable[..., Arguments] | None:
        """A function with the same parameters that returns its arguments, as pydantic makes them."""
        signature = inspect.signature(self._function)
        given_ones = given_parameters(self._function, self._hints)
        parameters = [one.replace(annotation=self._hints.get(one.name, Any)) for one in given_ones]

        def given(*args: Any, **kwargs: Any) -> Arguments:
            return args, kwargs

        given.__name__ = given.__qualname__ = getattr(self._function, "__name__", "task")
        given.__annotations__ = {one.name: one.annotation for one in parameters}
        given.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
        try:
            return validate_call(given)
        except (PydanticSchemaGenerationError, PydanticUserError):
            return None

    @cached_property
    def _result(self) -> TypeAdapter[Any] | None:
        hint = self._hints.get("return", Any)
        try:
            return None if _is_as_in_json(hint) else TypeAdapter(hint)
        except (PydanticSchemaGenerationError, PydanticUserError):
            return None


def hints_of(function: Callable[..., object]) -> dict[str, Any]:
    """The resolved hints of a function; none if one of them can't be resolved."""
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:
        return {}


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
    origin = get_origin(hint)
    if origin in (Union, UnionType) or (isinstance(hint, GenericAlias) and origin in (dict, list)):
        return all(map(_is_as_in_json, get_args(hint)))
    return hint in _AS_IN_JSON


def _said(wrong: ValidationError) -> str:
    first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
