"""How much an owner may have: asked before a job is made or changed, and told to the owner when it is too much."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cronty import telemetry
from cronty.contract.caller import Caller
from cronty.contract.result import Err, Ok, Result
from cronty.jobs.action import Action
from cronty.jobs.limits import (
    BadLimits,
    Limits,
    OverLimit,
    day_of,
    hour_of,
    over_pushes,
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
from cronty.store.limit_store import UNCOUNTED, LimitStore, Standing
from cronty.timing import Trigger

ERASING: Final = Err("owner_erased", "This owner is being erased.", "Ask whoever runs this installation.")


class Allowance:
    """A fence, not a bank: calls made at the very same moment may go a little over a limit."""

    def __init__(self, store: LimitStore, defaults: Limits, made_by: str | None = None) -> None:
        self._store = store
        self._defaults = defaults
        self._made_by = made_by

    def of(self, standing: Standing) -> Limits:
        """What holds for an owner."""
        return read_limits(self._defaults, standing.limits)

    def within(self, store: LimitStore) -> "Allowance":
        """The same, asked in a transaction that is open."""
        return Allowance(store, self._defaults, self._made_by)

    async def standing(self, caller: Caller, *, key: str | None = None, tasks: Sequence[str] = ()) -> Standing:
        """How an owner stands when a job is asked for: what there is, and which run asks, if one does.

        It is the run that the caller is, or the one this process was started by. An agent that has read a prompt
        without settling it yet asks on its behalf.
        """
        found = read_message_id(caller.run or self._made_by or "")
        return await self._store.standing(
            caller.owner, found, leased=caller.is_agent, agent=caller.agent, key=key, tasks=tasks
        )

    async def for_new(self, caller: Caller, standing: Standing, action: Action, trigger: Trigger) -> Err | None:
        """Why a job may not be made."""
        if standing.erasing:
            return ERASING
        limits = self.of(standing)
        wrong = too_often(limits, action, trigger, by_agent=standing.parent is not None or caller.is_agent)
        if wrong is None and standing.parent is not None:
            wrong = too_deep(limits, standing.depth + 1)
        wrong = wrong or await self._full(caller.owner, standing, action, one_more=True)
        return await self._tell(caller.owner, standing, wrong)

    async def for_return(self, owner: str, standing: Standing, action: Action) -> Err | None:
        """Why a job that was deleted may not come back."""
        if standing.erasing:
            return ERASING
        return await self._tell(owner, standing, await self._full(owner, standing, action, one_more=True))

    async def recount(self, owner: str) -> None:
        """A job that came back may be older than the last count, and isn't in it."""
        await self._store.recount(owner)

    async def for_arguments(self, owner: str, standing: Standing, action: Action) -> Err | None:
        """Why a job may not get these arguments."""
        return await self._tell(owner, standing, await self._full(owner, standing, action, one_more=False))

    async def for_wake(self, caller: Caller, action: Action) -> Err | None:
        """Why an agent may not be woken once more; counted, if it may."""
        owner = caller.owner
        standing = await self._store.standing(owner)
        used = await self._store.count_use(owner, wakes_of(action.agent), hour_of(standing.now))
        return await self._tell(owner, standing, over_wakes(self.of(standing), action.agent or "", used))

    async def for_push(self, caller: Caller) -> Err | None:
        """Why no notification may be sent at once any more today; counted, if one may."""
        owner = caller.owner
        standing = await self._store.standing(owner)
        if standing.erasing:
            return ERASING
        if standing.owner_id is None:
            await self._store.save(caller, None)  # so that there is an owner to count for
        used = await self._store.count_use(owner, "pushes", day_of(standing.now))
        return await self._tell(owner, standing, over_pushes(self.of(standing), used))

    async def _full(self, owner: str, standing: Standing, action: Action, *, one_more: bool) -> OverLimit | None:
        limits = self.of(standing)
        size = len(action.arguments_json())

        def flaw(now: Standing) -> OverLimit | None:
            return (too_many(limits, now.jobs) if one_more else None) or too_large(limits, now.bytes, size)

        if flaw(standing) is None and standing.uncounted < UNCOUNTED:
            return None
        jobs, stored = await self._store.recount(owner)
        return flaw(replace(standing, jobs=jobs, bytes=stored))

    async def _tell(self, owner: str, standing: Standing, refused: OverLimit | None) -> Err | None:
        """Pass a refusal on; the first by each limit in an hour is told to the owner as well."""
        if refused is None or standing.owner_id is None:
            return refused
        held = Held(standing.owner_id, standing.parent_job or 0, f"Refused: {refused.message}", self.of(standing).alert)
        if await self._store.count_refusal(owner, refused.limit, standing.now, hour_of(standing.now), held):
            telemetry.limit_reached(standing.owner_id, refused.message)
        return refused

    # -- looking and setting ------------------------------------------------------------------------------------

    async def show(self, owner: str) -> dict[str, dict[str, object]]:
        """The limits of an owner and what is used of them."""
        standing = await self._store.standing(owner)
        jobs, stored = await self._store.recount(owner)
        used = await self._store.usage(owner, hour_of(standing.now), day_of(standing.now))
        return {"limits": self.of(standing).as_json(), "used": {"jobs": jobs, "stored_bytes": stored, **used}}

    async def set(self, caller: Caller, given: Mapping[str, object]) -> Result[Limits]:
        """Give the caller's owner limits of its own; an empty mapping takes them away."""
        try:
            limits = read_limits(self._defaults, given)
        except BadLimits as bad:
            return Err("bad_limits", str(bad))
        await self._store.save(caller, given)
        return Ok(limits)


def by_agent(origin: Mapping[str, object]) -> bool:
    """Whether an agent made a job that has this origin."""
    return origin.get("surface") == "mcp" or "agent" in origin or "run_id" in origin


def lineage(standing: Standing, caller: Caller) -> dict[str, object]:
    """What a job keeps of where it comes from: the caller, and the run that made it."""
    if standing.parent is None:
        return caller.origin()
    return {**caller.origin(), "run_id": run_id(*standing.parent), "depth": standing.depth + 1}
