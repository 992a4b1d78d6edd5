"""Everything that goes wrong beside statements: processes, the machine, the database, and other versions."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from chaos.life.actors import Actor, Home
from chaos.life.product import NEWER_FIELD
from chaos.life.server import Backup
from chaos.life.truth import Kept

if TYPE_CHECKING:
    from chaos.life.world import World

BACK: Final = 20.0
"""A restore goes back at least so many seconds, two leases."""

BACKUPS: Final = 6
"""How many are kept, three in that time."""

SLOW: Final = ("beat", "beat", "claim", "fire", "settle", "rescue", "limits")
"""Duties to be slow in: much depends on what others do meanwhile."""

MAX_MARKED: Final = 3
"""Jobs with a field that older versions don't know; in more of them the others would be hidden."""


class Trouble:
    """An actor of its own; what it begins ends by itself, or with the season."""

    def __init__(self, world: "World") -> None:
        self._world, self._stage = world, world.stage
        self.actor = Actor(world.stage, world.monitor, Home("trouble"), "trouble", self._turn)
        self._backups: list[tuple[float, Backup, Kept]] = []
        self._made = 0
        self._restored_at = 0.0
        self._marked: set[int] = set()
        self._hold_until = 0.0
        self._running: dict[tuple[int, datetime], int] = {}
        self._back = BACK * world.stage.scale

    # -- what passes with time ----------------------------------------------------------------------------------

    def next_moment(self) -> float:
        """When PostgreSQL next loses patience."""
        return min((limit for _, limit in (*self._idle(), *self._waiting())), default=self._hold_until)

    async def strike(self) -> None:
        """Do some harm at once."""
        await self._turn()

    def _idle(self) -> list[tuple[Actor, float]]:
        """Frozen inside a transaction, and until when PostgreSQL bears that."""
        found: list[tuple[Actor, float]] = []
        for actor in self._world.actors():
            if actor.frozen and actor.home.patience.idle and actor.in_transaction and actor.blocked_at is None:
                found.append((actor, actor.still_since + actor.home.patience.idle))
        return found

    def _waiting(self) -> list[tuple[Actor, float]]:
        """Waiting for a lock, and until when PostgreSQL lets them."""
        found: list[tuple[Actor, float]] = []
        for actor in self._world.actors():
            if actor.blocked_at is not None:
                patience = actor.home.patience
                found.append((actor, actor.blocked_at + (patience.working if actor.patient else patience.waiting)))
        return found

    async def tick(self) -> None:
        for home in self._world.homes():
            if home.stalled:
                home.stalled = False
                self._stop(home, home.stall_for)
                home.stall_for = 0.0
        if self._hold_until > 0 and (self._hold_until <= self._stage.mono or self._would_hurt()):
            await self._let_go()
        for actor, limit in self._idle():
            if limit <= self._stage.mono and actor.connection is not None:
                self._stage.say(f"PostgreSQL ends the session of {actor.name}")
                actor.faulted = True
                actor.connection.terminate()
                await self._world.monitor.sessions.settle()
        for actor, limit in self._waiting():
            if limit <= self._stage.mono and actor.pid is not None:
                self._stage.say(f"PostgreSQL lets {actor.name} wait no longer")
                actor.faulted, actor.out_of_patience = True, not actor.patient
                await self._world.monitor.cancel(actor.pid)

    async def end(self) -> None:
        await self._world.monitor.hold_snapshot(False)
        await self._let_go()
        self._stage.weather_until = 0
        for home in self._world.homes():
            home.frozen_until = home.stall_for = 0.0
        for actor in self._world.actors():
            actor.slow_until = actor.late_until = 0.0

    # -- what begins --------------------------------------------------------------------------------------------

    async def _turn(self) -> float:
        draw = self._stage.choices
        rest = draw.of((3, 10, 20, 40), "trouble rest") * self._stage.scale * self._stage.season.pace
        troubles = self._stage.season.troubles
        if "restore" in troubles:
            await self._back_up()
        if troubles:
            what = draw.of(troubles, "trouble")
            if draw.event(f"trouble {what}"):
                self._stage.say(f"== {what}")
                await getattr(self, f"_{what}")()
        return float(rest)

    async def _weather(self) -> None:
        """For a while one fault hits everybody."""
        if self._stage.season.faults:
            steps = self._stage.choices.of((5, 20, 60), "weather")
            self._stage.weather_until = self._stage.steps + steps
            self._stage.weather = self._stage.choices.of(self._stage.season.faults, "weather")
            self._stage.say(f"   {self._stage.weather} for {steps} steps")

    async def _kill(self) -> None:
        if alive := self._world.processes:
            victim = self._stage.choices.of(alive, "kill")
            self._stage.say(f"   {victim.name}")
            await self._world.kill(victim)
            self._world.add_engine(victim.version)
            self._stage.injected["kill"] += 1

    async def _freeze(self) -> None:
        if awake := [one for one in self._world.processes if one.frozen_until <= self._stage.mono]:
            busiest = max(awake, key=lambda one: one.busy)
            victim = busiest if self._stage.choices.chance(0.5, "freeze") else self._stage.choices.of(awake, "freeze")
            self._stop(victim, self._stage.choices.of((3, 13, 13, 35), "freeze"))

    def _stop(self, home: Home, seconds: float) -> None:
        self._stage.say(f"   {home.name} stands still for {seconds} s")
        home.frozen_at, home.frozen_until = self._stage.mono, self._stage.mono + seconds * self._stage.scale
        self._stage.injected["freeze"] += 1

    async def _slow(self) -> None:
        """One duty of an engine has a slow connection for a while, the others haven't."""
        duty, seconds = self._stage.choices.of(SLOW, "slow"), self._stage.choices.of((5, 20, 40), "slow")
        actors = [one for process in self._world.processes for one in process.actors if one.name.endswith(f".{duty}")]
        if actors:
            victim = self._stage.choices.of(actors, "slow")
            self._stage.say(f"   {victim.name} for {seconds} s")
            victim.slow_until = self._stage.mono + seconds * self._stage.scale
            self._stage.injected["slow"] += 1

    async def _stall(self) -> None:
        """A door will stand still before its next commit."""
        if self._world.doors:
            door = self._stage.choices.of(self._world.doors, "stall")
            door.stall_for = self._stage.choices.of((15.0, 60.0, 300.0), "stall")

    async def _hold(self) -> None:
        """A session that forgets to commit holds a run, best of an engine that stands still."""
        engines = [one for one in self._world.processes if one.first_held() is not None]
        engines.sort(key=lambda one: (one.frozen_until > self._stage.mono, one.busy))
        if not self._rescue_waits() and engines and (key := engines[-1].first_held()) is not None:
            self._stage.say(f"   {key}")
            await self._world.monitor.hold_run(key.job, key.slot)
            self._hold_until = self._stage.mono + 40 * self._stage.scale
            self._running = self._all_running()
            self._stage.injected["hold"] += 1

    def _all_running(self) -> dict[tuple[int, datetime], int]:
        running = self._world.truth.kept.running
        return {(job, slot): worker for job, slots in running.items() for slot, worker in slots.items()}

    def _would_hurt(self) -> bool:
        """Whether a rescue waits that has seen runs with a worker that they no longer belong to."""
        changed = any(self._running.get(run, worker) != worker for run, worker in self._all_running().items())
        return changed and self._rescue_waits()

    def _rescue_waits(self) -> bool:
        return any(actor.blocked_at is not None and actor.name.endswith("rescue") for actor in self._world.actors())

    async def _let_go(self) -> None:
        await self._world.monitor.let_run_go()
        self._hold_until = 0.0

    async def _suspend(self) -> None:
        """The machine and everything on it, the database too."""
        seconds = self._stage.choices.of((7, 40, 3600), "suspend") * self._stage.scale
        self._stage.say(f"   for {seconds} s")
        self._stage.asleep += seconds
        self._stage.injected["suspend"] += 1

    async def _reader(self) -> None:
        await self._world.monitor.hold_snapshot(not self._world.monitor.reader.is_in_transaction())
        self._stage.injected["reader"] += 1

    async def _newer_engine(self) -> None:
        """A canary, and later its rollback."""
        newer = [one for one in self._world.processes if one.version == "newer"]
        if newer:
            await self._world.kill(newer[0])
        else:
            self._world.add_engine("newer")
        self._stage.injected["newer_engine"] += 1

    async def _newer_field(self) -> None:
        """A newer door has written a policy field that older ones don't know."""
        jobs = [job for job in self._world.truth.kept.jobs.values() if not job.gone and job.id not in self._marked]
        if jobs and len(self._marked) < MAX_MARKED:
            job = self._stage.choices.of(jobs, "newer field")
            self._marked.add(job.id)
            self._stage.say(f"   job {job.id}")
            sql = "update cronty.jobs set policy = policy || $2::jsonb where id = $1"
            await self._world.monitor.ask(sql, job.id, NEWER_FIELD)
            self._stage.injected["newer_field"] += 1

    # -- backups ------------------------------------------------------------------------------------------------

    async def _back_up(self) -> None:
        """Every so often, and the last few are kept."""
        now = self._stage.mono + self._stage.asleep
        if self._backups and now - self._backups[-1][0] < self._back / 3:
            return
        self._made += 1
        await self._world.truth.check()
        self._backups.append((now, await self._world.monitor.backup(self._made), self._world.truth.copy()))
        if len(self._backups) > BACKUPS:
            await self._world.monitor.forget(self._backups.pop(0)[1])

    async def _restore(self) -> None:
        """The database goes back to where it was, everyone else is where they are."""
        now = self._stage.mono + self._stage.asleep
        old = [one for one in self._backups if now - one[0] >= self._back]
        if not old or now - self._restored_at < 2 * self._back:  # else there would be nothing to go back from
            return
        self._restored_at = now
        chosen = self._stage.choices.of(range(len(old)), "restore")
        _, backup, kept = old[chosen]
        for actor in self._world.actors():
            actor.faulted = True
        for home in self._world.homes():
            for connection in home.connections():
                connection.terminate()
        await self._world.monitor.sessions.settle()
        await self._world.monitor.restore(backup)
        self._world.truth.go_back(kept)
        for process in self._world.processes:
            process.forgotten = True
            if process.worker is not None:  # its listening connection is cut too; a new one makes it look everywhere
                process.worker.hear("listening")
        self._stage.epoch += 1
        for _, later, _ in self._backups[chosen + 1 :]:
            await self._world.monitor.forget(later)
        del self._backups[chosen + 1 :]
        self._stage.injected["restore"] += 1
