"""The same wish twice: keys that notice other arguments, and one run while it waits."""

import asyncio
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from cronty import Cronty, CrontyError
from tests.patience import PATIENCE
from tests.stories.test_in_my_transaction import connected


def shop(url: str, *, run_jobs: bool = False) -> Cronty:
    return Cronty(url, data_dir=Path("/nonexistent"), run_jobs=run_jobs)


async def test_the_same_key_with_the_same_arguments_is_the_first_run_also_when_that_has_ended(url: str) -> None:
    cronty = shop(url, run_jobs=True)

    @cronty.task
    async def pay(order: int) -> int:
        return order

    async with cronty:
        first = await pay.options(idempotency_key="order 7").enqueue(7)
        assert await first.result(timeout=PATIENCE) == 7
        again = await pay.options(idempotency_key="order 7").enqueue(7)
        assert (again.run_id, again.job_id) == (first.run_id, first.job_id)
        assert await again.result(timeout=PATIENCE) == 7


async def test_the_same_key_with_other_arguments_is_refused_and_says_so(url: str) -> None:
    cronty = shop(url)

    @cronty.task
    async def pay(order: int) -> None: ...
    @cronty.task
    async def refund(order: int) -> None: ...

    async with cronty:
        first = await pay.options(idempotency_key="order 7").enqueue(7)
        with pytest.raises(
            CrontyError, match=f"'order 7' was used before, with other arguments, and made {first.job_id}"
        ):
            await pay.options(idempotency_key="order 7").enqueue(8)
        with pytest.raises(CrontyError, match="was used before, for the task pay") as refused:
            await refund.options(idempotency_key="order 7").enqueue(7)
        assert refused.value.code == "key_taken"


async def test_a_key_holds_inside_one_transaction_too(url: str) -> None:
    cronty = shop(url)

    @cronty.task
    async def pay(order: int) -> None: ...

    async with cronty, connected(url) as connection, connection.transaction():
        mine = pay.options(connection=connection, idempotency_key="order 7")
        first = await mine.enqueue(7)
        assert (await mine.enqueue(7)).run_id == first.run_id
        with pytest.raises(CrontyError, match="was used before"):
            await mine.enqueue(8)


@pytest.mark.parametrize(("key", "unique"), [("k", None), (None, "k")])
async def test_a_second_one_waits_for_a_transaction_with_its_key_and_takes_what_that_made(
    url: str, sql: asyncpg.Connection, key: str | None, unique: str | None
) -> None:
    cronty = shop(url)

    @cronty.task
    async def pay(order: int) -> None: ...

    async with cronty, connected(url) as one, connected(url) as other:

        async def second() -> str:
            async with other.transaction():
                return (await pay.options(connection=other, idempotency_key=key, unique=unique).enqueue(7)).run_id

        async with one.transaction():
            first = await pay.options(connection=one, idempotency_key=key, unique=unique).enqueue(7)
            waiting = asyncio.create_task(second())
            async with asyncio.timeout(PATIENCE):
                while not await sql.fetchval("select count(*) from pg_locks where not granted"):
                    await asyncio.sleep(0.005)
        assert await asyncio.wait_for(waiting, PATIENCE) == first.run_id


async def test_while_one_waits_a_second_is_the_same(url: str, sql: asyncpg.Connection) -> None:
    cronty = shop(url)

    @cronty.task
    async def sync(customer: int) -> None: ...
    @cronty.task
    async def mail(customer: int) -> None: ...

    async with cronty:
        unique = sync.options(unique=True)
        first = await unique.enqueue(1)
        assert (await unique.enqueue(1)).run_id == first.run_id
        assert (await sync.options(unique=True, delay=60).enqueue(1)).run_id == first.run_id, "whenever it is due"
        assert (await unique.enqueue(2)).run_id != first.run_id, "with other arguments it is another"
        assert (await mail.options(unique=True).enqueue(1)).run_id != first.run_id, "and so is another task's"
        assert (await sync.enqueue(1)).run_id != first.run_id, "who doesn't ask for it gets a run of its own"

        keyed = await sync.options(unique="customer 3").enqueue(3)
        assert (await sync.options(unique="customer 3").enqueue(4)).run_id == keyed.run_id, "a key stands for itself"
    assert await sql.fetchval("select count(*) from cronty.jobs") == 5


async def test_when_it_has_begun_or_is_cancelled_the_next_is_a_new_one(url: str) -> None:
    cronty = shop(url, run_jobs=True)
    begun, done = asyncio.Event(), asyncio.Event()

    @cronty.task
    async def sync(customer: int) -> None:
        begun.set()
        await done.wait()

    async with cronty:
        first = await sync.options(unique=True).enqueue(1)
        await asyncio.wait_for(begun.wait(), PATIENCE)
        second = await sync.options(unique=True, delay=timedelta(hours=1)).enqueue(1)
        assert second.run_id != first.run_id, "what has begun may have read the old data"
        done.set()
        await first.result(timeout=PATIENCE)
        assert (await sync.options(unique=True).enqueue(1)).run_id == second.run_id
        await cronty.cancel_job(second.job_id)
        third = await sync.options(unique=True).enqueue(1)
        assert third.run_id not in (first.run_id, second.run_id)
        await third.result(timeout=PATIENCE)


async def test_a_run_in_the_queue_still_waits(url: str, sql: asyncpg.Connection) -> None:
    """A full worker fires a slot into the queue; nothing has begun then."""
    cronty = shop(url)

    @cronty.task
    async def sync(customer: int) -> None: ...

    async with cronty:
        first = await sync.options(unique=True).enqueue(1)
        await sql.execute(
            """
            with moved as (
              update cronty.due d set next_at = null, last_slot = d.next_at, run_count = 1 from cronty.due o
              where o.job_id = d.job_id returning d.job_id, d.owner_id, o.next_at as slot
            ), queued as (
              insert into cronty.queue (job_id, scheduled_for, due_at, owner_id, task)
              select job_id, slot, slot, owner_id, 'sync' from moved
            )
            insert into cronty.runs (job_id, scheduled_for, owner_id, state)
            select job_id, slot, owner_id, 'waiting' from moved"""
        )
        assert (await sync.options(unique=True).enqueue(1)).run_id == first.run_id


async def test_many_at_once_make_one(url: str, sql: asyncpg.Connection) -> None:
    cronty = shop(url)

    @cronty.task
    async def sync(customer: int) -> None: ...

    async with cronty:
        runs = await asyncio.gather(*(sync.options(unique=True).enqueue(1) for _ in range(30)))
    assert len({run.run_id for run in runs}) == 1
    assert await sql.fetchval("select count(*) from cronty.jobs") == 1


async def test_what_a_transaction_found_waiting_and_began_meanwhile_comes_again_after_the_commit(
    url: str, sql: asyncpg.Connection
) -> None:
    """Or no run would see what the transaction changed."""
    cronty = shop(url, run_jobs=True)
    seen: asyncio.Queue[int] = asyncio.Queue()

    @cronty.task
    async def sync(customer: int) -> None:
        seen.put_nowait(await sql.fetchval("select total from shop_totals"))

    await sql.execute("create table shop_totals as select 1 as total")
    try:
        async with cronty, connected(url) as connection:
            first = await sync.options(unique=True, delay=1).enqueue(1)
            async with connection.transaction():
                await connection.execute("update shop_totals set total = 2")
                again = await sync.options(unique=True, connection=connection).enqueue(1)
                assert again.run_id == first.run_id
                await first.result(timeout=PATIENCE)
                assert await seen.get() == 1
            assert await asyncio.wait_for(seen.get(), PATIENCE) == 2
    finally:
        await sql.execute("drop table shop_totals")
    assert seen.empty()
