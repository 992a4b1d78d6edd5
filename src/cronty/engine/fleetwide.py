"""Task settings shared by all workers; the most recently started worker's code wins.

A task under a limit is never started where it is fired. Its runs wait in the queue, and are claimed there with the
limit's row locked; so those without a limit pay nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from cronty.actions.tasks import Registry, Task
from cronty.engine.lease import Lease
from cronty.jobs.task_settings import OWN, PublishedSettings
from cronty.store.task_limit_store import Lows, StoredSettings, TaskLimitStore

REFRESH_EVERY: Final = 10.0
"""Seconds between looks at what is said, where anything is. Workers are notified of a change as well."""

PAGE: Final = 2000
"""How many jobs are looked at in one statement when the priority of a task changes."""

NOTHING: Final = PublishedSettings()


class Fleetwide:
    """The settings of the tasks that this process has."""

    def __init__(self, store: TaskLimitStore, registry: Registry, lease: Lease, queues: tuple[str, ...] = ()) -> None:
        """`queues` are those whose tasks are performed here; none for all."""
        self._store = store
        self._registry = registry
        self._lease = lease
        self._queues = frozenset(queues)
        self._since: datetime | None = None
        self._said: dict[str, PublishedSettings] = {}
        self._urgent: frozenset[str] = frozenset()
        self._to_mark = False
        self.lows = Lows()

    async def step(self) -> float:
        """Look, and note in the jobs what is urgent if that may have changed; seconds until the next look."""
        rest = await self.look()
        after: int | None = 0
        while self._to_mark and after is not None:
            after = await self._store.mark_urgent(after, PAGE, list(self._registry.tasks), list(self._urgent))
        self._to_mark = False
        return rest

    async def look(self) -> float:
        """Say what isn't said, unless a younger worker says otherwise; seconds until the next look."""
        ours = self._registry.settings()
        stored = await self._store.said(list(ours))
        were_urgent = _urgent(stored)
        if self._since is None:
            self._since = self._lease.beat_at
            self._to_mark = bool(were_urgent)  # whoever said it may have died before all was noted
        unsaid = {name: said for name, said in ours.items() if self._must_say(said, stored.get(name))}
        if unsaid and self._since is not None:
            await self._store.say(self._lease.worker, self._since, unsaid)
            stored = await self._store.said(list(ours))
        read = {name: PublishedSettings.read(found.settings) for name, found in stored.items()}
        self._said = {name: said for name, said in read.items() if said != NOTHING}
        self._urgent = _urgent(stored)
        self._to_mark = self._to_mark or self._urgent != were_urgent
        return REFRESH_EVERY if stored else float("inf")

    def _must_say(self, ours: Mapping[str, object] | None, stored: StoredSettings | None) -> bool:
        if stored is None:
            return ours is not None
        is_ours_to_say = not stored.by_living or (self._since is not None and self._since >= stored.said_at)
        return stored.settings != ours and is_ours_to_say

    def limits_of(self, task: str) -> tuple[str, ...]:
        """The limits that a task is under."""
        return self._said.get(task, NOTHING).limits

    def line_of(self, task: str) -> str:
        """The limit that it shares with other tasks, or its own one."""
        limits = self.limits_of(task)
        return next((name for name in limits if not name.startswith(OWN)), limits[0])

    def is_urgent(self, task: str) -> bool:
        return self._said.get(task, NOTHING).urgent

    @property
    def has_urgent(self) -> bool:
        return bool(self._urgent)

    def direct(self, tasks: Mapping[str, Task], *, urgent: bool = False) -> Mapping[str, Task]:
        """Those of these tasks whose runs may be started where they are fired, and claimed without a limit: the
        ordinary ones, or the urgent ones."""
        if not self._said and not self._queues:
            return {} if urgent else tasks
        return {name: task for name, task in tasks.items() if self._goes(name, urgent=urgent)}

    def unlimited(self, tasks: Mapping[str, Task]) -> list[str]:
        """Those of these tasks that are under no limit, and in a queue that is served here."""
        return [*self.direct(tasks), *self.direct(tasks, urgent=True)]

    def limited(self, tasks: Mapping[str, Task]) -> list[str]:
        """Those of these tasks that are under a limit, and in a queue that is served here."""
        return [name for name, said in self._said.items() if said.limits and name in tasks and self._serves(said)]

    def _goes(self, task: str, *, urgent: bool) -> bool:
        said = self._said.get(task, NOTHING)
        return not said.limits and said.urgent == urgent and self._serves(said)

    def _serves(self, said: PublishedSettings) -> bool:
        return not self._queues or said.queue in self._queues


def _urgent(stored: Mapping[str, StoredSettings]) -> frozenset[str]:
    return frozenset(name for name, found in stored.items() if PublishedSettings.read(found.settings).urgent)
