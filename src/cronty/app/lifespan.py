"""What a worker opens before its first run and closes after its last."""

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager


class Lifespan[T]:
    """`@cronty.lifespan` makes one of a function that yields once. Calling it returns what was yielded."""

    def __init__(self, function: Callable[[], AsyncGenerator[T]]) -> None:
        self.__name__ = getattr(function, "__name__", "lifespan")
        _check(function, self.__name__)
        self._open = asynccontextmanager(function)
        self._values: list[T] = []

    def __call__(self) -> T:
        if not self._values:
            raise RuntimeError(
                f"{self.__name__}() is there only while a worker runs: in tests use `with {self.__name__}.instead(…):`."
            )
        return self._values[-1]

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        async with self._open() as value:
            with self.instead(value):
                yield

    @contextmanager
    def instead(self, value: T) -> Generator[None]:
        """Inside, this is what tasks get: for tests without a worker."""
        self._values.append(value)
        try:
            yield
        finally:
            self._values.pop()


def _check(function: object, name: str) -> None:
    if getattr(function, "__globals__", {}).get("__name__") == "contextlib":
        raise TypeError(f"Leave out @asynccontextmanager: @cronty.lifespan is enough above {name}.")
    if not callable(function) or inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(f"{name} is no lifespan: make it an `async def {name}()` that yields once.")
