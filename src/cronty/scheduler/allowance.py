"""Checks an owner's limits before a job is made or changed, and alerts the owner when one is reached."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cronty import telemetry, tracing
from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import Action
from cronty.jobs.limits import (
    CALLS,
    RUNS,
    BadLimits,
    Limits,
    OverLimit,
    day_of,
    excess,
    held_wakes,
    hour_of,
    load_limits,
    minute_of,
    over_calls,
    over_pushes,
    over_runs,
    over_wakes,
    read_limits,
    too_deep,
    too_large,
    too_many,
    too_often,
    wakes_of,
)
from cronty.jobs.run import read_message_id, run_id
from cronty.store.alerts import Held
from cronty.store.limit_store import LimitStore, Standing
from cronty.timing import Trigger


class WakeAllowance(NamedTuple):
    """How many may be done now; the others from `next_at` on, for this reason."""

    allowed: int
    next_at: datetime
    reason: str


ERASING: Final = Err("owner_erased", "This owner is being erased.", "Ask the operator of this installation.")


class Allowance:
    """Limits are approximate: calls made at the same moment may go slightly over one."""

    def __init__(self, store: LimitStore, defaults: Limits, made_by: str | None = None) -> None:
        self._store = store
        self._defaults = defaults
        self._made_by = made_by
        self._recounting: set[str] = set()

    def of(self, standing: Standing) -> Limits:
        """The limits in force for an owner."""
        return load_limits(self._defaults, standing.limits)

    def of_owner(self, stored: Mapping[str, object] | None) -> Limits:
        """The limits in force for an owner that has these of its own."""
        return load_limits(self._defaults, stored or {})

    def within(self, store: LimitStore) -> "Allowance":
        """The same checks, inside an open transaction."""
        return Allowance(store, self._defaults, self._made_by)

    async def standing(
        self, caller: Caller, *, key: str | None = None, tasks: Sequence[str] = (), channels: bool = False
    ) -> Standing:
        """What the owner has and uses now, and the run that makes the request, if there is one.

        That run is the caller's own, or the one that started this process. A request from an agent that has read a
        prompt and not settled it yet counts as made by that prompt's run.
        """
        found = read_message_id(caller.run or self._made_by or "")
        return await self._store.standing(
            caller.owner, found, leased=caller.is_agent, agent=caller.agent, key=key, tasks=tasks, channels=channels
        )

    async def for_new(self, caller: Caller, standing: Standing, action: Action, trigger: Trigger) -> Err | None:
        """Why a new job is not allowed, or None."""
        if standing.erasing:
            return ERASING
        limits = self.of(standing)
        wrong = too_often(limits, action, trigger, by_agent=standing.parent is not None or caller.is_agent)
        if wrong is None and standing.parent is not None:
            wrong = too_deep(limits, standing.depth + 1)
        wrong = wrong or await self._full(caller.owner, standing, action, one_more=True)
        return await self._tell(caller.owner, standing, wrong)

    async def for_return(self, owner: str, standing: Standing, action: Action) -> Err | None:
        """Why undeleting a job is not allowed, or None."""
        if standing.erasing:
            return ERASING
        return await self._tell(owner, standing, await self._full(owner, standing, action, one_more=True))

    async def recount(self, owner: str) -> None:
        """Count again, after a change that the count so far doesn't know of."""
        await self._store.recount(owner)

    async def for_arguments(self, owner: str, standing: Standing, action: Action) -> Err | None:
        """Why these arguments are not allowed, or None."""
        return await self._tell(owner, standing, await self._full(owner, standing, action, one_more=False))

    async def for_calendar(self, owner: str, size: int) -> Err | None:
        """Why a list of days off of that size is not allowed, or None."""
        standing = await self._store.standing(owner)
        if standing.erasing:
            return ERASING
        _, stored = await self._store.recount(owner)
        return await self._tell(owner, standing, too_large(self.of(standing), stored, size))

    async def for_wake(self, caller: Caller, action: Action) -> Err | None:
        """Why an agent may not be woken once more, or None; counts the wake if it may."""
        owner = caller.owner
        standing = await self._store.standing(owner)
        what, hour = wakes_of(action.agent), hour_of(standing.now)
        wrong = over_wakes(self.of(standing), action.agent or "", await self._store.count_use(owner, what, hour))
        if wrong is not None:
            await self._store.count_use(owner, what, hour, -1)
        return await self._tell(owner, standing, wrong)

    async def for_waking_again(self, caller: Caller, agent: str, wakes: int) -> "WakeAllowance":
        """How many of so many wakes of an agent may be made now; counts those that may."""
        owner = caller.owner
        standing = await self._store.standing(owner)
        limits, hour = self.of(standing), hour_of(standing.now)
        if not limits.wakes_per_hour:
            return WakeAllowance(wakes, standing.now, "")
        used = await self._store.count_use(owner, wakes_of(agent), hour, wakes)
        over = excess(wakes, used, limits.wakes_per_hour)
        if over:
            await self._store.count_use(owner, wakes_of(agent), hour, -over)
            await self._tell(owner, standing, over_wakes(limits, agent, used))
        return WakeAllowance(wakes - over, hour + timedelta(hours=1), held_wakes(limits, agent))

    async def for_redrive(self, caller: Caller, agents: Iterable[str]) -> Err | None:
        """Why runs that wake these agents may not be tried again, or None. The engine counts them when they start."""
        owner = caller.owner
        standing = await self._store.standing(owner)
        for agent in agents:
            used = await self._store.count_use(owner, wakes_of(agent), hour_of(standing.now), 0)
            if wrong := over_wakes(self.of(standing), agent, used + 1):
                return await self._tell(owner, standing, wrong)
        return None

    async def for_backfill(self, caller: Caller, action: Action, runs: int) -> Err | None:
        """Why so many runs may not be added, or None; counts them if they may, and each prompt as a wake."""
        owner = caller.owner
        standing = await self._store.standing(owner)
        if standing.erasing:
            return ERASING
        limits, hour = self.of(standing), hour_of(standing.now)
        asked = {RUNS: limits.runs_per_hour}
        if action.kind == "prompt":
            asked[wakes_of(action.agent)] = limits.wakes_per_hour
        counted: list[str] = []
        for what in (what for what, most in asked.items() if most):
            used = await self._store.count_use(owner, what, hour, runs)
            counted.append(what)
            wrong = over_runs(limits, used) if what == RUNS else over_wakes(limits, action.agent or "", used)
            if wrong is not None:
                for one in counted:
                    await self._store.count_use(owner, one, hour, -runs)
                return await self._tell(owner, standing, wrong)
        return None

    async def interval_of(self, caller: Caller) -> float:
        """How many seconds an agent must leave between two tries at what reaches outside; 0 for other callers."""
        return self.of(await self._store.standing(caller.owner)).min_agent_interval if caller.is_agent else 0.0

    async def for_push(self, caller: Caller) -> Err | None:
        """Why no more notifications may be sent directly today, or None; counts this one if it may."""
        owner = caller.owner
        standing = await self._store.standing(owner)
        if standing.erasing:
            return ERASING
        if standing.owner_id is None:
            await self._store.save(caller, None)  # so that there is an owner to count for
        limits = self.of(standing)
        day, minute = day_of(standing.now), minute_of(standing.now)
        wrong = over_pushes(limits, await self._store.count_use(owner, "pushes", day))
        if wrong is None:
            wrong = over_calls(limits, await self._store.count_use(owner, CALLS, minute))
            if wrong is not None:
                await self._store.count_use(owner, CALLS, minute, -1)
        if wrong is not None:
            await self._store.count_use(owner, "pushes", day, -1)
        return await self._tell(owner, standing, wrong)

    async def _full(self, owner: str, standing: Standing, action: Action, *, one_more: bool) -> OverLimit | None:
        limits = self.of(standing)
        size = len(action.arguments_json())

        def flaw(now: Standing) -> OverLimit | None:
            return (too_many(limits, now.jobs) if one_more else None) or too_large(limits, now.bytes, size)

        # A change of arguments is in no count but a new one.
        if one_more and flaw(standing) is None and (owner in self._recounting or not standing.is_recount_due):
            return None
        self._recounting.add(owner)
        try:
            jobs, stored = await self._store.recount(owner)
        finally:
            self._recounting.discard(owner)
        return flaw(replace(standing, jobs=jobs, bytes=stored))

    async def _tell(self, owner: str, standing: Standing, refused: OverLimit | None) -> Err | None:
        """Return the refusal; also alert the owner, once an hour for each limit."""
        if refused is None or standing.owner_id is None:
            return refused
        held = Held(standing.owner_id, standing.parent_job or 0, f"Refused: {refused.message}", self.of(standing).alert)
        if await self._store.count_refusal(owner, refused.limit, standing.now, hour_of(standing.now), held):
            telemetry.limit_reached(standing.owner_id, refused.message)
        return refused

    # -- looking and setting ------------------------------------------------------------------------------------

    async def show(self, owner: str) -> dict[str, dict[str, object]]:
        """An owner's limits and how much of them is used."""
        standing = await self._store.standing(owner)
        jobs, stored = await self._store.recount(owner)
        now = standing.now
        used = await self._store.usage(owner, hour_of(now), day_of(now), minute_of(now))
        return {"limits": self.of(standing).as_json(), "used": {"jobs": jobs, "stored_bytes": stored, **used}}

    async def set(self, caller: Caller, given: Mapping[str, object]) -> Result[Limits]:
        """Set the limits of the caller's owner; an empty mapping goes back to the defaults."""
        try:
            limits = read_limits(self._defaults, given)
        except BadLimits as bad:
            return Err("bad_limits", str(bad))
        await self._store.save(caller, given)
        return Ok(limits)


def by_agent(origin: Mapping[str, object]) -> bool:
    """Whether a job with this origin was made by an agent."""
    return origin.get("surface") == "mcp" or "agent" in origin or "run_id" in origin


def lineage(standing: Standing, caller: Caller) -> dict[str, object]:
    """What a job stores about its origin: the caller, the span it is made in, and the run that made it."""
    known = caller.origin()
    if (span := tracing.current_traceparent()) is not None:
        known[tracing.TRACEPARENT] = span
    if standing.parent is None:
        return known
    return {**known, "run_id": run_id(*standing.parent), "depth": standing.depth + 1}
