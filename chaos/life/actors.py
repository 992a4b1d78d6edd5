"""Actors take turns: each stands still at its next statement until the seed lets it go on.

Plain asyncio and a gate in the connection are enough. Between two gates an actor runs code that waits for nothing
else, so a step ends when it stands at a gate again, is through, or waits in PostgreSQL for another one's lock.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Final, Protocol

import asyncpg

from chaos.life.product import AWAY, Patience
from chaos.life.stage import Stage, Violation

ACTOR: Final[ContextVar["Actor | None"]] = ContextVar("actor", default=None)

LOOK_AFTER: Final = 0.01
"""Real seconds after which a statement may be waiting for a lock."""

MAX_REST: Final = 30.0
"""Simulated seconds after which a duty is done again, whatever it says."""

LATE: Final = (0, 0, 0, 1, 3, 5)
"""Simulated seconds that a statement or its answer takes on a slow connection: less than PostgreSQL and Cronty bear."""

LOCK_PATIENCE: Final = 3.0
"""Real seconds that a statement which locks out everybody may wait for its lock."""


class Locks(Protocol):
    """What PostgreSQL says about sessions that wait."""

    async def waiting(self, pids: list[int]) -> dict[int, bool]: ...


class Connection(Protocol):
    """What is to be known of a connection."""

    def is_closed(self) -> bool: ...
    def is_in_transaction(self) -> bool: ...
    def get_server_pid(self) -> int: ...
    def terminate(self) -> None: ...


class Home:
    """A process that actors live in: it can be frozen, and all of them with it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen_at = self.frozen_until = 0.0
        self.stall_for = 0.0
        """Seconds that it is to stand still before its next commit."""
        self.stalled = False
        self.patience = Patience(0.0, 0.0, 0.0)

    def connections(self) -> Sequence[Connection]:
        """Those of its connections that are open, as far as it has noticed."""
        return []


class Killed(asyncpg.ConnectionDoesNotExistError):
    """What a statement of a killed process sees."""


class Actor:
    """A duty of an engine or a door: `begin` does one step of it and answers how long it may rest."""

    def __init__(
        self, stage: Stage, locks: Locks, home: Home, name: str, begin: Callable[[], Awaitable[float]]
    ) -> None:
        self.stage, self.home, self.name = stage, home, name
        self._locks = locks
        self._begin = begin
        self.due = stage.mono
        self.task: asyncio.Task[None] | None = None
        self.connection: Connection | None = None
        self.blocked_at: float | None = None
        self.faulted = self.dead = False
        self.patient = False
        """Whether its statements wait for a lock as long as a statement may take."""
        self.out_of_patience = False
        self._late_at = self.late_until = 0.0
        self.slow_until = 0.0
        self._woken = False
        self.shortest_rest, self.longest_rest = 1.0, MAX_REST
        self._gate: asyncio.Future[None] | None = None
        self._may_go: Callable[[], bool] = _at_any_time
        self._resting: asyncio.Future[None] | None = None

    @property
    def still_until(self) -> float:
        return max(self.home.frozen_until, self.late_until)

    @property
    def still_since(self) -> float:
        return self._late_at if self.late_until > self.stage.mono else self.home.frozen_at

    @property
    def frozen(self) -> bool:
        return self.still_until > self.stage.mono

    @property
    def pid(self) -> int | None:
        """Of the session it uses, if it has one."""
        open_ = self.task is not None and self.connection is not None and not self.connection.is_closed()
        return self.connection.get_server_pid() if open_ and self.connection is not None else None

    @property
    def in_transaction(self) -> bool:
        return self.pid is not None and self.connection is not None and self.connection.is_in_transaction()

    def runnable(self) -> bool:
        if self.dead or self.frozen or self.blocked_at is not None:
            return False
        if self._gate is not None:
            return self._may_go()
        return self.task is None and self.due <= self.stage.mono

    def wake(self) -> None:
        self._woken = True
        self.due = min(self.due, self.stage.mono)

    async def go(self) -> None:
        """One step: to its next gate, its end, or a lock that another actor holds."""
        self._resting = asyncio.get_running_loop().create_future()
        if self._gate is not None:
            gate, self._gate = self._gate, None
            gate.set_result(None)
        else:
            self.task = asyncio.create_task(self._whole())
        await self.come_to_rest()

    async def come_to_rest(self) -> None:
        """Wait until it stands still; a lock that is never given to it leaves it blocked."""
        assert self._resting is not None
        waited = 0.0
        while not self._resting.done():
            await asyncio.wait([self._resting], timeout=LOOK_AFTER)
            waited += LOOK_AFTER
            pid = self.pid
            if self._resting.done() or pid is None:
                continue
            whole_table = (await self._locks.waiting([pid])).get(pid)
            if whole_table is False:
                if self.blocked_at is None:
                    self.blocked_at = self.stage.mono
                    self.stage.say(f"{self.name:12} waits for a lock")
                return
            if whole_table and waited > LOCK_PATIENCE:  # until then its own lock_timeout may end it
                self.blocked_at = self.stage.mono
                self.stage.report(Violation("ddl-waits", f"{self.name} waits to lock out everybody, without a limit"))
                return
        self.blocked_at = None

    async def reach(self, connection: Connection, sql: str, pause: bool) -> None:
        """Stand at a gate, unless this statement may follow at once."""
        if self.home.stall_for and sql.lower().startswith("commit"):
            pause = self.home.stalled = True
        if not self.dead and (self._is_late("statement") or pause or self.blocked_at is not None):
            self.connection = connection
            await self.stand(_at_any_time)
        if self.dead or connection.is_closed():
            raise Killed("connection was closed in the middle of operation")
        self.connection = connection

    async def hear(self, connection: Connection) -> None:
        """Wait for an answer that may come late, or not at all."""
        if not self.dead and self._is_late("answer"):
            await self.stand(_at_any_time)
            if self.dead or connection.is_closed():
                raise Killed("connection was closed in the middle of operation")

    def _is_late(self, what: str) -> bool:
        stage = self.stage
        if stage.calm or self.slow_until <= stage.mono:
            return False
        seconds = stage.choices.of(LATE, f"late {what} {self.name}") * stage.scale
        if not seconds or not stage.choices.event(f"late {what} {self.name}"):
            return False
        stage.say(f"{self.name:12} {what} comes {seconds} s late")
        if self.late_until != stage.mono:  # else PostgreSQL has heard nothing since the last answer
            self._late_at = stage.mono
        self.late_until = stage.mono + seconds
        return True

    async def stand(self, may_go: Callable[[], bool]) -> None:
        """Stand at a gate until it is this actor's turn and it may go."""
        self._may_go = may_go
        self._gate = asyncio.get_running_loop().create_future()
        self._rest()
        await self._gate

    async def die(self) -> None:
        self.dead = True
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task], timeout=1)

    async def _whole(self) -> None:
        ACTOR.set(self)
        self.faulted = self.out_of_patience = self._woken = False
        rest = 1.0
        try:
            rest = await self._begin()
            rest = 0.0 if self._woken else rest
        except asyncio.CancelledError:
            if not self.dead:
                raise
        except Exception as error:
            self._report(error)
        finally:
            self.task, self.connection = None, None
            shortest, longest = self.shortest_rest * self.stage.scale, self.longest_rest * self.stage.scale
            self.due = self.stage.mono + (min(max(rest, shortest), max(shortest, longest)) if rest > 0 else 0.0)
            self._rest()

    def _report(self, error: Exception) -> None:
        """Faults explain errors of the database in whoever met them, and nothing else."""
        where = traceback.extract_tb(error.__traceback__)[-1].name
        self.stage.say(f"{self.name:12} raised {type(error).__name__} at {where}")
        explained = isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError | OSError) and self.faulted
        if not self.dead and not explained and not isinstance(error, AWAY):
            self.stage.report(Violation(f"unexpected-{type(error).__name__}", f"in {self.name}, {where}: {error}"))

    def _rest(self) -> None:
        if self._resting is not None and not self._resting.done():
            self._resting.set_result(None)


def _at_any_time() -> bool:
    return True


class TurnSemaphore:
    """As asyncio's, but an actor that waits for it stands at a gate."""

    def __init__(self, places: int = 1) -> None:
        self._free = places

    def locked(self) -> bool:
        return self._free == 0

    async def acquire(self) -> None:
        actor = ACTOR.get()
        while self._free == 0:
            assert actor is not None
            await actor.stand(lambda: self._free > 0)
        self._free -= 1

    def release(self) -> None:
        self._free += 1

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_error: object) -> None:
        self.release()


class TurnLock(TurnSemaphore):
    """As asyncio's, with gates."""

    def __init__(self) -> None:
        super().__init__(1)
