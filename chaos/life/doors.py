"""What owners ask for, one call after the other."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from chaos.life.actors import Actor, Connection, Home
from chaos.life.faults import FaultyConnection
from chaos.life.product import AWAY, TASKS, Door
from chaos.life.server import Monitor
from chaos.life.stage import Stage
from chaos.life.truth import Asked, Truth

CALLS: Final = (
    "schedule", "schedule", "schedule", "schedule", "run_now", "run_now", "redrive", "redrive", "edit", "pause",
    "resume", "resume", "cancel", "cancel", "delete", "look",
)  # fmt: skip
LOCKING: Final = ("cancel", "delete", "edit", "run_now", "redrive")
"""Calls to stand still in: they hold rows that engines want."""

LATER: Final = ("backfill", "backfill")
"""Calls that aren't made in lives without a mend, so that the seeds which find it stay the same."""

NOTIFIES: Final = {
    "schedule": "due 0", "edit": "due 0", "resume": "due 0", "run_now": "queue", "redrive": "queue", "cancel": "stop",
    "delete": "stop",
}  # fmt: skip
"""What engines hear of a call."""

OFTEN: Final = {1: "* * * * *", 10: "*/10 * * * *", 100: "0 */2 * * *", 10_000: "0 6 * * 1"}
"""A slot about every 60 seconds, by scale."""


class OwnersDoor(Home):
    """One owner's door, in a process of its own; `notify` is told what engines are notified of."""

    def __init__(
        self, stage: Stage, truth: Truth, monitor: Monitor, owner: str, notify: Callable[[str], None],
        cancelled: Callable[[Asked], None],
    ) -> None:  # fmt: skip
        super().__init__(f"door {owner}")
        self._stage, self._truth, self._monitor, self._owner = stage, truth, monitor, owner
        self._notify, self._cancelled = notify, cancelled
        self._made = 0
        self._calls = ""
        self._fewest, self._most = stage.settings.jobs
        self.actor = Actor(stage, monitor, self, self.name, self._turn)

    async def open(self, url: str) -> None:
        self.door = await Door.open(
            self._owner, url, self._stage, partial(FaultyConnection.open, self._monitor.sessions)
        )
        self.patience = self.door.database.patience

    def connections(self) -> Sequence[Connection]:
        return self.door.database.connections()

    async def close(self) -> None:
        await self.actor.die()
        self.door.database.drop()

    async def _turn(self) -> float:
        rest = self._draw((0.5, 3.0, 10.0, 20.0) if self._made >= self._fewest else (0.5, 1.0)) * self._stage.scale
        if self._stage.choices.event(self.name):
            try:
                await self._call()
            except AWAY:
                self._stage.say(f"{self.name} unavailable")
            if message := NOTIFIES.get(self._calls):
                self._notify(message)
        return rest

    def _draw[T](self, things: tuple[T, ...]) -> T:
        return self._stage.choices.of(things, self.name)

    async def _call(self) -> None:
        mine = self._truth.jobs_of(self._owner)
        later = LATER if self._stage.backfills else ()
        what = self._draw((*LOCKING, *later[:1]) if self.stall_for else (*CALLS, *later))
        if len(mine) < self._fewest or (what == "schedule" and len(mine) < self._most):
            self._calls = "schedule"
            return await self._schedule()
        self._calls = what
        if what == "look":
            return await self.door.look()
        if what == "redrive":
            return await self._redrive()
        running = [job for job in mine if self._truth.kept.running[job.id]]
        if not self.stall_for and self._draw((True, False)):
            running = []
        job = self._draw(tuple(running or mine))
        self._stage.say(f"{self.name} {what} {job.name} ({job.id})")
        if what == "edit":
            await self.door.edit(job.handle, self._draw((10, 20, 60)) * self._stage.scale)
        elif what == "backfill":
            self._truth.kept.backfilled.add(job.id)
            now, ago = self._stage.now(), timedelta(seconds=self._draw((30, 200, 2000)) * self._stage.scale)
            await self.door.backfill(job.handle, now - ago, now - ago / self._draw((2, 10, 100)))
        elif what != "schedule" and await self.door.change(what, job.handle) and what in ("cancel", "delete"):
            self._cancelled(job)
        return None

    async def _redrive(self) -> None:
        failed = (await self.door.failed())[: self._draw((1, 2, 3))]
        if failed:
            self._stage.say(
                f"{self.name} redrive {', '.join(f'{name}/{slot:%d %H:%M:%S}' for name, _, slot in failed)}"
            )
            self._truth.kept.redriven |= {(self._truth.asked[name].id, slot) for name, _, slot in failed}
            await self.door.redrive([run for _, run, _ in failed])

    async def _schedule(self) -> None:
        scale, now = self._stage.scale, self._stage.now()
        self._made += 1
        name = f"{self._owner} {self._made}"
        job = Asked(self._owner, name, self._draw(("skip", "queue", "allow", "cancel_previous")), None)
        policy: dict[str, object] = {
            "overlap": job.overlap, "attempts": self._draw((1, 3)), "catch_up": self._draw(("latest", "all", "none")),
            "backoff": 3.0 * scale, "timeout": 1e8, "pause_after": 0,
        }  # fmt: skip
        kind = self._draw(("interval", "interval", "interval", "cron", "cron", "daily", "once", "later"))
        rule: dict[str, object]
        if kind == "interval":
            rule = {"seconds": self._draw((5, 10, 20)) * scale}
        elif kind == "once":
            rule = {"run_at": (now + timedelta(seconds=self._draw((5, 60)) * scale)).isoformat()}
        elif kind == "daily":
            rule = {"expression": f"{self._draw((0, 15, 30))} {'9-17' if scale <= 100 else 9} * * *"}
        else:
            rule = {"expression": OFTEN[scale]}
            job.starts_at = now + timedelta(seconds=self._draw((200, 2000)) * scale) if kind == "later" else None
        task = self._draw(TASKS)
        self._truth.asked[name] = job
        self._stage.say(f"{self.name} schedule {name} {kind} {rule} {task} {policy}")
        kind = kind if kind in ("interval", "once") else "cron"
        await self.door.schedule(name, task, kind, rule, policy, job.starts_at)
