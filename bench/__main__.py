"""`python -m bench fires --jobs 1000000 --seconds 20 --rounds 3`, or lag, fair, urgent, mcp, idle, pages, grow.

`python -m bench wishes` counts lines of code instead, and measures nothing.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

import asyncpg

from bench import fair, fill, fires, grow, idle, lag, mcp, pages, report, urgent
from bench.wishes import table
from chaos.postgres import Postgres
from cronty.engine.collector import tune_collector

MANY = 1_000_000
KEPT = ("fill", "idle", "pages", "grow")
"""These measure a database that is filled once and kept."""


async def fresh(server: str, name: str) -> str:
    admin = await asyncpg.connect(server)
    await admin.execute(f"create database {name}")
    await admin.close()
    return server.replace("/postgres?", f"/{name}?")


async def run(asked: argparse.Namespace, postgres: Postgres) -> None:
    match asked.what:
        case "fires":
            found = await fires.main(postgres.url, asked.jobs or MANY, asked.seconds, asked.rounds, asked.calendars)
            print(json.dumps(found))
        case "lag":
            url = await fresh(postgres.url, "lag")
            for runs in (5_000, 50_000):
                for _ in range(asked.rounds):
                    print(json.dumps(await lag.burst(url, runs)), flush=True)
            print(json.dumps(await lag.idle(url, 200)), flush=True)
        case "fair":
            url = await fresh(postgres.url, "fair")
            for crowd, takes in ((50_000, 0.0), (20_000, 0.05)):
                for _ in range(asked.rounds):
                    for turns in (True, False):
                        print(json.dumps(await fair.meanwhile(url, crowd, takes, fair=turns)), flush=True)
            print(json.dumps(await fair.cost(postgres.url, asked.jobs or MANY, asked.seconds, asked.rounds)))
        case "urgent":
            url = await fresh(postgres.url, "urgent")
            for takes in (0.0, 0.05):
                for _ in range(asked.rounds):
                    for first in (True, False):
                        print(json.dumps(await urgent.under(url, 50_000, takes, urgent=first)), flush=True)
        case _:
            url = await fresh(postgres.url, "mcp")
            for finding in await mcp.main(url, asked.jobs or 10_000, asked.calls, asked.rounds + 2):
                print(json.dumps(finding), flush=True)


async def run_kept(asked: argparse.Namespace, postgres: Postgres, sizes: list[int]) -> None:
    match asked.what:
        case "idle":
            url = await fill.copy(postgres.url, sizes[0])
            found = await idle.minute(url, postgres.postmaster)
            print(json.dumps({"what": "idle minute", "jobs": sizes[0], **found}), flush=True)
        case "pages":
            url = await fill.copy(postgres.url, sizes[0])
            async for finding in pages.main(url, postgres.postmaster, asked.rounds + 2):
                print(json.dumps(finding), flush=True)
        case _:
            into = asked.into or asked.keep / "grow.jsonl"
            if not asked.resume:
                into.unlink(missing_ok=True)
            given = grow.Asked(asked.seconds, asked.rounds)
            results = await grow.main(postgres.url, postgres.postmaster, sizes, given, into)
            print(report.table(results))
            if asked.picture:
                asked.picture.write_text(report.draw(results), encoding="utf-8")
    await fill.drop_copy(postgres.url)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="bench", description=__doc__)
    made.add_argument("what", choices=["fires", "lag", "fair", "urgent", "mcp", "wishes", *KEPT])
    made.add_argument("--jobs", type=int, help="how many are stored; a million, or ten thousand for mcp")
    made.add_argument("--seconds", type=float, default=20)
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--calendars", type=int, default=0, help="a row with so many percent of calendars too (fires)")
    made.add_argument("--calls", type=int, default=300, help="how often each call is made (mcp)")
    made.add_argument("--keep", type=Path, default=fill.usual_folder(), help="where filled databases are kept")
    made.add_argument("--sizes", type=_sizes, help="numbers of jobs, as in 10000,100000 (fill, grow)")
    made.add_argument("--into", type=Path, help="JSON lines of grow; usually grow.jsonl beside the databases")
    made.add_argument("--resume", action="store_true", help="measure only what isn't in there yet, or failed (grow)")
    made.add_argument("--picture", type=Path, help="draw it, as SVG (grow)")
    return made


def _sizes(text: str) -> list[int]:
    return [int(part.replace("_", "")) for part in text.split(",")]


def main() -> None:
    asked = parser().parse_args()
    tune_collector()  # as `cronty work` does
    if asked.what == "wishes":
        table.main()
        return
    if asked.what not in KEPT:
        postgres = Postgres(**fill.SERVER)
        postgres.start()
        try:
            asyncio.run(run(asked, postgres))
        finally:
            postgres.close()
        return
    sizes = asked.sizes or ([10**power for power in (4, 5, 6, 7)] if asked.what == "grow" else [asked.jobs or MANY])
    for finding in fill.keep(asked.keep, sizes):
        print(json.dumps(finding), flush=True)
    if asked.what != "fill":
        with fill.running(asked.keep, fill.SERVER) as postgres:
            asyncio.run(run_kept(asked, postgres, sizes))


if __name__ == "__main__":
    sys.exit(main())
