"""`python -m bench fires --jobs 1000000 --seconds 20 --rounds 3`, or lag, idle, fair, mcp, pages: JSON lines."""

import argparse
import asyncio
import json

import asyncpg

from bench import fair, fires, lag, mcp, pages
from chaos.postgres import Postgres

MANY = 1_000_000
SERVER = {"shared_buffers": "1GB", "max_wal_size": "4GB"}


async def fresh(server: str, name: str) -> str:
    admin = await asyncpg.connect(server)
    await admin.execute(f"create database {name}")
    await admin.close()
    return server.replace("/postgres?", f"/{name}?")


async def run(asked: argparse.Namespace, postgres: Postgres) -> None:
    match asked.what:
        case "fires":
            print(json.dumps(await fires.main(postgres.url, asked.jobs or MANY, asked.seconds, asked.rounds)))
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
        case "mcp":
            url = await fresh(postgres.url, "mcp")
            for finding in await mcp.main(url, asked.jobs or 10_000, asked.calls, asked.rounds + 2):
                print(json.dumps(finding), flush=True)
        case "pages":
            url = await fresh(postgres.url, "pages")
            async for finding in pages.main(url, asked.jobs or 100_000, asked.runs, asked.rounds + 2):
                print(json.dumps(finding), flush=True)
        case _:
            url = await fresh(postgres.url, "idle")
            print(json.dumps(await lag.idle_minute(url, asked.jobs or MANY, postgres.postmaster)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("what", choices=["fires", "lag", "idle", "fair", "mcp", "pages"])
    parser.add_argument("--jobs", type=int, help="how many are stored; a million, or ten thousand for mcp")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=300, help="how often each call is made (mcp)")
    parser.add_argument("--runs", type=int, default=5_000_000, help="how many runs the owner has (pages)")
    asked = parser.parse_args()
    postgres = Postgres(**SERVER)
    postgres.start()
    try:
        asyncio.run(run(asked, postgres))
    finally:
        postgres.close()


if __name__ == "__main__":
    main()
